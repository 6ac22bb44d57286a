//! The cron dialect: five fields with Debian's meaning, and what people add to them.
//!
//! minute, hour, day of month, month, day of week; numbers, `*`, lists, ranges, steps, three-letter names in any
//! case, 0 and 7 for Sunday. If the text of a day field begins with `*` (so `*/2` too) both day fields must match,
//! else either. If the minute's or hour's text begins with `*` the job follows real time over a clock change
//! ([`Rule::RealTime`]), else the wall clock ([`Rule::Once`]).
//!
//! Beyond Debian: `a/n` (from `a` to the end), `L` and `LW` (the month's last day, last workday), `5L` or `FRIL`
//! (last Friday), `1#2` or `MON#2` (second Monday). `@hourly` to `@yearly` and `@midnight`, in small letters as
//! in a crontab. Blanks are whatever Unicode counts as white space, so a no-break space from a web page works.
//!
//! Refused with a word on what to write instead: `@reboot`, a sixth field or a command, reversed ranges (Debian
//! installs `22-2` and `sat-sun` and never does what they say), full names, `?`, `15W`, `H`, `~`, steps of zero or
//! beyond 32 bits, and days that no year has.

use super::ScheduleError;
use super::bits::Bits;
use super::calendar::{Calendar, Days, EVERY_DATE, EVERY_WEEKDAY, Join, Years};
use super::changes::Rule;

struct Field {
    name: &'static str,
    low: u32,
    high: u32,
    /// Names for the numbers from `low` up.
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", low: 0, high: 59, names: &[] };
const HOUR: Field = Field { name: "hour", low: 0, high: 23, names: &[] };
const DAY: Field = Field { name: "day of month", low: 1, high: 31, names: &[] };
const MONTH: Field = Field {
    name: "month",
    low: 1,
    high: 12,
    names: &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
};
const WEEKDAY: Field =
    Field { name: "day of week", low: 0, high: 7, names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] };

/// Reads a cron expression; the error names the field and says what to write instead.
pub(super) fn parse(text: &str) -> Result<(Calendar, Rule), ScheduleError> {
    let fields: Vec<&str> = match text.trim().strip_prefix('@') {
        Some(word) => nickname(word)?.to_vec(),
        None => text.split_whitespace().collect(),
    };
    let [minute, hour, day, month, weekday] = fields[..] else { return Err(wrong_count(&fields)) };
    let calendar = Calendar {
        years: Years::ALL,
        months: MONTH.values(month)?,
        days: days(day, weekday)?,
        hours: HOUR.values(hour)?,
        minutes: MINUTE.values(minute)?,
        seconds: Bits::one(0),
    };
    if calendar.first_from(0).is_none() {
        return Err(never(day, month, weekday));
    }
    let follows_real_time = minute.starts_with('*') || hour.starts_with('*');
    Ok((calendar, if follows_real_time { Rule::RealTime } else { Rule::Once }))
}

fn nickname(word: &str) -> Result<[&'static str; 5], ScheduleError> {
    Ok(match word {
        "hourly" => ["0", "*", "*", "*", "*"],
        "daily" | "midnight" => ["0", "0", "*", "*", "*"],
        "weekly" => ["0", "0", "*", "*", "0"],
        "monthly" => ["0", "0", "1", "*", "*"],
        "yearly" | "annually" => ["0", "0", "1", "1", "*"],
        "reboot" => {
            return Err(ScheduleError::new(
                "@reboot runs when a machine starts, at no time that could be awaited. Use a simple period instead.",
            ));
        }
        _ => {
            return Err(ScheduleError::new(format!(
                "@{} is not a schedule: write @hourly, @daily, @weekly, @monthly or @yearly, the five fields (minute, \
                 hour, day of month, month, day of week), or use a simple period.",
                shortened(word)
            )));
        }
    })
}

fn wrong_count(fields: &[&str]) -> ScheduleError {
    const ORDER: &str = "minute, hour, day of month, month, day of week";
    let count = fields.len();
    ScheduleError::new(match fields {
        [] => format!("The schedule is empty: write the five fields {ORDER}."),
        [setting, ..] if setting.contains('=') => format!(
            "{:?} does not belong to the five fields ({ORDER}): choose the time zone beside them instead.",
            shortened(setting)
        ),
        [_, _, _, _, _, sixth] if sixth.starts_with(|c: char| c.is_ascii_digit() || "*?".contains(c)) => {
            let sixth = shortened(sixth);
            format!(
                "There is a sixth field {sixth:?}: write the five fields {ORDER}. If the first one is meant as \
                 seconds, leave it out; seconds are not awaited."
            )
        }
        [_, _, _, _, _, rest, ..] => format!(
            "{:?} comes after the five fields: write {ORDER}, without user, command or year.",
            shortened(rest)
        ),
        _ => format!("A cron schedule has five fields ({ORDER}); this has {count}."),
    })
}

fn never(day: &str, month: &str, weekday: &str) -> ScheduleError {
    let [day, month, weekday] = [day, month, weekday].map(shortened);
    let both = if weekday == "*" { String::new() } else { format!(" and the day of week field {weekday:?}") };
    ScheduleError::new(format!(
        "The day of month field {day:?} with the month field {month:?}{both} is a day that no year has, so it never \
         runs. To switch the check off, pause the check instead."
    ))
}

