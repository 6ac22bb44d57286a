//! SQL of the tables `checks` and `runs`.

use uuid::Uuid;

use super::state::{Floor, State};
use super::{Check, Likeness, NewCheck, Settings, UniqueKey};
use crate::accounts::Project;
use crate::db::{Change, ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::{Span, Time};

macro_rules! columns {
    () => {
        "id, uuid, project_id, account_id, badge_key, created_at, rev, name, slug, tags, description, kind, \
         period_ms, grace_ms, schedule, zone, methods, manual_resume, filter_subject, filter_body, \
         filter_http_body, filter_default_fail, start_kw, success_kw, failure_kw, floor_ms, seq, status, \
         told_status, n_pings, open_runs, last_ping_at, last_success_at, last_start_at, last_start_rid, \
         last_duration_ms, last_log_at, last_ignored_at, starts_since_at, starts, flips_since_at, flips, \
         flapping_until_at, unseen_at, expected_at, deadline_at, wake_at, fault"
    };
}

/// Moves `seq` on and sets columns to the values with these numbers, each a parameter or a column of rows.
macro_rules! set {
    ($value:literal: $($column:ident $number:literal),+) => {
        concat!("seq = seq + 1", $(", ", stringify!($column), " = ", $value, $number),+)
    };
}

/// What every write of the state sets; values 1 to 3 name the row and what was seen of it.
macro_rules! state_set {
    ($value:literal) => {
        set!($value: status 4, told_status 5, n_pings 6, open_runs 7, last_ping_at 8, last_success_at 9,
            last_start_at 10, last_start_rid 11, last_duration_ms 12, last_log_at 13, last_ignored_at 14,
            starts_since_at 15, starts 16, flips_since_at 17, flips 18, flapping_until_at 19, unseen_at 20,
            expected_at 21, deadline_at 22)
    };
}

/// The guard of every write of the state: the row is still what the decision was made from.
macro_rules! seen {
    ($value:literal) => {
        concat!(" WHERE id = ", $value, "1 AND rev = ", $value, "2 AND seq = ", $value, "3")
    };
}

/// The floor, judged against the live row: an instant over 60 s ahead of now was written under a wrong clock. A
/// floor of zero refuses nothing, also where the one before, received later, is a little ahead of this one.
macro_rules! floor {
    () => {
        " AND status = $23 AND (floor_ms = 0 OR CASE $24 \
             WHEN 'repeat' THEN last_ping_at IS NULL OR last_ping_at + floor_ms <= $25 OR last_ping_at > $25 + 60000 \
             WHEN 'start_again' THEN last_start_at IS NULL OR last_start_at + floor_ms <= $25 OR last_start_at > $25 + 60000 \
             WHEN 'log' THEN last_log_at IS NULL OR last_log_at + floor_ms <= $25 OR last_log_at > $25 + 60000 \
             WHEN 'ignored' THEN last_ignored_at IS NULL OR last_ignored_at + floor_ms <= $25 OR last_ignored_at > $25 + 60000 \
             WHEN 'start' THEN starts < 6 OR starts_since_at IS NULL \
                 OR starts_since_at + floor_ms <= $25 OR starts_since_at > $25 + 60000 \
             ELSE TRUE END)"
    };
}

pub(super) use {columns, seen, set, state_set};

statements! {
    /// Adds a check. The account row, where it was counted, is locked by the same transaction.
    CREATE_CHECK = concat!(
        "INSERT INTO checks (uuid, project_id, account_id, badge_key, created_at, floor_ms, name, slug, tags, \
         description, kind, period_ms, grace_ms, schedule, zone, methods, manual_resume, filter_subject, \
         filter_body, filter_http_body, filter_default_fail, start_kw, success_kw, failure_kw, unique_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
         $22, $23, $24, $25) RETURNING ", columns!());
    FIND_CHECK = concat!("SELECT ", columns!(), " FROM checks WHERE uuid = $1 AND deleted_at IS NULL");
    FIND_CHECK_BY_ID = concat!("SELECT ", columns!(), " FROM checks WHERE id = $1 AND deleted_at IS NULL");
    LIST_CHECKS = concat!("SELECT ", columns!(), " FROM checks WHERE project_id = $1 AND deleted_at IS NULL ORDER BY id");
    FIND_CHECK_BY_BADGE_KEY = concat!("SELECT ", columns!(), " FROM checks WHERE badge_key = $1 AND deleted_at IS NULL");
    /// The checks of a project with a slug; two are enough to know that it is ambiguous.
    LIST_CHECKS_BY_SLUG = concat!(
        "SELECT ", columns!(), " FROM checks WHERE project_id = $1 AND slug = $2 AND deleted_at IS NULL \
         ORDER BY id LIMIT 2");
    /// The oldest check of a project that is equal in every field that is asked about.
    FIND_MATCH = concat!(
        "SELECT ", columns!(), " FROM checks WHERE project_id = $1 AND deleted_at IS NULL \
         AND name = COALESCE($2, name) AND slug = COALESCE($3, slug) AND tags = COALESCE($4, tags) \
         AND period_ms = COALESCE($5, period_ms) AND grace_ms = COALESCE($6, grace_ms) ORDER BY id LIMIT 1");
    /// Column merge: locks the row and returns it live, so that an edit computes from what is really there.
    /// Zero rows: the check is gone.
    LOCK_FOR_EDIT = concat!("UPDATE checks SET rev = rev + 1 WHERE id = $1 AND deleted_at IS NULL RETURNING ", columns!());
    /// The same for a form, which knows the revision it was filled from. Zero rows: somebody edited meanwhile,
    /// or the check is gone.
    LOCK_FOR_EDIT_AT = concat!("UPDATE checks SET rev = rev + 1 WHERE id = $1 AND rev = $2 AND deleted_at IS NULL RETURNING ", columns!());
    /// Locks the row without changing it, after an optimistic decision was outdated. Zero rows: gone.
    LOCK_CHECK = concat!("UPDATE checks SET seq = seq WHERE id = $1 AND deleted_at IS NULL RETURNING ", columns!());
    /// The same at the revision that the caller knows. Zero rows: somebody edited meanwhile, or the check is gone.
    LOCK_CHECK_AT = "UPDATE checks SET seq = seq WHERE id = $1 AND rev = $2 AND deleted_at IS NULL";
    /// Writes the settings of a row that this transaction locked.
    WRITE_SETTINGS =
        "UPDATE checks SET name = $2, slug = $3, tags = $4, description = $5, kind = $6, period_ms = $7, \
         grace_ms = $8, schedule = $9, zone = $10, methods = $11, manual_resume = $12, filter_subject = $13, \
         filter_body = $14, filter_http_body = $15, filter_default_fail = $16, start_kw = $17, success_kw = $18, \
         failure_kw = $19 WHERE id = $1";
    /// Floor and status transition: writes what a ping made of the check. Zero rows: the check was pinged,
    /// edited or swept since it was read, or the ping comes too soon; read again and decide again.
    RECORD = concat!("UPDATE checks SET ", state_set!("$"), seen!("$"), floor!());
    /// The same where the check must be looked at earlier than its index entry says.
    RECORD_AND_ARM = concat!("UPDATE checks SET ", state_set!("$"), ", wake_at = $26", seen!("$"), floor!());
    /// Status transition by anything but a ping (sweep, pause, resume, plan). Zero rows: a ping or an edit
    /// came in between and wins.
    TURN = concat!("UPDATE checks SET ", state_set!("$"), ", wake_at = $23, fault = NULL", seen!("$"), " AND status = $24");
    /// Puts off a check whose schedule cannot be evaluated. Zero rows: it was edited meanwhile.
    SET_ASIDE = "UPDATE checks SET seq = seq + 1, wake_at = $3, fault = $4 WHERE id = $1 AND rev = $2";
    /// Deletes a check so that it can be brought back: it is not found, pinged or swept from here on. Zero rows:
    /// somebody else deleted it, or it is in another project by now.
    DELETE_CHECK =
        "UPDATE checks SET deleted_at = $3, rev = rev + 1, wake_at = NULL \
         WHERE id = $1 AND project_id = $2 AND account_id = $4 AND deleted_at IS NULL";
    /// Moves a check, whose row this transaction locked, to another project under that plan's floor. Zero rows: it is
    /// elsewhere or gone.
    MOVE_CHECK = concat!(
        "UPDATE checks SET project_id = $3, account_id = $4, slug = $5, floor_ms = $6, rev = rev + 1 \
         WHERE id = $1 AND project_id = $2 AND deleted_at IS NULL RETURNING ", columns!());
    LIST_DELETED = "SELECT id FROM checks WHERE project_id = $1 AND deleted_at = $2 ORDER BY id";
    /// Brings a check back, under the floor of today's plan. Zero rows: somebody else did, or it is gone for good.
    RESTORE_CHECK = concat!(
        "UPDATE checks SET deleted_at = NULL, rev = rev + 1, floor_ms = $3 WHERE id = $1 AND deleted_at = $2 \
         RETURNING ", columns!());
    /// Deletes for good some of what can no longer be brought back; their logs go with them.
    PURGE_CHECKS =
        "DELETE FROM checks WHERE id IN (SELECT id FROM checks WHERE deleted_at <= $1 ORDER BY deleted_at, id LIMIT $2) \
         AND deleted_at <= $1";
    COUNT_IN_PROJECT = "SELECT COUNT(*) AS number FROM checks WHERE project_id = $1 AND deleted_at IS NULL";
    /// Checks that the sweep has to look at, oldest first.
    LIST_DUE = concat!("SELECT ", columns!(), " FROM checks WHERE wake_at <= $1 AND deleted_at IS NULL \
         ORDER BY wake_at, id LIMIT $2");
    /// Checks of an account that were neither heard of nor judged since a gap touched their window.
    COUNT_UNDECIDED =
        "SELECT COUNT(*) AS number FROM checks WHERE account_id = $1 AND deleted_at IS NULL AND status IN ('new', 'up') \
         AND deadline_at >= $2 AND (expected_at < $3 OR last_start_at < $3)";
    /// Checks with an instant that the clock has not reached, or put off beyond their deadline.
    LIST_AHEAD = concat!(
        "SELECT ", columns!(), " FROM checks WHERE id > $1 AND deleted_at IS NULL AND (last_ping_at > $2 OR last_success_at > $2 \
         OR last_start_at > $2 OR last_log_at > $2 OR last_ignored_at > $2 OR starts_since_at > $2 \
         OR flips_since_at > $2 OR unseen_at > $2 OR flapping_until_at > $2 + floor_ms OR wake_at > deadline_at \
         OR EXISTS (SELECT 1 FROM runs WHERE runs.check_id = checks.id AND runs.started_at > $2)) \
         ORDER BY id LIMIT $3");
    COUNT_BY_ACCOUNT = "SELECT account_id AS id, COUNT(*) AS number FROM checks WHERE deleted_at IS NULL \
         GROUP BY account_id ORDER BY account_id";
    COUNT_RUN_MISMATCHES =
        "SELECT COUNT(*) AS number FROM checks WHERE open_runs <> \
         (SELECT COUNT(*) FROM runs WHERE runs.check_id = checks.id)";
    FIND_RUN = "SELECT started_at FROM runs WHERE check_id = $1 AND rid = $2";
    /// Opens a run, or starts it anew; the check's row was written by the same transaction.
    OPEN_RUN =
        "INSERT INTO runs (check_id, rid, started_at) VALUES ($1, $2, $3) \
         ON CONFLICT (check_id, rid) DO UPDATE SET started_at = excluded.started_at";
    /// Redeems a run. Zero rows: it was closed already.
    CLOSE_RUN = "DELETE FROM runs WHERE check_id = $1 AND rid = $2";
    /// Takes back what a clock set back left in the future; the check's row is locked.
    CLAMP_RUNS = "UPDATE runs SET started_at = $2 WHERE check_id = $1 AND started_at > $2";
    LIST_RUNS = "SELECT check_id, rid, started_at FROM runs WHERE check_id = $1 ORDER BY started_at";
    LIST_EXPIRED_RUNS = "SELECT check_id, rid, started_at FROM runs WHERE started_at < $1 ORDER BY started_at LIMIT $2";
    /// Redeems a run that grew too old. Zero rows: it was closed or started anew.
    EXPIRE_RUN = "DELETE FROM runs WHERE check_id = $1 AND rid = $2 AND started_at = $3";
    /// Keeps the counter with the rows; the run was redeemed by the same transaction.
    FORGET_RUN = "UPDATE checks SET open_runs = open_runs - 1, seq = seq + 1 WHERE id = $1";
}

/// An open run.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Run {
    pub check_id: i64,
    /// Nil where the pings carried no run id.
    pub rid: Uuid,
    pub started_at: Time,
}

