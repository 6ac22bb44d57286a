//! What silence makes of a check: the other half of the state machine, beside [`step`](super::state::step). Pure.
//!
//! [`judge`] is asked about a check whose stored deadline has passed, and says what to write: that it is down,
//! that it is too early, or that the slot fell into a gap of ours. What is stored only tells when to ask; the
//! window is computed anew from state and rules. Silence in a window that Flatline did not watch proves nothing,
//! but it excuses once: after an unseen slot, a window that was watched for the most part counts, whatever further
//! gap touches it.

use super::deadline::{self, Gap, Rules, Window};
use super::state::{Change, Reason, State, Status, flip};
use crate::time::{Span, Time};

/// What silence leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is nothing to tell; look again at the state's `wake_at`.
    Later(State),
    /// The status changes.
    Flip(State, Change),
    /// The slot fell into a gap of ours and cannot be judged.
    Unseen { state: State, slot_at: Time, gap: Gap },
}

impl Verdict {
    /// What becomes of the check.
    pub fn state(&self) -> &State {
        match self {
            Self::Later(state) | Self::Flip(state, _) | Self::Unseen { state, .. } => state,
        }
    }
}

/// Decides what silence means at `now`; `gaps` are those of ours that may touch the window, in any order.
pub fn judge(state: &State, rules: &Rules, gaps: &[Gap], now: Time) -> Verdict {
    let mut state = state.clone();
    state.rearm(rules);
    if let Some(until) = state.flapping_until_at.filter(|until| *until <= now) {
        return end_flapping(state, until);
    }
    let due = deadline::window(&state, rules).filter(|window| window.deadline <= now);
    let Some(window) = due else { return Verdict::Later(state) };
    let sight = window.seen_through(gaps, rules.grace);
    let is_another = |gap: &Gap| state.unseen_at.is_some_and(|unseen| unseen < gap.ended_at);
    let counts = |gap: &Gap| is_another(gap) && sight.mostly_watched;
    match sight.excuse.filter(|excuse| !counts(&excuse.gap)) {
        Some(excuse) if now < excuse.until => {
            state.wake_at = [Some(excuse.until), state.flapping_until_at].into_iter().flatten().min();
            Verdict::Later(state)
        }
        Some(excuse) => unseen(state, rules, &window, excuse.gap),
        None => down(state, rules, &window, sight.blind),
    }
}

/// Lets the slot go, and expects the next one from the end of the gap.
fn unseen(mut state: State, rules: &Rules, window: &Window, gap: Gap) -> Verdict {
    state.unseen_at = Some(gap.ended_at);
    if window.is_run {
        (state.last_start_at, state.last_start_rid) = (None, None);
    }
    state.rearm(rules);
    Verdict::Unseen { state, slot_at: window.expected, gap }
}

fn down(seen: State, rules: &Rules, window: &Window, blind: Span) -> Verdict {
    let reason = if window.is_run { Reason::Run } else { Reason::Timeout };
    let mut change = flip(&seen, window.deadline, Status::Down, reason, None);
    change.blind = blind;
    change.expected_at = (!window.is_run).then_some(window.expected);
    change.started_at = window.is_run.then_some(window.expected);
    let mut state = State {
        status: Status::Down,
        told_status: Status::Down,
        unseen_at: None,
        flapping_until_at: None,
        ..seen
    };
    state.rearm(rules);
    // While changes were merged, people may have been told of the last one that it is down.
    if change.old == Status::Down { Verdict::Later(state) } else { Verdict::Flip(state, change) }
}

/// Tells what the merged changes came to, as of the end of their window.
fn end_flapping(mut state: State, ended_at: Time) -> Verdict {
    state.flapping_until_at = None;
    state.wake_at = state.next_look();
    if state.status == state.told_status {
        return Verdict::Later(state);
    }
    let change = flip(&state, ended_at, state.status, Reason::Flapping, None);
    state.told_status = state.status;
    Verdict::Flip(state, change)
}
