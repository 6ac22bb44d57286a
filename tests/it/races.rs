//! Races: every guard of DESIGN 2 with callers that come at the same moment, counting winners.
//!
//! Each race runs on SQLite, on PostgreSQL and on PostgreSQL with three processes, some rounds as a rule and 1,000
//! with `tests/run --long`, and ends with the doctor finding every counter in agreement with its rows.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the steps of a test fail as a test does; the counts are for its reader"
)]

mod accounts;
mod deliver;
mod edits;
pub mod ground;
mod limits;
mod locks;
mod moving;
mod passkeys;
mod people;
mod pings;
pub mod rows;
mod sweep;
