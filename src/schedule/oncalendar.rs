//! The OnCalendar dialect: systemd.time calendar events, one per line.
//!
//! `[weekdays] [[year-]month-day] [hour:minute[:second]] [zone]`, or `minutely` to `yearly`, with or without a
//! zone; lists, `a..b`, `/step`, and `~` in front of the day to count from the month's end. The grammar and its
//! limits are systemd's: `9..9/2` or a step that leads past the end at once are taken or refused as there, so a
//! line that is accepted here works in a timer. Blanks around a line do not count, as in a unit file. Left out are
//! `@seconds` and the abbreviations (CET, EDT) that systemd takes where they are its own clock's.
//!
//! Fractions of a second are accepted and cut off: 12:00:00.5 is awaited at 12:00:00. A line may name a day that
//! never comes (`*-02-30`), as in systemd; [`super::Schedule::never_runs`] tells.

use super::ScheduleError;
use super::bits::Bits;
use super::calendar::{Calendar, Days, EVERY_WEEKDAY, FIRST_YEAR, LAST_YEAR, Years};
use super::cron::shortened;
use super::zone::Zone;

/// Reads one line; without a zone of its own it is in `zone`.
pub(super) fn parse_line(line: &str, zone: &Zone) -> Result<(Calendar, Zone), ScheduleError> {
    let (text, named) = split_zone(line);
    match (parse_event(shorthand(text).unwrap_or(text)), line.rsplit_once(' ')) {
        (Ok(calendar), _) => Ok((calendar, named.unwrap_or_else(|| zone.clone()))),
        (Err(_), Some((_, word))) if named.is_none() && looks_like_a_zone(word) => {
            Err(ScheduleError::new(format!(
                "The time zone {:?} is not known: write an IANA name such as Europe/Riga, or UTC.",
                shortened(word)
            )))
        }
        (Err(error), _) => Err(error),
    }
}

fn split_zone(line: &str) -> (&str, Option<Zone>) {
    match line.rsplit_once(' ') {
        Some((text, word)) if word.eq_ignore_ascii_case("UTC") => (text, Some(Zone::utc())),
        Some((text, word)) if looks_like_a_zone(word) => match Zone::known(word) {
            Some(zone) => (text, Some(zone)),
            None => (line, None),
        },
        _ => (line, None),
    }
}

fn looks_like_a_zone(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && Reader { rest: word }.weekday().is_none()
}

fn shorthand(word: &str) -> Option<&'static str> {
    Some(match &*word.to_ascii_lowercase() {
        "minutely" => "*:*",
        "hourly" => "*:00",
        "daily" => "00:00",
        "weekly" => "Mon",
        "monthly" => "*-01",
        "quarterly" => "01,04,07,10-01",
        "semiannually" | "semi-annually" | "biannually" | "bi-annually" => "01,07-01",
        "yearly" | "annually" | "anually" => "01-01",
        _ => return None,
    })
}

/// A field: its name, and its least and greatest value; seconds count in millionths.
#[derive(Clone, Copy)]
struct Unit {
    name: &'static str,
    low: u32,
    high: u32,
    /// How much `a..b` steps by, and what a written 1 is worth.
    one: u32,
}

const YEAR: Unit = Unit { name: "year", low: FIRST_YEAR as u32, high: LAST_YEAR as u32, one: 1 };
const MONTH: Unit = Unit { name: "month", low: 1, high: 12, one: 1 };
const DAY: Unit = Unit { name: "day", low: 1, high: 31, one: 1 };
/// Every month has a 28th last day.
const DAY_FROM_END: Unit = Unit { name: "day (from the month's end)", low: 1, high: 28, one: 1 };
const HOUR: Unit = Unit { name: "hour", low: 0, high: 23, one: 1 };
const MINUTE: Unit = Unit { name: "minute", low: 0, high: 59, one: 1 };
const SECOND: Unit = Unit { name: "second", low: 0, high: 60 * MICROS - 1, one: MICROS };
const MICROS: u32 = 1_000_000;

