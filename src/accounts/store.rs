//! SQL of the tables `instance`, `accounts`, `users`, `projects`, `members`, `api_keys` and `sign_in_links`.

use uuid::Uuid;

use super::{AccountRow, ApiKey, Instance, Membership, Project, Role, User, month, projects};
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::{Error, Result};
use crate::time::{CLOCK_SLACK, Span, Time};

statements! {
    /// Makes the instance's row once. Zero rows: another process did.
    CREATE_INSTANCE =
        "INSERT INTO instance (id, secret, created_at) VALUES (1, $1, $2) ON CONFLICT (id) DO NOTHING";
    FIND_INSTANCE = "SELECT secret, operator_id FROM instance WHERE id = 1";
    /// Operator: the first account to ask becomes it. Zero rows: there is one; the account is an ordinary one.
    CLAIM_OPERATOR = "UPDATE instance SET operator_id = $1 WHERE id = 1 AND operator_id IS NULL";
    CREATE_ACCOUNT =
        "INSERT INTO accounts (uuid, plan, plan_digest, created_at) VALUES ($1, $2, $3, $4) RETURNING id";
    FIND_ACCOUNT = "SELECT id, uuid, plan, checks_used, alerts_used, alerts_month FROM accounts WHERE id = $1 AND closed_at IS NULL";
    LIST_ACCOUNTS = "SELECT id, uuid, plan, checks_used, alerts_used, alerts_month FROM accounts ORDER BY id";
    COUNT_BY_PLAN =
        "SELECT plan AS name, COUNT(*) AS number FROM accounts WHERE closed_at IS NULL GROUP BY plan ORDER BY plan";
    /// Accounts whose rows were written under other values of a plan than today's.
    LIST_OUTDATED =
        "SELECT id, uuid, plan, checks_used, alerts_used, alerts_month FROM accounts \
         WHERE plan = $1 AND plan_digest <> $2 AND closed_at IS NULL ORDER BY id";
    /// Count limit: takes checks, all or none. Zero rows: there is no room for all of them, the plan is no longer the
    /// one given, or the account was closed.
    TAKE_CHECKS =
        "UPDATE accounts SET checks_used = checks_used + $4 \
         WHERE id = $1 AND plan = $2 AND checks_used + $4 <= $3 AND closed_at IS NULL";
    /// Gives checks back. Zero rows: the account is gone, or its count is wrong already.
    GIVE_BACK_CHECKS = "UPDATE accounts SET checks_used = checks_used - $2 WHERE id = $1 AND checks_used >= $2";
    /// Locks the account while it has a plan. Zero rows: it has another one by now, or is gone.
    PIN_PLAN = "UPDATE accounts SET plan = plan WHERE id = $1 AND plan = $2";
    /// Alert quota: charges one alert of month `$3`, beginning anew in a new one, or where the stored one was
    /// written under a wrong clock (beyond `$5`). Zero rows: the month's alerts are used up, or the plan is no
    /// longer the one given.
    CHARGE_ALERT =
        "UPDATE accounts SET \
         alerts_used = CASE WHEN alerts_month < $3 OR alerts_month > $5 THEN 1 ELSE alerts_used + 1 END, \
         alerts_month = CASE WHEN alerts_month < $3 OR alerts_month > $5 THEN $3 ELSE alerts_month END \
         WHERE id = $1 AND plan = $2 \
         AND CASE WHEN alerts_month < $3 OR alerts_month > $5 THEN 0 ELSE alerts_used END < $4";
    /// Gives one alert back that was charged for a delivery another worker had. Zero rows: the month is over.
    GIVE_BACK_ALERT =
        "UPDATE accounts SET alerts_used = alerts_used - 1 WHERE id = $1 AND alerts_month = $2 AND alerts_used > 0";
    /// The one notice a month that the quota is used up. Zero rows: it was given.
    TELL_QUOTA =
        "UPDATE accounts SET quota_told_month = $2 \
         WHERE id = $1 AND (quota_told_month < $2 OR quota_told_month > $3)";
    /// Plan change: the account row comes first and keeps creations and charges out. Zero rows: it is gone.
    SET_PLAN = "UPDATE accounts SET plan = $2, plan_digest = $3 WHERE id = $1 AND closed_at IS NULL";
    /// Plan change where only the plan's values did. Zero rows: the account has another plan by now, or another
    /// process applied the values.
    RENEW_PLAN = "UPDATE accounts SET plan_digest = $3 WHERE id = $1 AND plan = $2 AND plan_digest <> $3";
    /// Closes an account, whose row is locked: it is not found, and no check is made in it, from here on.
    CLOSE_ACCOUNT = "UPDATE accounts SET closed_at = $2 WHERE id = $1 AND closed_at IS NULL";
    /// Sessions, links, codes and memberships go with the user.
    DELETE_USER = "DELETE FROM users WHERE id = $1";
    /// Clears closed accounts away once the last of their projects is gone, with what still hangs on them.
    CLEAR_CLOSED =
        "DELETE FROM accounts WHERE closed_at IS NOT NULL \
         AND NOT EXISTS (SELECT 1 FROM projects WHERE projects.account_id = accounts.id)";
    /// One user for each address. Zero rows: it has one already, perhaps since a moment ago.
    CREATE_USER =
        "INSERT INTO users (uuid, account_id, email, password_hash, created_at) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (email) DO NOTHING RETURNING id";
    FIND_USER_BY_EMAIL = "SELECT id, uuid, account_id, email, password_hash, zone FROM users WHERE email = $1";
    FIND_USER_OF_ACCOUNT = "SELECT id, uuid, account_id, email, password_hash, zone FROM users WHERE account_id = $1";
    CREATE_SIGN_IN_LINK = "INSERT INTO sign_in_links (digest, user_id, expires_at) VALUES ($1, $2, $3)";
    CREATE_PROJECT =
        "INSERT INTO projects (uuid, account_id, name, ping_key, badge_key, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
    FIND_PROJECT =
        "SELECT id, uuid, account_id, name, ping_key, badge_key FROM projects \
         WHERE id = $1 AND deleted_at IS NULL";
    FIND_PROJECT_BY_UUID =
        "SELECT id, uuid, account_id, name, ping_key, badge_key FROM projects \
         WHERE uuid = $1 AND deleted_at IS NULL";
    FIND_PROJECT_BY_PING_KEY =
        "SELECT id, uuid, account_id, name, ping_key, badge_key FROM projects \
         WHERE ping_key = $1 AND deleted_at IS NULL";
    FIND_PROJECT_BY_BADGE_KEY =
        "SELECT id, uuid, account_id, name, ping_key, badge_key FROM projects \
         WHERE badge_key = $1 AND deleted_at IS NULL";
    /// Locks the project after its account and tells whose it is: whoever looks for a check or a member next sees
    /// what was made before, and what is made now is counted by the right account. Zero rows: it is gone.
    LOCK_PROJECT =
        "UPDATE projects SET name = name WHERE id = $1 AND deleted_at IS NULL RETURNING account_id AS id";
    CREATE_MEMBER = "INSERT INTO members (project_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)";
    /// The projects that a user is a member of, with the role.
    LIST_MEMBERSHIPS =
        "SELECT projects.id AS id, projects.uuid AS uuid, projects.account_id AS account_id, projects.name AS name, \
         projects.ping_key AS ping_key, projects.badge_key AS badge_key, members.role AS role FROM members \
         JOIN projects ON projects.id = members.project_id WHERE members.user_id = $1 \
         AND projects.deleted_at IS NULL ORDER BY projects.id";
    FIND_USER = "SELECT id, uuid, account_id, email, password_hash, zone FROM users WHERE id = $1";
    /// One user for each address: another row's is the engine's refusal.
    SET_EMAIL = "UPDATE users SET email = $2 WHERE id = $1";
    SET_PASSWORD = "UPDATE users SET password_hash = $2 WHERE id = $1";
    SET_ZONE = "UPDATE users SET zone = $2 WHERE id = $1";
    CREATE_KEY =
        "INSERT INTO api_keys (uuid, project_id, name, readonly, digest, hint, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    /// Which key it is, when it was last seen in use, and the plan that limits it.
    FIND_KEY_PLAN =
        "SELECT api_keys.id AS id, api_keys.last_used_at AS last_used_at, accounts.plan AS plan FROM api_keys \
         JOIN projects ON projects.id = api_keys.project_id JOIN accounts ON accounts.id = projects.account_id \
         WHERE api_keys.digest = $1 AND projects.deleted_at IS NULL";
    /// Notes a key's use, unless the last that was noted lies between `$3` and `$4`. Zero rows: it does, or the key
    /// was revoked.
    USE_KEY =
        "UPDATE api_keys SET last_used_at = $2 \
         WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3 OR last_used_at > $4)";
    LIST_KEYS =
        "SELECT id, uuid, name, readonly, hint, created_at, last_used_at FROM api_keys \
         WHERE project_id = $1 ORDER BY id";
    /// An account's projects with their places for members that are taken.
    LIST_MEMBER_COUNTS =
        "SELECT id, uuid, name, members_used AS members FROM projects \
         WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id";
    FIND_KEY =
        "SELECT api_keys.id AS id, api_keys.project_id AS project_id, api_keys.readonly AS readonly, \
         api_keys.digest AS digest FROM api_keys JOIN projects ON projects.id = api_keys.project_id \
         WHERE api_keys.digest = $1 AND projects.deleted_at IS NULL";
}

