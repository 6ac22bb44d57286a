//! The integration tests, one binary: the real stack against both engines, and the rules the code keeps.
//!
//! `tests/run` starts what they need; `tests/run --with cargo test NAME` runs a few of them by hand.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where it is surprised")]

mod api;
mod clock;
mod commands;
mod crash;
mod deliveries;
mod floor;
mod full_scans;
mod groups;
mod heart;
mod house;
mod import;
mod input;
mod layering;
mod limits;
mod mail;
mod mail_pings;
mod ops;
mod outage;
mod races;
mod rate;
mod readme;
mod recorder;
mod remembered;
mod returned;
mod runs;
mod source;
mod sql;
mod support;
mod traffic;
mod web;
mod wire;
