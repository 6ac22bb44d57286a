//! The log of pings: one numbered row for each that was recorded, and its body beside it. SQL of the tables
//! `pings` and `bodies` is in [`store`](self::store); `pings` writes, everybody may read.

pub mod store;

use std::sync::Arc;

use uuid::Uuid;

use super::state::Signal;
use crate::time::{Span, Time};

/// One recorded ping.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Entry {
    pub check_id: i64,
    /// 1 for the first ping of a check.
    pub n: i64,
    pub received_at: Time,
    pub kind: Signal,
    /// `http`, `https` or `email`.
    pub scheme: String,
    pub remote_addr: Option<String>,
    pub method: String,
    /// At most 200 characters.
    pub user_agent: String,
    pub rid: Option<Uuid>,
    pub exit_status: Option<i64>,
    pub duration_ms: Option<Span>,
    /// Length of the stored body.
    pub body_bytes: i64,
}

/// A ping about to be recorded: an [`Entry`] whose texts are shared with the ping.
#[derive(Clone, Debug)]
pub struct NewEntry {
    pub check_id: i64,
    pub n: i64,
    pub received_at: Time,
    pub kind: Signal,
    pub scheme: &'static str,
    pub remote_addr: Option<Arc<str>>,
    pub method: Arc<str>,
    pub user_agent: Arc<str>,
    pub rid: Option<Uuid>,
    pub exit_status: Option<i64>,
    pub duration_ms: Option<Span>,
    pub body_bytes: i64,
}
