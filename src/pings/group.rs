//! A group of pings: each is decided by itself, in order of arrival, and those that only repeat what is known are
//! written together, each check once.
//!
//! All checks are locked first, in the order of their ids, so what was read of them holds until the transaction ends;
//! the guards stand in the writes all the same, and a row that they keep from being written has the whole group
//! decided anew. That is what finds out whether a check of which the caller remembered enough, and which is not read, is
//! still the same. What follows from any other ping is written at once, behind the repeats of its check before it.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::{Decided, Outcome, PRUNE_EVERY, Ping, Recorded, decide, entry, prune, take};
use crate::checks::Check;
use crate::checks::group::{Repeat, Repeatable, store};
use crate::checks::log::{self, NewEntry};
use crate::checks::state::Taken;
use crate::config::Plans;
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::time::Time;

/// A check that a group is about.
struct Known {
    /// As it is after the group's pings so far.
    check: Box<Check>,
    /// Whether the whole row was read, or only what a repeat needs.
    is_whole: bool,
    waiting: Option<Waiting>,
}

/// Repeats of one check that are taken and not written yet.
struct Waiting {
    /// When the first of them came, and what its decision saw of the row.
    first_at: Time,
    seen_seq: i64,
    /// By their place in the group.
    entries: Vec<(usize, NewEntry)>,
}

pub(super) async fn record(
    tx: &mut WriteTx,
    plans: &Plans,
    group: &[Ping],
    remembered: HashMap<Uuid, Repeatable>,
) -> Result<Recorded> {
    let mut checks = find(tx, group, remembered).await?;
    let mut outcomes = Vec::with_capacity(group.len());
    for (place, ping) in group.iter().enumerate() {
        let Some(known) = checks.get_mut(&ping.check) else {
            outcomes.push(Outcome::Unknown);
            continue;
        };
        outcomes.push(match decide(tx, &known.check, ping).await? {
            Decided::Refused(refused) => refused,
            Decided::Taken(taken) if known.check.is_repeat(&taken) => known.wait(place, ping, *taken),
            Decided::Taken(_) => {
                write(tx, plans, group, vec![&mut *known]).await?;
                let outcome = take(tx, plans, &mut known.check, ping, !known.is_whole).await?;
                known.is_whole = true;
                outcome
            }
        });
    }
    write(tx, plans, group, checks.values_mut().collect()).await?;
    let mut repeatable = Vec::with_capacity(checks.len());
    repeatable.extend(
        checks.into_values().filter(|known| !known.is_whole).map(|known| Repeatable::of(*known.check)),
    );
    Ok(Recorded { outcomes, repeatable })
}

/// Locks the checks of a group and reads of each as much as its pings need, but for those that are remembered and will
/// do with that.
async fn find(
    tx: &mut WriteTx,
    group: &[Ping],
    mut remembered: HashMap<Uuid, Repeatable>,
) -> Result<HashMap<Uuid, Known>> {
    let mut unread = HashSet::new();
    for ping in group {
        // Nothing is refused for what may have been.
        let will_do =
            |check: &Repeatable| ping.is_plain() && check.refusable().free_at(ping.received_at).is_none();
        if !remembered.get(&ping.check).is_some_and(will_do) {
            remembered.remove(&ping.check);
            unread.insert(ping.check);
        }
    }
    let uuids: Vec<Uuid> = unread.into_iter().collect();
    let others: HashSet<Uuid> = group.iter().filter(|ping| !ping.is_plain()).map(|ping| ping.check).collect();
    let found = store::lock_all(tx, &uuids).await?;
    let (some, whole): (Vec<Repeatable>, Vec<Repeatable>) =
        found.into_iter().partition(|check| check.is_repeatable && !others.contains(&check.uuid));
    let whole: Vec<Uuid> = whole.into_iter().map(|check| check.uuid).collect();
    let whole = store::list(tx, &whole).await?;
    let known =
        |check: Check, is_whole| (check.uuid, Known { check: Box::new(check), is_whole, waiting: None });
    let some = some.into_iter().chain(remembered.into_values());
    let some = some.map(|check| known(check.into_check(), false));
    Ok(some.chain(whole.into_iter().map(|check| known(check, true))).collect())
}

impl Known {
    /// Takes a repeat, to be written with others.
    fn wait(&mut self, place: usize, ping: &Ping, taken: Taken) -> Outcome {
        let seen_seq = self.check.state.seq;
        let waiting = self.waiting.get_or_insert_with(|| Waiting {
            first_at: ping.received_at,
            seen_seq,
            entries: Vec::with_capacity(1),
        });
        waiting.entries.push((place, entry(self.check.id, taken.state.n_pings, ping, &taken)));
        self.check.state = taken.state;
        self.check.state.seq += 1;
        Outcome::Recorded { signal: taken.signal, flip: None }
    }
}

/// Writes the repeats that wait for it, in the order of their checks' ids, with their log entries.
async fn write(tx: &mut WriteTx, plans: &Plans, group: &[Ping], mut checks: Vec<&mut Known>) -> Result<()> {
    checks.retain(|known| known.waiting.is_some());
    if checks.is_empty() {
        return Ok(());
    }
    checks.sort_unstable_by_key(|known| known.check.id);
    let mut repeats = Vec::with_capacity(checks.len());
    let mut entries = Vec::with_capacity(group.len());
    let mut full = Vec::new();
    for Known { check, waiting, .. } in checks {
        let (Some(waiting), check) = (waiting.take(), &*check) else { continue };
        repeats.push(Repeat::of(check, waiting.seen_seq, waiting.first_at));
        let fills_up = waiting.entries.iter().filter(|(_, entry)| entry.n % PRUNE_EVERY == 0);
        full.extend(fills_up.map(|(_, entry)| (check, entry.n)));
        let bodies = waiting.entries.into_iter();
        entries.extend(bodies.map(|(place, entry)| (entry, group[place].body.as_slice())));
    }
    let number = repeats.len() as u64;
    if store::record_repeats(tx, repeats).await? < number {
        return Err(Error::Outdated);
    }
    log::store::create_all(tx, entries).await?;
    for (check, n) in full {
        prune(tx, plans, check, n).await?;
    }
    Ok(())
}
