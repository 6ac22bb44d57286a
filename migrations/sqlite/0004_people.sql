-- Several people in a project: what its plan counts of them, invitations, whom its owner offers it to; and
-- projects that were deleted and can for a while be brought back.

ALTER TABLE projects ADD COLUMN members_used BIGINT NOT NULL DEFAULT 0 CHECK (members_used >= 0);
ALTER TABLE projects ADD COLUMN keys_used BIGINT NOT NULL DEFAULT 0 CHECK (keys_used >= 0);
ALTER TABLE projects ADD COLUMN deleted_at BIGINT;
ALTER TABLE projects ADD COLUMN offered_to_id BIGINT REFERENCES users (id) ON DELETE SET NULL;
CREATE INDEX projects_by_offer ON projects (offered_to_id);
CREATE INDEX projects_deleted ON projects (deleted_at) WHERE deleted_at IS NOT NULL;

UPDATE projects SET
    members_used = (SELECT COUNT(*) FROM members WHERE members.project_id = projects.id),
    keys_used = (SELECT COUNT(*) FROM api_keys WHERE api_keys.project_id = projects.id);

-- An open invitation holds one of the places that the plan has for members.
CREATE TABLE invitations (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    email TEXT NOT NULL,
    role TEXT NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    invited_by TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    UNIQUE (project_id, email)
);
CREATE INDEX invitations_by_end ON invitations (expires_at);
