//! Limits on callers: how often one subject (an address, a key, a mail address) may ask for something.
//!
//! Asking spends: there is no question that costs nothing and no boolean to act on later. Each limiter spends and
//! commits in a transaction of its own, before the handler's opens, so that what a failed request spent stays
//! spent. A refusal spends nothing. [`enforce`] and [`enforce_all`] run several limiters and differ in what a
//! refusal costs; [`Rates`] has a named chain of them for each place that is limited.
//!
//! The count is a row, so every process sees the same one and a restart forgets nothing; [`window`] judges it. Of
//! a person nothing is kept but that row, under a keyed hash of the subject, until it says nothing any more.
//! Where the database cannot take the count, what was asked for is not done: the caller's edge answers 503.

mod chains;
mod places;
pub mod store;
pub mod window;

pub use chains::{Chain, Rates};
pub use places::{Place, Places};
pub use window::Window;

use std::future::Future;

use futures_util::future::join_all;

use crate::db::{self, AsDatabase, Db, ReadTx, WriteTx};
use crate::error::{Error, Result};
use crate::time::{Span, Time};
use window::{Judgement, Spent};

/// Rows that one run of [`prune`] removes in one transaction.
const PRUNE_BATCH: i64 = 1000;

/// Something that may be asked so often and no more often.
pub trait Limiter: Sync {
    /// Spends one, durably, or refuses and spends nothing.
    ///
    /// # Errors
    /// The count could not be taken; then nothing was spent, and what was asked for must not be done.
    fn spend(&self, db: &Db, now: Time) -> impl Future<Output = Result<Verdict>> + Send;
}

/// How asking ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a refusal that nobody looks at limits nothing"]
pub enum Verdict {
    /// With what is left of the scarcest limit; `None` where nothing limits the caller.
    Accepted(Option<Standing>),
    Refused(Refusal),
}

/// Where an accepted caller stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The limit's name, as the settings have it.
    pub scope: &'static str,
    pub limit: i64,
    pub remaining: i64,
    /// Until nothing counts any more, if nothing else is asked.
    pub reset: Span,
}

/// What a refused caller is told; it depends on the counted state and the clock alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The limit's name, as the settings have it.
    pub scope: &'static str,
    pub limit: i64,
    /// Until nothing counts any more, if nothing else is asked.
    pub reset: Span,
    /// Until the next one is accepted.
    pub retry_after: Span,
}

/// Asks the limiters in order and stops at the first refusal: what stands later is not spent. For a burst limit
/// in front of a daily budget, and for a subject that others share behind one that is the caller's own: whoever is
/// stopped by the first never drains the second.
///
/// # Errors
/// The first limiter's that could not count; those before it are spent.
pub async fn enforce<L: Limiter>(db: &Db, limiters: &[L], now: Time) -> Result<Verdict> {
    let mut scarcest = None;
    for limiter in limiters {
        match limiter.spend(db, now).await? {
            Verdict::Accepted(standing) => scarcest = scarcer(scarcest, standing),
            refused @ Verdict::Refused(_) => return Ok(refused),
        }
    }
    Ok(Verdict::Accepted(scarcest))
}

/// Asks all limiters at once: all are spent, always, and the refusal reported is the first in the order of the
/// list, whichever answered first. For independent subjects of one request, such as its key and its address, each
/// of which is to know of every attempt.
///
/// Wrong where a later limiter guards a budget that a refused request must not cost (a day behind a minute), or a
/// subject that the caller does not own (somebody's mail address): a caller refused by the one would go on
/// draining the other. Use [`enforce`] there.
///
/// Who gives up before the answer may leave some unspent; nothing that they guard is done then either.
///
/// # Errors
/// The first in the order of the list that could not count, unless a refusal stands before it.
pub async fn enforce_all<L: Limiter>(db: &Db, limiters: &[L], now: Time) -> Result<Verdict> {
    let mut asked = Vec::with_capacity(limiters.len());
    for limiter in limiters {
        asked.push(limiter.spend(db, now));
    }
    let mut scarcest = None;
    for answer in join_all(asked).await {
        match answer? {
            Verdict::Accepted(standing) => scarcest = scarcer(scarcest, standing),
            refused @ Verdict::Refused(_) => return Ok(refused),
        }
    }
    Ok(Verdict::Accepted(scarcest))
}

/// Of two limits the one with less left; the earlier one if they are equal.
fn scarcer(one: Option<Standing>, other: Option<Standing>) -> Option<Standing> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.remaining < one.remaining { other } else { one }),
        (one, other) => one.or(other),
    }
}

/// One window on one subject: a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The limit's name, as the settings have it; part of the row's key.
    pub scope: &'static str,
    /// The subject, hashed.
    pub subject: Vec<u8>,
    pub window: Window,
}

impl Limiter for Limit {
    async fn spend(&self, db: &Db, now: Time) -> Result<Verdict> {
        // A flood of refusals never reaches the writer: counts only grow until they expire, so what refuses on a
        // snapshot refuses on the live row. An acceptance is decided there alone.
        let seen: Result<Spent> = db::read!(db, |tx| store::find(tx, self).await);
        if let Judgement::Refused { reset, retry_after } = self.window.judge(&seen?, now) {
            return Ok(Verdict::Refused(self.refusal(reset, retry_after)));
        }
        match db::write!(db, |tx| self.take(tx, now).await) {
            Ok(standing) => Ok(Verdict::Accepted(Some(standing))),
            Err(Stop::Refused(refusal)) => Ok(Verdict::Refused(refusal)),
            Err(Stop::Failed(error)) => Err(error),
        }
    }
}

impl Limit {
    /// Decides on the locked row and writes what was decided; a refusal is an error so that it is rolled back.
    async fn take(&self, tx: &mut WriteTx, now: Time) -> Result<Standing, Stop> {
        let locked = store::lock(tx, self, now).await?;
        match self.window.judge(&locked.spent, now) {
            Judgement::Accepted { spent, remaining, reset } => {
                store::write(tx, self, locked.rev, &spent).await?;
                Ok(self.standing(remaining, reset))
            }
            Judgement::Refused { reset, retry_after } => Err(Stop::Refused(self.refusal(reset, retry_after))),
        }
    }

    /// Where the subject stands, for a page that shows it; nothing may be decided by it.
    ///
    /// # Errors
    /// The database's.
    pub async fn look(&self, tx: &mut ReadTx, now: Time) -> Result<Standing> {
        let (remaining, reset) = self.window.left(&store::find(tx, self).await?, now);
        Ok(self.standing(remaining, reset))
    }

    fn standing(&self, remaining: i64, reset: Span) -> Standing {
        Standing { scope: self.scope, limit: self.window.limit, remaining, reset }
    }

    fn refusal(&self, reset: Span, retry_after: Span) -> Refusal {
        Refusal { scope: self.scope, limit: self.window.limit, reset, retry_after }
    }
}

/// Why a limiter's transaction is rolled back.
enum Stop {
    Refused(Refusal),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl AsDatabase for Stop {
    fn as_database(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Failed(error) => error.as_database(),
            Self::Refused(_) => None,
        }
    }
}

/// Removes rows that no window reaches any more; returns how many.
///
/// # Errors
/// The database's.
pub async fn prune(db: &Db, now: Time) -> Result<u64> {
    let mut pruned = 0;
    loop {
        let batch: Result<u64> = db::write!(db, |tx| store::prune(tx, now, PRUNE_BATCH).await);
        let batch = batch?;
        pruned += batch;
        // Only a full batch may have left some.
        if batch < PRUNE_BATCH.unsigned_abs() {
            return Ok(pruned);
        }
    }
}
