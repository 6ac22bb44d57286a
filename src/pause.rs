//! Pausing and resuming a check by hand.

use crate::alerts;
use crate::checks::flips::NewFlip;
use crate::checks::{self, Change, Check, Rules, State};
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::time::Time;

/// Whether there was anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    Now,
    /// Somebody did it before.
    Already,
}

/// Pauses a check: it is not judged until it is resumed, by hand or by a ping.
///
/// # Errors
/// The check is gone, or the database's.
pub async fn pause(tx: &mut WriteTx, check_id: i64, now: Time) -> Result<(Check, Turned)> {
    turn(tx, check_id, now, State::paused).await
}

/// Resumes a paused check: it waits for its first ping again.
///
/// # Errors
/// The check is gone, or the database's.
pub async fn resume(tx: &mut WriteTx, check_id: i64, now: Time) -> Result<(Check, Turned)> {
    turn(tx, check_id, now, State::resumed).await
}

/// Changes the status of a row that is locked before it is looked at.
async fn turn(
    tx: &mut WriteTx,
    check_id: i64,
    now: Time,
    to: fn(&State, &Rules, Time) -> Option<(State, Change)>,
) -> Result<(Check, Turned)> {
    let mut check = checks::store::lock(tx, check_id).await?.ok_or(Error::NotFound)?;
    let Some((state, change)) = to(&check.state, &check.rules(), now) else {
        return Ok((check, Turned::Already));
    };
    if !checks::store::turn(tx, &check, &state).await? {
        return Err(Error::internal("a locked row changed"));
    }
    alerts::flipped(tx, &[NewFlip { check: &check, change: &change, ping_n: None }], now).await?;
    check.state = state;
    Ok((check, Turned::Now))
}
