//! What a group of pings reads and writes of its checks, all at once: the price of one statement for many pings.
//!
//! Nothing here decides more than the statements for a single ping in `checks::store` do: each row of a group is written
//! under its own guard, and what could not be written is decided again alone. `pings` is the one that asks.

pub mod store;

use uuid::Uuid;

use super::Check;
use super::state::{Floor, State};
use crate::db::Value;
use crate::time::{Span, Time};

/// A check of which a success can only be a repeat.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Repeatable {
    pub uuid: Uuid,
    pub floor_ms: Span,
    pub last_ping_at: Option<Time>,
}

/// A ping that only repeats what is known, about to be written with others: see [`RECORD_REPEATS`].
pub struct Repeat {
    project_id: i64,
    uuid: Uuid,
    /// As [`store::RECORD_REPEATS`] takes it.
    row: [Value; 11],
}

impl Repeat {
    /// `None` if `next` differs from the check's state in more than what a repeat moves, or the ping has to pass
    /// another floor.
    pub fn of(check: &Check, next: &State, floor: Floor, now: Time) -> Option<Self> {
        let seen = &check.state;
        let moved = State {
            n_pings: next.n_pings,
            last_ping_at: next.last_ping_at,
            last_success_at: next.last_success_at,
            last_duration_ms: next.last_duration_ms,
            expected_at: next.expected_at,
            deadline_at: next.deadline_at,
            ..seen.clone()
        };
        if floor != Floor::Repeat || moved != *next {
            return None;
        }
        let row = [
            check.id.into(),
            check.rev.into(),
            seen.seq.into(),
            seen.status.word().into(),
            next.n_pings.into(),
            next.last_ping_at.into(),
            next.last_success_at.into(),
            next.last_duration_ms.into(),
            next.expected_at.into(),
            next.deadline_at.into(),
            now.into(),
        ];
        Some(Self { project_id: check.project_id, uuid: check.uuid, row })
    }
}
