//! The state machine: what a ping, or silence, makes of a check. Pure: no IO, no clock, no SQL.
//!
//! [`step`] decides a ping, and [`judge`](super::silence::judge) decides silence; both return the state to write,
//! and `store` writes it under a guard that holds only while the state they saw is still the live one (`seq`, `rev`, `status`). The
//! floor stands in that WHERE once more by itself, so that no decision, however computed, gets past it.

use uuid::Uuid;

use super::deadline::{self, Rules};
use crate::db::text_enum;
use crate::time::{CLOCK_SLACK, Span, Time};

/// Flips of one check within a floor window that are written one by one; later ones are merged.
pub const FLIPS_PER_FLOOR: i64 = 6;
/// Starts of one check within a floor window that are accepted.
pub const STARTS_PER_FLOOR: i64 = 6;
/// An open run older than this is forgotten (`CONTRACT` 3.6).
pub const RUN_LIFE: Span = Span::hours(72);

text_enum! {
    /// The stored status of a check.
    pub enum Status { New = "new", Up = "up", Down = "down", Paused = "paused" }
}

text_enum! {
    /// What a ping says, as the log keeps it.
    pub enum Signal { Success = "success", Start = "start", Fail = "fail", Log = "log", Ignored = "ign" }
}

text_enum! {
    /// Why the status changed.
    pub enum Reason {
        /// A success arrived.
        Success = "success",
        /// A fail signal arrived.
        Fail = "fail",
        /// An exit status other than 0 arrived.
        ExitStatus = "exit_status",
        /// Nothing arrived until the deadline.
        Timeout = "timeout",
        /// A run was started and never ended.
        Run = "run",
        /// The status changed so often that the changes were merged into this one.
        Flapping = "flapping",
        /// Somebody paused the check.
        Pause = "pause",
        /// Somebody resumed it.
        Resume = "resume",
    }
}

/// The state columns of a check.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct State {
    /// Moves with every write of these columns.
    pub seq: i64,
    pub status: Status,
    /// The new status of the last flip that was written; differs from `status` only while flips are merged.
    pub told_status: Status,
    /// Pings recorded, which is also the number of the last one.
    pub n_pings: i64,
    pub open_runs: i64,
    /// The last success or fail.
    pub last_ping_at: Option<Time>,
    pub last_success_at: Option<Time>,
    /// The start of the run that is supervised.
    pub last_start_at: Option<Time>,
    pub last_start_rid: Option<Uuid>,
    pub last_duration_ms: Option<Span>,
    pub last_log_at: Option<Time>,
    pub last_ignored_at: Option<Time>,
    pub starts_since_at: Option<Time>,
    pub starts: i64,
    pub flips_since_at: Option<Time>,
    pub flips: i64,
    /// Until when flips are merged.
    pub flapping_until_at: Option<Time>,
    /// End of the gap for which the last slot could not be judged; expectations count from here.
    pub unseen_at: Option<Time>,
    pub expected_at: Option<Time>,
    pub deadline_at: Option<Time>,
    /// When the sweep looks at the check again; never later than the deadline or the end of flapping.
    pub wake_at: Option<Time>,
}

/// One ping as the machine sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub signal: Signal,
    pub rid: Option<Uuid>,
    /// The exit status its URL carried, 0 to 255.
    pub exit_status: Option<u8>,
    /// When the open run with the same `rid` started, if there is one.
    pub run_started_at: Option<Time>,
}

/// What a ping does to the open runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunChange {
    Keep,
    /// Opens the run of the ping's `rid`, or starts it anew.
    Open,
    /// Closes the run of the ping's `rid`.
    Close,
}

text_enum! {
    /// The term of the floor that a ping has to pass, as the guarded write names it.
    pub enum Floor {
        /// None: it changes the status or ends a run.
        Free = "free",
        /// A success or fail that only repeats what is known.
        Repeat = "repeat",
        /// A start of another run.
        Start = "start",
        /// A start of the run that is open already.
        StartAgain = "start_again",
        Log = "log",
        Ignored = "ignored",
    }
}

