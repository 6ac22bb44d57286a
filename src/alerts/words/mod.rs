//! The words of what is sent: pure functions from what is known to what is read at three in the morning.
//!
//! [`alert`] words a [`Message`] for every kind of channel; [`Words::mail`] sets it as a mail. The letters to an
//! account's owner have a file each and share the form [`notice::Notice`], so one more letter is one more file.
//! Short sentences: what is known, since when, what happens next. Whatever others wrote passes [`clean`] first.

pub mod channel_off;
pub mod clean;
pub mod clock;
pub mod confirm;
pub mod email_change;
pub mod invitation;
mod mail;
mod notice;
pub mod quota;
mod reason;
pub mod security;
pub mod sign_in;
pub mod sign_up;
pub mod unseen;

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

use clock::{Wall, long, short};

pub use mail::Foot;

use super::Message;
use crate::checks::{Check, Kind, Status};
use crate::time::Span;

/// Characters of a name that are shown.
const NAME_CHARS: usize = 100;
/// From then on a message says that it goes out late.
const LATE: Span = Span::minutes(10);

/// A letter, worded: ready to be stored or sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub subject: String,
    pub text: String,
    pub html: String,
}

/// A message in words, for any kind of channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    pub is_down: bool,
    /// `DOWN | name | reason` or `UP | name`. Filters on `DOWN | name` hold, whether they match the beginning, a
    /// part, or the second of the fields between bars.
    pub subject: String,
    /// The reason, without the name.
    pub title: String,
    /// The check's name, or its uuid if it has none.
    pub name: String,
    /// Follows the name and makes sentences with it.
    pub lead: String,
    pub paragraphs: Vec<String>,
    pub output: Option<Output>,
    /// The check's description, line by line: what to do when it is down.
    pub note: Vec<String>,
    pub project: String,
    pub facts: Vec<Fact>,
    /// What a list of mails shows beside the subject.
    pub preview: String,
}

/// What the job printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub label: String,
    /// Not empty.
    pub lines: Vec<String>,
}

/// One line, or a few, below the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub label: &'static str,
    /// Not empty.
    pub values: Vec<String>,
}

/// Words a message.
pub fn alert(message: &Message) -> Words {
    let wall = Wall::new(&message.check.settings.zone, message.now);
    let is_down = message.flip.new_status == Status::Down;
    let name = name_of(&message.check);
    let title = if is_down { reason::down_title(message, &wall) } else { reason::up_title(message, &wall) };
    let subject = match is_down {
        true => format!("DOWN | {name} | {}", reason::in_subject(&message.flip)),
        false => format!("UP | {name}"),
    };
    Words {
        is_down,
        subject,
        preview: preview(message, &wall, &title),
        title,
        lead: lead(message, &wall),
        paragraphs: paragraphs(message, &wall),
        output: output(message, &wall),
        note: if is_down { clean::note(&message.check.settings.description) } else { Vec::new() },
        project: clean::one_line(&message.project_name, NAME_CHARS),
        facts: facts(message, &wall),
        name,
    }
}

/// The name of a check as messages show it: its uuid where it has none.
pub fn name_of(check: &Check) -> String {
    named(&check.settings.name).unwrap_or_else(|| check.uuid.to_string())
}

fn named(name: &str) -> Option<String> {
    Some(clean::one_line(name, NAME_CHARS)).filter(|name| !name.is_empty())
}

fn lead(message: &Message, wall: &Wall) -> String {
    let flip = &message.flip;
    let day = wall.day_and_zone(flip.flipped_at);
    if flip.new_status != Status::Down {
        let was = reason::what_was_down(message, wall).map(|was| format!(" {was}")).unwrap_or_default();
        return format!("{} ({day}).{was}", reason::up_lead(message, wall));
    }
    let last_good = match flip.last_success_at {
        Some(at) => {
            format!("The last good run ended {}, {} before.", wall.at(at), long(flip.flipped_at - at))
        }
        None => "It has had no good run yet.".to_owned(),
    };
    format!("{} ({day}). {last_good}", reason::down_lead(message, wall))
}