/// A key and the plan that limits it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct KeyPlan {
    pub id: i64,
    pub last_used_at: Option<Time>,
    /// The plan's name.
    pub plan: String,
}

/// A key as people tell it from others.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct NamedKey {
    pub id: i64,
    pub uuid: Uuid,
    pub name: String,
    pub readonly: bool,
    /// Its first characters.
    pub hint: String,
    pub created_at: Time,
    pub last_used_at: Option<Time>,
}

/// A project and how many members it has, open invitations among them.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct MemberCount {
    pub id: i64,
    pub uuid: Uuid,
    pub name: String,
    pub members: i64,
}

#[derive(sqlx::FromRow)]
struct Id {
    id: i64,
}

#[derive(sqlx::FromRow)]
struct Counted {
    name: String,
    number: i64,
}

fn returned(row: Option<Id>) -> Result<i64> {
    row.map(|row| row.id).ok_or_else(|| Error::internal("an insert returned no row"))
}

pub async fn create_instance(tx: &mut WriteTx, secret: &[u8], now: Time) -> Result<()> {
    tx.change(CREATE_INSTANCE).bind(secret.to_vec()).bind(now).count().await?;
    Ok(())
}

pub async fn find_instance(tx: &mut ReadTx) -> Result<Option<Instance>> {
    Ok(tx.query(FIND_INSTANCE).maybe().await?)
}

