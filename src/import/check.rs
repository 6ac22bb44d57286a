//! A check of Healthchecks as one of ours: its schedule in today's words, and the state that follows from what was
//! last heard. Pure.

use uuid::Uuid;

use crate::checks::store::run_key;
use crate::checks::{Change, Kind, Reason, Settings, State, Status};
use crate::schedule::Zone;
use crate::time::{Span, Time};

/// What the other server knows of a check's past.
#[derive(Clone, Debug, Default)]
pub(super) struct Past {
    pub status: Option<Status>,
    pub n_pings: i64,
    pub last_ping_at: Option<Time>,
    pub last_success_at: Option<Time>,
    pub last_start_at: Option<Time>,
    pub last_start_rid: Option<Uuid>,
    pub last_duration: Option<Span>,
}

impl Past {
    /// The state; expectation and deadline are computed when it is stored. While a run is open, it is the one that
    /// was started last.
    pub(super) fn state(&self) -> State {
        let status = self.status.unwrap_or(Status::New);
        let up_since = self.last_ping_at.filter(|_| status == Status::Up);
        State {
            status,
            told_status: status,
            n_pings: self.n_pings,
            open_runs: i64::from(self.last_start_at.is_some()),
            last_ping_at: self.last_ping_at,
            last_success_at: self.last_success_at.or(up_since),
            last_start_at: self.last_start_at,
            last_start_rid: self.last_start_rid.filter(|rid| *rid != run_key(None)),
            last_duration_ms: self.last_duration,
            ..State::unpinged()
        }
    }
}

/// The status that a word of Healthchecks means; a late check is still up.
pub(super) fn status(word: &str) -> Option<Status> {
    if word == "grace" { Some(Status::Up) } else { Status::from_word(word) }
}

/// A flip as it is kept here; the reason is what the other server says, or what the new status suggests.
pub(super) fn flip(at: Time, old: Status, new: Status, reason: &str) -> Change {
    let reason = match (reason, new) {
        ("timeout", _) => Reason::Timeout,
        (_, Status::Down) => Reason::Fail,
        (_, Status::Up) => Reason::Success,
        (_, Status::Paused) => Reason::Pause,
        (_, Status::New) => Reason::Resume,
    };
    Change {
        at,
        old,
        new,
        reason,
        exit_status: None,
        expected_at: None,
        started_at: None,
        last_success_at: None,
        blind: Span::ZERO,
    }
}

/// Settings with the zone under today's name and the lengths of time that checks can have, if their schedule can be
/// kept.
///
/// # Errors
/// A sentence about the zone or the schedule.
pub(super) fn settings(mut settings: Settings) -> Result<Settings, String> {
    if settings.kind == Kind::Simple && Zone::parse(&settings.zone).is_err() {
        // It decides nothing while the schedule is a period.
        settings.zone = "UTC".to_owned();
    }
    let zone = Zone::parse(&settings.zone).map_err(|error| format!("its time zone: {error}"))?;
    settings.zone = zone.name().to_owned();
    for span in [&mut settings.period_ms, &mut settings.grace_ms] {
        *span = (*span).clamp(Span::minutes(1), Span::hours(365 * 24));
    }
    settings.schedule().map_err(|why| format!("its schedule '{}': {why}", settings.schedule))?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_obsolete_zone_comes_under_todays_name_and_an_unknown_one_is_refused() {
        let cron = |zone: &str| Settings { kind: Kind::Cron, zone: zone.to_owned(), ..Settings::default() };
        assert_eq!(settings(cron("Asia/Calcutta")).unwrap().zone, "Asia/Kolkata");
        assert!(settings(cron("Mars/Base")).unwrap_err().starts_with("its time zone: \"Mars/Base\""));
        let simple = Settings { zone: "Mars/Base".to_owned(), ..Settings::default() };
        assert_eq!(settings(simple).unwrap().zone, "UTC");
        let odd = Settings { schedule: "61 * * * *".to_owned(), ..cron("UTC") };
        assert!(settings(odd).unwrap_err().starts_with("its schedule '61 * * * *': "));
    }

    #[test]
    fn a_late_check_is_up_and_its_last_ping_a_success() {
        let past = Past { status: status("grace"), last_ping_at: Some(Time(5)), ..Past::default() };
        let state = past.state();
        assert_eq!((state.status, state.last_success_at, state.open_runs), (Status::Up, Some(Time(5)), 0));
        let down = Past { status: status("down"), ..past }.state();
        assert_eq!((down.status, down.told_status, down.last_success_at), (Status::Down, Status::Down, None));
    }
}
