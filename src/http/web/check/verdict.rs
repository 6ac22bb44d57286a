//! The state of a check in words: what is known, since when, and what happens next.

use crate::alerts::words::clean;
use crate::alerts::words::clock::{long, short};
use crate::checks::log::Entry;
use crate::checks::{Check, StoredFlip};
use crate::http::web::shown::{self, Shown};
use crate::http::web::when::{Wall, coarse};
use crate::time::Span;

/// The first thing on a check's page.
#[derive(Debug)]
pub struct Verdict {
    pub shown: Shown,
    pub headline: String,
    pub more: String,
    /// The end of what the failed run printed.
    pub tail: Vec<String>,
}

/// The ping that took a check down.
#[derive(Clone, Copy, Debug)]
pub struct Culprit<'a> {
    pub body: &'a [u8],
    /// How long its run was, if it told of its start.
    pub took: Option<Span>,
}

impl<'a> Culprit<'a> {
    /// That of the flip after which the check stands, if it is one of the runs.
    pub fn of(standing: Option<&StoredFlip>, runs: &[Entry], body: &'a [u8]) -> Self {
        let n = standing.and_then(|flip| flip.ping_n);
        let run = runs.iter().find(|entry| Some(entry.n) == n);
        Self { body, took: run.and_then(|entry| entry.duration_ms) }
    }
}

/// Words the verdict.
pub fn verdict(check: &Check, standing: Option<&StoredFlip>, culprit: Culprit<'_>, wall: &Wall) -> Verdict {
    let shown = Shown::of(check, wall);
    let (headline, more) = match shown {
        Shown::Down => down(check, standing, culprit.took, wall),
        Shown::Late => late(check, wall),
        Shown::Running => running(check, wall),
        Shown::New => (
            "Waiting for the first ping.".to_owned(),
            "Watching begins with it; until then silence is not an alarm. It shows here within two seconds."
                .to_owned(),
        ),
        Shown::Up => ("Up.".to_owned(), up(check, wall)),
        Shown::Paused => paused(check, standing, wall),
    };
    let tail = if shown == Shown::Down { clean::tail(culprit.body) } else { None };
    Verdict { shown, headline, more, tail: tail.map(|tail| tail.lines).unwrap_or_default() }
}

fn down(check: &Check, standing: Option<&StoredFlip>, took: Option<Span>, wall: &Wall) -> (String, String) {
    let Some(flip) = standing else { return ("Down.".to_owned(), last_good(check, wall)) };
    let since = (wall.now - flip.flipped_at).max(Span::ZERO);
    let blind = if flip.blind_ms > Span::ZERO {
        format!(" Flatline itself was not watching for {} of that time.", long(flip.blind_ms))
    } else {
        String::new()
    };
    // Silence and a run without an end have their times in the headline.
    let failed = match flip.ping_n {
        Some(_) => {
            let took = took.map(|took| format!(" after {}", short(took))).unwrap_or_default();
            format!("It failed at {}{took}. ", wall.clock(flip.flipped_at))
        }
        None => String::new(),
    };
    (
        format!("Down for {}. {}", coarse(since), shown::down(flip, wall)),
        format!("{failed}{}{blind}", last_good(check, wall)),
    )
}

fn last_good(check: &Check, wall: &Wall) -> String {
    match check.state.last_success_at {
        Some(at) => format!("The last good run ended {}, {} ago.", wall.clock(at), coarse(wall.now - at)),
        None => "It has had no good run yet.".to_owned(),
    }
}

fn late(check: &Check, wall: &Wall) -> (String, String) {
    let state = &check.state;
    let by = state.expected_at.map(|at| coarse(wall.now - at)).unwrap_or_default();
    let expected = state.expected_at.map(|at| wall.clock(at)).unwrap_or_default();
    let deadline = state.deadline_at.map(|at| wall.clock(at)).unwrap_or_default();
    (
        format!("Late by {by}. Expected at {expected}, not seen yet."),
        format!("If nothing comes it is down at {deadline}, and whoever is named here is told."),
    )
}

fn running(check: &Check, wall: &Wall) -> (String, String) {
    let started = check.state.last_start_at.unwrap_or(wall.now);
    let so_far = short((wall.now - started).max(Span::ZERO));
    let usual = check.state.last_duration_ms.map(|span| format!(" The last one took {}.", short(span)));
    let until = started + check.settings.grace_ms + check.floor_ms;
    (
        format!("Running for {so_far}."),
        format!(
            "It began at {} and may go on until {}.{}",
            wall.clock(started),
            wall.clock(until),
            usual.unwrap_or_default()
        ),
    )
}

fn up(check: &Check, wall: &Wall) -> String {
    let last = check.state.last_ping_at.map(|at| format!("The last ping came {}. ", wall.near(at)));
    let next = match check.state.expected_at {
        Some(at) => format!("The next one is expected {}.", wall.clock(at)),
        None => "No other one is expected.".to_owned(),
    };
    format!("{}{next}", last.unwrap_or_default())
}

fn paused(check: &Check, standing: Option<&StoredFlip>, wall: &Wall) -> (String, String) {
    let since = standing.map(|flip| format!(" since {}", wall.clock(flip.flipped_at))).unwrap_or_default();
    let resumes = if check.settings.manual_resume {
        "It stays so until somebody resumes it here."
    } else {
        "The next ping resumes it."
    };
    (format!("Paused{since}."), format!("Silence is not an alarm now. {resumes}"))
}
