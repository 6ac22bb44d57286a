//! The `schedule` module against what cron and systemd do, what people reported, and a slow model of itself.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where it is surprised")]

mod clock_changes;
mod corpus;
mod field_reports;
mod model;
mod systemd;
mod words;
mod zones;
