//! The status of a check as people see it: the stored one, or late, or running; how grave it is, and in what words.

use super::mark::Mark;
use super::when::Wall;
use crate::alerts::words::clock::short;
use crate::checks::{Check, Reason, Status, StoredFlip};

/// Gravest first: the order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    Down,
    Late,
    Running,
    New,
    Up,
    Paused,
}

impl Shown {
    pub const ALL: [Self; 6] = [Self::Down, Self::Late, Self::Up, Self::New, Self::Paused, Self::Running];

    pub fn of(check: &Check, wall: &Wall) -> Self {
        match check.state.status {
            Status::Down => Self::Down,
            Status::Paused => Self::Paused,
            Status::Up if check.is_late(wall.now) => Self::Late,
            Status::Up | Status::New if check.is_running() => Self::Running,
            Status::New => Self::New,
            Status::Up => Self::Up,
        }
    }

    /// The word in addresses and class names.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Late => "late",
            Self::Running => "running",
            Self::New => "new",
            Self::Up => "up",
            Self::Paused => "paused",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Down => "Down",
            Self::Late => "Late",
            Self::Running => "Running",
            Self::New => "New",
            Self::Up => "Up",
            Self::Paused => "Paused",
        }
    }

    pub const fn mark(self) -> Mark {
        match self {
            Self::Down => Mark::Down,
            Self::Late => Mark::Late,
            Self::Running => Mark::Running,
            Self::New => Mark::New,
            Self::Up => Mark::Up,
            Self::Paused => Mark::Paused,
        }
    }

    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.word() == word)
    }
}

/// What stands below the status: since when, or until when; nothing for a check that is up.
pub fn since(check: &Check, shown: Shown, standing: Option<&StoredFlip>, wall: &Wall) -> String {
    let state = &check.state;
    match shown {
        Shown::Down | Shown::Paused => {
            standing.map(|flip| format!("since {}", wall.clock(flip.flipped_at))).unwrap_or_default()
        }
        Shown::Late => state.deadline_at.map(|at| format!("down at {}", wall.clock(at))).unwrap_or_default(),
        Shown::Running => running(check, wall),
        Shown::New => "no ping yet".to_owned(),
        Shown::Up => String::new(),
    }
}

fn running(check: &Check, wall: &Wall) -> String {
    let Some(started) = check.state.last_start_at else { return String::new() };
    let so_far = short((wall.now - started).max(crate::time::Span::ZERO));
    match check.state.last_duration_ms {
        Some(last) => of_about(&so_far, &short(last)),
        None => format!("for {so_far}"),
    }
}

/// `11 of about 14 min`: a unit that both share is said once.
fn of_about(so_far: &str, usual: &str) -> String {
    let unit = usual.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number = so_far.strip_suffix(unit).filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    format!("{} of about {usual}", number.unwrap_or(so_far))
}

/// Why a check is in trouble, as one sentence or two; `None` for one that is not.
pub fn reason(check: &Check, shown: Shown, standing: Option<&StoredFlip>, wall: &Wall) -> Option<String> {
    match shown {
        Shown::Down => standing.map(|flip| down(flip, wall)),
        Shown::Late => {
            let expected = wall.clock(check.state.expected_at?);
            Some(format!("Expected at {expected}, not seen yet."))
        }
        _ => check.fault.as_ref().map(|_| "Its schedule cannot be evaluated; edit it.".to_owned()),
    }
}

/// Why it went down; the caller says when, beside it.
pub fn down(flip: &StoredFlip, wall: &Wall) -> String {
    let at = wall.clock(flip.flipped_at);
    match flip.reason {
        Reason::Timeout => match flip.expected_at {
            Some(expected) => format!("Silent. Expected at {}, allowed until {at}.", wall.clock(expected)),
            None => format!("Silent. Nothing arrived until {at}."),
        },
        Reason::ExitStatus => {
            format!("Ended with exit status {}.", flip.exit_status.unwrap_or_default())
        }
        Reason::Run => match flip.started_at {
            Some(started) => format!(
                "The run begun at {} never ended; it may take {}.",
                wall.clock(started),
                short(flip.flipped_at - started)
            ),
            None => "A run never ended.".to_owned(),
        },
        Reason::Flapping => format!("Unsteady: up and down in turns until {at}."),
        Reason::Fail | Reason::Success | Reason::Pause | Reason::Resume => "Reported failure.".to_owned(),
    }
}

/// `Every day at 02:30`: a schedule as a sentence of its own, with its zone where that is not the reader's.
pub fn schedule(check: &Check, wall: &Wall) -> String {
    let Ok(schedule) = check.settings.schedule() else { return "A schedule that cannot be read".to_owned() };
    let words = capital(&schedule.in_words());
    let here = format!(", {}", wall.zone_name());
    words.strip_suffix(&here).map(str::to_owned).unwrap_or(words)
}

/// The text with a capital letter at its beginning.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_both_spans_share_is_said_once() {
        assert_eq!(of_about("11 min", "14 min"), "11 of about 14 min");
        assert_eq!(of_about("11 min 3 s", "14 min"), "11 min 3 s of about 14 min");
        assert_eq!(of_about("58 s", "2 min"), "58 s of about 2 min");
        assert_eq!(of_about("2 min", "1 min 58 s"), "2 min of about 1 min 58 s");
    }
}
