//! The span in which this process had to answer 503: a gap of its own, whether or not others took pings.
//!
//! It opens with the arrival of the first ping that was refused and goes on while refusals follow each other
//! closely, however many pings are taken in between. Noting it as a gap is the recorder's affair.

use std::sync::{Mutex, PoisonError};

use crate::checks::Gap;
use crate::checks::deadline::GAP_EXCUSES;
use crate::time::Time;

/// The span, shared by whoever refuses.
#[derive(Default)]
pub struct Refusals(Mutex<Option<Refused>>);

#[derive(Clone, Copy)]
struct Refused {
    since: Time,
    last: Time,
    noted: bool,
}

impl Refusals {
    /// Counts a ping that came at `at` and was refused at `now`.
    pub fn add(&self, at: Time, now: Time) {
        let mut span = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = span.filter(|span| at - span.last <= GAP_EXCUSES);
        let since = before.map_or(at, |span| span.since.min(at));
        *span = Some(Refused { since, last: now, noted: false });
    }

    /// The span up to now, where there were refusals since it was last noted.
    pub fn unnoted(&self, now: Time) -> Option<Gap> {
        let span = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        (!span.noted).then_some(Gap { started_at: span.since, ended_at: now.max(span.last) })
    }

    /// Keeps in mind that the gap is stored.
    pub fn noted(&self, gap: Gap) {
        let mut span = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(span) = span.as_mut().filter(|span| span.last <= gap.ended_at) {
            span.noted = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(from: i64, to: i64) -> Option<Gap> {
        Some(Gap { started_at: Time::from_seconds(from), ended_at: Time::from_seconds(to) })
    }

    #[test]
    fn a_span_lasts_while_refusals_follow_each_other_within_30_seconds() {
        let refusals = Refusals::default();
        assert_eq!(refusals.unnoted(Time::from_seconds(5)), None);
        refusals.add(Time::from_seconds(10), Time::from_seconds(12));
        assert_eq!(refusals.unnoted(Time::from_seconds(13)), gap(10, 13));
        refusals.noted(gap(10, 13).unwrap());
        assert_eq!(refusals.unnoted(Time::from_seconds(14)), None);
        refusals.add(Time::from_seconds(42), Time::from_seconds(42));
        assert_eq!(refusals.unnoted(Time::from_seconds(50)), gap(10, 50));
        refusals.add(Time::from_seconds(73), Time::from_seconds(73));
        assert_eq!(refusals.unnoted(Time::from_seconds(74)), gap(73, 74));
    }

    #[test]
    fn a_refusal_that_comes_while_the_span_is_noted_is_noted_later() {
        let refusals = Refusals::default();
        refusals.add(Time::from_seconds(10), Time::from_seconds(10));
        let seen = refusals.unnoted(Time::from_seconds(20)).unwrap();
        refusals.add(Time::from_seconds(19), Time::from_seconds(21));
        refusals.noted(seen);
        assert_eq!(refusals.unnoted(Time::from_seconds(22)), gap(10, 22));
    }
}
