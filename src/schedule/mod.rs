//! When a check is awaited: every so often, or at the times of a cron or OnCalendar expression in a time zone.
//!
//! Pure: a [`Schedule`] is a value, and "now" comes by argument. [`cron`] and [`oncalendar`] read the two dialects
//! into a [`calendar::Calendar`]; [`changes`] puts it on a zone's clock; [`words`] says it in English and
//! [`hints`] says what looks unintended. Parse once and keep the value: a search is then well under 5 µs and never
//! yields an instant that is not after the one asked about. (kind, text, zone name) is what is stored.
//!
//! The dialects' own choices are written at the head of their files. The zone rules are looked up once per
//! process; nothing here reads the clock, the database or the network.

mod bits;
mod calendar;
mod changes;
mod cron;
mod hints;
mod oncalendar;
mod words;
mod zone;
mod zone_data;

use calendar::Calendar;
use changes::Rule;
pub use zone::{Local, Zone, ZoneError};
pub use zone_data::{ZoneData, zone_data};

use crate::db::text_enum;
use crate::time::{Span, Time};

/// When a check is awaited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Within `period` of the last success.
    Simple {
        period: Span,
    },
    Cron(Expression),
    OnCalendar(Expression),
}

/// A cron or OnCalendar expression in its zone, as written and as read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    text: String,
    zone: Zone,
    /// cron has one; OnCalendar one per line, with a zone of its own where the line names one.
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    calendar: Calendar,
    zone: Zone,
    rule: Rule,
    /// Found once: a search for a day that never comes walks to the last year.
    has_days: bool,
}

impl Line {
    fn new(calendar: Calendar, zone: Zone, rule: Rule) -> Self {
        let has_days = calendar.has_days();
        Self { calendar, zone, rule, has_days }
    }

    fn next_after(&self, second: i64) -> Option<i64> {
        if !self.has_days {
            return None;
        }
        changes::next_after(&self.calendar, &self.zone, self.rule, second)
    }
}

text_enum! {
    /// The kind of a schedule, as it is stored.
    pub enum Kind { Simple = "simple", Cron = "cron", OnCalendar = "oncalendar" }
}

/// Why an expression was refused: sentences that name the field and say what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ScheduleError(String);

impl ScheduleError {
    fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl From<ZoneError> for ScheduleError {
    fn from(error: ZoneError) -> Self {
        let stop = if error.nearest.is_some() { "" } else { "." };
        Self(format!("The time zone {error}{stop}"))
    }
}

/// The longest expression that is read, in bytes.
pub const EXPRESSION_BYTES_MAX: usize = 1000;

impl Schedule {
    pub const fn simple(period: Span) -> Self {
        Self::Simple { period }
    }

    /// Reads an expression whose kind nobody stated: a single line of five words, or one that begins with `@`, is
    /// cron; everything else is OnCalendar.
    pub fn parse(text: &str, zone: &str) -> Result<Self, ScheduleError> {
        let line = text.trim();
        let words = line.split_whitespace().count();
        if !line.contains('\n') && (words == 5 || line.starts_with('@')) {
            return Self::cron(text, zone);
        }
        let error = match Self::on_calendar(text, zone) {
            Err(error) => error,
            read => return read,
        };
        let lines = line.lines().count();
        if lines > 1 && line.lines().all(|line| cron::parse(line).is_ok()) {
            return Err(ScheduleError::new(
                "These are several cron lines; a check takes one. Make a check of each, or write OnCalendar lines.",
            ));
        }
        let first_field = line.starts_with(|c: char| c.is_ascii_digit() || c == '*' || c == '?');
        let meant_as_cron =
            lines == 1 && words > 1 && first_field && !line.contains([':', '.']) && !line.contains("*-");
        Err(if meant_as_cron { Self::cron(text, zone).err().unwrap_or(error) } else { error })
    }

