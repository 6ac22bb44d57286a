-- By what a check is named to those who may not ping it; a start fills it for checks that were made before.
ALTER TABLE checks ADD COLUMN unique_key BLOB;
CREATE INDEX checks_by_unique_key ON checks (unique_key);
