//! SQL that reads `flips`, `pings` and `bodies` for pages.

use super::Turn;
use crate::checks::StoredFlip;
use crate::checks::log::Entry;
use crate::db::{ReadTx, statements};
use crate::error::Result;
use crate::time::Time;

macro_rules! flip_columns {
    () => {
        "flips.id AS id, flips.check_id AS check_id, flips.flipped_at AS flipped_at, flips.old_status AS old_status, \
         flips.new_status AS new_status, flips.reason AS reason, flips.ping_n AS ping_n, \
         flips.exit_status AS exit_status, flips.expected_at AS expected_at, flips.started_at AS started_at, \
         flips.last_success_at AS last_success_at, flips.blind_ms AS blind_ms"
    };
}

macro_rules! entry_columns {
    () => {
        "check_id, n, received_at, kind, scheme, remote_addr, method, user_agent, rid, exit_status, duration_ms, \
         body_bytes"
    };
}

statements! {
    /// Entries of a check below a number, newest first: runs, failures or notes, as asked.
    LIST_ENTRIES_BELOW = concat!(
        "SELECT ", entry_columns!(), " FROM pings WHERE check_id = $1 AND n < $2 \
         AND ((kind IN ('success', 'start') AND $3 = 1) OR (kind = 'fail' AND $4 = 1) \
         OR (kind IN ('log', 'ign') AND $5 = 1)) ORDER BY n DESC LIMIT $6");
    /// Entries of a check above a number, oldest first.
    LIST_ENTRIES_ABOVE = concat!(
        "SELECT ", entry_columns!(), " FROM pings WHERE check_id = $1 AND n > $2 ORDER BY n LIMIT $3");
    /// Flips of a check above an id, oldest first.
    LIST_FLIPS_ABOVE = concat!(
        "SELECT ", flip_columns!(), " FROM flips WHERE check_id = $1 AND id > $2 ORDER BY id LIMIT $3");
    /// Successes and fails of a check since an instant, newest first.
    LIST_OUTCOMES = concat!(
        "SELECT ", entry_columns!(), " FROM pings WHERE check_id = $1 AND received_at >= $2 \
         AND kind IN ('success', 'fail') ORDER BY n DESC LIMIT $3");
    /// The beginnings of the bodies of entries from one number to another.
    LIST_HEADS =
        "SELECT n, SUBSTR(body, 1, 2000) AS head FROM bodies WHERE check_id = $1 AND n >= $2 AND n <= $3";
    /// Moves with every edit and every change of state of a project's checks.
    FIND_VERSION =
        "SELECT COUNT(*) AS checks, CAST(COALESCE(SUM(rev + seq), 0) AS BIGINT) AS moves FROM checks \
         WHERE project_id = $1 AND deleted_at IS NULL";
    /// Flips of a project's checks since an instant, per check in their order.
    LIST_TURNS =
        "SELECT flips.check_id AS check_id, flips.flipped_at AS flipped_at, flips.old_status AS old_status, \
         flips.new_status AS new_status FROM flips JOIN checks ON checks.id = flips.check_id \
         WHERE checks.project_id = $1 AND checks.deleted_at IS NULL AND flips.flipped_at >= $2 \
         ORDER BY flips.check_id, flips.id";
    /// The last flip of each check of a project that is down or paused, however long ago.
    LIST_STANDING_FLIPS = concat!(
        "SELECT ", flip_columns!(), " FROM flips JOIN checks ON checks.id = flips.check_id \
         WHERE checks.project_id = $1 AND checks.deleted_at IS NULL AND checks.told_status IN ('down', 'paused') \
         AND flips.id = (SELECT MAX(newer.id) FROM flips AS newer WHERE newer.check_id = checks.id)");
}

#[derive(sqlx::FromRow)]
struct Version {
    checks: i64,
    moves: i64,
}

/// A text that is another one whenever a project's checks, their settings or their state are.
pub async fn version(tx: &mut ReadTx, project_id: i64) -> Result<String> {
    let version = tx.query(FIND_VERSION).bind(project_id).maybe::<Version>().await?;
    Ok(version.map(|Version { checks, moves }| format!("{checks}-{moves}")).unwrap_or_default())
}

/// Flips of a project's checks since `since`: check by check, oldest first within each.
pub async fn list_turns(tx: &mut ReadTx, project_id: i64, since: Time) -> Result<Vec<Turn>> {
    Ok(tx.query(LIST_TURNS).bind(project_id).bind(since).all().await?)
}

/// Since when, and why, each check that is down or paused is so.
pub async fn list_standing(tx: &mut ReadTx, project_id: i64) -> Result<Vec<StoredFlip>> {
    Ok(tx.query(LIST_STANDING_FLIPS).bind(project_id).all().await?)
}

/// Which entries of a log are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub runs: bool,
    pub failures: bool,
    pub notes: bool,
}

/// The beginning of a body, at most 2,000 bytes.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Head {
    pub n: i64,
    pub head: Vec<u8>,
}

/// At most `limit` entries with numbers below `below`, newest first.
pub async fn list_entries(
    tx: &mut ReadTx,
    check_id: i64,
    below: i64,
    wanted: Wanted,
    limit: i64,
) -> Result<Vec<Entry>> {
    let query = tx.query(LIST_ENTRIES_BELOW).bind(check_id).bind(below);
    let query = query.bind(i64::from(wanted.runs)).bind(i64::from(wanted.failures));
    Ok(query.bind(i64::from(wanted.notes)).bind(limit).all().await?)
}

/// The newest successes and fails since `since`, newest first.
pub async fn list_outcomes(tx: &mut ReadTx, check_id: i64, since: Time, limit: i64) -> Result<Vec<Entry>> {
    Ok(tx.query(LIST_OUTCOMES).bind(check_id).bind(since).bind(limit).all().await?)
}

/// The beginnings of the bodies that entries `first` to `last` have.
pub async fn list_heads(tx: &mut ReadTx, check_id: i64, first: i64, last: i64) -> Result<Vec<Head>> {
    Ok(tx.query(LIST_HEADS).bind(check_id).bind(first).bind(last).all().await?)
}

/// Entries of a check with numbers above `above`, oldest first.
pub async fn list_entries_above(
    tx: &mut ReadTx,
    check_id: i64,
    above: i64,
    limit: i64,
) -> Result<Vec<Entry>> {
    Ok(tx.query(LIST_ENTRIES_ABOVE).bind(check_id).bind(above).bind(limit).all().await?)
}

/// Flips of a check with ids above `above`, oldest first.
pub async fn list_flips_above(
    tx: &mut ReadTx,
    check_id: i64,
    above: i64,
    limit: i64,
) -> Result<Vec<StoredFlip>> {
    Ok(tx.query(LIST_FLIPS_ABOVE).bind(check_id).bind(above).bind(limit).all().await?)
}
