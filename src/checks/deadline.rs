//! When a check is expected and when its silence becomes an alarm (DESIGN 3), and what of that time Flatline
//! itself was there to see (DESIGN 4). Pure.

use super::state::{State, Status};
use crate::schedule::Schedule;
use crate::time::{Span, Time};

/// A ping may come this much before its slot; a gap that touches this minute may have swallowed it.
const EARLY: Span = Span::seconds(60);
/// Gaps shorter than this are mentioned, not excused.
pub const GAP_EXCUSES: Span = Span::seconds(30);
/// The longest that a check may take to be heard again after a gap, before its slot counts as unseen.
pub const AFTER_GAP: Span = Span::minutes(15);

/// What of a check's settings decides its transitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// `None` where the stored one cannot be evaluated: nothing is expected then, and the sweep reports it.
    pub schedule: Option<Schedule>,
    pub grace: Span,
    /// The plan's shortest time between repeats; zero refuses nothing.
    pub floor: Span,
    pub manual_resume: bool,
}

/// A span in which Flatline could not take pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Gap {
    pub started_at: Time,
    pub ended_at: Time,
}

impl Gap {
    pub fn length(&self) -> Span {
        self.ended_at - self.started_at
    }
}

/// The time in which a slot's ping, or a run's end, had to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The slot, or the run's start.
    pub expected: Time,
    /// Where it begins: gaps that end before do not touch it.
    pub from: Time,
    pub deadline: Time,
    /// Whether it is a run that must end.
    pub is_run: bool,
}

/// How much of a window Flatline saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// What excuses silence, where a gap that touches the window is long enough.
    pub excuse: Option<Excuse>,
    /// Whether the gaps that excuse cover less than half of the window.
    pub mostly_watched: bool,
    /// How long the window was unwatched altogether.
    pub blind: Span,
}

/// Why silence proves nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excuse {
    /// The latest gap that could have swallowed the ping, counting those that began while it was waited for.
    pub gap: Gap,
    /// Until when the check may be heard again before its slot counts as unseen.
    pub until: Time,
}

/// Sets `expected_at` and `deadline_at` from the rest of the state.
pub fn expect(state: &mut State, rules: &Rules) {
    let slot = slot_window(state, rules);
    state.expected_at = slot.map(|slot| slot.expected);
    state.deadline_at = earlier(run_window(state, rules), slot).map(|window| window.deadline);
}

/// The window that closes first; `None` while nothing is due. Computed anew: what is stored only orders the
/// sweep's work.
pub fn window(state: &State, rules: &Rules) -> Option<Window> {
    earlier(run_window(state, rules), slot_window(state, rules))
}

fn earlier(run: Option<Window>, slot: Option<Window>) -> Option<Window> {
    [run, slot].into_iter().flatten().min_by_key(|window| window.deadline)
}

fn slot_window(state: &State, rules: &Rules) -> Option<Window> {
    let expected = slot(state, rules)?;
    let deadline = expected + slot_allowance(rules);
    // A gap that made a slot unseen is over for the next one.
    let from = state.unseen_at.map_or(expected - EARLY, |gap_end| gap_end.max(expected - EARLY));
    Some(Window { expected, from, deadline, is_run: false })
}

/// The run that is supervised; while the check is down or paused, none is.
fn run_window(state: &State, rules: &Rules) -> Option<Window> {
    let supervised = matches!(state.status, Status::New | Status::Up);
    let started = state.last_start_at.filter(|_| supervised)?;
    Some(Window { expected: started, from: started, deadline: run_deadline(started, rules), is_run: true })
}

/// By when a run must have ended: one that was started again may have had that start refused for a floor.
pub fn run_deadline(started: Time, rules: &Rules) -> Time {
    started + rules.grace + rules.floor
}

/// The next slot: only a check that is up is expected.
fn slot(state: &State, rules: &Rules) -> Option<Time> {
    let last = state.last_ping_at.filter(|_| state.status == Status::Up)?;
    match rules.schedule.as_ref()? {
        Schedule::Simple { period } => Some(last.max(state.unseen_at.unwrap_or(last)) + *period),
        schedule => {
            // A slot before `last + floor` could have had its ping refused, so it cannot be asked for.
            let refusable = last + (rules.floor - Span::millis(1)).max(Span::ZERO);
            schedule.next_after(refusable.max(state.unseen_at.map_or(refusable, |gap_end| gap_end + EARLY)))
        }
    }
}

/// From the slot to the alarm. A simple check's last ping may have been refused up to one floor after the one
/// that counts, so the floor is added; slots take it into account when they are chosen.
fn slot_allowance(rules: &Rules) -> Span {
    match rules.schedule {
        Some(Schedule::Simple { .. }) => rules.grace + rules.floor,
        _ => rules.grace,
    }
}

impl Window {
    /// What `gaps`, in any order, left to see of this window of a check with this grace.
    pub fn seen_through(&self, gaps: &[Gap], grace: Span) -> Sight {
        let touching = |until: Time| {
            gaps.iter().filter(move |gap| gap.ended_at > self.from && gap.started_at < until).copied()
        };
        let excusing = |until: Time| touching(until).filter(|gap| gap.length() >= GAP_EXCUSES);
        let latest = excusing(self.deadline).map(|gap| gap.ended_at).max();
        let until = latest.map(|end| self.deadline.max(end + grace.min(AFTER_GAP)));
        let excuse = until.and_then(|until| {
            // A gap that began while the check was waited for could have swallowed its ping just as well.
            let gap = excusing(until).max_by_key(|gap| gap.ended_at)?;
            Some(Excuse { gap, until })
        });
        let watched = self.deadline - self.from - self.covered(excusing(self.deadline).collect());
        Sight {
            excuse,
            mostly_watched: watched.0.saturating_mul(2) > (self.deadline - self.from).0,
            blind: self.covered(touching(self.deadline).collect()),
        }
    }

    /// How much of the window the gaps cover together; gaps noted by several processes overlap.
    fn covered(&self, mut gaps: Vec<Gap>) -> Span {
        gaps.sort_by_key(|gap| gap.started_at);
        let mut covered = Span::ZERO;
        let mut reached = self.from;
        for gap in gaps {
            let (start, end) = (gap.started_at.max(reached), gap.ended_at.min(self.deadline));
            if end > start {
                covered = covered + (end - start);
                reached = end;
            }
        }
        covered
    }
}
