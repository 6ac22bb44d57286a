//! A schedule in English: `every weekday at 06:30, Europe/Riga`.
//!
//! The sentence is made from the sets of the [`Calendar`], not from the text, so cron and OnCalendar read alike
//! and two ways to write one schedule read the same. Shapes without an idiom are listed in full: long, but true.

use super::bits::Bits;
use super::calendar::{Calendar, Days, EVERY_DATE, EVERY_WEEKDAY, FIRST_YEAR, Join, LAST_YEAR, WORKDAYS};
use super::{Expression, Schedule};
use crate::time::Span;

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// How many times of day are listed before a shorter shape is looked for, and at most.
const TIMES_FEW: u32 = 4;
const TIMES_MANY: u32 = 12;

impl Schedule {
    /// The schedule in words, with its zone; starts in lower case and ends without a full stop.
    pub fn in_words(&self) -> String {
        match self {
            Self::Simple { period } => format!("every {}", span(*period)),
            Self::Cron(expression) | Self::OnCalendar(expression) => events(expression),
        }
    }
}

fn events(expression: &Expression) -> String {
    let elsewhere = expression.lines.iter().any(|line| line.zone != expression.zone);
    let lines = expression.lines.iter().map(|line| match elsewhere {
        true => format!("{}, {}", event(&line.calendar), line.zone),
        false => event(&line.calendar),
    });
    let all = lines.collect::<Vec<_>>().join("; ");
    if elsewhere { all } else { format!("{all}, {}", expression.zone) }
}

