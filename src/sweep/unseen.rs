//! One message for each account whose slots fell into a gap of ours.

use super::store::{self, Untold};
use crate::alerts::letters::{self, Facts, Slot};
use crate::checks;
use crate::checks::deadline::AFTER_GAP;
use crate::db::WriteTx;
use crate::error::Result;
use crate::time::{Span, Time};

/// The message waits for the last slot of the gap to be settled, but no longer than this after the gap.
const TELL_WITHIN: Span = Span::hours(1);
const EARLY: Span = Span::seconds(60);

/// Writes the account's letter if it is due; returns whether it did. It lists every slot not told before.
///
/// # Errors
/// The database's.
pub async fn tell_account(tx: &mut WriteTx, account: &store::UntoldAccount, now: Time) -> Result<bool> {
    let gap_end = account.gap_ended_at;
    if now < gap_end + TELL_WITHIN {
        let by = gap_end + TELL_WITHIN + AFTER_GAP;
        let open = checks::store::count_undecided(
            tx,
            account.account_id,
            account.gap_started_at,
            gap_end + EARLY,
            by,
        )
        .await?;
        if open > 0 {
            return Ok(false);
        }
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