/// Whether the account became the operator's: see [`CLAIM_OPERATOR`].
pub async fn claim_operator(tx: &mut WriteTx, account_id: i64) -> Result<bool> {
    Ok(tx.change(CLAIM_OPERATOR).bind(account_id).count().await? == 1)
}

pub async fn create_account(
    tx: &mut WriteTx,
    uuid: Uuid,
    plan: &str,
    digest: &str,
    now: Time,
) -> Result<i64> {
    let change = tx.change(CREATE_ACCOUNT).bind(uuid).bind(plan.to_owned()).bind(digest.to_owned()).bind(now);
    returned(change.maybe().await?)
}

pub async fn find_account(tx: &mut ReadTx, id: i64) -> Result<Option<AccountRow>> {
    Ok(tx.query(FIND_ACCOUNT).bind(id).maybe().await?)
}

/// Locks the account's row and returns it live: the first lock of whoever takes or gives back what a plan counts.
pub async fn lock_account(tx: &mut WriteTx, id: i64) -> Result<Option<AccountRow>> {
    Ok(tx.lock(FIND_ACCOUNT).bind(id).maybe().await?)
}

pub async fn list_accounts(tx: &mut ReadTx) -> Result<Vec<AccountRow>> {
    Ok(tx.query(LIST_ACCOUNTS).all().await?)
}

/// Plans that accounts are on, with the number of accounts.
pub async fn count_by_plan(tx: &mut ReadTx) -> Result<Vec<(String, i64)>> {
    let rows = tx.query(COUNT_BY_PLAN).all::<Counted>().await?;
    Ok(rows.into_iter().map(|row| (row.name, row.number)).collect())
}

pub async fn list_outdated(tx: &mut ReadTx, plan: &str, digest: &str) -> Result<Vec<AccountRow>> {
    Ok(tx.query(LIST_OUTDATED).bind(plan.to_owned()).bind(digest.to_owned()).all().await?)
}

/// Whether there was room for all: see [`TAKE_CHECKS`].
pub async fn take_checks(tx: &mut WriteTx, id: i64, plan: &str, limit: i64, number: i64) -> Result<bool> {
    let change = tx.change(TAKE_CHECKS).bind(id).bind(plan.to_owned()).bind(limit).bind(number);
    Ok(change.count().await? == 1)
}

pub async fn give_back_checks(tx: &mut WriteTx, id: i64, number: i64) -> Result<()> {
    tx.change(GIVE_BACK_CHECKS).bind(id).bind(number).count().await?;
    Ok(())
}

/// Whether the account still has the plan: see [`PIN_PLAN`].
pub async fn pin_plan(tx: &mut WriteTx, id: i64, plan: &str) -> Result<bool> {
    Ok(tx.change(PIN_PLAN).bind(id).bind(plan.to_owned()).count().await? == 1)
}

