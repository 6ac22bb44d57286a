//! The integration tests, one binary: the real stack against both engines, and the rules the code keeps.
//!
//! `tests/run` starts what they need; `tests/run --with cargo test NAME` runs a few of them by hand.

mod clock;
mod crash;
mod floor;
mod heart;
mod house;
mod input;
mod layering;
mod mail_pings;
mod outage;
mod races;
mod readme;
mod runs;
mod source;
mod sql;
mod support;
mod traffic;
mod wire;
