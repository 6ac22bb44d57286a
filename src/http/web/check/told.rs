//! What was sent about a check: each delivery with its attempts, what came back, and what follows.

use crate::alerts::attempts::Attempt;
use crate::alerts::log::Told;
use crate::alerts::{DeliveryState, moves};
use crate::checks::Status;
use crate::http::web::mark::Mark;
use crate::http::web::when::{Stamp, Wall, counted};
use crate::time::Time;

/// Deliveries that the page shows.
pub const TOLD_MAX: i64 = 20;

/// A delivery.
pub struct ToldRow {
    pub id: i64,
    pub about: String,
    pub to: String,
    pub kind: String,
    pub tone: &'static str,
    pub mark: Mark,
    pub word: &'static str,
    pub more: String,
    /// `3 attempts`; empty before the first.
    pub counted: String,
    /// The attempts, where they say more than the row does.
    pub attempts: Vec<AttemptRow>,
}

/// An attempt of it.
pub struct AttemptRow {
    pub number: i64,
    pub at: Stamp,
    pub answer: String,
    pub next: Option<Stamp>,
}

/// The rows of a check's newest deliveries, each with its own of the `attempts`.
pub fn rows(told: Vec<Told>, attempts: &[Attempt], wall: &Wall) -> Vec<ToldRow> {
    told.into_iter().map(|one| row(one, attempts, wall)).collect()
}

fn row(told: Told, attempts: &[Attempt], wall: &Wall) -> ToldRow {
    let what = if told.tells == Status::Down { "Down" } else { "Up" };
    let (tone, mark, word, more) = standing(&told, wall);
    let own = attempts.iter().filter(|one| one.delivery_id == told.id);
    let own: Vec<AttemptRow> = own.map(|one| attempt(one, wall)).collect();
    let is_plain = own.len() < 2 && told.state != DeliveryState::Due;
    ToldRow {
        id: told.id,
        about: format!("{what}, {}", wall.clock(told.flipped_at)),
        to: if told.channel_name.is_empty() { told.channel_kind.clone() } else { told.channel_name },
        kind: told.channel_kind,
        tone,
        mark,
        word,
        more,
        counted: match told.attempts {
            0 => String::new(),
            attempts => counted(usize::try_from(attempts).unwrap_or(usize::MAX), "attempt"),
        },
        attempts: if is_plain { Vec::new() } else { own },
    }
}

fn attempt(attempt: &Attempt, wall: &Wall) -> AttemptRow {
    AttemptRow {
        number: attempt.number,
        at: exact(attempt.attempted_at, wall),
        answer: attempt.outcome.clone(),
        next: attempt.next_at.map(|at| exact(at, wall)),
    }
}

/// With its seconds: the first attempts follow each other within a minute.
fn exact(at: Time, wall: &Wall) -> Stamp {
    wall.said(at, wall.clock_to_the_second(at))
}

/// Tone, mark and word of where a delivery stands, and what there is to say about it.
fn standing(told: &Told, wall: &Wall) -> (&'static str, Mark, &'static str, String) {
    let at = told.settled_at.map(|at| wall.clock(at)).unwrap_or_default();
    let outcome = &told.outcome;
    match told.state {
        DeliveryState::Sent => ("is-up", Mark::Tick, "Sent", format!("{at}. {outcome}")),
        DeliveryState::Due if told.attempts == 0 => ("is-running", Mark::Play, "On its way", outcome.clone()),
        DeliveryState::Due => (
            "is-late",
            Mark::Again,
            "Trying again",
            format!("Next attempt {}. {outcome}", wall.near(told.due_at)),
        ),
        DeliveryState::Held => (
            "is-late",
            Mark::Paused,
            "Held: quota",
            "The month's alerts are used up. It is sent when the month turns over, if it is still true."
                .to_owned(),
        ),
        DeliveryState::Superseded if *outcome == moves::REASON => {
            ("is-rest", Mark::Dot, "Not sent", outcome.clone())
        }
        DeliveryState::Superseded => {
            ("is-rest", Mark::Dot, "Not needed", "The state changed back before it was sent.".to_owned())
        }
        DeliveryState::GivenUp => ("is-down", Mark::Cross, "Given up", format!("{at}. {outcome}")),
    }
}
