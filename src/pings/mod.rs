//! Recording pings: each is decided by the state machine and written under its guard, together with its log
//! entry, its flip and the deliveries of the flip.
//!
//! [`record`] takes a group and answers each ping by itself. Rows are locked in the order of check ids, and the
//! pings of one check are taken in order of arrival, so groups of several processes cannot deadlock. A lone ping
//! whose check changed under it is decided again from the live row, which is then locked.

pub mod filter;
mod group;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use uuid::Uuid;

use crate::accounts;
use crate::alerts;
use crate::checks::flips::NewFlip;
use crate::checks::group::store::{list_refusable, lock_all};
use crate::checks::group::{Refusable, Repeatable};
use crate::checks::log::{self, NewEntry};
use crate::checks::state::{self, Arrival, RunChange, Step, Taken};
use crate::checks::{self, Check, Reason, Signal};
use crate::config::Plans;
use crate::db::{ReadTx, WriteTx};
use crate::error::{Error, Result};
use crate::time::{Span, Time};

/// How often a ping is decided before it is given up; the second decision is made on a locked row.
const DECISIONS: usize = 3;
/// Every so many pings of a check its log is cut to what the plan keeps.
const PRUNE_EVERY: i64 = 100;
/// Characters of a user agent that are kept.
pub const USER_AGENT_CHARS: usize = 200;

/// One message about a check, as it came in.
#[derive(Clone, Debug)]
pub struct Ping {
    pub check: Uuid,
    /// What its URL says.
    pub signal: Signal,
    /// What a ping by mail says, which the check's keywords judge; then the signal is theirs.
    pub letter: Option<filter::Letter>,
    pub rid: Option<Uuid>,
    pub exit_status: Option<u8>,
    /// `http`, `https` or `email`.
    pub scheme: &'static str,
    pub remote_addr: Option<Arc<str>>,
    pub method: Arc<str>,
    pub user_agent: Arc<str>,
    /// Cut to the body limit.
    pub body: Vec<u8>,
    /// The server's clock after the body was read.
    pub received_at: Time,
}

/// How a ping was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Recorded {
        signal: Signal,
        /// Why the status changed, where it did.
        flip: Option<Reason>,
    },
    /// The status changed once more within a floor; the sweep tells where it ends.
    Merged,
    Unknown,
    TooFast {
        /// What the ping said, filters applied.
        signal: Signal,
        min_interval: Span,
        retry_after: Span,
    },
}

/// What a group of pings came to.
pub struct Recorded {
    /// How each was answered, in the order of the group.
    pub outcomes: Vec<Outcome>,
    /// Those of the group's checks, as they are now, of which only repeats were recorded. None where nothing is remembered.
    pub repeatable: Vec<Repeatable>,
}

/// Records a group of pings and answers each, in the order given. A caller that remembers what checks looked like after
/// their last pings hands over those of the group, which are not read first.
///
/// # Errors
/// The database's, or [`Error::Outdated`] where a check is not as it was remembered; then nothing of the group was
/// recorded.
pub async fn record(
    tx: &mut WriteTx,
    plans: &Plans,
    group: &[Ping],
    remembered: Option<HashMap<Uuid, Repeatable>>,
) -> Result<Recorded> {
    if let [ping] = group
        && (remembered.is_none() || !ping.is_plain())
    {
        let outcome = match checks::store::find(tx, ping.check).await? {
            Some(mut check) => take(tx, plans, &mut check, ping, false).await?,
            None => Outcome::Unknown,
        };
        return Ok(Recorded { outcomes: vec![outcome], repeatable: Vec::new() });
    }
    group::record(tx, plans, group, remembered.unwrap_or_default()).await
}

/// A text as the log keeps it: so many of its characters, or all.
pub fn logged(text: &str, chars: usize) -> Arc<str> {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end]).into()
}

impl Ping {
    /// Whether it is a success by HTTP, which most checks take as it is.
    fn is_plain(&self) -> bool {
        self.signal == Signal::Success && self.letter.is_none()
    }
}

/// Refuses what a look at the checks shows to be a repeat under its floor, or of no check at all; `None` for a ping that
/// has to be decided by [`record`].
///
/// # Errors
/// The database's.
pub async fn refuse(tx: &mut ReadTx, group: &[Ping]) -> Result<Vec<Option<Outcome>>> {
    let found = list_refusable(tx, &uuids_of(group)).await?;
    let found: HashMap<Uuid, Refusable> = found.into_iter().map(|check| (check.uuid, check)).collect();
    Ok(refuse_live(group, &found))
}

/// The same for a caller that knows what some of the checks `live` are, in a transaction during which they stay so; gives
/// also what it had to look at.
///
/// # Errors
/// The database's.
pub async fn refuse_known(
    tx: &mut WriteTx,
    group: &[Ping],
    mut live: HashMap<Uuid, Refusable>,
) -> Result<(Vec<Option<Outcome>>, Vec<Repeatable>)> {
    let mut unknown = uuids_of(group);
    unknown.retain(|uuid| !live.contains_key(uuid));
    let mut found = lock_all(tx, &unknown).await?;
    live.extend(found.iter().map(|check| (check.uuid, check.refusable())));
    found.retain(|check| check.is_repeatable);
    Ok((refuse_live(group, &live), found))
}

