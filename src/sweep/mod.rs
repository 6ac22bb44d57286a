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
use crate::checks::silence::{Verdict, judge};
use crate::checks::{self, Check, Gap, Reason, Rules, deadline};
use crate::db::{ReadTx, WriteTx};
use crate::error::Result;
use crate::time::{Span, Time};

/// Checks judged in one transaction.
pub const BATCH: i64 = 200;
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
    for (check, rules) in &due {
        if rules.schedule.is_none() {
            let why = check.settings.schedule().err().unwrap_or_default();
            checks::store::set_aside(tx, check, now + SET_ASIDE, &why).await?;
            swept.set_aside.push((check.id, why));
        } else {
            sweep_one(tx, check, rules, &gaps, now, &mut swept).await?;
        }
    }
    Ok(swept)
}

async fn sweep_one(
    tx: &mut WriteTx,
    check: &Check,
    rules: &Rules,
    gaps: &[Gap],
    now: Time,
    swept: &mut Swept,
) -> Result<()> {
    match judge(&check.state, rules, gaps, now) {
        Verdict::Later(state) => {
            checks::store::turn(tx, check, &state).await?;
        }
        Verdict::Flip(state, change) => {
            if checks::store::turn(tx, check, &state).await? {
                alerts::flipped(tx, check, &change, None, now).await?;
                swept.flips.push(change.reason);
            }
        }
        Verdict::Unseen { state, slot_at, gap } => {
            if checks::store::turn(tx, check, &state).await? {
                store::create_unseen(tx, check, slot_at, gap, now).await?;
                swept.unseen += 1;
            }
        }
    }
    Ok(())
}

/// Puts one check off that could not be judged for a fault of the database's, so that it stalls no other.
///
/// # Errors
/// The database's.
pub async fn set_aside(tx: &mut WriteTx, check: &Check, why: &str, now: Time) -> Result<()> {
    checks::store::set_aside(tx, check, now + SET_ASIDE, why).await
}