/// Whether one was left: see [`CHARGE_ALERT`].
pub async fn charge_alert(tx: &mut WriteTx, id: i64, plan: &str, limit: i64, now: Time) -> Result<bool> {
    let change = tx.change(CHARGE_ALERT).bind(id).bind(plan.to_owned()).bind(month(now)).bind(limit);
    Ok(change.bind(month(now + CLOCK_SLACK)).count().await? == 1)
}

pub async fn give_back_alert(tx: &mut WriteTx, id: i64, month: i64) -> Result<()> {
    tx.change(GIVE_BACK_ALERT).bind(id).bind(month).count().await?;
    Ok(())
}

/// Whether the notice is due: see [`TELL_QUOTA`].
pub async fn tell_quota(tx: &mut WriteTx, id: i64, now: Time) -> Result<bool> {
    let change = tx.change(TELL_QUOTA).bind(id).bind(month(now)).bind(month(now + CLOCK_SLACK));
    Ok(change.count().await? == 1)
}

/// Whether the account exists: see [`SET_PLAN`].
pub async fn set_plan(tx: &mut WriteTx, id: i64, plan: &str, digest: &str) -> Result<bool> {
    let change = tx.change(SET_PLAN).bind(id).bind(plan.to_owned()).bind(digest.to_owned());
    Ok(change.count().await? == 1)
}

/// Whether there was something to renew: see [`RENEW_PLAN`].
pub async fn renew_plan(tx: &mut WriteTx, id: i64, plan: &str, digest: &str) -> Result<bool> {
    let change = tx.change(RENEW_PLAN).bind(id).bind(plan.to_owned()).bind(digest.to_owned());
    Ok(change.count().await? == 1)
}

pub async fn close_account(tx: &mut WriteTx, id: i64, now: Time) -> Result<()> {
    tx.change(CLOSE_ACCOUNT).bind(id).bind(now).count().await?;
    Ok(())
}

pub async fn delete_user(tx: &mut WriteTx, id: i64) -> Result<()> {
    tx.change(DELETE_USER).bind(id).count().await?;
    Ok(())
}

/// How many accounts were cleared away: see [`CLEAR_CLOSED`].
pub async fn clear_closed(tx: &mut WriteTx) -> Result<u64> {
    Ok(tx.change(CLEAR_CLOSED).count().await?)
}

/// Locks the instance's row and returns it.
pub async fn lock_instance(tx: &mut WriteTx) -> Result<Option<Instance>> {
    Ok(tx.lock(FIND_INSTANCE).maybe().await?)
}

/// The new user's id, if the address was free: see [`CREATE_USER`].
pub async fn create_user(
    tx: &mut WriteTx,
    uuid: Uuid,
    account_id: i64,
    email: &str,
    password_hash: Option<String>,
    now: Time,
) -> Result<Option<i64>> {
    let change = tx.change(CREATE_USER).bind(uuid).bind(account_id).bind(email.to_owned());
    Ok(change.bind(password_hash).bind(now).maybe::<Id>().await?.map(|row| row.id))
}

pub async fn find_user_by_email(tx: &mut ReadTx, email: &str) -> Result<Option<User>> {
    Ok(tx.query(FIND_USER_BY_EMAIL).bind(email.to_owned()).maybe().await?)
}

/// The user whose account it is.
pub async fn find_user_of_account(tx: &mut ReadTx, account_id: i64) -> Result<Option<User>> {
    Ok(tx.query(FIND_USER_OF_ACCOUNT).bind(account_id).maybe().await?)
}

pub async fn create_sign_in_link(
    tx: &mut WriteTx,
    digest: Vec<u8>,
    user_id: i64,
    expires_at: Time,
) -> Result<()> {
    tx.change(CREATE_SIGN_IN_LINK).bind(digest).bind(user_id).bind(expires_at).count().await?;
    Ok(())
}

pub async fn create_project(tx: &mut WriteTx, project: &Project, now: Time) -> Result<i64> {
    let change = tx
        .change(CREATE_PROJECT)
        .bind(project.uuid)
        .bind(project.account_id)
        .bind(project.name.clone())
        .bind(project.ping_key.clone())
        .bind(project.badge_key)
        .bind(now);
    returned(change.maybe().await?)
}

pub async fn find_project(tx: &mut ReadTx, id: i64) -> Result<Option<Project>> {
    Ok(tx.query(FIND_PROJECT).bind(id).maybe().await?)
}

pub async fn find_project_by_uuid(tx: &mut ReadTx, uuid: Uuid) -> Result<Option<Project>> {
    Ok(tx.query(FIND_PROJECT_BY_UUID).bind(uuid).maybe().await?)
}

