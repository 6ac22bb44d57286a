//! The kinds of channels: what each needs to be set up and how it sends.
//!
//! A kind is one file with one [`Kind`], listed in [`KINDS`]; nothing else knows it. Its form is data ([`form`]), so a
//! new kind needs no new page. A send is one attempt, outside any transaction and bounded in time; what it came to is
//! an [`Outcome`], and `deliver` decides when to try again. A message may be sent twice and then carries the same id.
//! Nothing here reads or writes the database.

pub mod email;
pub mod form;
mod placeholders;
mod webhook;

use std::fmt;

use futures_util::future::BoxFuture;

use super::Message;
use super::links::Links;
use super::returned::ReturnAddress;
use crate::checks::json::Urls;
use crate::mail::Post;
use crate::net::Outgoing;
use crate::time::Span;
use form::{Fault, Field};

/// Every kind there is; the name is what `Channel::kind` holds.
pub const KINDS: &[Kind] = &[email::KIND, webhook::KIND];

/// A kind of channel.
pub struct Kind {
    pub name: &'static str,
    /// What people read.
    pub title: &'static str,
    /// What it is good for, in one line.
    pub hint: &'static str,
    /// What its form asks, in order.
    pub fields: &'static [Field],
    /// The fields that say where messages go; the first that is filled is shown in lists.
    pub place: &'static [&'static str],
    /// Whether the configuration decides which messages it gets; otherwise whoever sets it up is asked.
    pub decides: bool,
    check: fn(&str) -> Result<Checked, Fault>,
    send: for<'a> fn(&'a Senders, &'a Message) -> BoxFuture<'a, Outcome>,
    /// The host that a message would call, where its owner chose any; calls to one host are limited.
    target: fn(&Message) -> Option<String>,
}

/// A configuration that can be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// In the form to store.
    pub config: String,
    /// What it is told, where the configuration decides that; else whoever sets it up does.
    pub told: Option<Told>,
    /// The mail address whose owner has to agree before anything is sent, if somebody has to.
    pub asks: Option<String>,
}

/// Which of the two messages a channel gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    pub down: bool,
    pub up: bool,
}

/// What one attempt came to; each text can be shown to the channel's owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The other side took it.
    Sent { note: String },
    /// Worth another try, not before `after` if the other side said so.
    Retry { why: String, after: Option<Span> },
    /// This message can never be sent; the next one may.
    Failed { why: String },
    /// Nothing can ever be sent to this channel as it is.
    Disable { why: String },
}

/// The ways out, and what mails say about where they come from.
#[derive(Debug)]
pub struct Senders {
    pub post: Post,
    pub outgoing: Outgoing,
    pub links: Links,
    /// Where letters about deliveries come back to; unset: to their sender.
    pub returns: Option<ReturnAddress>,
    pub urls: Urls,
    /// The site's host, as mails name it.
    pub site: String,
}

impl Kind {
    /// The kind of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Checks a configuration, given as JSON.
    ///
    /// # Errors
    /// The field and a sentence that names it and says what it takes.
    pub fn check(&self, config: &str) -> Result<Checked, Fault> {
        (self.check)(config)
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Senders {
    /// Makes one attempt to send a message to its channel.
    pub async fn send(&self, message: &Message) -> Outcome {
        match Kind::find(&message.channel.kind) {
            Some(kind) => (kind.send)(self, message).await,
            None => {
                Outcome::Failed { why: format!("There is no kind of channel '{}'.", message.channel.kind) }
            }
        }
    }
}

/// The host that sending a message would call, if its channel's owner chose it.
pub fn target(message: &Message) -> Option<String> {
    Kind::find(&message.channel.kind).and_then(|kind| (kind.target)(message))
}

/// A technical reason as a sentence.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().map(char::to_uppercase).into_iter().flatten().collect();
    let stop = if text.ends_with(['.', '…']) { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_name_of_its_own() {
        let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names, ["email", "webhook"]);
        assert!(Kind::find("email").is_some() && Kind::find("Email").is_none());
    }

    #[test]
    fn a_reason_is_shown_as_a_sentence() {
        assert_eq!(sentence("the connection was refused"), "The connection was refused.");
        assert_eq!(sentence("550 no such user."), "550 no such user.");
    }
}
