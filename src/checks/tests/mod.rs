//! The state machine by tables, and held against simulated clients: [`pings`], [`silence`] with gaps of our own,
//! [`traffic`] at random. All of it is pure; a [`Bench`] stands for the row, its runs and what was written.

mod pings;
mod runs;
mod silence;
mod traffic;

use std::collections::HashMap;

use uuid::Uuid;

use super::deadline::{Gap, Rules};
use super::silence::{Verdict, judge};
use super::state::{Arrival, Change, Reason, RunChange, Signal, State, Status, Step, Taken, step};
use crate::schedule::Schedule;
use crate::time::{Span, Time};

/// 2026-03-26T00:00:00Z.
const MIDNIGHT: Time = Time::from_seconds(1_774_483_200);
/// A sweep that finds work more often than this in one go would never end.
const MOST_TURNS: usize = 8;

/// So many seconds after midnight.
fn at(seconds: i64) -> Time {
    MIDNIGHT + Span::seconds(seconds)
}

fn rid(number: u128) -> Option<Uuid> {
    Some(Uuid::from_u128(number))
}

fn gap(from: i64, to: i64) -> Gap {
    Gap { started_at: at(from), ended_at: at(to) }
}

/// A simple check; seconds.
fn simple(period: i64, grace: i64, floor: i64) -> Rules {
    Rules {
        schedule: Some(Schedule::Simple { period: Span::seconds(period) }),
        grace: Span::seconds(grace),
        floor: Span::seconds(floor),
        manual_resume: false,
    }
}

/// A cron check in UTC; seconds.
fn cron(expression: &str, grace: i64, floor: i64) -> Rules {
    let schedule = Schedule::cron(expression, "UTC").expect("an expression");
    Rules { schedule: Some(schedule), ..simple(0, grace, floor) }
}

/// A flip in short: when, from, to, why.
type Told = (Time, Status, Status, Reason);

/// One check with its runs, and what was told of it.
#[derive(Clone)]
struct Bench {
    state: State,
    rules: Rules,
    runs: HashMap<Option<Uuid>, Time>,
    flips: Vec<Change>,
    /// Slots that could not be judged.
    unseen: Vec<Time>,
}

impl Bench {
    fn new(rules: Rules) -> Self {
        Self { state: State::unpinged(), rules, runs: HashMap::new(), flips: Vec::new(), unseen: Vec::new() }
    }

    /// A check whose only ping was a success at midnight.
    fn up(rules: Rules) -> Self {
        let mut bench = Self::new(rules);
        bench.taken(0, Signal::Success, None);
        bench
    }

    /// Decides a ping and writes what follows.
    fn ping(&mut self, now: Time, signal: Signal, rid: Option<Uuid>) -> Step {
        let arrival =
            Arrival { signal, rid, exit_status: None, run_started_at: self.runs.get(&rid).copied() };
        let step = step(&self.state, &self.rules, &arrival, now);
        if let Step::Taken(taken) = &step {
            match taken.run {
                RunChange::Keep => {}
                RunChange::Open => drop(self.runs.insert(rid, now)),
                RunChange::Close => drop(self.runs.remove(&rid)),
            }
            self.state = taken.state.clone();
            self.flips.extend(taken.flip.clone());
            assert_eq!(
                usize::try_from(self.state.open_runs),
                Ok(self.runs.len()),
                "the counter of open runs"
            );
        }
        step
    }

    /// A ping that is taken.
    #[track_caller]
    fn taken(&mut self, seconds: i64, signal: Signal, rid: Option<Uuid>) -> Taken {
        match self.ping(at(seconds), signal, rid) {
            Step::Taken(taken) => *taken,
            Step::Refused { retry_at } => panic!("refused until {retry_at:?}"),
        }
    }

    /// When a ping that is refused may come again, in seconds after midnight.
    #[track_caller]
    fn refused(&mut self, seconds: i64, signal: Signal, rid: Option<Uuid>) -> i64 {
        let before = self.state.clone();
        match self.ping(at(seconds), signal, rid) {
            Step::Refused { retry_at } => {
                assert_eq!(self.state, before, "a refusal writes nothing");
                (retry_at - MIDNIGHT).as_seconds()
            }
            Step::Taken(taken) => panic!("taken: {taken:?}"),
        }
    }

    /// Sweeps at an instant as the program does: while the check's turn has come.
    fn sweep(&mut self, now: Time, gaps: &[Gap]) {
        for _ in 0..MOST_TURNS {
            if self.state.wake_at.is_none_or(|wake| wake > now) {
                return;
            }
            match judge(&self.state, &self.rules, gaps, now) {
                Verdict::Later(state) => self.state = state,
                Verdict::Flip(state, change) => {
                    self.state = state;
                    self.flips.push(change);
                }
                Verdict::Unseen { state, slot_at, .. } => {
                    self.state = state;
                    self.unseen.push(slot_at);
                }
            }
        }
        panic!("the sweep does not end: {:?}", self.state);
    }

    /// Sweeps whenever the check's turn comes, until `seconds` after midnight.
    fn watch(&mut self, seconds: i64, gaps: &[Gap]) {
        self.watch_until(at(seconds), gaps);
    }

    /// The same until an instant; in a gap of ours nobody sweeps, and it is known once it is over.
    fn watch_until(&mut self, until: Time, gaps: &[Gap]) {
        while let Some(wake) = self.state.wake_at {
            let away = gaps.iter().find(|gap| gap.started_at < wake && wake < gap.ended_at);
            let now = away.map_or(wake, |gap| gap.ended_at);
            if now > until {
                return;
            }
            let seen: Vec<Gap> = gaps.iter().filter(|gap| gap.ended_at <= now).copied().collect();
            self.sweep(now, &seen);
        }
    }

    fn told(&self) -> Vec<Told> {
        self.flips.iter().map(|flip| (flip.at, flip.old, flip.new, flip.reason)).collect()
    }

    /// The changes to down.
    fn downs(&self) -> Vec<(Time, Reason)> {
        let downs = self.flips.iter().filter(|flip| flip.new == Status::Down);
        downs.map(|flip| (flip.at, flip.reason)).collect()
    }
}