fn uuids_of(group: &[Ping]) -> Vec<Uuid> {
    let uuids: HashSet<Uuid> = group.iter().map(|ping| ping.check).collect();
    uuids.into_iter().collect()
}

/// Refuses what can be by what the checks are; one that is not found is unknown.
pub fn refuse_live(group: &[Ping], found: &HashMap<Uuid, Refusable>) -> Vec<Option<Outcome>> {
    let refuse = |ping: &Ping| {
        let Some(check) = found.get(&ping.check) else { return Some(Outcome::Unknown) };
        let may_refuse = ping.is_plain() && check.is_refusable;
        let retry_at = may_refuse.then(|| check.free_at(ping.received_at))??;
        Some(too_fast(ping.signal, check.floor_ms, retry_at, ping))
    };
    group.iter().map(refuse).collect()
}

fn too_fast(signal: Signal, min_interval: Span, retry_at: Time, ping: &Ping) -> Outcome {
    Outcome::TooFast { signal, min_interval, retry_after: retry_at - ping.received_at }
}

/// What the state machine says of a ping.
enum Decided {
    Refused(Outcome),
    Taken(Box<Taken>),
}

async fn decide(tx: &mut ReadTx, check: &Check, ping: &Ping) -> Result<Decided> {
    let arrival = arrival(tx, check, ping).await?;
    Ok(match state::step(&check.state, &check.rules(), &arrival, ping.received_at) {
        Step::Refused { retry_at } => {
            Decided::Refused(too_fast(arrival.signal, check.floor_ms, retry_at, ping))
        }
        Step::Taken(taken) => Decided::Taken(taken),
    })
}

/// Decides one ping and writes what follows; `check` is left as the row now is. One that `is_outdated` is known not
/// to be the live row any more.
async fn take(
    tx: &mut WriteTx,
    plans: &Plans,
    check: &mut Check,
    ping: &Ping,
    is_outdated: bool,
) -> Result<Outcome> {
    for decision in 0..DECISIONS {
        if decision > 0 || is_outdated {
            match checks::store::lock(tx, check.id).await? {
                Some(live) => *check = live,
                None => return Ok(Outcome::Unknown),
            }
        }
        let taken = match decide(tx, check, ping).await? {
            Decided::Refused(refused) => return Ok(refused),
            Decided::Taken(taken) => taken,
        };
        if checks::store::record(tx, check, &taken.state, taken.floor, ping.received_at).await? {
            follow(tx, plans, check, ping, &taken).await?;
            check.state = taken.state;
            check.state.seq += 1;
            let flip = taken.flip.map(|flip| flip.reason);
            let recorded = Outcome::Recorded { signal: taken.signal, flip };
            return Ok(if taken.logged { recorded } else { Outcome::Merged });
        }
    }
    Err(Error::internal("a ping was outdated on a locked row"))
}

async fn arrival(tx: &mut ReadTx, check: &Check, ping: &Ping) -> Result<Arrival> {
    let run = match check.state.open_runs {
        0 => None,
        _ => checks::store::find_run(tx, check.id, ping.rid).await?,
    };
    Ok(Arrival {
        signal: match &ping.letter {
            Some(letter) => filter::letter_signal(&check.settings, letter),
            None => filter::signal(&check.settings, ping.signal, &ping.method, &ping.body),
        },
        rid: ping.rid,
        exit_status: ping.exit_status,
        run_started_at: run,
    })
}

/// What follows from an accepted ping, in its own transaction: runs, log, flip.
async fn follow(tx: &mut WriteTx, plans: &Plans, check: &Check, ping: &Ping, taken: &Taken) -> Result<()> {
    match taken.run {
        RunChange::Keep => {}
        RunChange::Open => checks::store::open_run(tx, check.id, ping.rid, ping.received_at).await?,
        RunChange::Close => {
            if !checks::store::close_run(tx, check.id, ping.rid).await? {
                return Err(Error::internal("an open run vanished under its check's lock"));
            }
        }
    }
    let n = taken.state.n_pings;
    if taken.logged {
        log::store::create(tx, &entry(check.id, n, ping, taken), &ping.body).await?;
        if n % PRUNE_EVERY == 0 {
            prune(tx, plans, check, n).await?;
        }
    }
    if let Some(change) = &taken.flip {
        let flipped = NewFlip { check, change, ping_n: taken.logged.then_some(n) };
        alerts::flipped(tx, &[flipped], ping.received_at).await?;
    }
    Ok(())
}

fn entry(check_id: i64, n: i64, ping: &Ping, taken: &Taken) -> NewEntry {
    NewEntry {
        check_id,
        n,
        received_at: ping.received_at,
        kind: taken.signal,
        scheme: ping.scheme,
        remote_addr: ping.remote_addr.clone(),
        method: ping.method.clone(),
        user_agent: ping.user_agent.clone(),
        rid: ping.rid,
        exit_status: ping.exit_status.map(i64::from),
        duration_ms: taken.duration,
        body_bytes: i64::try_from(ping.body.len()).unwrap_or(i64::MAX),
    }
}

async fn prune(tx: &mut WriteTx, plans: &Plans, check: &Check, n: i64) -> Result<()> {
    let Some(account) = accounts::store::find_account(tx, check.account_id).await? else { return Ok(()) };
    log::store::prune(tx, check.id, n - plans.of(&account.plan).log_entries).await
}
