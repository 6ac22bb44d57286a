//! Flatline: a heartbeat monitor. Jobs ping a URL; when the pings stop, or a run fails, hangs or says so,
//! people hear once, with the reason.
//!
//! The modules stand in layers; each uses only those on lines above its own, and `tests/it/layering.rs` fails
//! on any other edge.

pub mod id;
pub mod schedule;
pub mod time;
