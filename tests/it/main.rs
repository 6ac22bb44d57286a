//! The integration tests, one binary: the real stack against both engines, and the rules the code keeps.
//!
//! `tests/run` starts what they need; `tests/run --with cargo test NAME` runs a few of them by hand.

mod commands;
mod crash;
mod deliveries;
mod heart;
mod house;
mod input;
mod layering;
mod mail;
mod mail_pings;
mod ops;
mod races;
mod readme;
mod source;
mod sql;
mod support;
mod traffic;
mod web;
mod wire;
