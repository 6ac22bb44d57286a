//! What checks looked like after their last ping, where this process holds the only connection that writes.
//!
//! A success mostly repeats what is known: it is written without its check being read first, and the write's guard finds
//! out whether the check is still as it is remembered. It can be refused from here alone while nothing was written since
//! by anybody but the recorder, which [`Version`] tells.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::generations::Generations;
use crate::checks::group::{Refusable, Repeatable};
use crate::db::{Version, Versions};
use crate::pings::Ping;

/// Checks that are remembered at least, at some 250 bytes each.
const REMEMBERED: usize = 100_000;

pub(super) struct Remembered(Mutex<Memory>);

struct Memory {
    checks: Generations<Check>,
    /// The state of the database in which the checks of this age are what they are remembered as.
    version: Option<Version>,
    age: u64,
}

struct Check {
    seen: Repeatable,
    /// `None` where something else was written before it came here.
    age: Option<u64>,
}

impl Default for Remembered {
    fn default() -> Self {
        Self(Mutex::new(Memory { checks: Generations::of_size(REMEMBERED), version: None, age: 0 }))
    }
}

impl Remembered {
    /// Takes out what is remembered of the checks of a group. To be called in the transaction that writes them: what was
    /// put in before it, and is not true after it, would stay.
    pub(super) fn take(&self, group: &[Ping]) -> HashMap<Uuid, Repeatable> {
        let mut memory = self.memory();
        group.iter().filter_map(|ping| Some((ping.check, memory.checks.take(ping.check)?.seen))).collect()
    }

    /// What the checks of a group are; those not given have to be asked for. To be called in a transaction that
    /// may write, which nobody else can then.
    pub(super) fn live(&self, group: &[Ping], now: Version) -> HashMap<Uuid, Refusable> {
        let mut memory = self.memory();
        memory.meet(now);
        let age = Some(memory.age);
        let live = |ping: &Ping| memory.checks.get(ping.check).filter(|check| check.age == age);
        group.iter().filter_map(|ping| Some((ping.check, live(ping)?.seen.refusable()))).collect()
    }

    /// Takes note of the state of the database, in a transaction that may write.
    pub(super) fn meet(&self, now: Version) {
        self.memory().meet(now);
    }

    /// Keeps what checks are after a transaction, in which [`Self::meet`] was called.
    pub(super) fn put(&self, checks: impl IntoIterator<Item = Repeatable>, versions: Versions) {
        let mut memory = self.memory();
        if memory.version == Some(versions.before) {
            memory.version = Some(versions.after);
        }
        let age = (memory.version == Some(versions.after)).then_some(memory.age);
        checks.into_iter().for_each(|seen| memory.checks.put(seen.uuid, Check { seen, age }));
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn meet(&mut self, now: Version) {
        if self.version != Some(now) {
            self.version = Some(now);
            self.age += 1;
        }
    }
}
