//! SQL of the table `flips`.

use super::{NewFlip, StoredFlip};
use crate::db::{ReadTx, Value, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

/// A flip's columns but its id.
macro_rules! flip_columns {
    () => {
        "check_id, flipped_at, old_status, new_status, reason, ping_n, exit_status, expected_at, started_at, \
         last_success_at, blind_ms"
    };
}

statements! {
    CREATE_FLIPS = concat!(
        "INSERT INTO flips (", flip_columns!(), ") SELECT column1, column2, column3, column4, column5, column6, column7, \
         column8, column9, column10, column11 \
         FROM {rows BIGINT, BIGINT, TEXT, TEXT, TEXT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT} AS new \
         WHERE column1 IS NOT NULL RETURNING id, check_id");
    FIND_FLIP = concat!("SELECT id, ", flip_columns!(), " FROM flips WHERE id = $1");
    LIST_FLIPS = concat!("SELECT id, ", flip_columns!(), " FROM flips WHERE check_id = $1 ORDER BY id DESC LIMIT $2");
    /// Flips of a check from an instant until before another, newest first.
    LIST_FLIPS_BETWEEN = concat!(
        "SELECT id, ", flip_columns!(), " FROM flips WHERE check_id = $1 AND flipped_at >= $2 AND flipped_at < $3 \
         ORDER BY id DESC");
    /// The flip before one, for how long its status had lasted.
    FIND_FLIP_BEFORE = concat!(
        "SELECT id, ", flip_columns!(), " FROM flips WHERE check_id = $1 AND id < $2 ORDER BY id DESC LIMIT 1");
}

/// The id of a flip that was written.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Written {
    pub id: i64,
    pub check_id: i64,
}

/// Writes flips; gives their ids, in no order.
pub async fn create(tx: &mut WriteTx, flips: &[NewFlip<'_>]) -> Result<Vec<Written>> {
    let rows: Vec<[Value; 11]> = flips.iter().map(row_of).collect();
    Ok(tx.change_rows(CREATE_FLIPS, &rows).await?)
}

/// The columns of [`CREATE_FLIPS`].
fn row_of(flip: &NewFlip<'_>) -> [Value; 11] {
    let change = flip.change;
    [
        flip.check.id.into(),
        change.at.into(),
        change.old.word().into(),
        change.new.word().into(),
        change.reason.word().into(),
        flip.ping_n.into(),
        change.exit_status.map(i64::from).into(),
        change.expected_at.into(),
        change.started_at.into(),
        change.last_success_at.into(),
        Some(change.blind).into(),
    ]
}

pub async fn find(tx: &mut ReadTx, id: i64) -> Result<Option<StoredFlip>> {
    Ok(tx.query(FIND_FLIP).bind(id).maybe().await?)
}

/// Flips of a check from an instant until before another, newest first.
pub async fn list_between(tx: &mut ReadTx, check_id: i64, from: Time, to: Time) -> Result<Vec<StoredFlip>> {
    Ok(tx.query(LIST_FLIPS_BETWEEN).bind(check_id).bind(from).bind(to).all().await?)
}

pub async fn find_before(tx: &mut ReadTx, check_id: i64, id: i64) -> Result<Option<StoredFlip>> {
    Ok(tx.query(FIND_FLIP_BEFORE).bind(check_id).bind(id).maybe().await?)
}

/// The newest flips of a check, newest first.
pub async fn list(tx: &mut ReadTx, check_id: i64, limit: i64) -> Result<Vec<StoredFlip>> {
    Ok(tx.query(LIST_FLIPS).bind(check_id).bind(limit).all().await?)
}
