//! SQL of the table `checks`, for a group of pings.

use std::collections::HashSet;

use uuid::Uuid;

use super::{Repeat, Repeatable};
use crate::checks::Check;
use crate::checks::store::columns;
use crate::db::{ReadTx, Value, WriteTx, statements};
use crate::error::Result;

statements! {
    /// The checks that a group of pings is about, to be locked by id, as everybody locks them.
    FIND_CHECKS = concat!(
        "SELECT ", columns!(), " FROM checks WHERE uuid IN (SELECT column1 FROM {rows UUID} AS asked) \
         AND deleted_at IS NULL");
    /// Checks of which a success by HTTP, however sent and whatever it holds, can only be a repeat; for a refusal that needs
    /// no more than a read. It never makes an acceptance: what is not in it is decided by the guarded write.
    LIST_REPEATABLE =
        "SELECT uuid, floor_ms, last_ping_at FROM checks WHERE uuid IN (SELECT column1 FROM {rows UUID} AS asked) \
         AND status = 'up' AND floor_ms > 0 AND open_runs = 0 AND last_start_at IS NULL AND methods = '' \
         AND NOT filter_http_body AND deleted_at IS NULL";
    /// Floor, for many repeats at once: what a single ping's write does and judges where a ping only repeats what is known.
    /// A row that is not returned was pinged, edited or swept since it was read, or its ping comes too soon.
    RECORD_REPEATS =
        "UPDATE checks SET seq = checks.seq + 1, n_pings = new.column5, last_ping_at = new.column6, \
         last_success_at = new.column7, last_duration_ms = new.column8, expected_at = new.column9, \
         deadline_at = new.column10 \
         FROM {rows BIGINT, BIGINT, BIGINT, TEXT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT} AS new \
         WHERE checks.id = new.column1 AND checks.rev = new.column2 AND checks.seq = new.column3 \
         AND checks.status = new.column4 AND (checks.floor_ms = 0 OR checks.last_ping_at IS NULL \
         OR checks.last_ping_at + checks.floor_ms <= new.column11 OR checks.last_ping_at > new.column11 + 60000) \
         RETURNING id";
}

#[derive(sqlx::FromRow)]
struct Id {
    id: i64,
}

/// Locks the checks with these uuids, by id, and gives those that exist.
pub async fn lock_all(tx: &mut WriteTx, uuids: &[Uuid]) -> Result<Vec<Check>> {
    let rows: Vec<[Value; 1]> = uuids.iter().map(|&uuid| [uuid.into()]).collect();
    Ok(tx.lock_rows(FIND_CHECKS, &rows).await?)
}

/// Those of the checks with these uuids of which a success can only be a repeat.
pub async fn list_repeatable(tx: &mut ReadTx, uuids: &[Uuid]) -> Result<Vec<Repeatable>> {
    let rows: Vec<[Value; 1]> = uuids.iter().map(|&uuid| [uuid.into()]).collect();
    Ok(tx.query_rows(LIST_REPEATABLE, &rows).await?)
}

/// Writes repeats of different checks; gives the ids of those that could be written.
pub async fn record_repeats(tx: &mut WriteTx, repeats: Vec<Repeat>) -> Result<HashSet<i64>> {
    let mut rows = Vec::with_capacity(repeats.len());
    for repeat in repeats {
        tx.changes_check(repeat.project_id, repeat.uuid);
        rows.push(repeat.row);
    }
    let written: Vec<Id> = tx.change_rows(RECORD_REPEATS, &rows).await?;
    Ok(written.into_iter().map(|row| row.id).collect())
}
