-- One row per limit and subject. `counts` are those of the window's buckets, latest first, comma-separated;
-- `last_at` lies in the first of them. The subject is hashed.

CREATE TABLE rates (
    scope TEXT NOT NULL,
    subject BLOB NOT NULL,
    rev BIGINT NOT NULL,
    last_at BIGINT,
    counts TEXT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scope, subject)
) WITHOUT ROWID;
CREATE INDEX rates_by_expiry ON rates (expires_at);
