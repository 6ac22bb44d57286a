//! What is done to all checks of an account or a project at once, and what is counted over them. SQL is in
//! [`store`](self::store), beside that of single checks.
//!
//! Rows are locked in the order of their ids before one statement changes them all; the account's row, and for a
//! project its own, are locked before that by whoever asks.

pub mod store;

use uuid::Uuid;

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