/// `start[..stop][/step]`; a single value has step 0.
#[derive(Clone, Copy)]
struct Part {
    start: u32,
    stop: Option<u32>,
    step: u32,
}

/// A list of parts, or `*`.
type Chain = Option<Vec<Part>>;

fn parse_event(text: &str) -> Result<Calendar, ScheduleError> {
    let mut reader = Reader { rest: text };
    let weekdays = reader.weekdays()?;
    let (years, months, mut days) = reader.date()?;
    days.weekdays = weekdays;
    let (hours, minutes, seconds) = reader.time()?;
    Ok(Calendar { years, months, days, hours, minutes, seconds })
}

/// What of a line is not read yet.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    fn at_word_end(&self) -> bool {
        self.rest.is_empty() || self.rest.starts_with(' ')
    }

    /// `Mon..Wed,Fri`; none named means every day. A `-` is an old way to write `..`.
    fn weekdays(&mut self) -> Result<Bits, ScheduleError> {
        let mut days = Bits::EMPTY;
        let mut range_from = None;
        while let Some(day) = self.weekday() {
            let wrong = |reader: &Self, hint| Err(wrong("weekday", reader.rest, hint));
            if !(self.at_word_end() || self.rest.starts_with([',', '.', '-'])) {
                return wrong(self, "write names from Mon to Sun, separated by commas or ..");
            }
            let first = range_from.take();
            if first.unwrap_or(day) > day {
                return wrong(self, "a range runs from Monday towards Sunday, so write two, as in Sat,Sun");
            }
            days = days.or(Bits::range(first.unwrap_or(day), day));
            if !self.skip(",") && (self.skip("..") || self.skip("-")) {
                if first.is_some() {
                    return wrong(self, "a range has two ends");
                }
                range_from = Some(day);
            }
            if self.at_word_end() && range_from.is_none() {
                self.skip_blanks();
                return Ok(monday_first(days));
            }
        }
        match days {
            Bits::EMPTY => Ok(EVERY_WEEKDAY),
            _ => Err(wrong("weekday", self.rest, "write names from Mon to Sun, separated by commas or ..")),
        }
    }

    /// A weekday's name, Monday as 0.
    fn weekday(&mut self) -> Option<u32> {
        const NAMES: [&str; 7] =
            ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
        let starts =
            |name: &&str| self.rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let (day, length) = (0..).zip(NAMES).find_map(|(day, name)| {
            let written = [name, &name[..3]].into_iter().find(starts)?;
            Some((day, written.len()))
        })?;
        self.rest = &self.rest[length..];
        Some(day)
    }

    /// The date, or every day if a time or nothing stands here.
    fn date(&mut self) -> Result<(Years, Bits, Days), ScheduleError> {
        let every_day = (Years::ALL, MONTH.values(None)?, Days::ALL);
        if self.rest.is_empty() {
            return Ok(every_day);
        }
        let line = self.rest;
        let first = self.chain("date or time", 1)?;
        if self.rest.starts_with(':') {
            self.rest = line;
            return Ok(every_day);
        }
        let mut from_end = self.skip("~");
        if !from_end && !self.skip("-") {
            return Err(wrong(
                "date or time",
                self.rest,
                "write a date as 2026-12-24 or 12-24, a time as 18:00",
            ));
        }
        let (mut year, mut month, mut day) = (None, first, self.chain("month or day", 1)?);
        if !self.at_word_end() {
            if from_end {
                return Err(wrong("month", self.rest, "the ~ stands in front of the day, as in *-02~1"));
            }
            from_end = self.skip("~");
            if !from_end && !self.skip("-") {
                return Err(wrong("day", self.rest, "write a date as 2026-12-24 or 12-24"));
            }
            (year, month, day) = (month, day, self.chain("day", 1)?);
        }
        if !self.at_word_end() {
            return Err(wrong("day", self.rest, "write a blank between the date and what follows"));
        }
        self.skip_blanks();
        Ok((years(year)?, MONTH.values(month)?, days(day, from_end)?))
    }

    /// The time, or midnight if nothing stands here.
    fn time(&mut self) -> Result<(Bits, Bits, Bits), ScheduleError> {
        if self.rest.is_empty() {
            return Ok((Bits::one(0), Bits::one(0), Bits::one(0)));
        }
        let hour = self.chain("hour", 1)?;
        if !self.skip(":") {
            return Err(wrong("hour", self.rest, "write a time as hour:minute or hour:minute:second"));
        }
        let minute = self.chain("minute", 1)?;
        let seconds = if self.skip(":") { seconds(self.chain("second", MICROS)?)? } else { Bits::one(0) };
        if !self.rest.is_empty() {
            return Err(wrong("time", self.rest, "nothing but a time zone may follow, after one blank"));
        }
        Ok((HOUR.values(hour)?, MINUTE.values(minute)?, seconds))
    }

    fn chain(&mut self, name: &str, one: u32) -> Result<Chain, ScheduleError> {
        if self.skip("*") {
            return Ok(None);
        }
        let mut parts = Vec::new();
        loop {
            let start = self.number(name, one)?;
            let stop = if self.skip("..") { Some(self.number(name, one)?) } else { None };
            let step = match stop {
                _ if self.skip("/") => match self.number(name, one)? {
                    0 => return Err(wrong(name, self.rest, "a step of 0 leads nowhere")),
                    step => step,
                },
                Some(_) => one,
                None => 0,
            };
            parts.push(Part { start, stop, step });
            if !self.skip(",") {
                return Ok(Some(parts));
            }
        }
    }

    /// A number, times `one`; of seconds up to six decimals, rounded.
    fn number(&mut self, name: &str, one: u32) -> Result<u32, ScheduleError> {
        let hint = "write *, numbers, lists, ranges such as 1..5 or steps such as 0/15";
        let whole = self.digits();
        let mut value = match whole.parse::<u64>() {
            Ok(whole) => whole.saturating_mul(one.into()),
            Err(_) if whole.is_empty() => return Err(wrong(name, self.rest, hint)),
            Err(_) => u64::MAX,
        };
        if one == MICROS && self.rest.starts_with('.') && !self.rest.starts_with("..") {
            self.rest = &self.rest[1..];
            let decimals = self.digits();
            if decimals.is_empty() {
                return Err(wrong(name, self.rest, hint));
            }
            let digit = |place: usize| u64::from(decimals.as_bytes().get(place).unwrap_or(&b'0') - b'0');
            let micros = (0..6).fold(0, |micros, place| micros * 10 + digit(place));
            value = value.saturating_add(micros + u64::from(digit(6) >= 5));
        }
        let limit = i32::MAX.unsigned_abs();
        u32::try_from(value)
            .ok()
            .filter(|value| *value <= limit)
            .ok_or_else(|| wrong(name, whole, "the number is too large"))
    }
}

