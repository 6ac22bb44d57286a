//! What people reported against other monitors and schedulers; the numbers are the reports'.

use flatline::schedule::{Schedule, Zone};
use flatline::time::{Span, Time};

fn at(text: &str) -> Time {
    Time::parse(text).unwrap()
}

fn schedule(expression: &str, zone: &str) -> Schedule {
    Schedule::parse(expression, zone).unwrap_or_else(|error| panic!("{expression}: {error}"))
}

/// Asserts the instants that follow `start`.
fn follows(expression: &str, zone: &str, start: &str, wanted: &[&str]) {
    let found: Vec<Time> = schedule(expression, zone).slots(at(start)).take(wanted.len()).collect();
    let wanted: Vec<Time> = wanted.iter().map(|slot| at(slot)).collect();
    assert_eq!(found, wanted, "{expression} in {zone} after {start}");
}

fn refused(expression: &str, zone: &str) -> String {
    Schedule::parse(expression, zone).unwrap_err().to_string()
}

#[test]
fn b001_a_time_that_exists_twice_next_week_is_accepted_and_runs_once() {
    let zone = "Europe/Copenhagen";
    let next = ["2018-10-23T02:00:00+02:00", "2018-10-24T02:00:00+02:00"];
    follows("0 2 * * *", zone, "2018-10-22T12:00:00Z", &next);
    let next = ["2018-10-28T02:00:00+02:00", "2018-10-29T02:00:00+01:00"];
    follows("0 2 * * *", zone, "2018-10-27T12:00:00Z", &next);
}

#[test]
fn b002_after_the_spring_change_the_slot_is_in_the_checks_zone() {
    follows("0 11,23 * * *", "Europe/London", "2023-03-28T22:00:20Z", &["2023-03-29T11:00:00+01:00"]);
}

#[test]
fn b005_a_ping_half_a_minute_early_leaves_its_slot_expected() {
    follows("51 22 * * *", "Europe/Moscow", "2023-05-15T19:50:30Z", &["2023-05-15T22:51:00+03:00"]);
}

#[test]
fn b006_a_star_in_the_minute_warns_that_it_means_sixty_runs() {
    let expression = schedule("* 9 * * *", "America/Los_Angeles");
    follows("* 9 * * *", "America/Los_Angeles", "2024-05-21T16:34:00Z", &["2024-05-21T09:35:00-07:00"]);
    assert_eq!(expression.runs_per_day(), 60);
    assert_eq!(
        expression.warnings(),
        ["This runs 60 times per day: every minute of the hour. For the full hour only, write 0 9 * * *."]
    );
}

#[test]
fn b007_the_preview_shows_daily_from_weekly() {
    let week = ["2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04"];
    follows(
        "5 5 * * *",
        "UTC",
        "2026-11-30T00:00:00Z",
        &week.map(|day| format!("{day}T05:05:00Z")).each_ref().map(|s| &**s),
    );
    follows("5 5 * * 0", "UTC", "2026-11-30T00:00:00Z", &["2026-12-06T05:05:00Z", "2026-12-13T05:05:00Z"]);
    assert_eq!(schedule("5 5 * * 0", "UTC").in_words(), "every Sunday at 05:05, UTC");
}

#[test]
fn b008_b047_b152_pings_hours_beside_their_slots_are_noticed() {
    let hourly_from = |first: &str, count: i64| -> Vec<Time> {
        (0..count).map(|n| at(first) + Span::hours(n) + Span::seconds(8)).collect()
    };
    let daytime = schedule("*/5 9-23 * * *", "UTC");
    assert_eq!(daytime.hours_off(&hourly_from("2026-07-01T07:00:00Z", 5)), Some(-2));
    assert_eq!(daytime.hours_off(&hourly_from("2026-07-01T10:00:00Z", 5)), None);
    let london = schedule("20 1 * * *", "Europe/London");
    let utc_host = [1, 2, 3].map(|day| at(&format!("2020-04-0{day}T01:20:05Z")));
    assert_eq!(london.hours_off(&utc_host), Some(1));
    let sent_as_utc = schedule("0 7 * * *", "UTC");
    let bucharest = [1, 2, 3].map(|day| at(&format!("2026-07-0{day}T07:00:09+03:00")));
    assert_eq!(sent_as_utc.hours_off(&bucharest), Some(-3));
    assert_eq!(sent_as_utc.hours_off(&bucharest[..2]), None, "two are no pattern");
}