/// A number of rows, or of rows of one owner.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Count {
    pub number: i64,
}

/// A number of rows of one owner.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct CountById {
    pub id: i64,
    pub number: i64,
}

#[derive(sqlx::FromRow)]
struct Id {
    id: i64,
}

#[derive(sqlx::FromRow)]
struct Started {
    started_at: Time,
}

/// The run id as `runs` keeps it: pings without one share the nil uuid.
pub fn run_key(rid: Option<Uuid>) -> Uuid {
    rid.unwrap_or(Uuid::nil())
}

fn bind_state<'c>(change: Change<'c>, check: &Check, next: &State) -> Change<'c> {
    change
        .bind(check.id)
        .bind(check.rev)
        .bind(check.state.seq)
        .bind(next.status)
        .bind(next.told_status)
        .bind(next.n_pings)
        .bind(next.open_runs)
        .bind(next.last_ping_at)
        .bind(next.last_success_at)
        .bind(next.last_start_at)
        .bind(next.last_start_rid)
        .bind(next.last_duration_ms)
        .bind(next.last_log_at)
        .bind(next.last_ignored_at)
        .bind(next.starts_since_at)
        .bind(next.starts)
        .bind(next.flips_since_at)
        .bind(next.flips)
        .bind(next.flapping_until_at)
        .bind(next.unseen_at)
        .bind(next.expected_at)
        .bind(next.deadline_at)
}