fn days(day: &str, weekday: &str) -> Result<Days, ScheduleError> {
    let join = if day.starts_with('*') || weekday.starts_with('*') { Join::Both } else { Join::Either };
    let mut days = Days { dates: Bits::EMPTY, weekdays: Bits::EMPTY, join, ..Days::ALL };
    for item in day.split(',') {
        match &*item.to_ascii_uppercase() {
            "L" => days.from_end = Bits::one(1),
            "LW" => days.last_workday = true,
            _ => days.dates = days.dates.or(DAY.item(item)?),
        }
    }
    for item in weekday.split(',') {
        if let Some((name, nth)) = item.split_once('#') {
            let hint = "write 1 to 5 after the #, as in MON#2 for the second Monday";
            let nth = ["1", "2", "3", "4", "5"].iter().position(|written| *written == nth);
            let nth = nth.ok_or_else(|| WEEKDAY.wrong(item, hint))?;
            days.nth[nth] = days.nth[nth].or(one_weekday(item, name)?);
        } else if let Some(name) = item.strip_suffix(['l', 'L']) {
            days.last = days.last.or(one_weekday(item, name)?);
        } else {
            let numbers = WEEKDAY.item(item)?;
            let sunday = if numbers.has(7) { Bits::one(0) } else { Bits::EMPTY };
            days.weekdays = days.weekdays.or(numbers.or(sunday).and(EVERY_WEEKDAY));
        }
    }
    if join == Join::Either && (days.dates == EVERY_DATE || days.weekdays == EVERY_WEEKDAY) {
        return Ok(Days::ALL);
    }
    Ok(days)
}

/// The weekday in `item`, which counts it (`MON#2`) or takes the month's last (`5L`).
fn one_weekday(item: &str, name: &str) -> Result<Bits, ScheduleError> {
    let number = WEEKDAY.number(name).filter(|number| *number <= WEEKDAY.high);
    let hint = "write the weekday in front, as in 5L for the last Friday or MON#2 for the second Monday";
    Ok(Bits::one(number.ok_or_else(|| WEEKDAY.wrong(item, hint))? % 7))
}

impl Field {
    fn values(&self, text: &str) -> Result<Bits, ScheduleError> {
        text.split(',').map(|item| self.item(item)).collect()
    }

    /// One item of a list: `*`, `a`, `a-b`, each with `/n` or without.
    fn item(&self, item: &str) -> Result<Bits, ScheduleError> {
        let (base, step) = match item.split_once('/') {
            Some((base, step)) => (base, Some(self.step(item, step)?)),
            None => (item, None),
        };
        let (low, high) = if base == "*" {
            (self.low, self.high)
        } else if let Some((low, high)) = base.split_once('-') {
            (self.in_range(item, low)?, self.in_range(item, high)?)
        } else {
            let low = self.in_range(item, base)?;
            (low, if step.is_some() { self.high } else { low })
        };
        if low > high {
            return Err(self.reversed(item, base, low, high));
        }
        Ok(Bits::steps(low, high, step.unwrap_or(1)))
    }

    fn step(&self, item: &str, step: &str) -> Result<usize, ScheduleError> {
        let number = step.bytes().all(|b| b.is_ascii_digit()).then(|| step.parse::<u32>().ok()).flatten();
        match number {
            Some(step @ 1..) => Ok(step as usize),
            _ => Err(self.wrong(item, &format!("write a whole number from 1 to {} after the /", self.high))),
        }
    }

    fn in_range(&self, item: &str, text: &str) -> Result<u32, ScheduleError> {
        match self.number(text) {
            Some(number) if (self.low..=self.high).contains(&number) => Ok(number),
            Some(_) => Err(self.wrong(item, &format!("write a number from {} to {}", self.low, self.high))),
            None => Err(self.wrong(item, &self.hint(text))),
        }
    }

    /// A number in digits, however large, or a name.
    fn number(&self, text: &str) -> Option<u32> {
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return Some(text.parse().unwrap_or(u32::MAX));
        }
        let name = self.names.iter().position(|name| name.eq_ignore_ascii_case(text))?;
        Some(self.low + u32::try_from(name).ok()?)
    }

    fn reversed(&self, item: &str, base: &str, low: u32, high: u32) -> ScheduleError {
        let named = base.starts_with(|c: char| c.is_ascii_alphabetic());
        let write = |number: u32| match self.names.get((number - self.low) as usize) {
            Some(name) if named => (*name).to_owned(),
            _ => number.to_string(),
        };
        let range = |a: u32, b: u32| if a == b { write(a) } else { format!("{}-{}", write(a), write(b)) };
        let last = if self.high == WEEKDAY.high { 6 } else { self.high };
        let instead = format!("{},{}", range(low, last.max(low)), range(self.low, high));
        self.wrong(item, &format!("a range runs upwards, so write {instead:?}"))
    }

    /// What to write instead of something that is neither a number nor a name.
    fn hint(&self, text: &str) -> String {
        let full = self
            .names
            .iter()
            .find(|name| text.len() > 3 && text.is_ascii() && name.eq_ignore_ascii_case(&text[..3]));
        if let Some(name) = full {
            return format!("write one three-letter name, such as {name}, or a number");
        }
        match text.chars().next() {
            Some('?') => "write * instead of Quartz's ?".into(),
            Some('H' | '~') => "write a fixed number; a time drawn by chance cannot be awaited".into(),
            _ if text.contains('~') => {
                "write a fixed number; a time drawn by chance cannot be awaited".into()
            }
            _ if text.ends_with(['W', 'w']) => {
                "write the date itself, or LW for the month's last workday".into()
            }
            None => "something is missing beside a comma, dash or slash".into(),
            _ if text == "L" || text.starts_with("L-") => "write L alone, for the month's last day".into(),
            _ => format!(
                "write *, numbers from {low} to {high}, ranges such as {low}-{high}, lists or steps such as */2",
                low = self.low,
                high = self.high
            ),
        }
    }

    fn wrong(&self, item: &str, hint: &str) -> ScheduleError {
        ScheduleError::new(format!("The {} field cannot be {:?}: {hint}.", self.name, shortened(item)))
    }
}

/// At most 40 characters of what was written, to quote it.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