#[test]
fn b010_the_first_saturday_has_a_next_one() {
    follows("Sat *-*-1..7 04:00:00", "UTC", "2026-09-05T04:36:15Z", &["2026-10-03T04:00:00Z"]);
}

#[test]
fn b011_the_first_slot_of_the_day_is_a_slot_like_any_other() {
    let window = "Mon..Fri *-*-* 05..18:0/10:00";
    follows(window, "UTC", "2025-01-23T18:50:08Z", &["2025-01-24T05:00:00Z"]);
    follows(window, "UTC", "2025-01-24T05:00:08Z", &["2025-01-24T05:10:00Z"]);
}

#[test]
fn b012_every_fifth_day_starts_again_on_the_first() {
    let days = ["2022-02-21", "2022-02-26", "2022-03-01", "2022-03-06", "2022-03-11"];
    let days = days.map(|day| format!("{day}T00:00:00Z"));
    follows("0 0 */5 * *", "UTC", "2022-02-20T00:00:00Z", &days.each_ref().map(|day| &**day));
}

#[test]
fn b013_b032_b033_b034_day_fields_are_joined_as_debian_joins_them() {
    let check = |expression, start: &str, days: &[&str], time: &str| {
        let slots: Vec<String> = days.iter().map(|day| format!("{day}T{time}:00Z")).collect();
        let slots: Vec<&str> = slots.iter().map(String::as_str).collect();
        follows(expression, "UTC", start, &slots);
    };
    let days = ["2021-01-08", "2021-01-09", "2021-01-10", "2021-02-08", "2021-02-09"];
    check("0 0 8-9 * 0#2", "2021-01-01T00:00:00Z", &days, "00:00");
    check("0 0 */2 * 1", "2024-12-31T23:59:00Z", &["2025-01-13"], "00:00");
    check("0 9 1-31 * 1", "2026-05-01T00:00:00Z", &["2026-05-01", "2026-05-02", "2026-05-03"], "09:00");
    let days = ["2026-12-04", "2026-12-11", "2026-12-13", "2026-12-18", "2026-12-25"];
    check("0 0 13 * 5", "2026-11-30T00:00:00Z", &days, "00:00");
}

#[test]
fn b014_an_impossible_date_beside_a_weekday_leaves_the_weekday() {
    let days = ["2020-06-07", "2020-06-14", "2020-06-21", "2020-06-28", "2021-06-06"];
    let slots = days.map(|day| format!("{day}T14:48:00Z"));
    follows("48 14 31 jun sun", "UTC", "2020-06-01T00:00:00Z", &slots.each_ref().map(|slot| &**slot));
}

#[test]
fn b016_a_day_that_no_year_has_is_refused_with_the_offer_to_pause() {
    assert_eq!(
        refused("0 0 30 2 *", "UTC"),
        "The day of month field \"30\" with the month field \"2\" is a day that no year has, so it never runs. To \
         switch the check off, pause the check instead."
    );
    assert_eq!(
        schedule("*-02-30", "UTC").that_runs().unwrap_err().to_string(),
        "This never runs: no year has that day, or its years are over. To switch the check off, pause it instead."
    );
    assert!(!schedule("2003-03-05", "UTC").never_runs(), "it ran once");
}

#[test]
fn b018_b023_b026_b027_b028_the_spring_change_neither_moves_nor_loses_a_run() {
    let zone = "America/New_York";
    follows("0 7 * * *", zone, "2024-03-09T13:00:00Z", &["2024-03-10T07:00:00-04:00"]);
    let next = ["2025-03-09T03:00:00-04:00", "2025-03-10T02:00:00-04:00"];
    follows("0 2 * * *", zone, "2025-03-09T01:30:00-05:00", &next);
    follows("* * * * *", zone, "2026-03-08T06:59:00Z", &["2026-03-08T07:00:00Z"]);
    let next = ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"];
    follows("30 2 * * *", zone, "2026-03-08T06:30:00Z", &next);
    let next = ["2021-03-28T03:00:00+02:00", "2021-04-04T02:00:00+02:00"];
    follows("0 2 * * 0", "Europe/Vienna", "2021-03-28T00:59:00Z", &next);
}