    /// Reads a cron expression for the zone of that name.
    pub fn cron(text: &str, zone: &str) -> Result<Self, ScheduleError> {
        let (text, zone) = (within_length(text.trim())?, Zone::parse(zone)?);
        let (calendar, rule) = cron::parse(text)?;
        let line = Line::new(calendar, zone.clone(), rule);
        Ok(Self::Cron(Expression { text: text.to_owned(), zone, lines: vec![line] }))
    }

    /// Reads OnCalendar expressions, one per line, for the zone of that name; empty lines do not count.
    pub fn on_calendar(text: &str, zone: &str) -> Result<Self, ScheduleError> {
        let (text, zone) = (within_length(text)?, Zone::parse(zone)?);
        let count = text.lines().filter(|line| !line.trim().is_empty()).count();
        let mut lines = Vec::with_capacity(count);
        for (number, line) in (1..).zip(text.lines().map(trim_ascii)).filter(|(_, line)| !line.is_empty()) {
            let (calendar, zone) = oncalendar::parse_line(line, &zone).map_err(|error| match count {
                1 => error,
                _ => ScheduleError(format!("Line {number}: {error}")),
            })?;
            lines.push(Line::new(calendar, zone, Rule::Skip));
        }
        if lines.is_empty() {
            return Err(ScheduleError::new(
                "The schedule is empty: write five cron fields (minute, hour, day of month, month, day of week), or \
                 an OnCalendar expression such as Mon..Fri 06:30.",
            ));
        }
        Ok(Self::OnCalendar(Expression { text: trim_ascii(text).to_owned(), zone, lines }))
    }

    pub const fn kind(&self) -> Kind {
        match self {
            Self::Simple { .. } => Kind::Simple,
            Self::Cron(_) => Kind::Cron,
            Self::OnCalendar(_) => Kind::OnCalendar,
        }
    }

    /// The expression with its text and zone; a simple period has none.
    pub const fn expression(&self) -> Option<&Expression> {
        match self {
            Self::Simple { .. } => None,
            Self::Cron(expression) | Self::OnCalendar(expression) => Some(expression),
        }
    }

    /// The first instant strictly after `at` by which the next run is expected; `None` when none is left before
    /// the year 2200. No expression yields one before 1970.
    pub fn next_after(&self, at: Time) -> Option<Time> {
        match self {
            Self::Simple { period } => at.0.checked_add(period.0).map(Time).filter(|next| *next > at),
            Self::Cron(expression) | Self::OnCalendar(expression) => {
                let second = at.as_seconds();
                let slots = expression.lines.iter().filter_map(|line| line.next_after(second));
                slots.min().map(Time::from_seconds)
            }
        }
    }

    /// Every instant after `after` in rising order: `take(5)` is the preview.
    pub fn slots(&self, after: Time) -> impl Iterator<Item = Time> + '_ {
        std::iter::successors(self.next_after(after), |slot| self.next_after(*slot))
    }

    /// Whether there was no run since 2000 and will never be one, as on 30 February. An expression whose last run
    /// was later is not one of these.
    pub fn never_runs(&self) -> bool {
        const YEAR_2000: Time = Time::from_seconds(946_684_800);
        self.next_after(YEAR_2000).is_none()
    }

    /// The schedule itself, unless it [never runs](Self::never_runs): for what is saved with a check.
    pub fn that_runs(self) -> Result<Self, ScheduleError> {
        if self.never_runs() { Err(ScheduleError::new(NEVER_RUNS)) } else { Ok(self) }
    }
}

const NEVER_RUNS: &str = "This never runs: no year has that day, or its years are over. To switch the check off, pause it instead.";

impl Expression {
    /// The text as written, without what is blank around it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The zone of every line that names none.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }
}

/// Without the blanks around it that a unit file would not count either.
fn trim_ascii(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace())
}

fn within_length(text: &str) -> Result<&str, ScheduleError> {
    if text.len() <= EXPRESSION_BYTES_MAX {
        return Ok(text);
    }
    Err(ScheduleError::new(format!(
        "The schedule is longer than {EXPRESSION_BYTES_MAX} characters: use ranges (9-17) and steps (*/5) in its \
         fields instead of long lists."
    )))
}
