//! A schedule before it is saved: in words, with the next five instants, and what people rarely mean by it.

use crate::alerts::words::clock::short;
use crate::checks::{Kind, Settings};
use crate::http::web::shown::capital;
use crate::http::web::when::{Stamp, Wall};
use crate::schedule::Zone;
use crate::time::{Span, Time};

const INSTANTS: usize = 5;

/// What the box beside the form shows.
#[derive(Clone, Debug)]
pub struct Preview {
    pub words: String,
    pub instants: Vec<Instant>,
    pub warnings: Vec<String>,
    /// When silence becomes an alarm, with its parts.
    pub allowed: String,
}

/// One of the next instants.
#[derive(Clone, Debug)]
pub struct Instant {
    pub day: String,
    pub at: Stamp,
    /// The clocks that change before it.
    pub note: Option<String>,
}

/// The preview of settings that can be saved; instants are those of the schedule's own zone.
pub fn preview(settings: &Settings, floor: Span, now: Time) -> Option<Preview> {
    let schedule = settings.schedule().ok()?;
    let wall = Wall::new(&settings.zone, now);
    let zone = Zone::parse(&settings.zone).ok()?;
    let is_simple = settings.kind == Kind::Simple;
    let slots: Vec<Time> = if is_simple { Vec::new() } else { schedule.slots(now).take(INSTANTS).collect() };
    let mut offset = zone.local(now).offset();
    let mut instants = Vec::with_capacity(slots.len());
    for slot in slots {
        let local = zone.local(slot);
        let note = (local.offset() != offset)
            .then(|| format!("The clocks change before this: {offset} becomes {}.", local.offset()));
        offset = local.offset();
        let day = local.clock().strftime("%a %-d %B").to_string();
        instants.push(Instant { day, at: wall.said(slot, local.time()), note });
    }
    Some(Preview {
        words: capital(&schedule.in_words()),
        instants,
        warnings: schedule.warnings(),
        allowed: allowed(settings.grace_ms, if is_simple { floor } else { Span::ZERO }),
    })
}

/// `An alert 46 min later: 45 min grace and 1 min for the plan.`
pub fn allowed(grace: Span, floor: Span) -> String {
    if floor == Span::ZERO {
        return format!("An alert {} later, if nothing came.", short(grace));
    }
    let (all, grace, floor) = (short(grace + floor), short(grace), short(floor));
    format!("An alert {all} later, if nothing came: {grace} grace and {floor} for the plan.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_instants_say_where_the_clocks_change() {
        let settings = Settings {
            kind: Kind::Cron,
            schedule: "30 2 * * *".into(),
            zone: "Europe/Berlin".into(),
            ..Settings::default()
        };
        let now = Time::parse("2026-03-27T12:00:00Z").unwrap();
        let preview = preview(&settings, Span::seconds(60), now).unwrap();
        let said: Vec<(&str, &str)> =
            preview.instants.iter().map(|one| (one.day.as_str(), one.at.text.as_str())).collect();
        assert_eq!(
            said[..3],
            [("Sat 28 March", "02:30"), ("Sun 29 March", "03:00"), ("Mon 30 March", "02:30")]
        );
        assert_eq!(
            preview.instants[1].note.as_deref(),
            Some("The clocks change before this: +01:00 becomes +02:00.")
        );
        assert!(preview.instants[0].note.is_none() && preview.instants[2].note.is_none());
        assert_eq!(preview.allowed, "An alert 1 h later, if nothing came.");
        assert_eq!(
            allowed(Span::minutes(45), Span::minutes(1)),
            "An alert 46 min later, if nothing came: 45 min grace and 1 min for the plan."
        );
    }
}
