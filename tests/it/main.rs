//! The integration tests, one binary: the real stack against both engines, and the rules the code keeps.
//!
//! `tests/run` starts what they need; `tests/run --with cargo test NAME` runs a few of them by hand.

mod heart;
mod house;
mod layering;
mod mail_pings;
mod source;
mod sql;
mod support;
mod web;