impl<'t> Reader<'t> {
    fn digits(&mut self) -> &'t str {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        digits
    }
}

/// Weekdays counted from Monday as 0 to a set with Sunday as 0.
fn monday_first(days: Bits) -> Bits {
    days.members().map(|day| Bits::one((day + 1) % 7)).collect()
}

fn years(chain: Chain) -> Result<Years, ScheduleError> {
    let Some(mut parts) = chain else { return Ok(Years::ALL) };
    let full = |year| match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        _ => year,
    };
    let mut years = Years::NONE;
    for part in &mut parts {
        (part.start, part.stop) = (full(part.start), part.stop.map(full));
        for year in YEAR.expand(*part)? {
            years.add(i16::try_from(year).unwrap_or(LAST_YEAR));
        }
    }
    Ok(years)
}

fn days(chain: Chain, from_end: bool) -> Result<Days, ScheduleError> {
    if !from_end || chain.is_none() {
        return Ok(Days { dates: DAY.values(chain)?, ..Days::ALL });
    }
    let mut from_end = Bits::EMPTY;
    for part in chain.unwrap_or_default() {
        let part =
            DAY_FROM_END.checked(part, |part| part.start.checked_sub(part.step).is_some_and(|n| n >= 1))?;
        let counted = match part.stop {
            None if part.step > 0 => {
                (1..=part.start).rev().step_by(part.step as usize).map(Bits::one).collect()
            }
            stop => Bits::steps(part.start, stop.unwrap_or(part.start), part.step.max(1) as usize),
        };
        from_end = from_end.or(counted);
    }
    Ok(Days { dates: Bits::EMPTY, from_end, ..Days::ALL })
}