/// A change of status that is written to the log of flips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub at: Time,
    pub old: Status,
    pub new: Status,
    pub reason: Reason,
    pub exit_status: Option<u8>,
    /// What was expected and did not come, for `Timeout`.
    pub expected_at: Option<Time>,
    /// When the run began that never ended, for `Run`.
    pub started_at: Option<Time>,
    pub last_success_at: Option<Time>,
    /// For how long of the time in question Flatline could not take pings.
    pub blind: Span,
}

/// What a ping leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Too soon; nothing is written. It may come again at `retry_at`.
    Refused {
        retry_at: Time,
    },
    Taken(Box<Taken>),
}

/// The writes that follow from an accepted ping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub state: State,
    /// What the log says; differs from the ping's own where the check is paused for good.
    pub signal: Signal,
    /// Whether the log gets a row; not if the ping only flips a flapping check once more.
    pub logged: bool,
    pub duration: Option<Span>,
    pub run: RunChange,
    pub floor: Floor,
    pub flip: Option<Change>,
}

impl Taken {
    /// Whether nothing follows from the ping but its log entry.
    pub fn is_plain(&self) -> bool {
        self.logged && self.run == RunChange::Keep && self.flip.is_none()
    }
}

/// The instant, if it can be believed at `now`.
fn believed(at: Option<Time>, now: Time) -> Option<Time> {
    at.filter(|at| *at <= now + CLOCK_SLACK)
}

/// `now`, or the stored instant where that is ahead by no more than clocks differ.
fn forward(at: Option<Time>, now: Time) -> Option<Time> {
    Some(believed(at, now).map_or(now, |at| at.max(now)))
}

/// Decides one ping.
pub fn step(state: &State, rules: &Rules, arrival: &Arrival, now: Time) -> Step {
    let held = state.status == Status::Paused && rules.manual_resume;
    let signal = if held { Signal::Ignored } else { arrival.signal };
    let taken = match signal {
        Signal::Success | Signal::Fail => finish(state, rules, arrival, signal, now),
        Signal::Start => start(state, rules, arrival, now),
        Signal::Log | Signal::Ignored => note(state, signal, now),
    };
    match retry_at(state, rules.floor, taken.floor, now) {
        Some(retry_at) => Step::Refused { retry_at },
        None => Step::Taken(Box::new(settle(taken, state, rules))),
    }
}

/// When a ping that has to pass `term` may come, if that is later than now. The guarded write judges the same
/// term against the live row.
fn retry_at(state: &State, floor: Span, term: Floor, now: Time) -> Option<Time> {
    let since = match term {
        Floor::Free => None,
        Floor::Repeat => state.last_ping_at,
        Floor::StartAgain => state.last_start_at,
        Floor::Log => state.last_log_at,
        Floor::Ignored => state.last_ignored_at,
        Floor::Start => state.starts_since_at.filter(|_| state.starts >= STARTS_PER_FLOOR),
    };
    free_at(since, floor, now)
}

/// When the floor after `since` is over, if that is later than now.
pub fn free_at(since: Option<Time>, floor: Span, now: Time) -> Option<Time> {
    if floor == Span::ZERO {
        return None;
    }
    believed(since, now).map(|since| since + floor).filter(|at| *at > now)
}

fn draft(state: &State, signal: Signal, floor: Floor) -> Taken {
    Taken {
        state: state.clone(),
        signal,
        logged: true,
        duration: None,
        run: RunChange::Keep,
        floor,
        flip: None,
    }
}

fn note(state: &State, signal: Signal, now: Time) -> Taken {
    let log = signal == Signal::Log;
    let mut taken = draft(state, signal, if log { Floor::Log } else { Floor::Ignored });
    let last = if log { &mut taken.state.last_log_at } else { &mut taken.state.last_ignored_at };
    *last = forward(*last, now);
    taken
}

