//! What happened, in sentences: silence, a failure, an exit status, a run without an end and flapping are told
//! apart in the subject, the title and the first line.
//!
//! Pure. Each function reads one flip; [`super::alert`] puts the sentences together.

use super::clock::{Wall, long};
use crate::alerts::Message;
use crate::checks::{Reason, Status, StoredFlip};
use crate::time::Time;

/// The reason as the third field of a DOWN subject.
pub(super) fn in_subject(flip: &StoredFlip) -> String {
    match flip.reason {
        Reason::Timeout => "silent".to_owned(),
        Reason::Fail => "reported failure".to_owned(),
        Reason::ExitStatus => exit_status(flip),
        Reason::Run => "run never ended".to_owned(),
        Reason::Flapping => "unsteady".to_owned(),
        Reason::Success | Reason::Pause | Reason::Resume => "down".to_owned(),
    }
}

/// Why it is down, as one sentence without its name.
pub(super) fn down_title(message: &Message, wall: &Wall) -> String {
    let flip = &message.flip;
    let (at, run) = (wall.at(flip.flipped_at), run_began(message).map(|began| wall.point(began)));
    match (flip.reason, run) {
        (Reason::Timeout, _) => match flip.expected_at {
            Some(expected) => {
                format!(
                    "Silent. Expected {}, allowed until {}.",
                    wall.at(expected),
                    wall.point(flip.flipped_at)
                )
            }
            None => format!("Silent. Nothing arrived until {}.", wall.point(flip.flipped_at)),
        },
        (Reason::Fail, Some(run)) => format!("The run of {run} reported failure."),
        (Reason::Fail, None) => format!("Failure reported {at}."),
        (Reason::ExitStatus, Some(run)) => format!("The run of {run} ended with {}.", exit_status(flip)),
        (Reason::ExitStatus, None) => format!("Ended with {} {at}.", exit_status(flip)),
        (Reason::Run, _) => match flip.started_at {
            Some(began) => format!(
                "The run begun {} never ended; it may take {}.",
                wall.at(began),
                super::clock::short(flip.flipped_at - began)
            ),
            None => "A run never ended.".to_owned(),
        },
        (Reason::Flapping, _) => format!("Unsteady: up and down in turns, down {at}."),
        (Reason::Success | Reason::Pause | Reason::Resume, _) => format!("Down {at}."),
    }
}

/// What it did, to stand behind its name; without a full stop, for the day follows.
pub(super) fn down_lead(message: &Message, wall: &Wall) -> String {
    let flip = &message.flip;
    let (at, by) = (wall.at(flip.flipped_at), wall.point(flip.flipped_at));
    let took = run_took(message).map(|took| format!(" after {took}")).unwrap_or_default();
    match flip.reason {
        Reason::Timeout => match flip.expected_at {
            Some(expected) => {
                format!(
                    "had not reported by {by}, {} after it was expected",
                    long(flip.flipped_at - expected)
                )
            }
            None => format!("had not reported by {by}"),
        },
        Reason::Fail => format!("reported failure {at}{took}"),
        Reason::ExitStatus => format!("failed {at}{took}"),
        Reason::Run => match flip.started_at {
            Some(began) => format!("began a run {} that had not ended by {by}", wall.at(began)),
            None => format!("had a run that had not ended by {by}"),
        },
        Reason::Flapping => {
            format!("changed between up and down too often to tell each time, and was down {at}")
        }
        Reason::Success | Reason::Pause | Reason::Resume => format!("went down {at}"),
    }
}

/// That it is up, and after how long.
pub(super) fn up_title(message: &Message, wall: &Wall) -> String {
    let at = wall.at(message.flip.flipped_at);
    match (message.flip.reason, down_before(message)) {
        (Reason::Flapping, _) => format!("Unsteady: up and down in turns, up {at}."),
        (_, Some(down)) => {
            format!("Up again {at}, after {} down.", long(message.flip.flipped_at - down.flipped_at))
        }
        (_, None) => format!("Up again {at}."),
    }
}

/// What it did, to stand behind its name; without a full stop, for the day follows.
pub(super) fn up_lead(message: &Message, wall: &Wall) -> String {
    let at = wall.at(message.flip.flipped_at);
    let took = run_took(message).map(|took| format!(" after a run of {took}")).unwrap_or_default();
    match message.flip.reason {
        Reason::Flapping => {
            format!("changed between up and down too often to tell each time, and was up {at}")
        }
        _ => format!("reported success {at}{took}"),
    }
}

/// Since when it had been down, and why: a sentence for the UP.
pub(super) fn what_was_down(message: &Message, wall: &Wall) -> Option<String> {
    let down = down_before(message)?;
    let since = match message.tells_both {
        true => format!("It was down {}", wall.range(down.flipped_at, message.flip.flipped_at)),
        false => format!("It had been down since {}", wall.point(down.flipped_at)),
    };
    let why = match down.reason {
        Reason::Timeout => match down.expected_at {
            Some(expected) => format!(": expected {}, it had stayed silent.", wall.at(expected)),
            None => ": it had stayed silent.".to_owned(),
        },
        Reason::Fail => ": it had reported failure.".to_owned(),
        Reason::ExitStatus => format!(": it had ended with {}.", exit_status(down)),
        Reason::Run => match down.started_at {
            Some(began) => format!(": the run begun {} had not ended.", wall.at(began)),
            None => ": a run had not ended.".to_owned(),
        },
        Reason::Flapping => ": it had kept changing between up and down.".to_owned(),
        Reason::Success | Reason::Pause | Reason::Resume => ".".to_owned(),
    };
    Some(since + &why)
}

/// The flip that took the check down, if this one ends that.
fn down_before(message: &Message) -> Option<&StoredFlip> {
    message.before.as_ref().filter(|before| before.new_status == Status::Down)
}

fn exit_status(flip: &StoredFlip) -> String {
    match flip.exit_status {
        Some(status) => format!("exit status {status}"),
        None => "an exit status other than 0".to_owned(),
    }
}

/// How long the run took that ended with this flip, if it was measured and no later ping came since.
fn run_took(message: &Message) -> Option<String> {
    run_began(message).map(|began| long(message.flip.flipped_at - began))
}

fn run_began(message: &Message) -> Option<Time> {
    let state = &message.check.state;
    let took = state.last_duration_ms.filter(|_| state.last_ping_at == Some(message.flip.flipped_at))?;
    Some(message.flip.flipped_at - took)
}
