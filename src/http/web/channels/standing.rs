//! How a channel stands: shape, then word, then colour; and its last result in words.

use crate::alerts::Channel;
use crate::alerts::setup::store::Waiting;
use crate::http::web::mark::Mark;
use crate::http::web::shown::capital;
use crate::http::web::when::{Wall, counted};

/// Gravest first: the order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    Failing,
    Off,
    Unconfirmed,
    /// Nothing was sent yet.
    Unused,
    Works,
}

/// The last result, as a page shows it.
pub struct LastResult {
    pub tone: &'static str,
    pub mark: Mark,
    pub word: String,
    pub more: String,
}

impl Standing {
    pub fn of(channel: &Channel) -> Self {
        match channel {
            Channel { disabled_at: Some(_), .. } => Self::Off,
            Channel { verified_at: None, .. } => Self::Unconfirmed,
            Channel { last_error, .. } if !last_error.is_empty() => Self::Failing,
            Channel { last_sent_at: None, .. } => Self::Unused,
            _ => Self::Works,
        }
    }

    /// Class, mark and word.
    pub const fn shown(self) -> (&'static str, Mark, &'static str) {
        match self {
            Self::Failing => ("is-late", Mark::Again, "failing"),
            Self::Off => ("is-down", Mark::Cross, "turned off"),
            Self::Unconfirmed => ("is-rest", Mark::New, "not confirmed"),
            Self::Unused => ("is-rest", Mark::Dot, "not used yet"),
            Self::Works => ("is-up", Mark::Tick, "works"),
        }
    }
}

/// Words the last result; `waiting` is what is still to be sent.
pub fn result(channel: &Channel, waiting: Option<&Waiting>, wall: &Wall) -> LastResult {
    let standing = Standing::of(channel);
    let (tone, mark, word) = standing.shown();
    let waits = waiting.map(|waiting| waits(waiting, wall)).unwrap_or_default();
    let (word, more) = match standing {
        Standing::Failing => {
            let since = channel.failing_since_at.map(|at| format!(" since {}", wall.clock(at)));
            (format!("Failing{}", since.unwrap_or_default()), channel.last_error.clone())
        }
        Standing::Off => {
            let at = channel.disabled_at.map(|at| format!(", {}", wall.clock(at))).unwrap_or_default();
            (capital(word), format!("{}{at}.", capital(channel.last_error.trim_end_matches('.'))))
        }
        Standing::Unconfirmed => {
            let asked = channel.asked_at.map(|at| format!("Asked {}. ", wall.clock(at))).unwrap_or_default();
            (capital(word), format!("{asked}Nothing is sent before the answer."))
        }
        Standing::Unused => ("Nothing sent yet".to_owned(), String::new()),
        Standing::Works => {
            let sent = channel.last_sent_at.map(|at| wall.near(at)).unwrap_or_default();
            (format!("Sent {sent}"), channel.last_answer.clone())
        }
    };
    LastResult { tone, mark, word, more: format!("{more} {waits}").trim().to_owned() }
}

fn waits(waiting: &Waiting, wall: &Wall) -> String {
    let wait = if waiting.alerts == 1 { "waits" } else { "wait" };
    let alerts = counted(usize::try_from(waiting.alerts).unwrap_or(0), "alert");
    let next = if waiting.next_at <= wall.now {
        "now".to_owned()
    } else {
        format!("at {}", wall.clock(waiting.next_at))
    };
    format!("{alerts} {wait}, next attempt {next}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::words::sample;
    use crate::time::{Span, Time};

    const NOW: Time = Time(1_774_494_720_000);

    fn said(change: impl FnOnce(&mut Channel), waiting: Option<Waiting>) -> (String, String) {
        let mut channel = sample::channel("webhook", "{}");
        channel.verified_at = Some(NOW);
        change(&mut channel);
        let LastResult { word, more, .. } = result(&channel, waiting.as_ref(), &Wall::new("UTC", NOW));
        (word, more)
    }

    #[test]
    fn the_last_result_is_said_in_words() {
        let both = |word: &str, more: &str| (word.to_owned(), more.to_owned());
        assert_eq!(said(|_| {}, None), both("Nothing sent yet", ""));
        let sent = |channel: &mut Channel| {
            channel.last_sent_at = Some(NOW - Span::minutes(20));
            channel.last_answer = "The target answered 200.".to_owned();
        };
        assert_eq!(said(sent, None), both("Sent 20 min ago", "The target answered 200."));
        let fails = |channel: &mut Channel| {
            channel.last_error = "The target answered 503.".to_owned();
            channel.failing_since_at = Some(NOW - Span::minutes(20));
        };
        let waiting = Waiting { channel_id: 1, alerts: 1, next_at: NOW + Span::minutes(5) };
        assert_eq!(
            said(fails, Some(waiting)),
            both("Failing since 02:52", "The target answered 503. 1 alert waits, next attempt at 03:17.")
        );
        let off = |channel: &mut Channel| {
            channel.disabled_at = Some(NOW);
            channel.last_error = "turned off by a link in a mail".to_owned();
        };
        assert_eq!(said(off, None), both("Turned off", "Turned off by a link in a mail, 03:12."));
        let asked = |channel: &mut Channel| {
            channel.verified_at = None;
            channel.asked_at = Some(NOW);
        };
        assert_eq!(
            said(asked, None),
            both("Not confirmed", "Asked 03:12. Nothing is sent before the answer.")
        );
    }

    #[test]
    fn what_fails_stands_before_what_works() {
        assert!(Standing::Failing < Standing::Off && Standing::Off < Standing::Works);
    }
}
