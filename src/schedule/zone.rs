//! Time zones by their IANA names, and instants as a clock on the wall there shows them.
//!
//! A [`Zone`] is the zone's clock changes from 1970 to 2199, worked out once per process and name and shared from
//! then on. The rules come from [`super::zone_data`]. Names are exact; a renamed zone answers under today's name,
//! and an unknown one is refused by name, with the nearest known one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::zone_data::zone_data;
use crate::time::Time;

/// A time zone; cloning shares it.
#[derive(Clone)]
pub struct Zone(Arc<Eras>);

struct Eras {
    name: String,
    eras: Vec<Era>,
}

/// A span of constant offset, up to the next era's start. The first has no start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Era {
    /// Seconds since 1970 UTC.
    pub(super) start: i64,
    offset_seconds: i64,
}

impl Era {
    /// What the wall clock shows, in seconds since its 1970.
    pub(super) fn wall(self, second: i64) -> i64 {
        second.saturating_add(self.offset_seconds)
    }

    pub(super) fn instant(self, wall: i64) -> i64 {
        wall.saturating_sub(self.offset_seconds)
    }
}

/// A time zone's name that the zone data does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a known time zone{}", .nearest.as_ref().map(|name| format!("; did you mean {name}?")).unwrap_or_default())]
pub struct ZoneError {
    pub name: String,
    pub nearest: Option<String>,
}

/// 2200-01-01: no later change is of interest.
const END_SECOND: i64 = 7_258_118_400;

impl Zone {
    /// The zone of that IANA name, under today's name: `Europe/Kiev` gives `Europe/Kyiv`.
    pub fn parse(name: &str) -> Result<Self, ZoneError> {
        Self::known(name).ok_or_else(|| ZoneError {
            name: name.chars().take(100).collect(),
            nearest: zone_data().nearest_name(name),
        })
    }

    pub(super) fn known(name: &str) -> Option<Self> {
        static KNOWN: OnceLock<RwLock<HashMap<String, Zone>>> = OnceLock::new();
        let known = KNOWN.get_or_init(RwLock::default);
        if let Some(zone) = known.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Some(zone.clone());
        }
        let zone = Self::load(name)?;
        known.write().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), zone.clone());
        Some(zone)
    }

    /// Universal time.
    pub fn utc() -> Self {
        Self(Arc::new(Eras { name: "UTC".into(), eras: vec![Era { start: i64::MIN, offset_seconds: 0 }] }))
    }

    fn load(name: &str) -> Option<Self> {
        let today = zone_data().todays_name(name)?;
        let rules = zone_data().rules(&today)?;
        Some(Self(Arc::new(Eras { eras: eras(&rules), name: today })))
    }

    /// The IANA name of today.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The instant as people in the zone read it.
    pub fn local(&self, at: Time) -> Local<'_> {
        let second = at.as_seconds();
        let era = self.eras()[self.era_at(second)];
        let wall = Timestamp::from_second(era.wall(second)).unwrap_or_default();
        let offset_minutes = era.offset_seconds / 60;
        Local { zone: self, clock: Offset::UTC.to_datetime(wall), offset_minutes }
    }

    /// The instant at which a clock on the wall shows `clock`: the first of two in an overlap, the end of the gap
    /// for a reading that is skipped. Calendar days, weeks and months begin at such instants.
    pub fn instant(&self, clock: DateTime) -> Time {
        let wall = Offset::UTC.to_timestamp(clock).map_or(0, Timestamp::as_second);
        let eras = self.eras();
        let reaches = |pair: &[Era]| pair[0].wall(pair[1].start) <= wall;
        let now = eras.windows(2).take_while(|pair| reaches(pair)).count();
        Time::from_seconds(eras[now].instant(wall).max(eras[now].start))
    }

    pub(super) fn eras(&self) -> &[Era] {
        &self.0.eras
    }

    /// The index of the era that holds an instant in seconds since 1970 UTC.
    pub(super) fn era_at(&self, second: i64) -> usize {
        self.eras().partition_point(|era| era.start <= second).saturating_sub(1)
    }
}

fn eras(rules: &TimeZone) -> Vec<Era> {
    let mut eras = vec![Era {
        start: i64::MIN,
        offset_seconds: rules.to_offset(Timestamp::UNIX_EPOCH).seconds().into(),
    }];
    for change in rules.following(Timestamp::UNIX_EPOCH) {
        let start = change.timestamp().as_second();
        if start >= END_SECOND {
            break;
        }
        let offset_seconds = change.offset().seconds().into();
        if eras.last().is_some_and(|era| era.offset_seconds != offset_seconds) {
            eras.push(Era { start, offset_seconds });
        }
    }
    eras
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Zone {}

/// An instant in a zone, to the second; instants beyond jiff's years are shown as 1970.
#[derive(Clone, Copy, Debug)]
pub struct Local<'z> {
    zone: &'z Zone,
    clock: DateTime,
    offset_minutes: i64,
}

impl Local<'_> {
    /// What calendar and clock on the wall show.
    pub fn clock(&self) -> DateTime {
        self.clock
    }

    /// `02:30`.
    pub fn time(&self) -> String {
        self.clock.strftime("%H:%M").to_string()
    }

    /// `26 March 2026`.
    pub fn date(&self) -> String {
        self.clock.strftime("%-d %B %Y").to_string()
    }

    /// `Thursday 26 March 2026 02:30, Europe/Berlin`.
    pub fn in_full(&self) -> String {
        format!("{}, {}", self.clock.strftime("%A %-d %B %Y %H:%M"), self.zone)
    }

    /// `2026-03-26T02:30:00+01:00`.
    pub fn rfc3339(&self) -> String {
        format!("{}{}", self.clock.strftime("%Y-%m-%dT%H:%M:%S"), self.offset())
    }

    /// `+01:00`: what the zone's clock is ahead of UTC.
    pub fn offset(&self) -> String {
        let sign = if self.offset_minutes < 0 { '-' } else { '+' };
        let minutes = self.offset_minutes.abs();
        format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}