fn bind_settings<'c>(change: Change<'c>, settings: &Settings) -> Change<'c> {
    change
        .bind(settings.name.clone())
        .bind(settings.slug.clone())
        .bind(settings.tags.clone())
        .bind(settings.description.clone())
        .bind(settings.kind)
        .bind(settings.period_ms)
        .bind(settings.grace_ms)
        .bind(settings.schedule.clone())
        .bind(settings.zone.clone())
        .bind(settings.methods.clone())
        .bind(settings.manual_resume)
        .bind(settings.filter_subject)
        .bind(settings.filter_body)
        .bind(settings.filter_http_body)
        .bind(settings.filter_default_fail)
        .bind(settings.start_kw.clone())
        .bind(settings.success_kw.clone())
        .bind(settings.failure_kw.clone())
}

pub async fn create(tx: &mut WriteTx, new: &NewCheck<'_>) -> Result<Check> {
    let change = tx
        .change(CREATE_CHECK)
        .bind(new.uuid)
        .bind(new.project_id)
        .bind(new.account_id)
        .bind(new.badge_key)
        .bind(new.now)
        .bind(new.floor);
    let key = UniqueKey::of(new.uuid).as_bytes().to_vec();
    let row = bind_settings(change, new.settings).bind(key).maybe().await?;
    tx.changes_project(new.project_id);
    row.ok_or_else(|| crate::error::Error::internal("an insert returned no row"))
}

