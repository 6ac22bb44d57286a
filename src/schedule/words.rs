//! A schedule in English: `every weekday at 06:30, Europe/Riga`.
//!
//! The sentence is made from the sets of the [`Calendar`], not from the text, so cron and OnCalendar read alike
//! and two ways to write one schedule read the same. Shapes without an idiom are listed in full: long, but true.

use super::bits::Bits;
use super::calendar::{Calendar, Days, EVERY_DATE, EVERY_WEEKDAY, FIRST_YEAR, Join, LAST_YEAR, WORKDAYS};
use super::{Expression, Schedule};
use crate::time::Span;

const WEEKDAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
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
        return Clock::At(format!("at {}", listed(times(calendar))));
    }
    if seconds == Bits::one(0) {
        return minutes_and_hours(calendar);
    }
    let every_minute = hours.count() == 24 && minutes.count() == 60;
    match every_nth(seconds, 60) {
        Some((1, 0)) if every_minute => return Clock::Often("every second".into()),
        Some((step, 0)) if every_minute => return Clock::Often(format!("every {step} seconds")),
        _ => {}
    }
    let (Clock::At(time) | Clock::Often(time)) = minutes_and_hours(calendar);
    let at = if seconds.count() == 1 { "second" } else { "seconds" };
    Clock::Often(format!("{time}, at {at} {}", listed(runs(seconds, |n| n.to_string()))))
}

fn minutes_and_hours(calendar: &Calendar) -> Clock {
    let (hours, minutes) = (calendar.hours, calendar.minutes);
    let (first, last) = (minutes.first().unwrap_or(0), minutes.last().unwrap_or(0));
    let within = || match (hours.first(), hours.last()) {
        (Some(0), Some(23)) if hours.count() == 24 => String::new(),
        (Some(low), Some(high)) if hours.count() == high - low + 1 => {
            format!(" from {low:02}:{first:02} to {high:02}:{last:02}")
        }
        _ => format!(
            " in the {} {}",
            if hours.count() == 1 { "hour" } else { "hours" },
            listed(runs(hours, hour))
        ),
    };
    if minutes.count() == 1 {
        return match every_nth(hours, 24) {
            Some((1, _)) if first == 0 => Clock::Often("every hour".into()),
            Some((1, _)) => Clock::Often(format!("every hour at {}", past(minutes))),
            Some((step, 0)) if first == 0 => Clock::Often(format!("every {step} hours")),
            Some((step, start)) => Clock::Often(format!("every {step} hours from {start:02}:{first:02}")),
            None if hours.count() <= TIMES_MANY && !within().starts_with(" from") => {
                Clock::At(format!("at {}", listed(times(calendar))))
            }
            None if within().starts_with(" from") => Clock::Often(format!("every hour{}", within())),
            None => Clock::Often(format!("at {}{}", past(minutes), within())),
        };
    }
    match every_nth(minutes, 60) {
        Some((1, _)) => Clock::Often(format!("every minute{}", within())),
        Some((step, 0)) => Clock::Often(format!("every {step} minutes{}", within())),
        Some((step, start)) if hours.count() == 24 => Clock::Often(format!(
            "every {step} minutes from {} past the hour",
            minutes_of(&start.to_string(), start)
        )),
        _ if hours.count() == 24 => Clock::Often(format!("every hour at {}", past(minutes))),
        _ if hours.count() * minutes.count() <= TIMES_MANY => {
            Clock::At(format!("at {}", listed(times(calendar))))
        }
        _ => Clock::Often(format!("at {}{}", past(minutes), within())),
    }
}

/// If the set goes round a cycle in even steps: the step and the first number.
fn every_nth(set: Bits, cycle: u32) -> Option<(u32, u32)> {
    let (first, count) = (set.first()?, set.count());
    let step = cycle / count;
    let even = count > 1 && step * count == cycle && set == Bits::steps(first, cycle - 1, step as usize);
    even.then_some((step, first))
}

fn times(calendar: &Calendar) -> Vec<String> {
    let mut times = Vec::new();
    for hour in calendar.hours.members() {
        for minute in calendar.minutes.members() {
            for second in calendar.seconds.members() {
                let clock = format!("{hour:02}:{minute:02}");
                let whole = calendar.seconds == Bits::one(0);
                times.push(if whole { clock } else { format!("{clock}:{second:02}") });
            }
        }
    }
    times
}

fn past(minutes: Bits) -> String {
    if minutes == Bits::one(0) {
        return "the full hour".into();
    }
    let last = minutes.last().unwrap_or(0);
    format!(
        "{} past",
        minutes_of(&listed(runs(minutes, |n| n.to_string())), if minutes.count() == 1 { last } else { 2 })
    )
}

fn minutes_of(number: &str, count: u32) -> String {
    format!("{number} {}", if count == 1 { "minute" } else { "minutes" })
}

fn hour(hour: u32) -> String {
    format!("{hour:02}")
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
            let plain = runs(days.dates, |day| day.to_string());
            format!("on {} {}", listed(plain), MONTHS[month as usize - 1])
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
        let weekdays = days.weekdays.members().map(|day| format!("the {week} {}", WEEKDAYS[day as usize]));
        format!("on {} of {of_months}", listed(weekdays.collect()))
    } else if days.join == Join::Both {
        format!("on the {} of {of_months} if that is {}", listed(dates), alternatives(counted))
    } else {
        let weekdays = if only_weekdays { format!("every {}", listed(counted)) } else { listed(counted) };
        format!("{} and on {weekdays}{in_months}", on_dates())
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

/// `Monday`, `the second Tuesday`, `the last Friday`.
fn counted_weekdays(days: &Days) -> Vec<String> {
    const NTH: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
    let mut found = runs_of_week(days.weekdays);
    for (nth, weekdays) in NTH.into_iter().zip(days.nth).chain([("last", days.last)]) {
        found.extend(weekdays.members().map(|day| format!("the {nth} {}", WEEKDAYS[day as usize])));
    }
    found
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
fn runs_of_week(weekdays: Bits) -> Vec<String> {
    let from_monday = weekdays.members().map(|day| Bits::one((day + 6) % 7)).collect();
    runs(from_monday, |day| WEEKDAYS[(day as usize + 1) % 7].to_owned())
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

fn alternatives(items: Vec<String>) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|item| {
            if item.starts_with("the ") || item.contains(" to ") { item.clone() } else { format!("a {item}") }
        })
        .collect();
    joined(&items, "or")
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
