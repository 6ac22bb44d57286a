-- Times are milliseconds UTC. Words (status, kind, ...) are the enums of the code. `rev` moves with every edit
-- of a row's settings, `seq` with every change of its state.

CREATE TABLE instance (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    secret BLOB NOT NULL,
    operator_id BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE accounts (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    plan TEXT NOT NULL,
    plan_digest TEXT NOT NULL,
    checks_used BIGINT NOT NULL DEFAULT 0 CHECK (checks_used >= 0),
    alerts_used BIGINT NOT NULL DEFAULT 0,
    alerts_month BIGINT NOT NULL DEFAULT 0,
    quota_told_month BIGINT NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);

CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    account_id BIGINT NOT NULL UNIQUE REFERENCES accounts (id) ON DELETE CASCADE,
    email TEXT NOT NULL UNIQUE,
    password_hash TEXT,
    created_at BIGINT NOT NULL
);

CREATE TABLE sign_in_links (
    digest BLOB PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    expires_at BIGINT NOT NULL
);

CREATE TABLE projects (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    account_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    ping_key TEXT UNIQUE,
    badge_key BLOB NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);
CREATE INDEX projects_by_account ON projects (account_id);

CREATE TABLE members (
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX members_by_user ON members (user_id);

CREATE TABLE api_keys (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    readonly BOOLEAN NOT NULL,
    digest BLOB NOT NULL UNIQUE,
    hint TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT
);
CREATE INDEX api_keys_by_project ON api_keys (project_id);

CREATE TABLE checks (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    badge_key BLOB NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    -- settings
    rev BIGINT NOT NULL DEFAULT 0,
    name TEXT NOT NULL,
    slug TEXT NOT NULL,
    tags TEXT NOT NULL,
    description TEXT NOT NULL,
    kind TEXT NOT NULL,
    period_ms BIGINT NOT NULL,
    grace_ms BIGINT NOT NULL,
    schedule TEXT NOT NULL,
    zone TEXT NOT NULL,
    methods TEXT NOT NULL,
    manual_resume BOOLEAN NOT NULL,
    filter_subject BOOLEAN NOT NULL,
    filter_body BOOLEAN NOT NULL,
    filter_http_body BOOLEAN NOT NULL,
    filter_default_fail BOOLEAN NOT NULL,
    start_kw TEXT NOT NULL,
    success_kw TEXT NOT NULL,
    failure_kw TEXT NOT NULL,
    floor_ms BIGINT NOT NULL,
    -- state
    seq BIGINT NOT NULL DEFAULT 0,
    status TEXT NOT NULL DEFAULT 'new',
    told_status TEXT NOT NULL DEFAULT 'new',
    n_pings BIGINT NOT NULL DEFAULT 0,
    open_runs BIGINT NOT NULL DEFAULT 0,
    last_ping_at BIGINT,
    last_success_at BIGINT,
    last_start_at BIGINT,
    last_start_rid BLOB,
    last_duration_ms BIGINT,
    last_log_at BIGINT,
    last_ignored_at BIGINT,
    starts_since_at BIGINT,
    starts BIGINT NOT NULL DEFAULT 0,
    flips_since_at BIGINT,
    flips BIGINT NOT NULL DEFAULT 0,
    flapping_until_at BIGINT,
    unseen_at BIGINT,
    expected_at BIGINT,
    deadline_at BIGINT,
    wake_at BIGINT,
    fault TEXT
);
CREATE INDEX checks_by_project ON checks (project_id, id);
CREATE INDEX checks_by_slug ON checks (project_id, slug);
CREATE INDEX checks_by_account ON checks (account_id);
CREATE INDEX checks_to_wake ON checks (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE runs (
    check_id BIGINT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    rid BLOB NOT NULL,
    started_at BIGINT NOT NULL,
    PRIMARY KEY (check_id, rid)
);
CREATE INDEX runs_by_age ON runs (started_at);

CREATE TABLE pings (
    check_id BIGINT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    kind TEXT NOT NULL,
    scheme TEXT NOT NULL,
    remote_addr TEXT,
    method TEXT NOT NULL,
    user_agent TEXT NOT NULL,
    rid BLOB,
    exit_status BIGINT,
    duration_ms BIGINT,
    body_bytes BIGINT NOT NULL,
    PRIMARY KEY (check_id, n)
) WITHOUT ROWID;

CREATE TABLE bodies (
    check_id BIGINT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    n BIGINT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (check_id, n)
);

CREATE TABLE flips (
    id INTEGER PRIMARY KEY,
    check_id BIGINT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    flipped_at BIGINT NOT NULL,
    old_status TEXT NOT NULL,
    new_status TEXT NOT NULL,
    reason TEXT NOT NULL,
    ping_n BIGINT,
    exit_status BIGINT,
    expected_at BIGINT,
    started_at BIGINT,
    last_success_at BIGINT,
    blind_ms BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX flips_by_check ON flips (check_id, id);

CREATE TABLE channels (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    project_id BIGINT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    config TEXT NOT NULL,
    on_down BOOLEAN NOT NULL,
    on_up BOOLEAN NOT NULL,
    verified_at BIGINT,
    disabled_at BIGINT,
    last_sent_at BIGINT,
    last_error TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL
);
CREATE INDEX channels_by_project ON channels (project_id, id);

CREATE TABLE check_channels (
    check_id BIGINT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    channel_id BIGINT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    PRIMARY KEY (check_id, channel_id)
);
CREATE INDEX check_channels_by_channel ON check_channels (channel_id);

CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    flip_id BIGINT NOT NULL REFERENCES flips (id) ON DELETE CASCADE,
    channel_id BIGINT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    check_id BIGINT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    account_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    tells TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'due',
    due_at BIGINT NOT NULL,
    claim BLOB,
    claimed_until_at BIGINT,
    charged_at BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    settled_at BIGINT,
    UNIQUE (flip_id, channel_id)
);
CREATE INDEX deliveries_due ON deliveries (due_at, id) WHERE state = 'due';
CREATE INDEX deliveries_held ON deliveries (account_id, id) WHERE state = 'held';
CREATE INDEX deliveries_open ON deliveries (check_id, channel_id, id) WHERE settled_at IS NULL;
CREATE INDEX deliveries_by_check ON deliveries (check_id, channel_id, id);
CREATE INDEX deliveries_by_channel ON deliveries (channel_id);

CREATE TABLE letters (
    id INTEGER PRIMARY KEY,
    uuid BLOB NOT NULL UNIQUE,
    account_id BIGINT REFERENCES accounts (id) ON DELETE CASCADE,
    recipient TEXT NOT NULL,
    facts TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'due',
    due_at BIGINT NOT NULL,
    claim BLOB,
    claimed_until_at BIGINT,
    attempts BIGINT NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    settled_at BIGINT
);
CREATE INDEX letters_due ON letters (due_at, id) WHERE state = 'due';

CREATE TABLE witness (
    id BIGINT PRIMARY KEY CHECK (id = 1),
    stamped_at BIGINT NOT NULL
);

CREATE TABLE gaps (
    id INTEGER PRIMARY KEY,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL
);
CREATE INDEX gaps_by_end ON gaps (ended_at);

CREATE TABLE unseen (
    id INTEGER PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    check_id BIGINT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    slot_at BIGINT NOT NULL,
    gap_started_at BIGINT NOT NULL,
    gap_ended_at BIGINT NOT NULL,
    marked_at BIGINT NOT NULL,
    told_at BIGINT
);
CREATE INDEX unseen_by_check ON unseen (check_id, slot_at);
CREATE INDEX unseen_untold ON unseen (account_id, id) WHERE told_at IS NULL;