pub async fn find(tx: &mut ReadTx, uuid: Uuid) -> Result<Option<Check>> {
    Ok(tx.query(FIND_CHECK).bind(uuid).maybe().await?)
}

pub async fn find_by_id(tx: &mut ReadTx, id: i64) -> Result<Option<Check>> {
    Ok(tx.query(FIND_CHECK_BY_ID).bind(id).maybe().await?)
}

pub async fn list(tx: &mut ReadTx, project_id: i64) -> Result<Vec<Check>> {
    Ok(tx.query(LIST_CHECKS).bind(project_id).all().await?)
}

pub async fn find_by_badge_key(tx: &mut ReadTx, key: Uuid) -> Result<Option<Check>> {
    Ok(tx.query(FIND_CHECK_BY_BADGE_KEY).bind(key).maybe().await?)
}

/// The checks of a project with a slug, oldest first, at most two.
pub async fn list_by_slug(tx: &mut ReadTx, project_id: i64, slug: &str) -> Result<Vec<Check>> {
    Ok(tx.query(LIST_CHECKS_BY_SLUG).bind(project_id).bind(slug.to_owned()).all().await?)
}

/// The oldest check of a project that is equal in every field of `like` that is given.
pub async fn find_match(tx: &mut ReadTx, project_id: i64, like: &Likeness) -> Result<Option<Check>> {
    let query = tx.query(FIND_MATCH).bind(project_id).bind(like.name.clone()).bind(like.slug.clone());
    Ok(query.bind(like.tags.clone()).bind(like.period).bind(like.grace).maybe().await?)
}

