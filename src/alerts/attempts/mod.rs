//! What each attempt of a delivery met with, for people who ask why an alert came late or not at all.
//!
//! An attempt is noted by the transaction that settles it, so one that a crash cut off leaves only its number out. A
//! delivery is given up after a day of growing waits, so it has a few dozen at most; they go with it.

pub mod store;

use super::DeliveryState;
use super::store::Settlement;
use crate::db::WriteTx;
use crate::error::Result;
use crate::time::Time;

/// An attempt as it ended.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Attempt {
    pub delivery_id: i64,
    /// Counted from one.
    pub number: i64,
    pub attempted_at: Time,
    /// The delivery's state after it: due, if another attempt follows.
    pub state: DeliveryState,
    /// What the channel answered.
    pub outcome: String,
    /// When the next attempt was to follow.
    pub next_at: Option<Time>,
}

/// Keeps what the attempt of that number met with; the delivery was settled by the same transaction.
///
/// # Errors
/// The database's.
pub async fn note(
    tx: &mut WriteTx,
    delivery_id: i64,
    number: i64,
    settlement: &Settlement,
    now: Time,
) -> Result<()> {
    let next_at = settlement.settled_at.is_none().then_some(settlement.due_at);
    let (state, outcome) = (settlement.state, settlement.outcome.clone());
    store::create(tx, Attempt { delivery_id, number, attempted_at: now, state, outcome, next_at }).await
}
