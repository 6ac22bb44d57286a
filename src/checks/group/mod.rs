//! What a group of pings, or a run of the sweep, reads and writes of its checks, all at once: the price of one statement
//! for many.
//!
//! Most pings only repeat what is known, and those need little of a check's wide row: [`Repeatable`] is that little.
//! Nothing here decides more than the statements for a single ping in `checks::store` do: each row of a group is
//! written under its own guard, and what could not be written is decided again alone. `pings` and `sweep` are those who ask.

pub mod store;

use uuid::Uuid;

use super::state::{Floor, State, Status, Taken, free_at};
use super::{Check, Kind, Settings};
use crate::db::Value;
use crate::time::{Span, Time};

/// A check as far as a refusal needs it.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Refusable {
    pub uuid: Uuid,
    pub floor_ms: Span,
    pub last_ping_at: Option<Time>,
    /// Whether the next success by HTTP can only be a repeat under a floor; if not, only the guarded write knows.
    pub is_refusable: bool,
}

/// A check as far as a success needs it that only repeats what is known.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Repeatable {
    id: i64,
    pub uuid: Uuid,
    project_id: i64,
    account_id: i64,
    rev: i64,
    seq: i64,
    n_pings: i64,
    floor_ms: Span,
    last_ping_at: Option<Time>,
    last_success_at: Option<Time>,
    wake_at: Option<Time>,
    kind: Kind,
    period_ms: Span,
    grace_ms: Span,
    schedule: Box<str>,
    zone: Box<str>,
    /// Whether the next success by HTTP, however sent and whatever it holds, can only be a repeat; if not, the rest of
    /// the row counts too.
    pub is_repeatable: bool,
}

impl Refusable {
    /// When the floor after the last ping is over, if that is later than a success came.
    pub fn free_at(&self, received_at: Time) -> Option<Time> {
        free_at(self.last_ping_at, self.floor_ms, received_at)
    }
}

impl Repeatable {
    /// What a check that was one, and of which only repeats were recorded since, is now.
    pub fn of(check: Check) -> Self {
        let Check { state, settings, .. } = check;
        Self {
            id: check.id,
            uuid: check.uuid,
            project_id: check.project_id,
            account_id: check.account_id,
            rev: check.rev,
            seq: state.seq,
            n_pings: state.n_pings,
            floor_ms: check.floor_ms,
            last_ping_at: state.last_ping_at,
            last_success_at: state.last_success_at,
            wake_at: state.wake_at,
            kind: settings.kind,
            period_ms: settings.period_ms,
            grace_ms: settings.grace_ms,
            schedule: settings.schedule.into(),
            zone: settings.zone.into(),
            is_repeatable: true,
        }
    }

    /// As much of it as a refusal needs.
    pub fn refusable(&self) -> Refusable {
        let Self { uuid, floor_ms, last_ping_at, is_repeatable, .. } = *self;
        Refusable { uuid, floor_ms, last_ping_at, is_refusable: is_repeatable && floor_ms > Span::ZERO }
    }

    /// The check with what was read of it. The rest is as in a check that is up and of which nothing else is to be said,
    /// which holds for whatever decides a repeat; anything else has to be decided from the whole row.
    pub fn into_check(self) -> Check {
        let settings = Settings {
            kind: self.kind,
            period_ms: self.period_ms,
            grace_ms: self.grace_ms,
            schedule: self.schedule.into(),
            zone: self.zone.into(),
            ..Settings::default()
        };
        let state = State {
            seq: self.seq,
            status: Status::Up,
            told_status: Status::Up,
            n_pings: self.n_pings,
            last_ping_at: self.last_ping_at,
            last_success_at: self.last_success_at,
            wake_at: self.wake_at,
            ..State::unpinged()
        };
        Check {
            id: self.id,
            uuid: self.uuid,
            project_id: self.project_id,
            account_id: self.account_id,
            badge_key: Uuid::nil(),
            created_at: Time::EPOCH,
            rev: self.rev,
            settings,
            floor_ms: self.floor_ms,
            state,
            fault: None,
        }
    }
}

/// Pings of one check that only repeat what is known, about to be written with those of others: see
/// [`store::RECORD_REPEATS`].
pub struct Repeat {
    project_id: i64,
    uuid: Uuid,
    /// As [`store::RECORD_REPEATS`] takes it.
    row: [Value; 12],
}

impl Repeat {
    /// What makes the stored row, seen at `seen_seq`, the given check. `first_at` is when the first of the pings came,
    /// for which the floor is judged again.
    pub fn of(check: &Check, seen_seq: i64, first_at: Time) -> Self {
        let state = &check.state;
        let row = [
            check.id.into(),
            check.rev.into(),
            seen_seq.into(),
            state.status.word().into(),
            state.n_pings.into(),
            state.last_ping_at.into(),
            state.last_success_at.into(),
            state.last_duration_ms.into(),
            state.expected_at.into(),
            state.deadline_at.into(),
            first_at.into(),
            state.seq.into(),
        ];
        Self { project_id: check.project_id, uuid: check.uuid, row }
    }
}

impl Check {
    /// Whether a ping does no more to the check than a repeat does, and passes the floor as one.
    pub fn is_repeat(&self, taken: &Taken) -> bool {
        let next = &taken.state;
        let moved = State {
            n_pings: next.n_pings,
            last_ping_at: next.last_ping_at,
            last_success_at: next.last_success_at,
            last_duration_ms: next.last_duration_ms,
            expected_at: next.expected_at,
            deadline_at: next.deadline_at,
            ..self.state.clone()
        };
        taken.is_plain() && taken.floor == Floor::Repeat && moved == *next
    }
}
