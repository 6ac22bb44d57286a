//! The Management API beyond what `tests/conformance` asks of it.

mod access;
mod badges;
mod contract;
mod cost;
mod description;
mod tags;
