//! The `schedule` module against what cron and systemd do, what people reported, and a slow model of itself.

mod clock_changes;
mod corpus;
mod field_reports;
mod model;
mod words;
mod zones;
