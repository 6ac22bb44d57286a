//! The sweep: takes down what is overdue, and knows what it could not see.
//!
//! Candidates come from an index on the instant at which each check must be looked at, so the cost grows with
//! what is due, not with what exists. Each is judged by the state machine and written under the transition
//! guard: a ping or an edit that commits in between wins. Any number of processes may sweep one database;
//! there is no leader. [`witness`] tells the gaps of our own, without which silence proves nothing.

pub mod store;
pub mod unseen;
pub mod witness;

use crate::alerts;
use crate::checks::flips::NewFlip;
use crate::checks::silence::{Verdict, judge};
use crate::checks::{self, Check, Reason, Rules, State, deadline};
use crate::db::{ReadTx, WriteTx};
use crate::error::Result;
use crate::time::{Span, Time};
use store::NewUnseen;

/// Checks judged in one transaction.
pub const BATCH: i64 = 256;
/// A check whose schedule cannot be evaluated is looked at again after this.
const SET_ASIDE: Span = Span::hours(1);

/// What one batch came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Reasons of the flips that were written.
    pub flips: Vec<Reason>,
    pub unseen: usize,
    /// Checks that were set aside, with the reason.
    pub set_aside: Vec<(i64, String)>,
}

/// The checks to look at, oldest first, at most [`BATCH`].
///
/// # Errors
/// The database's.
pub async fn due(tx: &mut ReadTx, now: Time) -> Result<Vec<Check>> {
    checks::store::list_due(tx, now, BATCH).await
}

/// Judges `due`, in the order of their ids.
///
/// # Errors
/// The database's; then none of them was touched.
pub async fn sweep(tx: &mut WriteTx, due: &[Check], now: Time) -> Result<Swept> {
    let mut due: Vec<(&Check, Rules)> = due.iter().map(|check| (check, check.rules())).collect();
    due.sort_by_key(|(check, _)| check.id);
    let windows = due.iter().filter_map(|(check, rules)| deadline::window(&check.state, rules));
    let gaps = match windows.map(|window| window.from).min() {
        Some(from) => store::list_gaps(tx, from).await?,
        None => Vec::new(),
    };
    let mut swept = Swept::default();
    let mut verdicts = Vec::with_capacity(due.len());
    for (check, rules) in &due {
        if rules.schedule.is_none() {
            let why = check.settings.schedule().err().unwrap_or_default();
            checks::store::set_aside(tx, check, now + SET_ASIDE, &why).await?;
            swept.set_aside.push((check.id, why));
        } else {
            verdicts.push((*check, judge(&check.state, rules, &gaps, now)));
        }
    }
    write(tx, &verdicts, now, &mut swept).await?;
    Ok(swept)
}

/// Writes the verdicts, each under its own guard, and what follows from those that were written.
async fn write(tx: &mut WriteTx, verdicts: &[(&Check, Verdict)], now: Time, swept: &mut Swept) -> Result<()> {
    let turns: Vec<(&Check, &State)> =
        verdicts.iter().map(|(check, verdict)| (*check, verdict.state())).collect();
    let turned = checks::group::store::turn_all(tx, &turns).await?;
    let (mut flips, mut unseen) = (Vec::new(), Vec::new());
    for (check, verdict) in verdicts.iter().filter(|(check, _)| turned.contains(&check.id)) {
        match verdict {
            Verdict::Later(_) => {}
            Verdict::Flip(_, change) => flips.push(NewFlip { check, change, ping_n: None }),
            Verdict::Unseen { slot_at, gap, .. } => {
                unseen.push(NewUnseen { check, slot_at: *slot_at, gap: *gap });
            }
        }
    }
    alerts::flipped(tx, &flips, now).await?;
    store::create_unseen(tx, &unseen, now).await?;
    swept.flips.extend(flips.iter().map(|flip| flip.change.reason));
    swept.unseen += unseen.len();
    Ok(())
}

/// Puts one check off that could not be judged for a fault of the database's, so that it stalls no other.
///
/// # Errors
/// The database's.
pub async fn set_aside(tx: &mut WriteTx, check: &Check, why: &str, now: Time) -> Result<()> {
    checks::store::set_aside(tx, check, now + SET_ASIDE, why).await
}
