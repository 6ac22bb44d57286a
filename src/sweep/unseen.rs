//! One message for each account whose slots fell into a gap of ours.
//!
//! It waits until the last slot that the gap touched is settled, but no longer than an hour after the gap; what
//! is settled later, because its grace is longer, follows together, not one by one.

use super::store::{self, Untold};
use crate::alerts::letters::{self, Facts, Slot};
use crate::checks;
use crate::db::WriteTx;
use crate::error::Result;
use crate::time::{Span, Time};

/// The first message about a gap waits no longer than this after it.
const TELL_WITHIN: Span = Span::hours(1);
/// Nor does the next wait longer than this after the one before.
const TELL_AGAIN_WITHIN: Span = Span::hours(24);
/// A slot so soon after a gap may have had its ping before the end of it.
const EARLY: Span = Span::seconds(60);

/// Writes the account's letter if it is due; returns whether it did. It lists every slot not told before.
///
/// # Errors
/// The database's.
pub async fn tell_account(tx: &mut WriteTx, account: &store::UntoldAccount, now: Time) -> Result<bool> {
    let (gap_start, gap_end) = (account.gap_started_at, account.gap_ended_at);
    let told = store::find_last_told(tx, account.account_id, gap_start).await?;
    let latest = told.map_or(gap_end + TELL_WITHIN, |at| at + TELL_AGAIN_WITHIN);
    if now < latest
        && checks::store::count_undecided(tx, account.account_id, gap_start, gap_end + EARLY).await? > 0
    {
        return Ok(false);
    }
    let untold = store::list_untold(tx, account.account_id).await?;
    let mut slots: Vec<Untold> = Vec::with_capacity(untold.len());
    for slot in untold {
        if store::tell_unseen(tx, slot.id, now).await? {
            slots.push(slot);
        }
    }
    if slots.is_empty() {
        return Ok(false);
    }
    let slot = |slot: Untold| Slot { check: slot.uuid, name: slot.name, slot_at: slot.slot_at };
    let facts = Facts::Unseen {
        gap_started_at: account.gap_started_at,
        gap_ended_at: account.gap_ended_at,
        slots: slots.into_iter().map(slot).collect(),
    };
    letters::write(tx, account.account_id, &facts, now).await?;
    Ok(true)
}
