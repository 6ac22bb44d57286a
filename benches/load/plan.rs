//! How large the databases of a bench are, and how long it measures.

use std::time::Duration;

/// How large and how long.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub runs: usize,
    pub(crate) warm_up: Duration,
    /// For how long a server is pinged before it is measured, so that it has met most checks.
    pub(crate) acquaintance: Duration,
    pub(crate) measured: Duration,
    /// The same for latencies: long enough for the log of the database to be carried over several times.
    pub(crate) watched: Duration,
    pub(crate) connections: u64,
    pub(crate) few: u64,
    pub(crate) checks: u64,
    pub(crate) many: u64,
    pub(crate) logged: u64,
    pub(crate) overdue: u64,
    pub(crate) offered: u32,
    /// Times that a page is loaded.
    pub(crate) loads: usize,
}

impl Plan {
    pub fn full() -> Self {
        Self {
            runs: 5,
            warm_up: Duration::from_millis(700),
            acquaintance: Duration::from_secs(6),
            measured: Duration::from_millis(3000),
            watched: Duration::from_secs(20),
            connections: 256,
            few: 1000,
            checks: 100_000,
            many: 1_000_000,
            logged: 20,
            overdue: 10_000,
            offered: 2000,
            loads: 200,
        }
    }

    pub fn quick() -> Self {
        Self {
            runs: 1,
            warm_up: Duration::from_millis(100),
            acquaintance: Duration::from_millis(100),
            measured: Duration::from_millis(300),
            watched: Duration::from_millis(300),
            connections: 16,
            few: 100,
            checks: 1000,
            many: 1000,
            logged: 3,
            overdue: 100,
            offered: 100,
            loads: 3,
        }
    }
}
