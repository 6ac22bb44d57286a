//! A slow model: every minute around a clock change is asked whether cron or systemd would run.
//!
//! Expressions are made from sets, so the model needs no parser; the zone's readings come from jiff directly, so
//! it shares neither the search nor the eras.

use std::collections::BTreeSet;

use flatline::schedule::{Schedule, zone_data};
use flatline::time::Time;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};
use jiff::{Span, Timestamp};
use proptest::prelude::*;

const ZONES: [&str; 14] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Africa/Cairo",
    "America/Havana",
    "America/Santiago",
    "America/St_Johns",
    "Antarctica/Troll",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Pacific/Apia",
    "Pacific/Chatham",
];

/// The rules of the data that the schedules go by.
fn rules(zone: &str) -> TimeZone {
    let bundled = zone_data().origin() == "bundled";
    let data = if bundled { TimeZoneDatabase::bundled() } else { TimeZoneDatabase::from_env() };
    data.get(zone).unwrap()
}

/// One field: its text, and what it stands for.
#[derive(Clone, Debug)]
struct Field {
    text: String,
    values: BTreeSet<i8>,
}

impl Field {
    fn every(low: i8, high: i8) -> Self {
        Self { text: "*".into(), values: (low..=high).collect() }
    }

    fn starts_with_star(&self) -> bool {
        self.text.starts_with('*')
    }
}

/// `*`, `*/n`, and what [`listed`] makes.
fn field(low: i8, high: i8) -> impl Strategy<Value = Field> {
    prop_oneof![
        3 => Just(Field::every(low, high)),
        1 => (1..=high).prop_map(move |step| Field {
            text: format!("*/{step}"),
            values: (low..=high).step_by(step.unsigned_abs().into()).collect(),
        }),
        5 => listed(low, high),
    ]
}

/// Lists of numbers, and ranges with a step or without.
fn listed(low: i8, high: i8) -> impl Strategy<Value = Field> {
    let number = low..=high;
    prop_oneof![
        prop::collection::btree_set(number.clone(), 1..4).prop_map(|values| Field {
            text: values.iter().map(i8::to_string).collect::<Vec<_>>().join(","),
            values,
        }),
        (number.clone(), number, 1..=high).prop_map(|(a, b, step)| {
            let (a, b) = (a.min(b), a.max(b));
            let text = if step == 1 { format!("{a}-{b}") } else { format!("{a}-{b}/{step}") };
            Field { text, values: (a..=b).step_by(step.unsigned_abs().into()).collect() }
        }),
    ]
}

#[derive(Clone, Debug)]
struct Cron {
    minute: Field,
    hour: Field,
    day: Field,
    weekday: Field,
}

impl Cron {
    fn text(&self) -> String {
        let fields = [&self.minute, &self.hour, &self.day].map(|field| field.text.as_str());
        format!("{} * {}", fields.join(" "), self.weekday.text)
    }

    fn matches(&self, clock: DateTime) -> bool {
        let day = self.day.values.contains(&clock.day());
        let weekday = clock.weekday().to_sunday_zero_offset();
        let weekday = self.weekday.values.iter().any(|value| value % 7 == weekday);
        let both = self.day.starts_with_star() || self.weekday.starts_with_star();
        let today = if both { day && weekday } else { day || weekday };
        today && self.minute.values.contains(&clock.minute()) && self.hour.values.contains(&clock.hour())
    }

    fn follows_real_time(&self) -> bool {
        self.minute.starts_with_star() || self.hour.starts_with_star()
    }
}

fn cron() -> impl Strategy<Value = Cron> {
    (field(0, 59), prop_oneof![field(0, 23), listed(0, 3)], field(1, 31), field(0, 7))
        .prop_map(|(minute, hour, day, weekday)| Cron { minute, hour, day, weekday })
}

/// A zone and an instant within two days of one of its clock changes, if it has any.
fn moments() -> impl Strategy<Value = (&'static str, i64)> {
    let years = 0..2_500_000_000_i64;
    let near = -180_000..180_000_i64;
    (prop::sample::select(&ZONES[..]), years, near).prop_map(|(zone, second, near)| {
        let rules = rules(zone);
        let change = rules.following(Timestamp::from_second(second).unwrap()).next();
        let change = change.map_or(second, |change| change.timestamp().as_second());
        (zone, (change + near).max(0))
    })
}

