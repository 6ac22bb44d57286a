//! Zone names, and instants as people in a zone read them.

use flatline::schedule::{Zone, zone_data};
use flatline::time::Time;

#[test]
fn renamed_zones_answer_under_todays_name() {
    for (old, today) in [
        ("Europe/Kiev", "Europe/Kyiv"),
        ("Asia/Calcutta", "Asia/Kolkata"),
        ("America/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("Asia/Saigon", "Asia/Ho_Chi_Minh"),
        ("America/Godthab", "America/Nuuk"),
        ("Pacific/Enderbury", "Pacific/Kanton"),
        ("US/Pacific", "America/Los_Angeles"),
        ("Africa/Asmera", "Africa/Asmara"),
        ("Zulu", "UTC"),
        ("Europe/Amsterdam", "Europe/Amsterdam"),
        ("Atlantic/Reykjavik", "Atlantic/Reykjavik"),
        ("Europe/Riga", "Europe/Riga"),
        ("UTC", "UTC"),
        ("Etc/UTC", "Etc/UTC"),
        ("Etc/GMT+5", "Etc/GMT+5"),
    ] {
        assert_eq!(Zone::parse(old).unwrap().name(), today);
    }
}

#[test]
fn unknown_zones_are_refused_by_name() {
    let refused = |name: &str| Zone::parse(name).unwrap_err().to_string();
    assert_eq!(refused("Foo/Bar"), "\"Foo/Bar\" is not a known time zone");
    assert_eq!(refused("europe/riga"), "\"europe/riga\" is not a known time zone; did you mean Europe/Riga?");
    assert_eq!(refused(""), "\"\" is not a known time zone");
    for name in
        ["+02:00", "UTC+2", "CEST", "posix/Europe/Berlin", "../etc/passwd", "Factory", " UTC", "localtime"]
    {
        assert!(Zone::parse(name).is_err(), "{name}");
    }
}

#[test]
fn an_instant_is_shown_as_the_zones_clock_shows_it() {
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let local = zone.local(Time::parse("2026-03-26T01:30:59.999Z").unwrap());
    assert_eq!(local.in_full(), "Thursday 26 March 2026 02:30, Europe/Berlin");
    assert_eq!(local.time(), "02:30");
    assert_eq!(local.date(), "26 March 2026");
    assert_eq!(local.rfc3339(), "2026-03-26T02:30:59+01:00");
    let newfoundland = Zone::parse("America/St_Johns").unwrap();
    assert_eq!(newfoundland.local(Time::EPOCH).rfc3339(), "1969-12-31T20:30:00-03:30");
}

#[test]
fn a_reading_of_the_clock_is_one_instant_even_where_it_is_skipped_or_repeated() {
    let zone = Zone::parse("Europe/Berlin").unwrap();
    let instant =
        |month, day, hour| zone.instant(jiff::civil::date(2026, month, day).at(hour, 30, 0, 0)).iso_seconds();
    assert_eq!(instant(1, 1, 0), "2025-12-31T23:30:00+00:00");
    assert_eq!(instant(3, 29, 2), "2026-03-29T01:00:00+00:00");
    assert_eq!(instant(10, 25, 2), "2026-10-25T00:30:00+00:00");
}

#[test]
fn zone_data_is_current_and_says_when_it_is_not() {
    let data = zone_data();
    assert!(data.version() >= "2026f", "{}", data.version());
    assert_eq!(data.too_old(Time::parse("2026-11-30T00:00:00Z").unwrap()), None);
    let long_after = data.too_old(Time::parse("2190-01-01T00:00:00Z").unwrap()).unwrap();
    assert!(
        long_after.starts_with(&format!("The time zone data is version {}", data.version())),
        "{long_after}"
    );
}