pub async fn find_project_by_ping_key(tx: &mut ReadTx, key: &str) -> Result<Option<Project>> {
    Ok(tx.query(FIND_PROJECT_BY_PING_KEY).bind(key.to_owned()).maybe().await?)
}

pub async fn find_project_by_badge_key(tx: &mut ReadTx, key: Uuid) -> Result<Option<Project>> {
    Ok(tx.query(FIND_PROJECT_BY_BADGE_KEY).bind(key).maybe().await?)
}

/// Locks the project; returns the account that owns it, if it is there: see [`LOCK_PROJECT`].
pub async fn lock_project(tx: &mut WriteTx, id: i64) -> Result<Option<i64>> {
    Ok(tx.change(LOCK_PROJECT).bind(id).maybe::<Id>().await?.map(|row| row.id))
}

/// Adds a member and counts it, whatever the limit: for a project's first one. Others come by `team`.
pub async fn create_member(
    tx: &mut WriteTx,
    project_id: i64,
    user_id: i64,
    role: Role,
    now: Time,
) -> Result<()> {
    projects::store::count_member(tx, project_id).await?;
    tx.change(CREATE_MEMBER).bind(project_id).bind(user_id).bind(role).bind(now).count().await?;
    Ok(())
}

/// Stores a key: its digest and its first characters, by which people tell keys apart. It was counted before, by
/// `projects::create_key_digest`.
pub(super) async fn create_key_digest(
    tx: &mut WriteTx,
    project_id: i64,
    name: &str,
    readonly: bool,
    (digest, hint): (Vec<u8>, String),
    now: Time,
) -> Result<()> {
    let change = tx.change(CREATE_KEY).bind(crate::id::uuid()).bind(project_id).bind(name.to_owned());
    change.bind(readonly).bind(digest).bind(hint).bind(now).count().await?;
    Ok(())
}

pub async fn find_key(tx: &mut ReadTx, digest: &[u8]) -> Result<Option<ApiKey>> {
    Ok(tx.query(FIND_KEY).bind(digest.to_vec()).maybe().await?)
}

/// The projects of a user, oldest first.
pub async fn list_memberships(tx: &mut ReadTx, user_id: i64) -> Result<Vec<Membership>> {
    Ok(tx.query(LIST_MEMBERSHIPS).bind(user_id).all().await?)
}

pub async fn find_user(tx: &mut ReadTx, id: i64) -> Result<Option<User>> {
    Ok(tx.query(FIND_USER).bind(id).maybe().await?)
}

/// Locks the user's row and returns it live: what decides about sessions by it, none of them can slip past.
pub async fn lock_user(tx: &mut WriteTx, id: i64) -> Result<Option<User>> {
    Ok(tx.lock(FIND_USER).bind(id).maybe().await?)
}

/// Sets the address; where it is another user's, the database refuses it.
pub async fn set_email(tx: &mut WriteTx, user_id: i64, email: &str) -> Result<()> {
    tx.change(SET_EMAIL).bind(user_id).bind(email.to_owned()).count().await?;
    Ok(())
}

pub async fn set_password(tx: &mut WriteTx, user_id: i64, hash: &str) -> Result<()> {
    tx.change(SET_PASSWORD).bind(user_id).bind(hash.to_owned()).count().await?;
    Ok(())
}

pub async fn set_zone(tx: &mut WriteTx, user_id: i64, zone: &str) -> Result<()> {
    tx.change(SET_ZONE).bind(user_id).bind(zone.to_owned()).count().await?;
    Ok(())
}

/// The key with this digest and the name of its account's plan.
pub async fn find_key_plan(tx: &mut ReadTx, digest: &[u8]) -> Result<Option<KeyPlan>> {
    Ok(tx.query(FIND_KEY_PLAN).bind(digest.to_vec()).maybe().await?)
}

/// Whether the use was noted: see [`USE_KEY`].
pub async fn use_key(tx: &mut WriteTx, id: i64, now: Time, step: Span) -> Result<bool> {
    let change = tx.change(USE_KEY).bind(id).bind(now).bind(now - step).bind(now + CLOCK_SLACK);
    Ok(change.count().await? == 1)
}

pub async fn list_keys(tx: &mut ReadTx, project_id: i64) -> Result<Vec<NamedKey>> {
    Ok(tx.query(LIST_KEYS).bind(project_id).all().await?)
}

/// The account's projects with their numbers of members.
pub async fn list_member_counts(tx: &mut ReadTx, account_id: i64) -> Result<Vec<MemberCount>> {
    Ok(tx.query(LIST_MEMBER_COUNTS).bind(account_id).all().await?)
}