pub async fn list_due(tx: &mut ReadTx, now: Time, limit: i64) -> Result<Vec<Check>> {
    Ok(tx.query(LIST_DUE).bind(now).bind(limit).all().await?)
}

pub async fn list_ahead(tx: &mut ReadTx, after_id: i64, now: Time, limit: i64) -> Result<Vec<Check>> {
    Ok(tx.query(LIST_AHEAD).bind(after_id).bind(now).bind(limit).all().await?)
}

/// Locks a check for an edit; with `rev`, only if nobody edited it since.
pub async fn lock_for_edit(tx: &mut WriteTx, id: i64, rev: Option<i64>) -> Result<Option<Check>> {
    Ok(match rev {
        Some(rev) => tx.change(LOCK_FOR_EDIT_AT).bind(id).bind(rev).maybe().await?,
        None => tx.change(LOCK_FOR_EDIT).bind(id).maybe().await?,
    })
}

pub async fn lock(tx: &mut WriteTx, id: i64) -> Result<Option<Check>> {
    Ok(tx.change(LOCK_CHECK).bind(id).maybe().await?)
}

/// Whether the check is still at that revision; it is locked then: see [`LOCK_CHECK_AT`].
pub async fn lock_at(tx: &mut WriteTx, id: i64, rev: i64) -> Result<bool> {
    Ok(tx.change(LOCK_CHECK_AT).bind(id).bind(rev).count().await? == 1)
}

pub async fn write_settings(tx: &mut WriteTx, id: i64, settings: &Settings) -> Result<()> {
    bind_settings(tx.change(WRITE_SETTINGS).bind(id), settings).count().await?;
    Ok(())
}

/// Whether the ping's state could be written: see [`RECORD`].
pub async fn record(tx: &mut WriteTx, check: &Check, next: &State, floor: Floor, now: Time) -> Result<bool> {
    let arm = next.wake_at != check.state.wake_at;
    let change = tx.change(if arm { RECORD_AND_ARM } else { RECORD });
    let change = bind_state(change, check, next).bind(check.state.status).bind(floor).bind(now);
    let change = if arm { change.bind(next.wake_at) } else { change };
    let is_written = change.count().await? == 1;
    tx.changes_check(check.project_id, check.uuid);
    Ok(is_written)
}

/// Whether the state could be written: see [`TURN`].
pub async fn turn(tx: &mut WriteTx, check: &Check, next: &State) -> Result<bool> {
    let change = bind_state(tx.change(TURN), check, next).bind(next.wake_at).bind(check.state.status);
    let is_written = change.count().await? == 1;
    tx.changes_check(check.project_id, check.uuid);
    Ok(is_written)
}

pub async fn set_aside(tx: &mut WriteTx, check: &Check, until: Time, why: &str) -> Result<()> {
    let change = tx.change(SET_ASIDE).bind(check.id).bind(check.rev).bind(until).bind(why.to_owned());
    change.count().await?;
    Ok(())
}

/// Whether the check was where it was seen: see [`DELETE_CHECK`].
pub async fn delete(tx: &mut WriteTx, seen: &Check, now: Time) -> Result<bool> {
    let change = tx.change(DELETE_CHECK).bind(seen.id).bind(seen.project_id).bind(now).bind(seen.account_id);
    Ok(change.count().await? == 1)
}

/// The check in its new project: see [`MOVE_CHECK`].
pub async fn move_to(
    tx: &mut WriteTx,
    check: &Check,
    target: &Project,
    slug: &str,
    floor: Span,
) -> Result<Option<Check>> {
    let change = tx.change(MOVE_CHECK).bind(check.id).bind(check.project_id).bind(target.id);
    Ok(change.bind(target.account_id).bind(slug.to_owned()).bind(floor).maybe().await?)
}

