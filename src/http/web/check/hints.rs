//! What would help: pings that were refused, and pings that come hours beside the schedule.

use crate::alerts::words::clock::long;
use crate::checks::log::Entry;
use crate::checks::{Check, Signal};
use crate::http::web::when::{Wall, counted};
use crate::recorder::Refused;
use crate::time::Time;

/// Successes that are looked at for a pattern.
const PATTERN: usize = 5;

/// Words what was refused of the check for coming too fast: the rule, and why it costs nothing.
pub fn refused(refused: &Refused, wall: &Wall) -> String {
    let pings = counted(usize::try_from(refused.pings).unwrap_or(usize::MAX), "ping");
    let was = if refused.pings == 1 { "was" } else { "were" };
    format!(
        "{pings} {was} refused for coming too fast, the last one ({}) {}. The plan takes one every {}; no alarm comes \
         of it, for the deadline allows for one that was refused.",
        refused.signal.word(),
        wall.near(refused.last_at),
        long(refused.min_interval)
    )
}

/// Says by how many hours the latest successes missed their slots, if all did by the same; `outcomes` are newest first.
pub fn hours_off(check: &Check, outcomes: &[Entry]) -> Option<String> {
    let successes = outcomes.iter().filter(|entry| entry.kind == Signal::Success);
    let pings: Vec<Time> = successes.take(PATTERN).map(|entry| entry.received_at).collect();
    let hours = check.settings.schedule().ok()?.hours_off(&pings)?;
    let side = if hours > 0 { "after" } else { "before" };
    let by = counted(usize::try_from(hours.abs()).ok()?, "hour");
    Some(format!(
        "The last {} good pings came {by} {side} their time. If the job's machine is in another zone than {}, give the \
         schedule that zone.",
        pings.len(),
        check.settings.zone
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::{Kind, Status};
    use crate::time::Span;

    const NOW: Time = Time(1_774_494_720_000);

    fn entry(at: Time) -> Entry {
        Entry {
            check_id: 1,
            n: 1,
            received_at: at,
            kind: Signal::Success,
            scheme: "http".to_owned(),
            remote_addr: None,
            method: "GET".to_owned(),
            user_agent: String::new(),
            rid: None,
            exit_status: None,
            duration_ms: None,
            body_bytes: 0,
        }
    }

    #[test]
    fn what_was_refused_is_said_with_its_rule() {
        let wall = Wall::new("UTC", NOW);
        let last_at = NOW - Span::minutes(2);
        let said = |pings| {
            refused(
                &Refused { pings, signal: Signal::Success, last_at, min_interval: Span::minutes(1) },
                &wall,
            )
        };
        assert!(
            said(1).starts_with("1 ping was refused for coming too fast, the last one (success) 2 min ago.")
        );
        assert!(said(7).contains("7 pings were refused") && said(7).contains("one every 1 minute;"));
    }

    #[test]
    fn pings_that_all_miss_their_slots_by_the_same_hours_are_told_of() {
        let mut check = Check::sample("nightly", Status::Up, NOW);
        check.settings.kind = Kind::Cron;
        check.settings.schedule = "30 2 * * *".to_owned();
        check.settings.zone = "Europe/Berlin".to_owned();
        let slot = Time::parse("2026-03-20T02:30:00Z").unwrap();
        let every_day: Vec<Entry> = (0..5).map(|day| entry(slot + Span::hours(24 * day))).collect();
        let said = hours_off(&check, &every_day).unwrap();
        assert!(said.starts_with("The last 5 good pings came 1 hour after their time."), "{said}");
        assert!(said.contains("another zone than Europe/Berlin"), "{said}");
        check.settings.zone = "UTC".to_owned();
        assert_eq!(hours_off(&check, &every_day), None);
        assert_eq!(hours_off(&check, &every_day[..2]), None);
    }
}
