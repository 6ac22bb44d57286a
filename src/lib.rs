//! Flatline: a heartbeat monitor. Jobs ping a URL; when the pings stop, or a run fails, hangs or says so,
//! people hear once, with the reason.
//!
//! The modules stand in layers; each uses only those on lines above its own, and `tests/it/layering.rs` fails
//! on any other edge.

pub mod accounts;
pub mod alerts;
pub mod app;
pub mod badges;
pub mod caller;
pub mod checks;
pub mod cli;
pub mod config;
pub mod db;
pub mod demo;
pub mod error;
pub mod export;
pub mod http;
pub mod id;
pub mod import;
pub mod jobs;
pub mod mail;
pub mod metrics;
pub mod moving;
pub mod net;
pub mod pause;
pub mod pings;
pub mod plans;
pub mod provision;
pub mod rate;
pub mod recorder;
pub mod removal;
pub mod schedule;
pub mod serve;
pub mod signup;
pub mod smtp;
pub mod sweep;
pub mod time;
pub mod usage;