/// Ids of the project's checks that were deleted at that very instant.
pub async fn list_deleted(tx: &mut ReadTx, project_id: i64, at: Time) -> Result<Vec<i64>> {
    let rows = tx.query(LIST_DELETED).bind(project_id).bind(at).all::<Id>().await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// The check, if it could be brought back: see [`RESTORE_CHECK`].
pub async fn restore(tx: &mut WriteTx, id: i64, deleted_at: Time, floor: Span) -> Result<Option<Check>> {
    Ok(tx.change(RESTORE_CHECK).bind(id).bind(deleted_at).bind(floor).maybe().await?)
}

/// How many were deleted for good, at most `limit`.
pub async fn purge(tx: &mut WriteTx, deleted_until: Time, limit: i64) -> Result<u64> {
    Ok(tx.change(PURGE_CHECKS).bind(deleted_until).bind(limit).count().await?)
}

pub async fn count_in_project(tx: &mut ReadTx, project_id: i64) -> Result<i64> {
    Ok(tx.query(COUNT_IN_PROJECT).bind(project_id).maybe::<Count>().await?.map_or(0, |row| row.number))
}

/// How many checks of the account had their window touched by a gap (from `gap_started_at` on, slots up to
/// `latest_slot`) and were neither heard of since nor judged.
pub async fn count_undecided(
    tx: &mut ReadTx,
    account_id: i64,
    gap_started_at: Time,
    latest_slot: Time,
) -> Result<i64> {
    let query = tx.query(COUNT_UNDECIDED).bind(account_id).bind(gap_started_at).bind(latest_slot);
    Ok(query.maybe::<Count>().await?.map_or(0, |row| row.number))
}

pub async fn count_by_account(tx: &mut ReadTx) -> Result<Vec<CountById>> {
    Ok(tx.query(COUNT_BY_ACCOUNT).all().await?)
}

/// Checks whose counter of open runs differs from the rows.
pub async fn count_run_mismatches(tx: &mut ReadTx) -> Result<i64> {
    Ok(tx.query(COUNT_RUN_MISMATCHES).maybe::<Count>().await?.map_or(0, |row| row.number))
}

pub async fn find_run(tx: &mut ReadTx, check_id: i64, rid: Option<Uuid>) -> Result<Option<Time>> {
    let row = tx.query(FIND_RUN).bind(check_id).bind(run_key(rid)).maybe::<Started>().await?;
    Ok(row.map(|row| row.started_at))
}

pub async fn open_run(tx: &mut WriteTx, check_id: i64, rid: Option<Uuid>, now: Time) -> Result<()> {
    tx.change(OPEN_RUN).bind(check_id).bind(run_key(rid)).bind(now).count().await?;
    Ok(())
}

pub async fn close_run(tx: &mut WriteTx, check_id: i64, rid: Option<Uuid>) -> Result<bool> {
    Ok(tx.change(CLOSE_RUN).bind(check_id).bind(run_key(rid)).count().await? == 1)
}

pub async fn clamp_runs(tx: &mut WriteTx, check_id: i64, now: Time) -> Result<()> {
    tx.change(CLAMP_RUNS).bind(check_id).bind(now).count().await?;
    Ok(())
}

pub async fn list_runs(tx: &mut ReadTx, check_id: i64) -> Result<Vec<Run>> {
    Ok(tx.query(LIST_RUNS).bind(check_id).all().await?)
}

pub async fn list_expired_runs(tx: &mut ReadTx, before: Time, limit: i64) -> Result<Vec<Run>> {
    Ok(tx.query(LIST_EXPIRED_RUNS).bind(before).bind(limit).all().await?)
}

/// Forgets one run that grew too old, unless it was closed meanwhile. Takes the check's row first, as everybody
/// who touches its runs does.
pub async fn expire_run(tx: &mut WriteTx, run: &Run) -> Result<bool> {
    lock(tx, run.check_id).await?;
    let change = tx.change(EXPIRE_RUN).bind(run.check_id).bind(run.rid).bind(run.started_at);
    let expired = change.count().await? == 1;
    if expired {
        tx.change(FORGET_RUN).bind(run.check_id).count().await?;
    }
    Ok(expired)
}
