-- Passkeys, the challenges that browsers were given for one, and how many passkeys each user has.

CREATE TABLE passkeys (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    credential BLOB NOT NULL UNIQUE,
    public_key BLOB NOT NULL,
    sign_count BIGINT NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Without a user it is for a sign-in: who it will be, the answer says.
CREATE TABLE passkey_challenges (
    digest BLOB PRIMARY KEY,
    browser BLOB NOT NULL,
    user_id BIGINT REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);
CREATE INDEX passkey_challenges_by_user ON passkey_challenges (user_id);
CREATE INDEX passkey_challenges_by_end ON passkey_challenges (expires_at);

ALTER TABLE users ADD COLUMN passkeys_used BIGINT NOT NULL DEFAULT 0 CHECK (passkeys_used >= 0);
