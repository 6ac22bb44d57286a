//! SQL of the table `checks`, for many of them at once.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Refusable, Repeat, Repeatable};
use crate::checks::store::{columns, seen, set, state_set};
use crate::checks::{Check, State};
use crate::db::{Nothing, ReadTx, Value, WriteTx, statements};
use crate::error::Result;

/// Of which checks a success by HTTP, however sent and whatever it holds, can only be a repeat.
macro_rules! repeats_only {
    () => {
        "status = 'up' AND open_runs = 0 AND last_start_at IS NULL AND methods = '' AND NOT filter_http_body"
    };
}

statements! {
    /// As much as repeats need of the checks that a group of pings is about, to be locked by id, as everybody locks them.
    FIND_REPEATABLE = concat!(
        "SELECT id, uuid, project_id, account_id, rev, seq, n_pings, floor_ms, last_ping_at, last_success_at, wake_at, \
         kind, period_ms, grace_ms, CASE kind WHEN 'simple' THEN '' ELSE schedule END AS schedule, \
         CASE kind WHEN 'simple' THEN '' ELSE zone END AS zone, (", repeats_only!(), " AND told_status = 'up' \
         AND flapping_until_at IS NULL AND unseen_at IS NULL) AS is_repeatable \
         FROM checks WHERE uuid IN (SELECT column1 FROM {rows UUID} AS asked) AND deleted_at IS NULL");
    /// The whole of them.
    FIND_CHECKS = concat!(
        "SELECT ", columns!(), " FROM checks WHERE uuid IN (SELECT column1 FROM {rows UUID} AS asked) \
         AND deleted_at IS NULL");
    /// Which checks there are, and of which a success can be refused after no more than this look. It never makes an
    /// acceptance: the rest is decided by the guarded write.
    LIST_REFUSABLE = concat!(
        "SELECT uuid, floor_ms, last_ping_at, (", repeats_only!(), " AND floor_ms > 0) AS is_refusable FROM checks \
         WHERE uuid IN (SELECT column1 FROM {rows UUID} AS asked) AND deleted_at IS NULL");
    /// Floor, for the repeats of many checks at once: what a single ping's write does and judges where a ping only repeats
    /// what is known. A row that is not counted was pinged, edited or swept since it was read, or the first of its pings
    /// comes too soon.
    RECORD_REPEATS =
        "UPDATE checks SET seq = new.column12, n_pings = new.column5, last_ping_at = new.column6, \
         last_success_at = new.column7, last_duration_ms = new.column8, expected_at = new.column9, \
         deadline_at = new.column10 \
         FROM {rows BIGINT, BIGINT, BIGINT, TEXT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT} AS new \
         WHERE checks.id = new.column1 AND checks.rev = new.column2 AND checks.seq = new.column3 \
         AND checks.status = new.column4 AND (checks.floor_ms = 0 OR checks.last_ping_at IS NULL \
         OR checks.last_ping_at + checks.floor_ms <= new.column11 OR checks.last_ping_at > new.column11 + 60000)";
    /// Status transition by anything but a ping, for many checks at once: what `TURN` does to one. A row that is not returned
    /// was pinged or edited since it was read.
    TURN_ALL = concat!(
        "UPDATE checks SET ", state_set!("new.column"), ", wake_at = new.column23, fault = NULL \
         FROM {rows BIGINT, BIGINT, BIGINT, TEXT, TEXT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, UUID, BIGINT, BIGINT, \
         BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, TEXT} AS new",
        seen!("new.column"), " AND status = new.column24 RETURNING id");
    /// Checks to be locked by id, as everybody locks them.
    LOCK_ALL = "SELECT id FROM checks WHERE id IN (SELECT column1 FROM {rows BIGINT} AS asked)";
}

#[derive(sqlx::FromRow)]
struct Turned {
    id: i64,
}

/// Locks the checks with these uuids, by id, and gives as much as repeats need of those that exist.
pub async fn lock_all(tx: &mut WriteTx, uuids: &[Uuid]) -> Result<Vec<Repeatable>> {
    Ok(tx.lock_rows(FIND_REPEATABLE, &rows_of(uuids)).await?)
}

/// The whole of the checks with these uuids.
pub async fn list(tx: &mut ReadTx, uuids: &[Uuid]) -> Result<Vec<Check>> {
    Ok(tx.query_rows(FIND_CHECKS, &rows_of(uuids)).await?)
}

/// Those of the checks with these uuids that exist.
pub async fn list_refusable(tx: &mut ReadTx, uuids: &[Uuid]) -> Result<Vec<Refusable>> {
    Ok(tx.query_rows(LIST_REFUSABLE, &rows_of(uuids)).await?)
}

fn rows_of(uuids: &[Uuid]) -> Vec<[Value; 1]> {
    uuids.iter().map(|&uuid| [uuid.into()]).collect()
}

/// Writes the repeats of different checks; gives how many could be written.
pub async fn record_repeats(tx: &mut WriteTx, repeats: Vec<Repeat>) -> Result<u64> {
    let mut rows = Vec::with_capacity(repeats.len());
    for repeat in repeats {
        tx.changes_check(repeat.project_id, repeat.uuid);
        rows.push(repeat.row);
    }
    Ok(tx.count_rows(RECORD_REPEATS, &rows).await?)
}

/// Writes what became of many checks, each another; gives the ids of those that could be written: see [`TURN_ALL`].
pub async fn turn_all(tx: &mut WriteTx, turns: &[(&Check, &State)]) -> Result<HashSet<i64>> {
    let ids: Vec<[Value; 1]> = turns.iter().map(|(check, _)| [check.id.into()]).collect();
    tx.lock_rows::<Nothing, _>(LOCK_ALL, &ids).await?;
    let rows: Vec<[Value; 24]> = turns.iter().map(|(check, next)| turn_row(check, next)).collect();
    for (check, _) in turns {
        tx.changes_check(check.project_id, check.uuid);
    }
    let turned: Vec<Turned> = tx.change_rows(TURN_ALL, &rows).await?;
    Ok(turned.into_iter().map(|row| row.id).collect())
}

/// The values of [`TURN_ALL`].
fn turn_row(check: &Check, next: &State) -> [Value; 24] {
    [
        check.id.into(),
        check.rev.into(),
        check.state.seq.into(),
        next.status.word().into(),
        next.told_status.word().into(),
        next.n_pings.into(),
        next.open_runs.into(),
        next.last_ping_at.into(),
        next.last_success_at.into(),
        next.last_start_at.into(),
        next.last_start_rid.into(),
        next.last_duration_ms.into(),
        next.last_log_at.into(),
        next.last_ignored_at.into(),
        next.starts_since_at.into(),
        next.starts.into(),
        next.flips_since_at.into(),
        next.flips.into(),
        next.flapping_until_at.into(),
        next.unseen_at.into(),
        next.expected_at.into(),
        next.deadline_at.into(),
        next.wake_at.into(),
        check.state.status.word().into(),
    ]
}