fn paragraphs(message: &Message, wall: &Wall) -> Vec<String> {
    let (flip, is_down) = (&message.flip, message.flip.new_status == Status::Down);
    let blind = (flip.blind_ms > Span::ZERO).then(|| {
        let span = long(flip.blind_ms);
        format!("Flatline itself was not watching for {span} of that time and may have missed a ping.")
    });
    let both = message.tells_both.then(|| match is_down {
        false => "No DOWN message was sent: it was up again before one had gone out.".to_owned(),
        true => "It had been down before, too briefly for a message to go out.".to_owned(),
    });
    let late = (message.now - flip.flipped_at >= LATE)
        .then(|| format!("This message goes out {} after that.", long(message.now - flip.flipped_at)));
    let since = (is_down && message.check.state.status == Status::Up)
        .then_some(message.check.state.last_success_at)
        .flatten()
        .map(|at| format!("Since then it has reported success, {}.", wall.at(at)));
    [blind, both, late, since].into_iter().flatten().collect()
}

fn output(message: &Message, wall: &Wall) -> Option<Output> {
    let ping = message.last_ping.as_ref()?;
    let tail = clean::tail(&ping.body)?;
    let label = match (message.flip.ping_n == Some(ping.n), tail.is_cut) {
        (true, true) => "The end of its output".to_owned(),
        (true, false) => "Its output".to_owned(),
        (false, _) => format!("Its last output, of {}", wall.point(ping.received_at)),
    };
    Some(Output { label, lines: tail.lines })
}

fn facts(message: &Message, wall: &Wall) -> Vec<Fact> {
    let settings = &message.check.settings;
    let fact = |label, value: String| Fact { label, values: vec![value] };
    let mut facts = vec![fact("Schedule", schedule(&message.check))];
    facts.extend(next_expected(message).map(|at| fact("Next expected", wall.point(at))));
    facts.extend(named(&settings.tags).map(|tags| fact("Tags", tags)));
    let also_down = message.also_down.iter().map(|(name, since)| {
        let name = named(name).unwrap_or_else(|| "a check without a name".to_owned());
        format!("{name}, since {}", wall.point(*since))
    });
    let also_down = Fact { label: "Also down", values: also_down.collect() };
    facts.extend(Some(also_down).filter(|fact| !fact.values.is_empty()));
    let also_told: Vec<String> = message.also_told.iter().filter_map(|name| named(name)).collect();
    facts.extend((!also_told.is_empty()).then(|| fact("Also told", also_told.join(", "))));
    facts
}

/// `Every day at 02:30, Europe/Berlin, 45 min grace`: what the deadline is made of.
fn schedule(check: &Check) -> String {
    let settings = &check.settings;
    let words = settings.schedule().map(|schedule| schedule.in_words());
    let words = words.unwrap_or_else(|_| clean::one_line(&settings.schedule, NAME_CHARS));
    let mut letters = words.chars();
    let first: String = letters.next().map(char::to_uppercase).into_iter().flatten().collect();
    let floor = match settings.kind {
        Kind::Simple if check.floor_ms > Span::ZERO => format!(" and {} for the plan", short(check.floor_ms)),
        _ => String::new(),
    };
    format!("{first}{}, {} grace{floor}", letters.as_str(), short(settings.grace_ms))
}

/// The stored expectation, or for a check that is down the next slot: a period has none until it is heard again.
fn next_expected(message: &Message) -> Option<crate::time::Time> {
    let check = &message.check;
    check.state.expected_at.or_else(|| match check.settings.kind {
        Kind::Simple => None,
        Kind::Cron | Kind::OnCalendar => check.settings.schedule().ok()?.next_after(message.now),
    })
}

fn preview(message: &Message, wall: &Wall, title: &str) -> String {
    let more = match message.flip.new_status {
        Status::Down => message.flip.last_success_at.map(|at| format!("Last good run {}.", wall.point(at))),
        _ => reason::what_was_down(message, wall),
    };
    [Some(title.to_owned()), more].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
