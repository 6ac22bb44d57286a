//! What was refused of each check lately: for its page, and as a hint that the next ping will be refused too. In
//! memory, of this process, and only of so many checks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::generations::Generations;
use crate::checks::Signal;
use crate::pings::{Outcome, Ping};
use crate::time::{Span, Time};

/// Checks that are remembered at least; those whose last refusal is older go first.
const REMEMBERED: usize = 64_000;

/// Pings of one check that came too fast since this process began to count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    pub pings: u64,
    /// What the last one said.
    pub signal: Signal,
    pub last_at: Time,
    /// The plan's floor, which is why.
    pub min_interval: Span,
}

pub(super) struct TooFast(Mutex<Generations<Refused>>);

impl Default for TooFast {
    fn default() -> Self {
        Self(Mutex::new(Generations::of_size(REMEMBERED)))
    }
}

impl TooFast {
    /// Notes how a ping was answered, if it was refused for coming too fast.
    pub(super) fn note_outcome(&self, ping: &Ping, outcome: &Outcome) {
        if let Outcome::TooFast { signal, min_interval, .. } = outcome {
            self.note(ping.check, *signal, *min_interval, ping.received_at);
        }
    }

    fn note(&self, check: Uuid, signal: Signal, min_interval: Span, now: Time) {
        let mut memory = self.memory();
        let pings = memory.get(check).map_or(0, |refused| refused.pings) + 1;
        memory.put(check, Refused { pings, signal, last_at: now, min_interval });
    }

    /// Whether a ping of the check was refused within the last floor, as the next one probably will be.
    pub(super) fn expects(&self, check: Uuid, now: Time) -> bool {
        self.of(check).is_some_and(|refused| now < refused.last_at + refused.min_interval)
    }

    pub(super) fn of(&self, check: Uuid) -> Option<Refused> {
        self.memory().get(check).copied()
    }

    fn memory(&self) -> MutexGuard<'_, Generations<Refused>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_and_the_oldest_are_forgotten() {
        let memory = TooFast::default();
        let check = |number: usize| Uuid::from_u128(number as u128);
        let note = |number, at| memory.note(check(number), Signal::Success, Span::seconds(60), Time(at));
        for number in 0..REMEMBERED {
            note(number, 1);
            note(number, 2);
        }
        assert_eq!(memory.of(check(7)).map(|refused| (refused.pings, refused.last_at)), Some((2, Time(2))));
        note(REMEMBERED, 3);
        note(7, 4);
        assert_eq!(memory.of(check(7)).map(|refused| refused.pings), Some(3), "both generations count");
        for number in REMEMBERED..3 * REMEMBERED {
            note(number, 5);
        }
        assert_eq!(memory.of(check(7)), None);
        assert!(memory.expects(check(3 * REMEMBERED - 1), Time(60_004)));
        assert!(
            !memory.expects(check(3 * REMEMBERED - 1), Time(60_005)),
            "a floor later nothing is expected"
        );
        let kept = (0..3 * REMEMBERED).filter(|number| memory.of(check(*number)).is_some()).count();
        assert!((REMEMBERED..=2 * REMEMBERED).contains(&kept), "{kept}");
    }
}