/// Whole seconds; of `0/0.5` each second once.
fn seconds(chain: Chain) -> Result<Bits, ScheduleError> {
    let Some(parts) = chain else { return Ok(Bits::range(0, 59)) };
    let mut seconds = Bits::EMPTY;
    for part in parts {
        let part = SECOND.checked(part, |part| part.start + part.step <= SECOND.high)?;
        let stop = if part.step == 0 { part.start } else { part.stop.unwrap_or(SECOND.high) };
        let of_seconds = if part.step <= MICROS {
            Bits::range(part.start / MICROS, stop / MICROS)
        } else {
            (part.start..=stop).step_by(part.step as usize).map(|micros| Bits::one(micros / MICROS)).collect()
        };
        seconds = seconds.or(of_seconds);
    }
    Ok(seconds)
}

impl Unit {
    fn values(self, chain: Chain) -> Result<Bits, ScheduleError> {
        let Some(parts) = chain else { return Ok(Bits::range(self.low, self.high)) };
        let mut values = Bits::EMPTY;
        for part in parts {
            values = self.expand(part)?.map(Bits::one).fold(values, Bits::or);
        }
        Ok(values)
    }

    fn expand(self, part: Part) -> Result<impl Iterator<Item = u32>, ScheduleError> {
        let part = self.checked(part, |part| part.start + part.step <= self.high)?;
        let stop = if part.step == 0 { part.start } else { part.stop.unwrap_or(self.high) };
        Ok((part.start..=stop).step_by(part.step.max(1) as usize))
    }

    /// The part with its stop moved to a value that is reached, if systemd would take it: `repeats` says whether
    /// a part without a stop reaches a second value.
    fn checked(self, mut part: Part, repeats: impl Fn(Part) -> bool) -> Result<Part, ScheduleError> {
        if let Some(stop) = part.stop.filter(|stop| *stop >= part.start) {
            part.stop = Some(stop - (stop - part.start) % part.step);
            if part.stop == Some(part.start) {
                part = Part { stop: None, step: 0, ..part };
            }
        }
        let fits = |value| (self.low..=self.high).contains(&value);
        let between = || format!("write {} to {}", self.low / self.one, self.high / self.one);
        if !fits(part.start) || !part.stop.is_none_or(fits) {
            let value = part.stop.filter(|stop| !fits(*stop)).unwrap_or(part.start) / self.one;
            return Err(wrong(self.name, &value.to_string(), &between()));
        }
        if let Some(stop) = part.stop.filter(|stop| *stop < part.start) {
            let range = format!("{}..{}", part.start / self.one, stop / self.one);
            return Err(wrong(self.name, &range, "a range runs upwards, so write two with a comma between"));
        }
        if part.step > self.high - self.low || (part.stop.is_none() && part.step > 0 && !repeats(part)) {
            let step = format!("{}/{}", part.start / self.one, part.step / self.one);
            return Err(wrong(self.name, &step, "the step leads past the end at once, so leave it out"));
        }
        Ok(part)
    }
}

fn wrong(field: &str, found: &str, hint: &str) -> ScheduleError {
    let found = if found.is_empty() {
        "ends too early".into()
    } else {
        format!("cannot be read at {:?}", shortened(found))
    };
    ScheduleError::new(format!("The {field} {found}: {hint}."))
}
