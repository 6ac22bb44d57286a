//! Real expressions with the instants that Debian's cron and systemd give, and expressions to refuse.
//!
//! A row of `cron.jsonl` and `oncalendar.jsonl` is expression, zone, start, first instant after it, and the next
//! ones as seconds after that; of `*_invalid.jsonl` expression and verdict.

use flatline::schedule::{Schedule, ScheduleError, Zone};
use flatline::time::{Span, Time};
use serde_json::Value;

fn rows(text: &str) -> impl Iterator<Item = Vec<Value>> + '_ {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

type Read = fn(&str, &str) -> Result<Schedule, ScheduleError>;

/// The rows that `read` gets wrong.
fn failures(corpus: &str, read: Read) -> Vec<String> {
    let mut failures = Vec::new();
    for row in rows(corpus) {
        let (expression, zone, start) = (text(&row[0]), text(&row[1]), Time::parse(text(&row[2])).unwrap());
        let wanted: Vec<Time> = row.get(3).map_or(vec![], |first| {
            let first = Time::parse(text(first)).unwrap();
            let later = row[4..].iter().map(|seconds| first + Span::seconds(seconds.as_i64().unwrap()));
            std::iter::once(first).chain(later).collect()
        });
        let found: Vec<Time> = match read(expression, zone) {
            Ok(schedule) => schedule.slots(start).take(wanted.len().max(1)).collect(),
            Err(error) => {
                failures.push(format!("{expression:?} is refused: {error}"));
                continue;
            }
        };
        if wanted != found {
            failures
                .push(format!("{expression:?} in {zone} from {start:?}: wanted {wanted:?}, found {found:?}"));
        } else if let (Some(first), Some(slot)) = (row.get(3), found.first()) {
            let local = Zone::parse(zone).unwrap().local(*slot).rfc3339();
            if !text(first).ends_with('Z') && text(first) != local {
                failures.push(format!("{slot:?} in {zone}: wanted {first}, found {local}"));
            }
        }
    }
    failures
}

const CRON: &str = include_str!("cron.jsonl");
const CRON_INVALID: &str = include_str!("cron_invalid.jsonl");
const ONCALENDAR: &str = include_str!("oncalendar.jsonl");
const ONCALENDAR_INVALID: &str = include_str!("oncalendar_invalid.jsonl");

#[test]
fn every_cron_row_gives_debians_instants() {
    assert_eq!(failures(CRON, Schedule::cron), Vec::<String>::new());
    assert_eq!(failures(CRON, Schedule::parse), Vec::<String>::new());
}

#[test]
fn every_oncalendar_row_gives_systemds_instants() {
    assert_eq!(failures(ONCALENDAR, Schedule::on_calendar), Vec::<String>::new());
    assert_eq!(failures(ONCALENDAR, Schedule::parse), Vec::<String>::new());
}

/// The rows of a corpus of doubtful expressions on which `read` decides against the verdict.
fn misjudged(corpus: &str, read: Read) -> Vec<String> {
    let wrong = |row: Vec<Value>| {
        let accepted = read(text(&row[0]), "Europe/Berlin").is_ok();
        let right = match text(&row[1]) {
            "accept" => accepted,
            "reject" => !accepted,
            _ => true,
        };
        (!right).then(|| format!("{:?} should be {}", text(&row[0]), text(&row[1])))
    };
    rows(corpus).filter_map(wrong).collect()
}

#[test]
fn every_invalid_expression_is_refused_and_every_odd_one_accepted() {
    assert_eq!(misjudged(CRON_INVALID, Schedule::cron), Vec::<String>::new());
    assert_eq!(misjudged(CRON_INVALID, Schedule::parse), Vec::<String>::new());
    assert_eq!(misjudged(ONCALENDAR_INVALID, Schedule::on_calendar), Vec::<String>::new());
}

#[test]
fn lines_that_never_run_do_not_hide_one_that_does() {
    let dead = "2-30\n*-04-31 12:00\n06-31 Europe/Riga\n".repeat(9);
    let at = |text| Time::parse(text).unwrap();
    let slots = |text: &str| -> Vec<Time> {
        let schedule = Schedule::on_calendar(text, "UTC").unwrap();
        schedule.slots(at("2026-11-30T12:00:00Z")).take(2).collect()
    };
    assert_eq!(slots(&dead), []);
    let wanted = [at("2026-12-01T06:30:00Z"), at("2026-12-02T06:30:00Z")];
    assert_eq!(slots(&format!("{dead}06:30\n{dead}")), wanted);
}