fn start(state: &State, rules: &Rules, arrival: &Arrival, now: Time) -> Taken {
    let again = state.last_start_at.is_some() && state.last_start_rid == arrival.rid;
    let mut taken = draft(state, Signal::Start, if again { Floor::StartAgain } else { Floor::Start });
    let next = &mut taken.state;
    if !again {
        (next.starts_since_at, next.starts) = count(state.starts_since_at, state.starts, rules.floor, now);
    }
    next.last_start_at = Some(now);
    next.last_start_rid = arrival.rid;
    next.open_runs += i64::from(arrival.run_started_at.is_none());
    taken.run = RunChange::Open;
    taken
}

fn finish(state: &State, rules: &Rules, arrival: &Arrival, signal: Signal, now: Time) -> Taken {
    let same_run = state.last_start_at.is_some() && state.last_start_rid == arrival.rid;
    let ends_supervision = state.last_start_at.is_some_and(|started| {
        same_run || signal == Signal::Fail || arrival.rid.is_none() || is_past(state, rules, started, now)
    });
    let closes = arrival.run_started_at.is_some();
    let new = if signal == Signal::Success { Status::Up } else { Status::Down };
    let floor = if new != state.status || closes || ends_supervision { Floor::Free } else { Floor::Repeat };

    let mut taken = draft(state, signal, floor);
    taken.duration = arrival
        .run_started_at
        .map(|started| now - started)
        .filter(|span| (Span::ZERO..RUN_LIFE).contains(span));
    if closes {
        taken.run = RunChange::Close;
        taken.state.open_runs -= 1;
    }
    let next = &mut taken.state;
    next.last_duration_ms = taken.duration.filter(|_| same_run);
    if ends_supervision {
        (next.last_start_at, next.last_start_rid) = (None, None);
    }
    next.last_ping_at = forward(state.last_ping_at, now);
    if signal == Signal::Success {
        next.last_success_at = forward(state.last_success_at, now);
    }
    next.unseen_at = None;
    next.status = new;
    if new != state.status {
        (next.flips_since_at, next.flips) = count(state.flips_since_at, state.flips, rules.floor, now);
    }
    let flapping = rules.floor > Span::ZERO && next.flips > FLIPS_PER_FLOOR && new != state.status;
    next.flapping_until_at = match next.flips_since_at {
        Some(since) if flapping => Some(since + rules.floor),
        _ if new == next.told_status => None,
        _ => next.flapping_until_at,
    };
    taken.logged = !flapping || closes || ends_supervision;
    // While changes are merged a repeat tells nothing either: the sweep's flip will.
    if !flapping && new != next.told_status && (new != state.status || next.flapping_until_at.is_none()) {
        let reason = match (signal, arrival.exit_status) {
            (Signal::Success, _) => Reason::Success,
            (_, Some(status)) if status != 0 => Reason::ExitStatus,
            _ => Reason::Fail,
        };
        taken.flip = Some(flip(next, now, new, reason, arrival.exit_status));
        (next.told_status, next.flapping_until_at) = (new, None);
    }
    taken
}

/// Whether the run that began at `started` was judged or never will be: a check that goes up again must not go
/// down for it, once more or at all.
fn is_past(state: &State, rules: &Rules, started: Time, now: Time) -> bool {
    match state.status {
        Status::New | Status::Up => false,
        Status::Down => deadline::run_deadline(started, rules) <= now,
        Status::Paused => true,
    }
}

pub(super) fn flip(state: &State, at: Time, new: Status, reason: Reason, exit_status: Option<u8>) -> Change {
    Change {
        at,
        old: state.told_status,
        new,
        reason,
        exit_status,
        expected_at: None,
        started_at: None,
        last_success_at: state.last_success_at,
        blind: Span::ZERO,
    }
}

