//! The Management API beyond what `tests/conformance` asks of it.

mod access;
mod contract;
mod cost;
mod description;
mod tags;
