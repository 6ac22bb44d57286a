-- What the pages need: who is signed in, addresses that asked for an account, the zone that a person reads times
-- in, and deletions that can be undone.

CREATE TABLE sessions (
    digest BLOB PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    user_agent TEXT NOT NULL,
    address TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);
CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE TABLE sign_up_links (
    digest BLOB PRIMARY KEY,
    email TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

ALTER TABLE users ADD COLUMN zone TEXT NOT NULL DEFAULT 'UTC';

-- When a check was deleted; for a while it can be brought back.
ALTER TABLE checks ADD COLUMN deleted_at BIGINT;
CREATE INDEX checks_deleted ON checks (deleted_at) WHERE deleted_at IS NOT NULL;
