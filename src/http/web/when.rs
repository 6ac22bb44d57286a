//! Instants and spans as pages say them: near ones relative, far ones by day and clock, the exact one always at
//! hand. Pure; the reader's zone and the instant of the request come in with [`Wall`].

use std::fmt;

use askama::filters::HtmlSafe;

use crate::schedule::Zone;
use crate::time::{Span, Time};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Nearer than this it is said relative even where midnight lies between.
const NEAR: Span = Span::hours(3);

/// The clock on the reader's wall.
#[derive(Clone, Debug)]
pub struct Wall {
    zone: Zone,
    pub now: Time,
}

/// An instant, ready to be shown: `<time>` with the exact instant in its title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    machine: String,
    full: String,
    pub text: String,
}

impl fmt::Display for Stamp {
    /// Zone names, digits and words of ours: nothing in it needs escaping.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, full, text } = self;
        write!(f, "<time datetime=\"{machine}\" title=\"{full}\">{text}</time>")
    }
}

impl HtmlSafe for Stamp {}

impl Wall {
    /// A zone that is not known any more counts as UTC.
    pub fn new(zone: &str, now: Time) -> Self {
        Self { zone: Zone::parse(zone).unwrap_or_else(|_| Zone::utc()), now }
    }

    pub fn zone_name(&self) -> &str {
        self.zone.name()
    }

    /// Days since a common day: equal for instants of one day on this wall.
    pub fn day(&self, at: Time) -> i64 {
        let date = self.zone.local(at).clock().date();
        i64::from(date.since(jiff::civil::date(1970, 1, 1)).map_or(0, |span| span.get_days()))
    }

    /// The first instant of a day that [`Wall::day`] counts.
    pub fn day_begins(&self, day: i64) -> Time {
        let days = jiff::Span::new().days(day.clamp(-4_000_000, 2_000_000));
        let date = jiff::civil::date(1970, 1, 1).saturating_add(days);
        self.zone.instant(date.at(0, 0, 0, 0))
    }

    /// The first instant of the month on this wall.
    pub fn month_begins(&self, at: Time) -> Time {
        let date = self.zone.local(at).clock().date();
        self.zone.instant(date.first_of_month().at(0, 0, 0, 0))
    }

    /// `26`, with its month (`26 Mar`) on the first of one, or where asked.
    pub fn short_date(&self, at: Time, with_month: bool) -> String {
        let clock = self.zone.local(at).clock();
        let form = if with_month || clock.day() <= 1 { "%-d %b" } else { "%-d" };
        clock.strftime(form).to_string()
    }

    /// `March`, with the year where it is another one.
    pub fn month(&self, at: Time) -> String {
        let (clock, now) = (self.zone.local(at).clock(), self.zone.local(self.now).clock());
        let form = if clock.year() == now.year() { "%B" } else { "%B %Y" };
        clock.strftime(form).to_string()
    }

    /// `26 March`, with the year where it is another one.
    pub fn date(&self, at: Time) -> String {
        let (local, now) = (self.zone.local(at).clock(), self.zone.local(self.now).clock());
        let form = if local.year() == now.year() { "%-d %B" } else { "%-d %B %Y" };
        local.strftime(form).to_string()
    }

    /// `02:46`, `yesterday 02:31`, `tomorrow 06:00`, `21 March 23:12`.
    pub fn clock(&self, at: Time) -> String {
        let time = self.zone.local(at).time();
        match self.day(at) - self.day(self.now) {
            0 => time,
            -1 => format!("yesterday {time}"),
            1 => format!("tomorrow {time}"),
            _ => format!("{} {time}", self.date(at)),
        }
    }

    /// As [`Wall::clock`], with seconds: `02:46:05`, `yesterday 02:31:40`.
    pub fn clock_to_the_second(&self, at: Time) -> String {
        format!("{}:{:02}", self.clock(at), self.zone.local(at).clock().second())
    }

    /// `20 min ago`, `in 5 h`, else as [`Wall::clock`].
    pub fn near(&self, at: Time) -> String {
        let away = at - self.now;
        let far = Span(away.0.abs()) > NEAR && self.day(at) != self.day(self.now);
        if far {
            return self.clock(at);
        }
        match away.0 {
            0.. if away.as_seconds() == 0 => "now".to_owned(),
            0.. => format!("in {}", coarse(away)),
            _ if away.as_seconds() == 0 => "now".to_owned(),
            _ => format!("{} ago", coarse(Span(-away.0))),
        }
    }

    /// The instant relative, with the exact one.
    pub fn stamp(&self, at: Time) -> Stamp {
        self.said(at, self.near(at))
    }

    /// The instant by clock and day, with the exact one.
    pub fn clock_stamp(&self, at: Time) -> Stamp {
        self.said(at, self.clock(at))
    }

    /// The instant in words of the caller's (plain ones, without markup), with the exact one.
    pub fn said(&self, at: Time, text: String) -> Stamp {
        let local = self.zone.local(at);
        let full = format!("{}, {}", local.clock().strftime("%A %-d %B %Y %H:%M:%S"), self.zone);
        Stamp { machine: local.rfc3339(), full, text }
    }
}

/// The one unit that fits: `20 min`, `3 h`, `2 days`.
pub fn coarse(span: Span) -> String {
    match span.as_seconds() {
        seconds @ ..MINUTE => format!("{seconds} s"),
        seconds @ ..HOUR => format!("{} min", seconds / MINUTE),
        seconds if seconds < 2 * DAY => format!("{} h", seconds / HOUR),
        seconds => format!("{} days", seconds / DAY),
    }
}

/// `1 check`, `3 checks`.
pub fn counted(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_774_494_720_000);

    #[test]
    fn near_instants_are_relative_and_far_ones_have_a_day() {
        let wall = Wall::new("Europe/Berlin", NOW);
        let said = [
            (NOW, "now"),
            (NOW - Span::seconds(38), "38 s ago"),
            (NOW - Span::minutes(20), "20 min ago"),
            (NOW - Span::hours(3), "3 h ago"),
            (NOW - Span::hours(25), "yesterday 03:12"),
            (NOW - Span::hours(24 * 5 + 4), "21 March 00:12"),
            (NOW - Span::hours(24 * 100), "16 December 2025 04:12"),
            (NOW + Span::hours(5), "in 5 h"),
            (NOW + Span::hours(24), "tomorrow 04:12"),
        ];
        for (at, expected) in said {
            assert_eq!(wall.near(at), expected);
        }
        assert_eq!(wall.clock(NOW), "04:12");
        assert_eq!(
            wall.stamp(NOW).to_string(),
            "<time datetime=\"2026-03-26T04:12:00+01:00\" title=\"Thursday 26 March 2026 04:12:00, \
             Europe/Berlin\">now</time>"
        );
    }

    #[test]
    fn days_are_those_of_the_wall() {
        let wall = Wall::new("Pacific/Auckland", NOW);
        let day = wall.day(NOW);
        assert!(wall.day_begins(day) <= NOW && NOW < wall.day_begins(day + 1));
        assert_eq!(wall.day(wall.day_begins(day)), day);
    }

    #[test]
    fn spans_have_the_unit_that_fits() {
        assert_eq!((coarse(Span::hours(29)), coarse(Span::seconds(59))), ("29 h".into(), "59 s".into()));
        assert_eq!((counted(1, "check"), counted(0, "check")), ("1 check".into(), "0 checks".into()));
    }
}
