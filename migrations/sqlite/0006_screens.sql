-- What the pages of channels and the wall show: since when a channel fails, what it answered last, when its owner was
-- asked to agree, the revision that a form was filled from; and the secret part of the wall's address.

ALTER TABLE channels ADD COLUMN rev BIGINT NOT NULL DEFAULT 0;
ALTER TABLE channels ADD COLUMN failing_since_at BIGINT;
ALTER TABLE channels ADD COLUMN last_answer TEXT NOT NULL DEFAULT '';
ALTER TABLE channels ADD COLUMN asked_at BIGINT;

ALTER TABLE projects ADD COLUMN wall_key TEXT;
CREATE UNIQUE INDEX projects_by_wall_key ON projects (wall_key) WHERE wall_key IS NOT NULL;
