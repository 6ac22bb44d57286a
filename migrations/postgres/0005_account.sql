-- What an account's own page changes: an address that waits for its proof, the second factor, sign-ins that wait
-- for it, and accounts that were closed and are not yet cleared away.

-- One for each user: a later wish takes the place of an earlier one.
CREATE TABLE email_changes (
    user_id BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    digest BYTEA NOT NULL UNIQUE,
    email TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX email_changes_by_end ON email_changes (expires_at);

CREATE TABLE second_factors (
    user_id BIGINT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret BYTEA NOT NULL,
    totp_step BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE recovery_codes (
    user_id BIGINT NOT NULL REFERENCES second_factors (user_id) ON DELETE CASCADE,
    digest BYTEA NOT NULL,
    PRIMARY KEY (user_id, digest)
);

CREATE TABLE sign_in_steps (
    digest BYTEA PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX sign_in_steps_by_user ON sign_in_steps (user_id);
CREATE INDEX sign_in_steps_by_end ON sign_in_steps (expires_at);

ALTER TABLE accounts ADD COLUMN closed_at BIGINT;
CREATE INDEX accounts_closed ON accounts (closed_at) WHERE closed_at IS NOT NULL;