/// The readings of the clock that the zone shows at no time just before `now`.
fn skipped(rules: &TimeZone, now: Timestamp) -> Vec<DateTime> {
    let before = now.checked_sub(Span::new().seconds(1)).unwrap();
    let jump = rules.to_offset(now).seconds() - rules.to_offset(before).seconds();
    let clock = rules.to_datetime(now);
    (1..=jump / 60).map(|minutes| clock.checked_sub(Span::new().minutes(minutes)).unwrap()).collect()
}

/// Whether `now` is the second time its clock shows this reading.
fn again(rules: &TimeZone, now: Timestamp) -> bool {
    let found = rules.to_ambiguous_timestamp(rules.to_datetime(now)).offset();
    matches!(found, AmbiguousOffset::Fold { after, .. } if after == rules.to_offset(now))
}

/// Every whole minute in the three days after `start`.
fn minutes(start: i64) -> impl Iterator<Item = Timestamp> {
    let first = start.div_euclid(60) + 1;
    (first..first + 3 * 1440).map(|minute| Timestamp::from_second(minute * 60).unwrap())
}

fn slots(expression: &str, zone: &str, start: i64) -> Vec<Timestamp> {
    let schedule = Schedule::parse(expression, zone).unwrap();
    let end = Time::from_seconds((start.div_euclid(60) + 3 * 1440) * 60);
    let slots = schedule.slots(Time::from_seconds(start)).take_while(|slot| *slot <= end);
    slots.map(|slot| Timestamp::from_second(slot.as_seconds()).unwrap()).collect()
}

/// Where found and wanted part, if they do.
fn first_difference(
    found: &[Timestamp],
    wanted: &[Timestamp],
) -> Option<(Option<Timestamp>, Option<Timestamp>)> {
    let longest = found.len().max(wanted.len());
    let pairs = (0..longest).map(|nth| (found.get(nth).copied(), wanted.get(nth).copied()));
    pairs.into_iter().find(|(found, wanted)| found != wanted)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cron_runs_at_the_minutes_at_which_a_daemon_that_looks_every_minute_would(
        cron in cron(), (zone, start) in moments(),
    ) {
        let rules = rules(zone);
        let runs = |now: &Timestamp| {
            let matches = cron.matches(rules.to_datetime(*now));
            if cron.follows_real_time() {
                return matches;
            }
            let caught_up = || skipped(&rules, *now).into_iter().any(|clock| cron.matches(clock));
            (matches && !again(&rules, *now)) || caught_up()
        };
        let wanted: Vec<_> = minutes(start).filter(runs).collect();
        prop_assert_eq!(first_difference(&slots(&cron.text(), zone, start), &wanted), None, "{} in {}", cron.text(), zone);
    }

    #[test]
    fn oncalendar_runs_at_the_minutes_that_the_clock_shows_for_the_first_time(
        cron in cron(), (zone, start) in moments(),
    ) {
        let list = |field: &Field| field.values.iter().map(i8::to_string).collect::<Vec<_>>().join(",");
        let (day, hour, minute) = (list(&cron.day), list(&cron.hour), list(&cron.minute));
        let text = format!("*-*-{day} {hour}:{minute}");
        let rules = rules(zone);
        let from = Timestamp::from_second(start).unwrap();
        let change = rules.preceding(from + Span::new().seconds(1)).next().map(|change| change.timestamp());
        let within_second_pass = again(&rules, from);
        let runs = |now: &Timestamp| {
            let clock = rules.to_datetime(*now);
            let fields = [(&cron.day, clock.day()), (&cron.hour, clock.hour()), (&cron.minute, clock.minute())];
            let same_pass = || within_second_pass && rules.preceding(*now + Span::new().seconds(1)).next().map(|c| c.timestamp()) == change;
            fields.iter().all(|(field, value)| field.values.contains(value)) && (!again(&rules, *now) || same_pass())
        };
        let wanted: Vec<_> = minutes(start).filter(runs).collect();
        prop_assert_eq!(first_difference(&slots(&text, zone, start), &wanted), None, "{} in {}", text, zone);
    }

    #[test]
    fn no_search_answers_with_an_instant_that_is_not_later(
        cron in cron(), zone in prop::sample::select(&ZONES[..]), millis in any::<i64>(),
    ) {
        if let Ok(schedule) = Schedule::parse(&cron.text(), zone) {
            prop_assert!(schedule.next_after(Time(millis)).is_none_or(|next| next > Time(millis)));
        }
        let simple = Schedule::simple(flatline::time::Span::minutes(1));
        prop_assert!(simple.next_after(Time(millis)).is_none_or(|next| next > Time(millis)));
    }
}