#[test]
fn b019_a_sixth_field_is_refused_by_name() {
    assert_eq!(
        refused("0 15 */1 * * *", "UTC"),
        "There is a sixth field \"*\": write the five fields minute, hour, day of month, month, day of week. If the \
         first one is meant as seconds, leave it out; seconds are not awaited."
    );
}

#[test]
fn b029_a_day_has_all_its_hours_and_the_next_none() {
    let schedule = schedule("30 * 1 * *", "Europe/Berlin");
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let on = |day: &str| {
        let slots =
            schedule.slots(at("2023-03-31T00:00:00Z")).take_while(|slot| *slot < at("2023-04-05T00:00:00Z"));
        slots.filter(|slot| zone.local(*slot).date() == day).count()
    };
    assert_eq!(schedule.next_after(at("2023-03-31T00:00:00Z")), Some(at("2023-04-01T00:30:00+02:00")));
    assert_eq!((on("1 April 2023"), on("2 April 2023")), (24, 0));
}

#[test]
fn b030_b031_the_last_friday_may_be_named_and_a_bare_l_may_not() {
    follows("0 0 * * FRIL", "UTC", "2026-11-01T00:00:00Z", &["2026-11-27T00:00:00Z"]);
    assert_eq!(
        refused("0 0 * * L", "UTC"),
        "The day of week field cannot be \"L\": write the weekday in front, as in 5L for the last Friday or MON#2 for \
         the second Monday."
    );
}

#[test]
fn b035_b037_what_systemd_skips_is_not_expected_and_never_an_error() {
    let (nightly, start) = ("*-*-* 02:00:00", "2017-03-12T00:00:00-05:00");
    follows(nightly, "America/New_York", start, &["2017-03-13T02:00:00-04:00"]);
    follows("02/4:30:00", "Australia/Sydney", "2019-10-06T00:00:00+10:00", &["2019-10-06T06:30:00+11:00"]);
}

#[test]
fn b038_b039_a_ping_just_before_its_slot_does_not_use_up_the_slot() {
    follows("30 18 * * *", "UTC", "2024-12-12T18:30:03Z", &["2024-12-13T18:30:00Z"]);
    follows("30 18 * * *", "UTC", "2024-12-14T18:30:03Z", &["2024-12-15T18:30:00Z"]);
    follows("0 4 * * *", "UTC", "2015-07-01T03:59:52Z", &["2015-07-01T04:00:00Z"]);
    follows("0 4 * * *", "UTC", "2015-07-01T04:00:00Z", &["2015-07-02T04:00:00Z"]);
}

#[test]
fn b043_a_simple_check_is_armed_from_the_ping_it_got() {
    let every_five_minutes = Schedule::simple(Span::minutes(5));
    assert_eq!(every_five_minutes.next_after(at("2020-06-11T08:00:00Z")), Some(at("2020-06-11T08:05:00Z")));
}

#[test]
fn b045_the_laws_of_2026_are_known() {
    let zone = "America/Vancouver";
    follows("0 8 * * *", zone, "2026-11-30T00:00:00Z", &["2026-11-30T08:00:00-07:00"]);
}

#[test]
fn b046_a_mistyped_zone_is_named_with_the_nearest_one() {
    assert_eq!(
        refused("0 0 * * *", "Europe/Kiyv"),
        "The time zone \"Europe/Kiyv\" is not a known time zone; did you mean Europe/Kyiv?"
    );
}

#[test]
fn b047_a_slot_can_be_shown_in_both_zones() {
    let slot = schedule("20 1 * * *", "Europe/London").next_after(at("2020-03-31T12:00:00Z")).unwrap();
    assert_eq!(
        Zone::parse("Europe/London").unwrap().local(slot).in_full(),
        "Wednesday 1 April 2020 01:20, Europe/London"
    );
    assert_eq!(Zone::utc().local(slot).in_full(), "Wednesday 1 April 2020 00:20, UTC");
}

#[test]
fn b071_a_job_that_never_pings_again_is_expected_at_the_very_next_slot() {
    follows("*/5 * * * *", "UTC", "2026-11-30T02:00:00Z", &["2026-11-30T02:05:00Z"]);
}

#[test]
fn b130_a_month_with_a_25_hour_day_has_its_true_length() {
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let first = |month| zone.instant(jiff::civil::date(2026, month, 1).at(0, 0, 0, 0));
    assert_eq!((first(11) - first(10)).as_seconds(), 2_682_000);
}
