//! The wall-clock half of a schedule: which readings of a calendar and a clock match.
//!
//! cron and OnCalendar both come down to a [`Calendar`]: a bit set per field. A month's days become one bit set
//! too ([`Days::in_month`]), so the search is a walk by field with carry: the lowest second that fits, else the
//! next minute, hour, day, month, year. It knows nothing of time zones ([`super::changes`] does) and ends with
//! the year 2199, so it takes at most 2,760 months even for a calendar that matches nothing.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use super::bits::Bits;

pub(super) const FIRST_YEAR: i16 = 1970;
pub(super) const LAST_YEAR: i16 = 2199;
const MONTH_LENGTHS: [u32; 12] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// The wall-clock readings at which a schedule runs; no set of the clock is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Calendar {
    pub(super) years: Years,
    pub(super) months: Bits,
    pub(super) days: Days,
    pub(super) hours: Bits,
    pub(super) minutes: Bits,
    pub(super) seconds: Bits,
}

/// The days of a month that match: by date, by weekday (bit 0 is Sunday), and how the two are joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Days {
    /// Bit n is the nth day.
    pub(super) dates: Bits,
    /// Bit n is the nth day from the end: 1 is the month's last.
    pub(super) from_end: Bits,
    /// The last day from Monday to Friday.
    pub(super) last_workday: bool,
    pub(super) weekdays: Bits,
    /// The weekdays that match only as the first, second .. fifth of the month.
    pub(super) nth: [Bits; 5],
    /// The weekdays that match only as the last of the month.
    pub(super) last: Bits,
    pub(super) join: Join,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Both,
    Either,
}

pub(super) const EVERY_DATE: Bits = Bits::range(1, 31);
pub(super) const EVERY_WEEKDAY: Bits = Bits::range(0, 6);
pub(super) const WORKDAYS: Bits = Bits::range(1, 5);

impl Days {
    pub(super) const ALL: Self = Self {
        dates: EVERY_DATE,
        from_end: Bits::EMPTY,
        last_workday: false,
        weekdays: EVERY_WEEKDAY,
        nth: [Bits::EMPTY; 5],
        last: Bits::EMPTY,
        join: Join::Both,
    };

    /// The matching days of a month of `length` days whose 1st is the weekday `first`.
    fn in_month(&self, first: u32, length: u32) -> Bits {
        let every = |weekdays| weekly(weekdays, first);
        let mut by_date = self.dates;
        if self.from_end != Bits::EMPTY {
            by_date = by_date.or(Bits(self.from_end.0.reverse_bits() >> (62 - length)));
        }
        if self.last_workday {
            let last = every(WORKDAYS).and(Bits::range(1, length)).last();
            by_date = by_date.or(last.map_or(Bits::EMPTY, Bits::one));
        }
        let mut by_weekday = every(self.weekdays);
        for (week, weekdays) in (0..).zip(self.nth) {
            by_weekday = by_weekday.or(every(weekdays).and(Bits::range(7 * week + 1, 7 * week + 7)));
        }
        by_weekday = by_weekday.or(every(self.last).and(Bits::range(length - 6, length)));
        let joined = match self.join {
            Join::Both => by_date.and(by_weekday),
            Join::Either => by_date.or(by_weekday),
        };
        joined.and(Bits::range(1, length))
    }
}

/// The days 1 to 35 that fall on `weekdays` if the 1st is the weekday `first`.
fn weekly(weekdays: Bits, first: u32) -> Bits {
    const FIVE_WEEKS: u64 = 1 | 1 << 7 | 1 << 14 | 1 << 21 | 1 << 28;
    let week = (weekdays.0 >> first | weekdays.0 << (7 - first)) & 0x7f;
    Bits((week * FIVE_WEEKS) << 1)
}

/// A set of years from 1970 to 2199.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Years([u64; 4]);

impl Years {
    pub(super) const NONE: Self = Self([0; 4]);
    pub(super) const ALL: Self = Self([u64::MAX; 4]);

    pub(super) fn add(&mut self, year: i16) {
        if let Ok(nth @ 0..256) = usize::try_from(year - FIRST_YEAR) {
            self.0[nth / 64] |= 1 << (nth % 64);
        }
    }

    fn has(self, year: i16) -> bool {
        usize::try_from(year - FIRST_YEAR).is_ok_and(|nth| self.0[nth / 64] >> (nth % 64) & 1 == 1)
    }

    pub(super) fn members_from(self, year: i16) -> impl Iterator<Item = i16> {
        (year.max(FIRST_YEAR)..=LAST_YEAR).filter(move |year| self.has(*year))
    }
}

