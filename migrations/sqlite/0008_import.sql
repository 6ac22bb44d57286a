-- What was brought from other servers and works here as it did there.

-- The secret with which another server made the digests of its API keys: a key is looked up under each.
CREATE TABLE origins (
    id INTEGER PRIMARY KEY,
    secret BLOB NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- Addresses of badges that another server signed; one for each tag, `*` for all checks.
CREATE TABLE old_badges (
    badge_key TEXT NOT NULL,
    tag TEXT NOT NULL,
    signature TEXT NOT NULL,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    PRIMARY KEY (badge_key, tag)
);
CREATE INDEX old_badges_by_project ON old_badges (project_id);
