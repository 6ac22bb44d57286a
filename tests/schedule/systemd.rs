//! The real oracle: `systemd-analyze calendar` beside OnCalendar, where the machine has it.
//!
//! Random lines, valid and not, in zones that no law has touched lately, so that an older copy of the zone data
//! gives the same. Three oddities of systemd 252 are known and not compared: it fails with EDEADLK on some lines
//! whose first slot a gap skips; it refuses `33..33` in the seconds though it takes `5..5` elsewhere; and each
//! further item of a list behind `~` may reach three days less far.

use std::process::Command;

use flatline::schedule::Schedule;
use flatline::time::Time;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const LINES: usize = 200;
const SLOTS: usize = 4;
const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"];
/// Plain days, both changes in each zone, a leap day, an end of the year.
const STARTS: [&str; 8] = [
    "2026-11-30 02:00:30",
    "2026-03-28 23:10:00",
    "2026-10-24 22:10:00",
    "2027-03-14 05:45:00",
    "2026-11-01 04:10:00",
    "2026-10-03 13:40:00",
    "2028-02-28 21:00:00",
    "2026-12-31 20:30:00",
];

/// A component that is mostly in range: number, range, step, list, `*`.
fn component(low: u32, high: u32) -> impl Strategy<Value = String> {
    let number = low..=high + high / 20;
    let part = prop_oneof![
        4 => number.clone().prop_map(|a| a.to_string()),
        2 => (number.clone(), number.clone()).prop_map(|(a, b)| format!("{a}..{b}")),
        2 => (number.clone(), 1..=high / 2 + 1).prop_map(|(a, step)| format!("{a}/{step}")),
        1 => (number.clone(), number, 1..=high / 2 + 1).prop_map(|(a, b, step)| format!("{a}..{b}/{step}")),
    ];
    prop_oneof![
        3 => Just("*".to_owned()),
        5 => prop::collection::vec(part, 1..3).prop_map(|parts| parts.join(",")),
    ]
}

fn weekdays() -> impl Strategy<Value = String> {
    let day = prop::sample::select(&["Mon", "tue", "Wednesday", "THU", "Fri", "Sat", "sunday"][..]);
    let joined = prop::sample::select(&["..", ",", "-", ",,"][..]);
    prop_oneof![
        4 => Just(String::new()),
        2 => day.clone().prop_map(|day| format!("{day} ")),
        2 => (day.clone(), joined, day).prop_map(|(a, join, b)| format!("{a}{join}{b} ")),
    ]
}

fn line() -> impl Strategy<Value = String> {
    let year = prop_oneof![
        4 => Just(String::new()),
        2 => Just("*-".to_owned()),
        1 => component(20, 40).prop_map(|year| format!("{year}-")),
    ];
    let to_day = prop::sample::select(&["-", "-", "-", "~"][..]);
    let date = (year, component(1, 12), to_day, component(1, 28));
    let second =
        prop_oneof![3 => Just(String::new()), 1 => component(0, 59).prop_map(|second| format!(":{second}"))];
    let time = (component(0, 23), component(0, 59), second);
    (weekdays(), date, time, 0..9).prop_map(
        |(weekdays, (year, month, to_day, day), (hour, minute, second), form)| {
            let (date, time) = (format!("{year}{month}{to_day}{day}"), format!("{hour}:{minute}{second}"));
            match form {
                0..4 => format!("{weekdays}{time}"),
                4 | 5 => format!("{weekdays}{date}"),
                _ => format!("{weekdays}{date} {time}"),
            }
        },
    )
}

/// What systemd says: `None` if it cannot, an error for a line it refuses, else the slots.
fn systemd(line: &str, zone: &str, start: &str) -> Option<Result<Vec<Time>, String>> {
    let output = Command::new("systemd-analyze")
        .env("TZ", zone)
        .env("LC_ALL", "C")
        .args([
            "calendar",
            "--base-time",
            &format!("{start} UTC"),
            "--iterations",
            &SLOTS.to_string(),
            "--",
            line,
        ])
        .output()
        .ok()?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if error.contains("Resource deadlock avoided") {
        return None;
    }
    if !output.status.success() {
        return Some(Err(error));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let label = if zone == "UTC" { ["Next elapse:", "Iter. #"] } else { ["(in UTC):", "(in UTC):"] };
    let slots = text.lines().map(str::trim).filter(|line| label.iter().any(|label| line.starts_with(label)));
    let slots = slots.filter_map(|slot| {
        let words: Vec<&str> = slot.split_whitespace().collect();
        let [.., day, time, "UTC"] = words[..] else { return None };
        Time::parse(&format!("{day}T{time}Z"))
    });
    Some(Ok(slots.collect()))
}

/// Whether systemd refuses the line for one of its oddities.
fn is_odd(line: &str) -> bool {
    let list_from_end =
        line.split_once('~').is_some_and(|(_, rest)| rest.split(' ').next().unwrap().contains(','));
    let seconds = line.rsplit(' ').next().unwrap().split(':').nth(2).unwrap_or_default();
    let mut parts = seconds.split(',').map(|part| part.split_once(".."));
    list_from_end || parts.any(|ends| ends.is_some_and(|(low, high)| low == high))
}

#[test]
fn random_lines_run_when_systemd_runs_them_and_are_refused_where_it_refuses_them() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        println!("SKIPPED: systemd-analyze is not installed, so OnCalendar was not compared with systemd");
        return;
    }
    let mut runner = TestRunner::deterministic();
    let strategy = (line(), prop::sample::select(&ZONES[..]), prop::sample::select(&STARTS[..]));
    let (mut compared, mut differences) = (0, Vec::new());
    for _ in 0..LINES {
        let (line, zone, start) = strategy.new_tree(&mut runner).unwrap().current();
        let Some(theirs) = systemd(&line, zone, start).filter(|_| !is_odd(&line)) else { continue };
        let start = Time::parse(&format!("{}Z", start.replace(' ', "T"))).unwrap();
        let ours =
            Schedule::on_calendar(&line, zone).map(|schedule| schedule.slots(start).take(SLOTS).collect());
        compared += 1;
        if ours.as_ref().ok() != theirs.as_ref().ok() {
            differences
                .push(format!("{line:?} in {zone} after {start:?}: systemd {theirs:?}, here {ours:?}"));
        }
    }
    println!("compared {compared} of {LINES} random lines with systemd");
    assert_eq!(differences, Vec::<String>::new());
    assert!(compared > LINES * 9 / 10, "only {compared} could be compared");
}
