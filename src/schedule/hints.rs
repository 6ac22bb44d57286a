//! What looks unintended: traps in an expression, and pings that keep coming hours beside the schedule.
//!
//! A hint never refuses anything; a form shows it beside the preview.

use super::bits::Bits;
use super::calendar::{Calendar, Days, Join};
use super::{Kind, Line, Schedule};
use crate::time::{Span, Time};

/// How long after its slot a job that is on time reports.
const ON_TIME: Span = Span::minutes(10);
/// How many pings in a row make a pattern.
const PATTERN_PINGS: usize = 3;

impl Schedule {
    /// How many runs a day that has any has; of several lines the sum.
    pub fn runs_per_day(&self) -> u64 {
        match self {
            Self::Simple { period } => 86_400 / u64::try_from(period.as_seconds()).unwrap_or(0).max(1),
            Self::Cron(expression) | Self::OnCalendar(expression) => {
                expression.lines.iter().map(|line| u64::from(line.calendar.runs_per_day())).sum()
            }
        }
    }

    /// Sentences about what people write and rarely mean; none for most schedules.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match self {
            Self::Simple { .. } => {}
            Self::Cron(expression) => {
                let words: Vec<&str> = expression.text.split_whitespace().collect();
                warnings.extend(expression.lines.iter().filter_map(|line| every_minute(line, &words)));
                warnings.extend(expression.lines.iter().filter_map(|line| either_day(line, &words)));
                warnings.extend(uneven_step(&words));
            }
            Self::OnCalendar(expression) => {
                warnings.extend(expression.text.lines().filter_map(minutes_meant_as_times));
            }
        }
        if self.never_runs() {
            warnings.push(super::NEVER_RUNS.to_owned());
        }
        warnings
    }

    /// If the pings are on time only once moved by whole hours: by how many they come after the slots. People's
    /// servers and checks often are in two zones. `pings` are the latest successes, in any order.
    pub fn hours_off(&self, pings: &[Time]) -> Option<i64> {
        let simple = self.kind() == Kind::Simple;
        if simple || pings.len() < PATTERN_PINGS || self.fits(pings, 0) {
            return None;
        }
        let nearest_first = (1..=14).flat_map(|hours| [hours, -hours]);
        nearest_first.into_iter().find(|hours| self.fits(pings, *hours))
    }

    /// Whether every ping follows a slot at once if all came `hours` later than their slots.
    fn fits(&self, pings: &[Time], hours: i64) -> bool {
        pings.iter().all(|ping| {
            let ping = *ping - Span::hours(hours);
            self.next_after(ping - ON_TIME).is_some_and(|slot| slot <= ping)
        })
    }
}

impl Calendar {
    fn runs_per_day(&self) -> u32 {
        self.hours.count() * self.minutes.count() * self.seconds.count()
    }
}

/// `* 9 * * *`: people mean nine o'clock.
fn every_minute(line: &Line, words: &[&str]) -> Option<String> {
    let Calendar { hours, minutes, .. } = line.calendar;
    if minutes.count() < 60 || hours.count() == 24 {
        return None;
    }
    let once = ["0"].iter().chain(words.get(1..)?).copied().collect::<Vec<_>>().join(" ");
    let runs = line.calendar.runs_per_day();
    Some(format!(
        "This runs {runs} times per day: every minute of the hour. For the full hour only, write {once}."
    ))
}

/// `0 9 1-7 * 1`: people mean the first Monday.
fn either_day(line: &Line, words: &[&str]) -> Option<String> {
    let [_, _, day, _, weekday] = words else { return None };
    if line.calendar.days.join == Join::Both {
        return None;
    }
    let Days { dates, weekdays, .. } = line.calendar.days;
    let week = (1..).zip([1, 8, 15, 22]).find(|(_, low)| dates == Bits::range(*low, low + 6));
    let instead = match week {
        Some((nth, _)) if weekdays.count() == 1 => {
            format!("* as the day of month and {weekday}#{nth} as the day of week")
        }
        _ => "an OnCalendar expression, such as Fri *-*-13 00:00".to_owned(),
    };
    Some(format!(
        "cron runs this when the day of month ({day}) or the day of week ({weekday}) matches, not only when both do. \
         If both should match, write {instead}."
    ))
}

/// `*/45`: people mean every 45 minutes.
fn uneven_step(words: &[&str]) -> Option<String> {
    let uneven = |text: &str, cycle: u32| {
        let step: u32 = text.strip_prefix("*/")?.parse().ok()?;
        (step > 1 && !cycle.is_multiple_of(step)).then(|| (step, Bits::steps(0, cycle - 1, step as usize)))
    };
    let (name, cycle, (step, set)) = [("minute", "hour", 60), ("hour", "day", 24)]
        .into_iter()
        .zip(words)
        .find_map(|((name, cycle, length), text)| Some((name, cycle, uneven(text, length)?)))?;
    let last = set.last()?;
    Some(format!(
        "*/{step} starts again at 0 every {cycle}: after {name} {last} the next run is {name} 0, sooner than {step} \
         {name}s later."
    ))
}

/// `6:00,18:00`: people mean two times of day; systemd reads minutes 0 and 18, second 0.
fn minutes_meant_as_times(line: &str) -> Option<String> {
    let word = line.split(' ').find(|word| word.contains(':'))?;
    let mut parts = word.split(':');
    let (hour, middle, end) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, second_hour) = middle.rsplit_once(',')?;
    let plain = |text: &str| text.parse::<u32>().is_ok_and(|number| number < 60);
    (plain(hour) && plain(second_hour) && end.len() == 2 && plain(end)).then(|| {
        format!("{word} is hour {hour}, minutes {middle}, second {end}. For several times of day, write a line for each.")
    })
}
