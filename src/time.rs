//! Instants and spans as the whole crate knows them: whole milliseconds, UTC.
//!
//! Time comes in by argument. Edges read a [`Clock`] once per request or job run and hand the instant down;
//! nothing below them asks what time it is. This file is the only one that may read the system's clocks.

use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, SecondsFormat, Utc};
use serde::{Deserialize, Serialize};

/// An instant: milliseconds since 1970-01-01T00:00:00Z, stored as `BIGINT`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type)]
#[serde(transparent)]
#[sqlx(transparent)]
pub struct Time(pub i64);

/// A length of time in milliseconds, stored as `BIGINT`; negative where an earlier instant was reached.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, sqlx::Type,
)]
#[serde(transparent)]
#[sqlx(transparent)]
pub struct Span(pub i64);

/// A stored instant further ahead of now than this was written under a wrong clock and counts as not set.
pub const CLOCK_SLACK: Span = Span::seconds(60);

impl Span {
    pub const ZERO: Self = Self(0);

    pub const fn millis(millis: i64) -> Self {
        Self(millis)
    }

    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    pub const fn minutes(minutes: i64) -> Self {
        Self::seconds(minutes.saturating_mul(60))
    }

    pub const fn hours(hours: i64) -> Self {
        Self::minutes(hours.saturating_mul(60))
    }

    /// Whole seconds, rounded towards zero.
    pub const fn as_seconds(self) -> i64 {
        self.0 / 1000
    }

    /// Whole seconds, rounded up: what a caller must wait at least.
    pub const fn as_seconds_up(self) -> i64 {
        (self.0 + 999).div_euclid(1000)
    }

    /// The same length for timers; a negative span is zero.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_millis(u64::try_from(self.0).unwrap_or(0))
    }
}

impl Time {
    pub const EPOCH: Self = Self(0);

    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Whole seconds since the epoch, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The calendar view in UTC; an instant beyond chrono's years is shown as the epoch.
    pub fn utc(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }

    /// `2026-03-26T03:12:00+00:00`: the Management API's form, sub-seconds cut off.
    pub fn iso_seconds(self) -> String {
        Self::from_seconds(self.as_seconds()).utc().to_rfc3339_opts(SecondsFormat::Secs, false)
    }

    /// `2026-03-26T03:12:00.123000+00:00`: the form of a ping's `date`, six digits.
    pub fn iso_micros(self) -> String {
        self.utc().to_rfc3339_opts(SecondsFormat::Micros, false)
    }

    /// Reads RFC 3339; anything else is `None`.
    pub fn parse(text: &str) -> Option<Self> {
        DateTime::parse_from_rfc3339(text).ok().map(|at| Self(at.timestamp_millis()))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.utc().to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Time {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Where "now" comes from: the machine, or a hand that a test moves.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    #[default]
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    pub fn manual(start: Time) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start.0)))
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
    pub fn now(&self) -> Time {
        match self {
            Self::System => Time(Utc::now().timestamp_millis()),
            Self::Manual(millis) => Time(millis.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock by `span`, back if negative; the system's clock stays where it is.
    pub fn advance(&self, span: Span) {
        if let Self::Manual(millis) = self {
            millis.fetch_add(span.0, Ordering::SeqCst);
        }
    }

    /// Sets a manual clock; the system's clock stays where it is.
    pub fn set(&self, to: Time) {
        if let Self::Manual(millis) = self {
            millis.store(to.0, Ordering::SeqCst);
        }
    }
}

/// A stopwatch for metrics and logs: it measures how long something took and never decides anything.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Seconds since the start.
    pub fn seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_as_the_contract_writes_them() {
        let at = Time(1_774_494_720_987);
        assert_eq!(at.iso_seconds(), "2026-03-26T03:12:00+00:00");
        assert_eq!(at.iso_micros(), "2026-03-26T03:12:00.987000+00:00");
        assert_eq!(Time::parse("2026-03-26T04:12:00.987+01:00"), Some(at));
        assert_eq!(Time::parse("yesterday"), None);
    }

    #[test]
    fn a_wait_is_rounded_up_so_that_nobody_comes_too_early() {
        assert_eq!(Span::millis(1).as_seconds_up(), 1);
        assert_eq!(Span::millis(2000).as_seconds_up(), 2);
        assert_eq!(Span::ZERO.as_seconds_up(), 0);
    }
}