/// `1 hour 30 minutes`; one of a single unit is just its name: `hour`.
fn span(span: Span) -> String {
    let mut seconds = span.as_seconds().max(0);
    let mut parts = Vec::new();
    for (unit, length) in [("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)]
    {
        let whole = unit == "week" && seconds % length != 0;
        let count = if whole { 0 } else { seconds / length };
        seconds -= count * length;
        match count {
            0 => {}
            1 => parts.push(format!("1 {unit}")),
            _ => parts.push(format!("{count} {unit}s")),
        }
    }
    match parts.as_slice() {
        [] => "0 seconds".into(),
        [one] => one.strip_prefix("1 ").unwrap_or(one).to_owned(),
        _ => parts.join(" "),
    }
}

fn event(calendar: &Calendar) -> String {
    let days = days(calendar);
    let sentence = match time(calendar) {
        Clock::At(time) if days.every.is_empty() => format!("{time} {}", days.on),
        Clock::At(time) => format!("{} {time}", days.every),
        Clock::Often(time) if days.on.is_empty() => time,
        Clock::Often(time) => format!("{time} {}", days.on),
    };
    sentence + &years(calendar)
}

/// What stands in a sentence for the time of day.
enum Clock {
    /// `at 06:30 and 18:30`, to follow `every weekday`.
    At(String),
    /// `every 5 minutes`, to stand in front of `on weekdays`.
    Often(String),
}

fn time(calendar: &Calendar) -> Clock {
    let (hours, minutes, seconds) = (calendar.hours, calendar.minutes, calendar.seconds);
    if hours.count() * minutes.count() * seconds.count() <= TIMES_FEW {
        return Clock::At(format!("at {}", listed(times(hours, minutes, seconds))));
    }
    let at_seconds = match seconds.count() {
        1 => format!(", at second {}", listed(runs(seconds, plain))),
        _ => format!(", at seconds {}", listed(runs(seconds, plain))),
    };
    match minutes_and_hours(minutes, hours) {
        clock if seconds == Bits::one(0) => clock,
        Clock::At(time) => Clock::At(time + &at_seconds),
        Clock::Often(time) => Clock::Often(match every_nth(seconds, 60) {
            Some((1, 0)) if time == "every minute" => "every second".into(),
            Some((step, 0)) if time == "every minute" => format!("every {step} seconds"),
            _ => time + &at_seconds,
        }),
    }
}

fn minutes_and_hours(minutes: Bits, hours: Bits) -> Clock {
    let (first, count) = (minutes.first().unwrap_or(0), hours.count() * minutes.count());
    let (all_day, within) = (hours.count() == 24, within(minutes, hours));
    let list = || Clock::At(format!("at {}", listed(times(hours, minutes, Bits::one(0)))));
    if count <= TIMES_FEW {
        return list();
    }
    Clock::Often(match (every_nth(minutes, 60), every_nth(hours, 24)) {
        (Some((1, _)), _) => format!("every minute{within}"),
        (Some((step, 0)), _) => format!("every {step} minutes{within}"),
        (Some((step, start)), _) if all_day => {
            format!("every {step} minutes from {} past the hour", minutes_of(start))
        }
        (_, Some((1, _))) if minutes == Bits::one(0) => "every hour".into(),
        (_, Some((1, _))) => format!("every hour at {}", past(minutes)),
        (_, Some((step, 0))) if minutes == Bits::one(0) => format!("every {step} hours"),
        (_, Some((step, start))) if minutes.count() == 1 => {
            format!("every {step} hours from {start:02}:{first:02}")
        }
        _ if minutes.count() == 1 && within.starts_with(" from") => format!("every hour{within}"),
        _ if count <= TIMES_MANY => return list(),
        _ => format!("at {}{within}", past(minutes)),
    })
}

/// ` from 09:00 to 16:55`, to follow `every 5 minutes`; nothing if that is all day.
fn within(minutes: Bits, hours: Bits) -> String {
    let (first, last) = (minutes.first().unwrap_or(0), minutes.last().unwrap_or(0));
    match (hours.first(), hours.last()) {
        _ if hours.count() == 24 => String::new(),
        (Some(low), Some(high)) if hours.count() == high - low + 1 => {
            format!(" from {low:02}:{first:02} to {high:02}:{last:02}")
        }
        _ => format!(" in the hours {}", listed(runs(hours, |hour| format!("{hour:02}")))),
    }
}

/// If the set goes round a cycle in even steps: the step and the first number.
fn every_nth(set: Bits, cycle: u32) -> Option<(u32, u32)> {
    let (first, count) = (set.first()?, set.count());
    let step = cycle / count;
    let even = count > 1 && step * count == cycle && set == Bits::steps(first, cycle - 1, step as usize);
    even.then_some((step, first))
}

fn times(hours: Bits, minutes: Bits, seconds: Bits) -> Vec<String> {
    let whole = seconds == Bits::one(0);
    let clocks = hours
        .members()
        .flat_map(|hour| minutes.members().map(move |minute| format!("{hour:02}:{minute:02}")));
    let with_seconds = |clock: String| seconds.members().map(move |second| format!("{clock}:{second:02}"));
    if whole { clocks.collect() } else { clocks.flat_map(with_seconds).collect() }
}

/// `5 and 20 minutes past`.
fn past(minutes: Bits) -> String {
    match minutes.count() {
        1 if minutes.has(0) => "the full hour".into(),
        1 => format!("{} past", minutes_of(minutes.first().unwrap_or(0))),
        _ => format!("{} minutes past", listed(runs(minutes, plain))),
    }
}

fn minutes_of(count: u32) -> String {
    if count == 1 { "1 minute".into() } else { format!("{count} minutes") }
}

fn plain(number: u32) -> String {
    number.to_string()
}

/// What stands in a sentence for the days: either half may be empty.
struct Which {
    /// `every weekday`, in front of `at 06:30`.
    every: String,
    /// `on weekdays`, behind `every 5 minutes`; `on the 1st of every month`, behind `at 06:30` too.
    on: String,
}

fn days(calendar: &Calendar) -> Which {
    let days = &calendar.days;
    let every_month = calendar.months.count() == 12;
    let months = listed(runs(calendar.months, |n| MONTHS[n as usize - 1].to_owned()));
    let in_months = if every_month { String::new() } else { format!(" in {months}") };
    let of_months = if every_month { "every month".to_owned() } else { months };
    let only_weekdays = days.nth == [Bits::EMPTY; 5] && days.last == Bits::EMPTY;
    if days.dates == EVERY_DATE && only_weekdays && days.join == Join::Both {
        return by_weekday(days.weekdays, &in_months);
    }
    let dates = dates(days);
    let on_dates = || match calendar.months.first().filter(|_| calendar.months.count() == 1) {
        Some(month) if days.from_end == Bits::EMPTY && !days.last_workday => {
            format!("on {} {}", listed(runs(days.dates, plain)), MONTHS[month as usize - 1])
        }
        _ => format!("on the {} of {of_months}", listed(dates.clone())),
    };
    let counted = counted_weekdays(days);
    let every_weekday = days.weekdays == EVERY_WEEKDAY;
    let on = if every_weekday && days.join == Join::Both {
        on_dates()
    } else if days.dates == EVERY_DATE && days.join == Join::Both {
        format!("on {} of {of_months}", listed(counted))
    } else if let Some(week) = whole_week(days) {
        let weekdays = names(days.weekdays).map(|day| format!("the {week} {day}"));
        format!("on {} of {of_months}", listed(weekdays.collect()))
    } else if days.join == Join::Both {
        format!("on the {} of {of_months} if that is {}", listed(dates.clone()), alternatives(days))
    } else {
        format!("{} and on {}{in_months}", on_dates(), listed(counted))
    };
    Which { every: String::new(), on }
}

fn by_weekday(weekdays: Bits, in_months: &str) -> Which {
    let names = runs_of_week(weekdays);
    let (every, on) = match weekdays {
        EVERY_WEEKDAY => {
            return Which { every: format!("every day{in_months}"), on: in_months.trim_start().to_owned() };
        }
        WORKDAYS => ("every weekday".to_owned(), "on weekdays".to_owned()),
        _ if names.iter().any(|name| name.contains(" to ")) => {
            (format!("every {}", listed(names.clone())), format!("on {}", listed(names)))
        }
        _ => {
            let plural = names.iter().map(|name| format!("{name}s")).collect();
            (format!("every {}", listed(names)), format!("on {}", listed(plural)))
        }
    };
    Which { every: every + in_months, on: on + in_months }
}

/// `1st`, `3rd to 7th`, `last day`, `2nd to last day`.
fn dates(days: &Days) -> Vec<String> {
    let mut dates = runs(days.dates, ordinal);
    dates.extend(days.from_end.members().map(|nth| match nth {
        1 => "last day".to_owned(),
        _ => format!("{} to last day", ordinal(nth)),
    }));
    if days.last_workday {
        dates.push("last weekday".to_owned());
    }
    dates
}

/// `every Monday`, `Friday`, `the second Tuesday`.
fn counted_weekdays(days: &Days) -> Vec<String> {
    let mut found = runs_of_week(days.weekdays);
    if let Some(first) = found.first_mut() {
        *first = format!("every {first}");
    }
    found.extend(nth_weekdays(days));
    found
}

/// `a Monday`, `a Friday` or `the second Tuesday`.
fn alternatives(days: &Days) -> String {
    let each = names(days.weekdays).map(|day| format!("a {day}"));
    joined(&each.chain(nth_weekdays(days)).collect::<Vec<_>>(), "or")
}

/// `the second Tuesday`, `the last Friday`.
fn nth_weekdays(days: &Days) -> impl Iterator<Item = String> {
    const NTH: [&str; 6] = ["first", "second", "third", "fourth", "fifth", "last"];
    let sets = days.nth.into_iter().chain([days.last]);
    let named =
        |(nth, weekdays): (&'static str, Bits)| names(weekdays).map(move |day| format!("the {nth} {day}"));
    NTH.into_iter().zip(sets).flat_map(named)
}

/// `second` for the dates 8 to 14: with a weekday, that is the month's second.
fn whole_week(days: &Days) -> Option<&'static str> {
    let plain = days.nth == [Bits::EMPTY; 5] && days.last == Bits::EMPTY && !days.last_workday;
    if !plain || days.join == Join::Either {
        return None;
    }
    let week = |low: u32| Bits::range(low, low + 6);
    match (days.dates, days.from_end) {
        (Bits::EMPTY, last) if last == week(1) => Some("last"),
        (dates, Bits::EMPTY) => {
            let weeks = [(1, "first"), (8, "second"), (15, "third"), (22, "fourth")];
            weeks.into_iter().find(|(low, _)| week(*low) == dates).map(|(_, name)| name)
        }
        _ => None,
    }
}

fn years(calendar: &Calendar) -> String {
    let years: Vec<i16> = calendar.years.members_from(FIRST_YEAR).collect();
    let first = years.first().copied().unwrap_or(LAST_YEAR);
    let last = years.last().copied().unwrap_or(LAST_YEAR);
    match years.len() {
        len if len == usize::from((LAST_YEAR - FIRST_YEAR).unsigned_abs()) + 1 => String::new(),
        1 | 2 => format!(" in {}", listed(years.iter().map(i16::to_string).collect())),
        len if usize::from((last - first).unsigned_abs()) + 1 == len => match last {
            LAST_YEAR => format!(" from {first} on"),
            _ => format!(" from {first} to {last}"),
        },
        len if len <= 6 => format!(" in {}", listed(years.iter().map(i16::to_string).collect())),
        _ => format!(" in {}, {}, {} and so on until {last}", years[0], years[1], years[2]),
    }
}

/// Monday first, as people list them.
fn from_monday(weekdays: Bits) -> Bits {
    weekdays.members().map(|day| Bits::one((day + 6) % 7)).collect()
}

fn names(weekdays: Bits) -> impl Iterator<Item = &'static str> {
    from_monday(weekdays).members().map(|day| WEEKDAYS[day as usize])
}

fn runs_of_week(weekdays: Bits) -> Vec<String> {
    runs(from_monday(weekdays), |day| WEEKDAYS[day as usize].to_owned())
}

/// The members by name, three or more neighbours as `a to b`.
fn runs(set: Bits, name: impl Fn(u32) -> String) -> Vec<String> {
    let mut runs = Vec::new();
    let mut next = set.first();
    while let Some(low) = next {
        let high = (low..63).take_while(|n| set.has(*n)).last().unwrap_or(low);
        if high >= low + 2 {
            runs.push(format!("{} to {}", name(low), name(high)));
        } else {
            runs.extend((low..=high).map(&name));
        }
        next = set.from(high + 1);
    }
    runs
}

fn listed(items: Vec<String>) -> String {
    joined(&items, "and")
}

fn joined(items: &[String], word: &str) -> String {
    match items {
        [] => "never".to_owned(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} {word} {last}", rest.join(", ")),
    }
}

fn ordinal(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
