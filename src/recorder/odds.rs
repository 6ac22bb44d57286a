//! How pings were answered lately, whosever they were: while most are refused, the next one probably is too. A hint, of
//! this process.

use std::sync::atomic::{AtomicU32, Ordering};

/// The share of refusals that stands for certainty.
const WHOLE: u32 = 1 << 16;
/// From this share on a look first costs less than it saves.
const WORTH: u32 = WHOLE / 4 * 3;
/// One answer in so many is what each counts for.
const MEMORY: u32 = 256;

/// The share of refusals among the answers, those of late counting most.
#[derive(Default)]
pub(super) struct Odds(AtomicU32);

impl Odds {
    /// Counts an answer. Of two at once one may be lost, which no hint is worse for.
    pub(super) fn note(&self, is_refusal: bool) {
        let share = self.0.load(Ordering::Relaxed);
        let share = if is_refusal { share + (WHOLE - share) / MEMORY } else { share - share / MEMORY };
        self.0.store(share, Ordering::Relaxed);
    }

    pub(super) fn are_for_refusal(&self) -> bool {
        self.0.load(Ordering::Relaxed) > WORTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_refusals_turns_them_and_a_few_acceptances_turn_them_back() {
        let odds = Odds::default();
        let answers_until = |is_refusal: bool, turned: bool| {
            (1..).find(|_| {
                odds.note(is_refusal);
                odds.are_for_refusal() == turned
            })
        };
        assert_eq!(answers_until(true, true), Some(356));
        (0..100_000).for_each(|_| odds.note(true));
        assert_eq!(answers_until(false, false), Some(73));
    }

    #[test]
    fn half_of_the_answers_do_not_turn_them() {
        let odds = Odds::default();
        for number in 0..100_000 {
            odds.note(number % 2 == 0);
            assert!(!odds.are_for_refusal());
        }
    }
}