impl Calendar {
    /// Whether some day of some month matches, whatever year it is: 30 February does not.
    pub(super) fn has_days(&self) -> bool {
        let matches = |(month, length)| {
            self.months.has(month) && (0..7).any(|first| self.days.in_month(first, length) != Bits::EMPTY)
        };
        (1..=12).zip(MONTH_LENGTHS).chain([(2, 29)]).any(matches)
    }

    /// The first matching reading at or after `wall`, both in seconds since 1970 as the clock on the wall counts
    /// them; `None` after the year 2199.
    pub(super) fn first_from(&self, wall: i64) -> Option<i64> {
        let at = Offset::UTC.to_datetime(Timestamp::from_second(wall).ok()?);
        let today = self.day_from(at.date())?;
        if today == at.date()
            && let Some(time) = self.clock_from(at.time())
        {
            return wall_seconds(today.to_datetime(time));
        }
        let day = if today == at.date() { self.day_from(today.tomorrow().ok()?)? } else { today };
        wall_seconds(day.to_datetime(self.clock_from(Time::midnight())?))
    }

    /// The first matching time of day at or after `from`.
    fn clock_from(&self, from: Time) -> Option<Time> {
        let [hour, minute, second] =
            [from.hour(), from.minute(), from.second()].map(|n| n.unsigned_abs().into());
        let (first_minute, first_second) = (self.minutes.first()?, self.seconds.first()?);
        if self.hours.has(hour) {
            if self.minutes.has(minute)
                && let Some(second) = self.seconds.from(second)
            {
                return clock(hour, minute, second);
            }
            if let Some(minute) = self.minutes.from(minute + 1) {
                return clock(hour, minute, first_second);
            }
        }
        clock(self.hours.from(hour + 1)?, first_minute, first_second)
    }

    /// The first matching day at or after `from`.
    fn day_from(&self, from: Date) -> Option<Date> {
        for year in self.years.members_from(from.year()) {
            let (mut month, mut day) = (1, 1);
            if year == from.year() {
                (month, day) = (from.month().unsigned_abs().into(), from.day().unsigned_abs().into());
            }
            while let Some(matching) = self.months.from(month) {
                if matching != month {
                    (month, day) = (matching, 1);
                }
                let first = date(year, month, 1)?;
                let weekday = first.weekday().to_sunday_zero_offset().unsigned_abs().into();
                let days = self.days.in_month(weekday, first.days_in_month().unsigned_abs().into());
                if let Some(day) = days.from(day) {
                    return date(year, month, day);
                }
                (month, day) = (month + 1, 1);
            }
        }
        None
    }
}

fn date(year: i16, month: u32, day: u32) -> Option<Date> {
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn clock(hour: u32, minute: u32, second: u32) -> Option<Time> {
    let [hour, minute, second] = [hour, minute, second].map(|n| i8::try_from(n).ok());
    Time::new(hour?, minute?, second?, 0).ok()
}

fn wall_seconds(wall: DateTime) -> Option<i64> {
    Offset::UTC.to_timestamp(wall).ok().map(Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(month: u32, days: Days) -> Calendar {
        let midnight = Bits::one(0);
        let (hours, minutes, seconds) = (midnight, midnight, midnight);
        Calendar { years: Years::ALL, months: Bits::one(month), days, hours, minutes, seconds }
    }

    #[test]
    fn a_calendar_has_days_exactly_when_the_search_finds_one() {
        let date = |day| Days { dates: Bits::one(day), ..Days::ALL };
        let fifth = |weekday| {
            let mut nth = [Bits::EMPTY; 5];
            nth[4] = Bits::one(weekday);
            Days { weekdays: Bits::EMPTY, nth, ..Days::ALL }
        };
        let date_and_fifth = |day| Days { dates: Bits::one(day), ..fifth(1) };
        let mut dead = Vec::new();
        for month in 1..=12 {
            let dated = (1..=31).flat_map(|day| [date(day), date_and_fifth(day)]);
            for days in dated.chain((0..7).map(fifth)) {
                let calendar = calendar(month, days);
                assert_eq!(calendar.has_days(), calendar.first_from(0).is_some(), "{calendar:?}");
                if !calendar.has_days() {
                    dead.push(month);
                }
            }
        }
        let by_date = [2, 2, 4, 6, 9, 11].len();
        let fifth_before_the_29th = 12 * 28;
        let fifth_on_no_date = [2, 2, 4, 6, 9, 11].len();
        assert_eq!(dead.len(), by_date + fifth_before_the_29th + fifth_on_no_date);
    }
}
