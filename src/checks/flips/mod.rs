//! The flips of checks: each change of a status, with why. They are written by `alerts::flipped`, which adds the deliveries;
//! a check that is brought along by an import brings its own.

pub mod store;

use super::{Change, Check, Reason, Status};
use crate::time::{Span, Time};

/// A flip as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct StoredFlip {
    pub id: i64,
    pub check_id: i64,
    pub flipped_at: Time,
    pub old_status: Status,
    pub new_status: Status,
    pub reason: Reason,
    /// Number of the ping that caused it.
    pub ping_n: Option<i64>,
    pub exit_status: Option<i64>,
    pub expected_at: Option<Time>,
    pub started_at: Option<Time>,
    pub last_success_at: Option<Time>,
    /// How long Flatline could not take pings in the time in question.
    pub blind_ms: Span,
}

/// A flip about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewFlip<'a> {
    pub check: &'a Check,
    pub change: &'a Change,
    /// Number of the ping that caused it.
    pub ping_n: Option<i64>,
}
