//! Both odd days of the year, zone by zone, and a day that never was: every run on that day.
//!
//! The cron columns were computed by an independent model of Debian's rules on zone data 2026f.

use flatline::schedule::{Schedule, Zone};
use flatline::time::{Span, Time};

/// The kinds that a clock change treats differently: cron at a fixed time and at several, cron with a star in the
/// minute and in the hour, OnCalendar.
const KINDS: [&str; 5] = ["30 2 * * *", "15,45 1-2 * * *", "*/30 1-2 * * *", "30 */2 * * *", "01..02:00/30"];

/// Zone, day, and each kind's runs before 04:00.
const DAYS: [(&str, &str, [&str; 5]); 11] = [
    (
        "Europe/Berlin",
        "2026-03-29",
        [
            "03:00+02:00",
            "01:15+01:00 01:45+01:00 03:00+02:00",
            "01:00+01:00 01:30+01:00",
            "00:30+01:00",
            "01:00+01:00 01:30+01:00",
        ],
    ),
    (
        "Europe/Berlin",
        "2026-10-25",
        [
            "02:30+02:00",
            "01:15+02:00 01:45+02:00 02:15+02:00 02:45+02:00",
            "01:00+02:00 01:30+02:00 02:00+02:00 02:30+02:00 02:00+01:00 02:30+01:00",
            "00:30+02:00 02:30+02:00 02:30+01:00",
            "01:00+02:00 01:30+02:00 02:00+02:00 02:30+02:00",
        ],
    ),
    (
        "America/New_York",
        "2026-03-08",
        [
            "03:00-04:00",
            "01:15-05:00 01:45-05:00 03:00-04:00",
            "01:00-05:00 01:30-05:00",
            "00:30-05:00",
            "01:00-05:00 01:30-05:00",
        ],
    ),
    (
        "America/New_York",
        "2026-11-01",
        [
            "02:30-05:00",
            "01:15-04:00 01:45-04:00 02:15-05:00 02:45-05:00",
            "01:00-04:00 01:30-04:00 01:00-05:00 01:30-05:00 02:00-05:00 02:30-05:00",
            "00:30-04:00 02:30-05:00",
            "01:00-04:00 01:30-04:00 02:00-05:00 02:30-05:00",
        ],
    ),
    (
        "Australia/Lord_Howe",
        "2026-10-04",
        [
            "02:30+11:00",
            "01:15+10:30 01:45+10:30 02:30+11:00 02:45+11:00",
            "01:00+10:30 01:30+10:30 02:30+11:00",
            "00:30+10:30 02:30+11:00",
            "01:00+10:30 01:30+10:30 02:30+11:00",
        ],
    ),
    (
        "Australia/Lord_Howe",
        "2026-04-05",
        [
            "02:30+10:30",
            "01:15+11:00 01:45+11:00 02:15+10:30 02:45+10:30",
            "01:00+11:00 01:30+11:00 01:30+10:30 02:00+10:30 02:30+10:30",
            "00:30+11:00 02:30+10:30",
            "01:00+11:00 01:30+11:00 02:00+10:30 02:30+10:30",
        ],
    ),
    (
        "Africa/Casablanca",
        "2026-03-22",
        [
            "03:00+01:00",
            "01:15+00:00 01:45+00:00 03:00+01:00",
            "01:00+00:00 01:30+00:00",
            "00:30+00:00",
            "01:00+00:00 01:30+00:00",
        ],
    ),
    (
        "Africa/Casablanca",
        "2026-02-15",
        [
            "02:30+01:00",
            "01:15+01:00 01:45+01:00 02:15+01:00 02:45+01:00",
            "01:00+01:00 01:30+01:00 02:00+01:00 02:30+01:00 02:00+00:00 02:30+00:00",
            "00:30+01:00 02:30+01:00 02:30+00:00",
            "01:00+01:00 01:30+01:00 02:00+01:00 02:30+01:00",
        ],
    ),
    (
        "Pacific/Apia",
        "2011-12-29",
        [
            "02:30-10:00",
            "01:15-10:00 01:45-10:00 02:15-10:00 02:45-10:00",
            "01:00-10:00 01:30-10:00 02:00-10:00 02:30-10:00",
            "00:30-10:00 02:30-10:00",
            "01:00-10:00 01:30-10:00 02:00-10:00 02:30-10:00",
        ],
    ),
    ("Pacific/Apia", "2011-12-30", ["", "", "", "", ""]),
    (
        "Pacific/Apia",
        "2011-12-31",
        [
            "00:00+14:00 02:30+14:00",
            "00:00+14:00 01:15+14:00 01:45+14:00 02:15+14:00 02:45+14:00",
            "01:00+14:00 01:30+14:00 02:00+14:00 02:30+14:00",
            "00:30+14:00 02:30+14:00",
            "01:00+14:00 01:30+14:00 02:00+14:00 02:30+14:00",
        ],
    ),
];

/// When the expression runs while the zone's clock shows `day`, before 04:00, as `02:30+01:00 ..`.
fn runs(expression: &str, zone: &str, day: &str) -> String {
    let schedule = Schedule::parse(expression, zone).unwrap();
    let zone = Zone::parse(zone).unwrap();
    let noon = Time::parse(&format!("{day}T12:00:00Z")).unwrap();
    let around = schedule.slots(noon - Span::hours(48)).take_while(|slot| *slot < noon + Span::hours(48));
    let local = around.map(|slot| zone.local(slot));
    let early = local.filter(|local| local.clock().date().to_string() == day && local.clock().hour() < 4);
    early.map(|local| local.time() + &local.offset()).collect::<Vec<_>>().join(" ")
}

#[test]
fn on_the_days_of_a_clock_change_each_kind_of_schedule_runs_when_it_should() {
    for (zone, day, wanted) in DAYS {
        for (expression, wanted) in KINDS.into_iter().zip(wanted) {
            assert_eq!(runs(expression, zone, day), wanted, "{expression} in {zone} on {day}");
        }
    }
}

#[test]
fn a_search_that_starts_in_the_second_pass_never_answers_with_the_first() {
    let start = Time::parse("2026-10-25T01:10:00Z").unwrap();
    let next = |expression: &str| Schedule::parse(expression, "Europe/Berlin").unwrap().next_after(start);
    assert_eq!(next("30 2 * * *"), Time::parse("2026-10-26T02:30:00+01:00"));
    assert_eq!(next("*/30 2 * * *"), Time::parse("2026-10-25T02:30:00+01:00"));
    assert_eq!(next("02:30"), Time::parse("2026-10-25T02:30:00+01:00"));
}

#[test]
fn a_run_at_the_very_minute_a_gap_ends_is_one_run_with_what_the_gap_skipped() {
    let schedule = Schedule::parse("0 2,3 * * *", "Europe/Berlin").unwrap();
    let slots: Vec<_> = schedule.slots(Time::parse("2026-03-28T12:00:00Z").unwrap()).take(2).collect();
    assert_eq!(
        slots,
        ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"].map(|t| Time::parse(t).unwrap())
    );
}
