//! The witness of our own outages: a stamp that takes the path a ping takes.
//!
//! Where the stamp did not move for longer than it should have, pings could not be taken: crash, deploy, stalled
//! database, suspended machine and a clock set forward all show in the same way. With several processes on one
//! database there is one stamp, because a gap is a span in which none of them could take a ping; one that had to
//! answer 503 while others worked notes its own span. A stamp ahead of the clock means that the clock was set
//! back, and then every instant that the clock has not reached is taken back with it.

use super::store;
use crate::alerts;
use crate::checks::{self, Gap};
use crate::db::WriteTx;
use crate::error::Result;
use crate::rate;
use crate::time::{CLOCK_SLACK, Span, Time};

/// How often the stamp is moved.
pub const STAMP_EVERY: Span = Span::seconds(10);
/// A stamp older than this leaves the sweep in doubt, and is a gap once it moves.
pub const STALE_AFTER: Span = Span::seconds(15);
/// Checks that are clamped in one step of the transaction.
const CLAMP_STEP: i64 = 500;

/// What moving the stamp showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamped {
    Regular,
    /// Pings could not be taken.
    AfterGap(Gap),
    /// The clock had been set back; this many checks were put right.
    ClockSetBack(u64),
}

/// Moves the stamp to `now`.
///
/// # Errors
/// The database's; the stamp then stays, and what that means shows at the next one.
pub async fn stamp(tx: &mut WriteTx, now: Time) -> Result<Stamped> {
    let Some(seen) = store::find_stamp(tx).await? else {
        store::create_stamp(tx, now).await?;
        return Ok(Stamped::Regular);
    };
    if seen > now + CLOCK_SLACK {
        if !store::move_stamp(tx, seen, now).await? {
            return Ok(Stamped::Regular);
        }
        return Ok(Stamped::ClockSetBack(clamp(tx, now).await?));
    }
    if seen >= now || !store::move_stamp(tx, seen, now).await? || now - seen < STALE_AFTER {
        return Ok(Stamped::Regular);
    }
    let gap = Gap { started_at: seen, ended_at: now };
    store::note_gap(tx, gap).await?;
    Ok(Stamped::AfterGap(gap))
}

/// Notes a span in which this process could not take pings although others may have.
///
/// # Errors
/// The database's.
pub async fn note_outage(tx: &mut WriteTx, gap: Gap) -> Result<()> {
    if gap.length() < STALE_AFTER { Ok(()) } else { store::note_gap(tx, gap).await }
}

async fn clamp(tx: &mut WriteTx, now: Time) -> Result<u64> {
    let mut clamped = 0;
    let mut after_id = 0;
    loop {
        let ahead = checks::store::list_ahead(tx, after_id, now, CLAMP_STEP).await?;
        let Some(last) = ahead.last() else { break };
        after_id = last.id;
        for seen in &ahead {
            let Some(check) = checks::store::lock(tx, seen.id).await? else { continue };
            let mut state = check.state.clone();
            state.clamp(&check.rules(), now);
            checks::store::clamp_runs(tx, check.id, now).await?;
            clamped += u64::from(checks::store::turn(tx, &check, &state).await?);
        }
    }
    rate::store::forget_ahead(tx, now).await?;
    store::cut_gaps(tx, now).await?;
    alerts::store::clamp(tx, alerts::deliver::LEASE, now).await?;
    alerts::letters::store::clamp(tx, now).await?;
    Ok(clamped)
}
