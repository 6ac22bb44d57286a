//! What is done to all checks of an account or a project at once, and what is counted over them. SQL is in
//! [`store`](self::store), beside that of single checks.
//!
//! Rows are locked in the order of their ids before one statement changes them all; the account's row, and for a
//! project its own, are locked before that by whoever asks.

pub mod store;

use uuid::Uuid;

use super::{Check, Kind, Settings, State, Status};
use crate::time::{Span, Time};

/// How the checks of a project stand.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Standing {
    pub project_id: i64,
    pub checks: i64,
    pub down: i64,
    pub late: i64,
}

/// A check as a list of an account's checks names it.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Named {
    pub uuid: Uuid,
    pub name: String,
    /// The project it is in.
    pub project: Uuid,
    /// Pings that were recorded since it was made.
    pub n_pings: i64,
}

/// What a list shows of a check: a third of its columns, because reading them is most of what a long list costs.
#[derive(Clone, Debug, sqlx::FromRow)]
struct Glance {
    id: i64,
    uuid: Uuid,
    name: String,
    tags: String,
    kind: Kind,
    period_ms: Span,
    grace_ms: Span,
    schedule: String,
    zone: String,
    manual_resume: bool,
    status: Status,
    last_ping_at: Option<Time>,
    last_start_at: Option<Time>,
    last_duration_ms: Option<Span>,
    expected_at: Option<Time>,
    deadline_at: Option<Time>,
    fault: Option<String>,
}

impl Glance {
    /// The check as far as it was read; the rest is as of one that nothing is known of.
    fn check(self) -> Check {
        let Self { name, tags, kind, period_ms, grace_ms, schedule, zone, manual_resume, .. } = self;
        let settings = Settings {
            name,
            tags,
            kind,
            period_ms,
            grace_ms,
            schedule,
            zone,
            manual_resume,
            ..Settings::default()
        };
        let state = State {
            status: self.status,
            last_ping_at: self.last_ping_at,
            last_start_at: self.last_start_at,
            last_duration_ms: self.last_duration_ms,
            expected_at: self.expected_at,
            deadline_at: self.deadline_at,
            ..State::unpinged()
        };
        let unknown = Check::sample("", self.status, Time::EPOCH);
        Check { id: self.id, uuid: self.uuid, settings, state, fault: self.fault, ..unknown }
    }
}
