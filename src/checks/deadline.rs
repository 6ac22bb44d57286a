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
    pub schedule: Schedule,
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

/// The time in which a slot's ping, or a run's end, had to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The slot, or the run's start.
    pub expected: Time,
    from: Time,
    to: Time,
    pub deadline: Time,
    /// Whether it is a run that must end.
    pub is_run: bool,
}

/// How much of a window Flatline saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The latest gap that touches the window and is long enough to excuse it.
    pub excused_by: Option<Gap>,
    /// Whether the gaps that excuse cover less than half of the window.
    pub mostly_watched: bool,
    /// How long the window was unwatched altogether.
    pub blind: Span,
}

/// Sets `expected_at` and `deadline_at` from the rest of the state.
pub fn expect(state: &mut State, rules: &Rules) {
    state.expected_at = slot(state, rules);
    let by_slot = state.expected_at.map(|expected| expected + slot_allowance(rules));
    state.deadline_at = [by_slot, run_deadline(state, rules)].into_iter().flatten().min();
}

/// The next slot: only a check that is up is expected.
fn slot(state: &State, rules: &Rules) -> Option<Time> {
    let last = state.last_ping_at.filter(|_| state.status == Status::Up)?;
    match &rules.schedule {
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
        Schedule::Simple { .. } => rules.grace + rules.floor,
        _ => rules.grace,
    }
}

fn run_deadline(state: &State, rules: &Rules) -> Option<Time> {
    let supervised = matches!(state.status, Status::New | Status::Up);
    state.last_start_at.filter(|_| supervised).map(|started| started + rules.grace + rules.floor)
}

/// The window that the stored deadline closes.
pub fn window(state: &State, rules: &Rules) -> Option<Window> {
    let deadline = state.deadline_at?;
    match (state.last_start_at, state.expected_at) {
        (Some(started), _) if run_deadline(state, rules) == Some(deadline) => Some(Window {
            expected: started,
            from: started,
            to: started + rules.grace,
            deadline,
            is_run: true,
        }),
        (_, Some(expected)) => {
            Some(Window { expected, from: expected - EARLY, to: deadline, deadline, is_run: false })
        }
        _ => None,
    }
}

impl Window {
    /// Where the window begins: gaps that end earlier do not touch it.
    pub fn from(&self) -> Time {
        self.from
    }

    /// What `gaps` left to see of this window.
    pub fn seen_through(&self, gaps: &[Gap]) -> Sight {
        let touching = |gap: &&Gap| gap.ended_at >= self.from && gap.started_at <= self.to;
        let overlap = |gap: &Gap| (gap.ended_at.min(self.to) - gap.started_at.max(self.from)).max(Span::ZERO);
        let excuses = |gap: &&Gap| gap.ended_at - gap.started_at >= GAP_EXCUSES;
        let sum = |a: Span, b: Span| a + b;
        let blind = gaps.iter().filter(touching).map(overlap).fold(Span::ZERO, sum);
        let excused = gaps.iter().filter(touching).filter(excuses).map(overlap).fold(Span::ZERO, sum);
        Sight {
            excused_by: gaps.iter().filter(touching).filter(excuses).max_by_key(|gap| gap.ended_at).copied(),
            mostly_watched: excused.0.saturating_mul(2) < (self.to - self.from).0,
            blind,
        }
    }
}