/// Counts one more within a window of one floor, which begins anew once it is over.
fn count(since: Option<Time>, counted: i64, floor: Span, now: Time) -> (Option<Time>, i64) {
    match believed(since, now) {
        Some(since) if now < since + floor => (Some(since), counted + 1),
        _ => (Some(now), 1),
    }
}

/// Completes an accepted ping: number, expectation, deadline.
fn settle(mut taken: Taken, seen: &State, rules: &Rules) -> Taken {
    let state = &mut taken.state;
    state.n_pings += i64::from(taken.logged);
    deadline::expect(state, rules);
    // The index entry moves only forward in time by the sweep; a ping leaves it where it is unless it must be
    // earlier. That keeps an accepted ping at one page.
    state.wake_at = match (seen.wake_at, state.next_look()) {
        (Some(wake), Some(due)) => Some(wake.min(due)),
        (None, due) => due,
        (wake, None) => wake,
    };
    taken
}

impl State {
    /// When something is due by itself: the deadline, or the end of flapping.
    pub fn next_look(&self) -> Option<Time> {
        [self.deadline_at, self.flapping_until_at].into_iter().flatten().min()
    }

    /// The state of a check that was never pinged.
    pub fn unpinged() -> Self {
        Self {
            seq: 0,
            status: Status::New,
            told_status: Status::New,
            n_pings: 0,
            open_runs: 0,
            last_ping_at: None,
            last_success_at: None,
            last_start_at: None,
            last_start_rid: None,
            last_duration_ms: None,
            last_log_at: None,
            last_ignored_at: None,
            starts_since_at: None,
            starts: 0,
            flips_since_at: None,
            flips: 0,
            flapping_until_at: None,
            unseen_at: None,
            expected_at: None,
            deadline_at: None,
            wake_at: None,
        }
    }

    /// Pausing: the status changes, what was running is no longer supervised. `None` if paused already.
    pub fn paused(&self, rules: &Rules, now: Time) -> Option<(Self, Change)> {
        (self.status != Status::Paused).then(|| self.turned(rules, Status::Paused, Reason::Pause, now))
    }

    /// Resuming by hand: the check waits for its first ping again. `None` if it is not paused.
    pub fn resumed(&self, rules: &Rules, now: Time) -> Option<(Self, Change)> {
        (self.status == Status::Paused).then(|| {
            let fresh = Self { last_ping_at: None, ..self.clone() };
            fresh.turned(rules, Status::New, Reason::Resume, now)
        })
    }

    fn turned(&self, rules: &Rules, status: Status, reason: Reason, now: Time) -> (Self, Change) {
        let change = flip(self, now, status, reason, None);
        let mut next = Self {
            status,
            told_status: status,
            last_start_at: None,
            last_start_rid: None,
            flapping_until_at: None,
            unseen_at: None,
            ..self.clone()
        };
        next.rearm(rules);
        (next, change)
    }

    /// Computes expectation, deadline and next look anew, after the rules changed.
    pub fn rearm(&mut self, rules: &Rules) {
        deadline::expect(self, rules);
        // What has no schedule that can be evaluated is still looked at, and reported, when it was set aside for.
        self.wake_at = if rules.schedule.is_some() { self.next_look() } else { self.wake_at };
    }

    /// Takes back every instant that the clock has not reached, after it was set back.
    pub fn clamp(&mut self, rules: &Rules, now: Time) {
        let instants = [
            &mut self.last_ping_at,
            &mut self.last_success_at,
            &mut self.last_start_at,
            &mut self.last_log_at,
            &mut self.last_ignored_at,
            &mut self.starts_since_at,
            &mut self.flips_since_at,
            &mut self.unseen_at,
        ];
        for at in instants {
            *at = at.map(|at| at.min(now));
        }
        if let Some(until) = self.flapping_until_at {
            self.flapping_until_at = Some(until.min(now + rules.floor));
        }
        self.rearm(rules);
        if rules.schedule.is_none() {
            // The sweep sets it aside, and reports it, again.
            self.wake_at = Some(now);
        }
    }
}
