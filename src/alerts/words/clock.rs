//! Instants and spans as a reader says them: the clock time leads, the date stands where the day is another.
//!
//! Pure. A [`Wall`] is the clock on the wall in one zone at the moment of writing; "today" is its today. An
//! unknown zone is read as UTC and said so, for a message with a plain time beats none.

use jiff::civil::Date;

use crate::schedule::Zone;
use crate::time::{Span, Time};

/// Seconds are not worth saying from here on.
const SECONDS_MATTER_BELOW: Span = Span::minutes(5);

/// The clock on the wall of whoever reads.
#[derive(Clone, Debug)]
pub struct Wall {
    zone: Zone,
    now: Time,
}

impl Wall {
    /// The wall of the zone of that IANA name, at `now`.
    pub fn new(zone: &str, now: Time) -> Self {
        Self { zone: Zone::parse(zone).unwrap_or_else(|_| Zone::utc()), now }
    }

    /// In a sentence: `at 02:15`, `yesterday at 20:55`, `on 21 March at 23:12`.
    pub fn at(&self, at: Time) -> String {
        let time = self.zone.local(at).time();
        match self.day(at) {
            Day::Today => format!("at {time}"),
            Day::Near(word) => format!("{word} at {time}"),
            Day::Far(date) => format!("on {date} at {time}"),
        }
    }

    /// As a value, or after "until", "since", "of": `02:15`, `yesterday 20:55`, `21 March 23:12`.
    pub fn point(&self, at: Time) -> String {
        let time = self.zone.local(at).time();
        match self.day(at) {
            Day::Today => time,
            Day::Near(word) => format!("{word} {time}"),
            Day::Far(date) => format!("{date} {time}"),
        }
    }

    /// From one instant to another: `from 01:40 to 06:25`, the second with a date only if it is another day.
    pub fn range(&self, from: Time, to: Time) -> String {
        let end = self.zone.local(to);
        let same_day = self.date(from) == self.date(to);
        let end = if same_day { end.time() } else { self.point(to) };
        format!("from {} to {end}", self.point(from))
    }

    /// What makes clock times of that day certain: `Thursday 26 March 2026, Europe/Berlin`.
    pub fn day_and_zone(&self, at: Time) -> String {
        format!("{}, {}", self.zone.local(at).clock().strftime("%A %-d %B %Y"), self.zone)
    }

    pub fn zone_name(&self) -> &str {
        self.zone.name()
    }

    fn day(&self, at: Time) -> Day {
        let (date, today) = (self.date(at), self.date(self.now));
        if date == today {
            Day::Today
        } else if today.yesterday().is_ok_and(|yesterday| date == yesterday) {
            Day::Near("yesterday")
        } else if today.tomorrow().is_ok_and(|tomorrow| date == tomorrow) {
            Day::Near("tomorrow")
        } else if date.year() == today.year() {
            Day::Far(date.strftime("%-d %B").to_string())
        } else {
            Day::Far(date.strftime("%-d %B %Y").to_string())
        }
    }

    fn date(&self, at: Time) -> Date {
        self.zone.local(at).clock().date()
    }
}

enum Day {
    Today,
    Near(&'static str),
    Far(String),
}

/// In a sentence: `22 minutes`, `1 hour 30 minutes`; two units at most, rounded down.
pub fn long(span: Span) -> String {
    parts(span, [" day", " hour", " minute", " second"], "s")
}

/// Among facts: `45 min`, `1 h 30 min`; two units at most, rounded down.
pub fn short(span: Span) -> String {
    parts(span, [" d", " h", " min", " s"], "")
}

fn parts(span: Span, units: [&str; 4], plural: &str) -> String {
    let mut seconds = span.as_seconds().max(0);
    if span >= SECONDS_MATTER_BELOW {
        seconds -= seconds % 60;
    }
    let mut counts = Vec::new();
    for (unit, length) in units.into_iter().zip([86_400, 3600, 60, 1]) {
        counts.push((seconds / length, unit));
        seconds %= length;
    }
    let first = counts.iter().position(|(count, _)| *count > 0).unwrap_or(counts.len() - 1);
    let said =
        counts.iter().skip(first).take(2).enumerate().filter(|(at, (count, _))| *at == 0 || *count > 0);
    let words =
        said.map(|(_, (count, unit))| format!("{count}{unit}{}", if *count == 1 { "" } else { plural }));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        Time::parse(text).unwrap()
    }

    #[test]
    fn the_date_stands_where_the_day_is_another() {
        let wall = Wall::new("Europe/Berlin", at("2026-03-26T03:12:00+01:00"));
        let table = [
            ("2026-03-26T02:15:00+01:00", "at 02:15", "02:15"),
            ("2026-03-26T00:00:00+01:00", "at 00:00", "00:00"),
            ("2026-03-25T23:59:59+01:00", "yesterday at 23:59", "yesterday 23:59"),
            ("2026-03-27T08:30:00+01:00", "tomorrow at 08:30", "tomorrow 08:30"),
            ("2026-03-21T23:12:00+01:00", "on 21 March at 23:12", "21 March 23:12"),
            // Summer time.
            ("2026-04-01T08:30:00+02:00", "on 1 April at 08:30", "1 April 08:30"),
            ("2025-12-31T23:12:00+01:00", "on 31 December 2025 at 23:12", "31 December 2025 23:12"),
        ];
        for (instant, sentence, value) in table {
            assert_eq!(wall.at(at(instant)), sentence);
            assert_eq!(wall.point(at(instant)), value);
        }
        assert_eq!(
            wall.day_and_zone(at("2026-03-26T02:52:00+01:00")),
            "Thursday 26 March 2026, Europe/Berlin"
        );
    }

    #[test]
    fn a_range_names_a_second_day_only_if_there_is_one() {
        let wall = Wall::new("UTC", at("2026-03-26T03:12:00Z"));
        let (start, end) = (at("2026-03-21T01:40:00Z"), at("2026-03-21T06:25:00Z"));
        assert_eq!(wall.range(start, end), "from 21 March 01:40 to 06:25");
        assert_eq!(wall.range(start, at("2026-03-25T06:25:00Z")), "from 21 March 01:40 to yesterday 06:25");
    }

    #[test]
    fn an_unknown_zone_is_read_as_utc_and_says_so() {
        let wall = Wall::new("Mars/Olympus", at("2026-03-26T03:12:00Z"));
        assert_eq!(wall.at(at("2026-03-26T02:15:00Z")), "at 02:15");
        assert_eq!(wall.zone_name(), "UTC");
    }

    #[test]
    fn spans_have_two_units_at_most() {
        let table = [
            (Span::ZERO, "0 seconds", "0 s"),
            (Span::millis(-5), "0 seconds", "0 s"),
            (Span::seconds(1), "1 second", "1 s"),
            (Span::seconds(63), "1 minute 3 seconds", "1 min 3 s"),
            (Span::seconds(22 * 60 + 3), "22 minutes", "22 min"),
            (Span::minutes(90), "1 hour 30 minutes", "1 h 30 min"),
            (Span::hours(6), "6 hours", "6 h"),
            (Span::minutes(24 * 60 + 1), "1 day", "1 d"),
            (Span::hours(51), "2 days 3 hours", "2 d 3 h"),
        ];
        for (span, sentence, value) in table {
            assert_eq!((long(span).as_str(), short(span).as_str()), (sentence, value));
        }
    }
}
