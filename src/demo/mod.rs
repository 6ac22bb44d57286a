//! A believable month of jobs: what `flatline demo` plays into a new database, for trying Flatline and for pictures.
//!
//! Pure: [`Days::events`] says what the jobs of [`cast`] sent in the days before an instant, in order of time, and the
//! same for the same instant. It decides nothing about status: the player hands the pings to `pings` and lets
//! `sweep` judge the silence, so a demonstration shows what would have happened.

pub mod cast;
mod output;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::checks::{Gap, Settings, Signal};
use crate::time::{Span, Time};
pub use cast::{Fate, JOBS, Job};
pub use output::body;

pub const DAY: Span = Span::hours(24);
/// An outage of ours: pings of that time are lost.
const OUTAGE_DAYS_BEFORE_END: i64 = 9;
/// From midnight UTC; the nightly jobs of an office in Europe run then.
const OUTAGE_TIME_OF_DAY: Span = Span::minutes(20);
const OUTAGE_LENGTH: Span = Span::minutes(140);
/// How long checks of [`Fate::Paused`] have been paused at the end.
pub const PAUSED_FOR: Span = Span::hours(20);
const SEED: u64 = 2026;

/// One message of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub at: Time,
    /// Its place in [`JOBS`].
    pub job: usize,
    pub signal: Signal,
    pub exit_status: Option<u8>,
}

/// The days that are made up: a month, or fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Days {
    pub starts_at: Time,
    pub ends_at: Time,
}

impl Days {
    /// So many days until `now`.
    pub fn before(now: Time, days: u16) -> Self {
        Self { starts_at: now - Span::hours(i64::from(days) * 24), ends_at: now }
    }

    /// The outage of ours, which may lie before the first day.
    pub fn outage(self) -> Gap {
        let day = self.ends_at.0.div_euclid(DAY.0) - OUTAGE_DAYS_BEFORE_END;
        let started_at = Time(day * DAY.0) + OUTAGE_TIME_OF_DAY;
        Gap { started_at, ended_at: started_at + OUTAGE_LENGTH }
    }

    /// What all jobs sent while it could be taken, in order of time.
    pub fn events(self) -> Vec<Event> {
        let outage = self.outage();
        let mut events = Vec::new();
        for (index, job) in JOBS.iter().enumerate() {
            let mut rng = StdRng::seed_from_u64(SEED + index as u64);
            let mut play = Play { job, index, days: self, rng: &mut rng, events: &mut events };
            play.all_runs();
        }
        let lost = |at| at > self.ends_at || (outage.started_at..outage.ended_at).contains(&at);
        events.retain(|event| !lost(event.at));
        events.sort_by_key(|event| (event.at, event.job));
        events
    }
}

/// One job's month as it is made up.
struct Play<'a> {
    job: &'a Job,
    index: usize,
    days: Days,
    rng: &'a mut StdRng,
    events: &'a mut Vec<Event>,
}

impl Play<'_> {
    fn all_runs(&mut self) {
        let Ok(schedule) = self.job.settings().schedule() else { return };
        let Days { starts_at: start, ends_at: end } = self.days;
        let last = match self.job.fate {
            Fate::Unpinged => start,
            Fate::Paused => end - PAUSED_FOR,
            Fate::SilentFor(span) | Fate::HangsFor(span) | Fate::RunsFor(span) => end - span,
            _ => end,
        };
        let first = start + Span::minutes(self.rng.random_range(0..60));
        for (count, slot) in schedule.slots(first).take_while(|slot| *slot <= last).enumerate() {
            self.run(slot, count);
        }
        if let Fate::HangsFor(_) | Fate::RunsFor(_) = self.job.fate {
            self.push(last, Signal::Start, None);
        }
    }

    /// The `count`th run, expected at `slot`.
    fn run(&mut self, slot: Time, count: usize) {
        let begun = slot + Span::seconds(self.rng.random_range(0..self.job.lateness_seconds()));
        let (length, failed) = (self.length(slot), self.fails(slot, count));
        if self.is_missed(slot) {
            return;
        }
        if length > Span::ZERO {
            self.push(begun, Signal::Start, None);
        }
        let signal = if failed { Signal::Fail } else { Signal::Success };
        let exit_status = (length > Span::ZERO).then_some(u8::from(failed));
        self.push(begun + length, signal, exit_status);
    }

    /// About the job's usual length: a quarter less up to half as much again, and growing where that is its fate.
    fn length(&mut self, slot: Time) -> Span {
        let usual = self.job.takes_seconds * 1000;
        let spread = usual * self.rng.random_range(75..150) / 100;
        let grown = match self.job.fate {
            Fate::Slows => spread + spread * (slot - self.days.starts_at).0 / (30 * DAY.0),
            _ => spread,
        };
        Span::millis(grown)
    }

    fn fails(&mut self, slot: Time, count: usize) -> bool {
        match self.job.fate {
            Fate::Fails { one_in } => self.rng.random_range(0..one_in) == 0,
            Fate::FailsFor(span) => slot > self.days.ends_at - span,
            Fate::Flaps => self.is_in_trouble(slot) && count.is_multiple_of(2),
            _ => false,
        }
    }

    /// Whether nothing was heard of this run.
    fn is_missed(&mut self, slot: Time) -> bool {
        match self.job.fate {
            Fate::Misses { one_in } => self.rng.random_range(0..one_in) == 0,
            Fate::AwayFor { from, length } => {
                (self.days.ends_at - from..self.days.ends_at - from + length).contains(&slot)
            }
            _ => false,
        }
    }

    /// Six hours on each of two days, a week ago and two weeks ago.
    fn is_in_trouble(&self, slot: Time) -> bool {
        [Span::hours(7 * 24), Span::hours(15 * 24)]
            .into_iter()
            .any(|ago| (self.days.ends_at - ago..self.days.ends_at - ago + Span::hours(6)).contains(&slot))
    }

    fn push(&mut self, at: Time, signal: Signal, exit_status: Option<u8>) {
        self.events.push(Event { at, job: self.index, signal, exit_status });
    }
}

impl Job {
    /// The settings of its check.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings {
            name: self.name.to_owned(),
            slug: crate::demo::cast::slug(self.name),
            tags: self.tags.to_owned(),
            description: self.note.to_owned(),
            grace_ms: Span::minutes(self.grace_minutes),
            ..Settings::default()
        };
        self.when.write_to(&mut settings);
        settings
    }

    fn lateness_seconds(&self) -> i64 {
        (self.grace_minutes * 60 / 10).clamp(2, 90)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_the_same_each_time_and_in_order() {
        let now = Time::parse("2026-03-26T03:12:00Z").unwrap();
        let days = Days::before(now, 30);
        let first = days.events();
        assert_eq!(first, days.events());
        assert!(first.is_sorted_by_key(|event| event.at));
        assert!(first.len() > 10_000, "{}", first.len());
        let lost = days.outage();
        assert!(!first.iter().any(|event| (lost.started_at..lost.ended_at).contains(&event.at)));
        assert!(first.iter().all(|event| (days.starts_at..=now).contains(&event.at)));
    }

    #[test]
    fn there_are_sixty_jobs_with_names_of_their_own_and_schedules_that_run() {
        let mut names: Vec<&str> = JOBS.iter().map(|job| job.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!((JOBS.len(), names.len()), (60, 60));
        for job in JOBS {
            assert!(!job.settings().schedule().unwrap().never_runs(), "{}", job.name);
        }
    }
}
