//! E-mail: one letter to one address, by the app's post.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use url::Url;

use super::form::{Fault, Field, Input};
use super::{Checked, Kind, Outcome, Senders, sentence};
use crate::alerts::Message;
use crate::alerts::words::{self, Foot};
use crate::mail::{Address, Letter, MailError, Sent};

/// The kind's name.
pub const NAME: &str = "email";
pub(super) const KIND: Kind = Kind {
    name: NAME,
    title: "E-mail",
    hint: "To one address, whose owner must agree first.",
    fields: &[Field::new(
        "address",
        "Address",
        "",
        "Unless it is yours, a letter asks its reader first.",
        Input::Line,
    )],
    place: &["address"],
    decides: false,
    check,
    send,
    target: |_| None,
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    address: String,
}

/// The configuration of a channel to an address that is known to be good.
pub fn config(address: &Address) -> String {
    serde_json::json!({ "address": address.as_str() }).to_string()
}

/// The address in a configuration of this kind.
pub fn address_of(config: &str) -> Option<String> {
    serde_json::from_str(config).ok().map(|Config { address }| address)
}

fn check(config: &str) -> Result<Checked, Fault> {
    let fault = |why: String| Fault::at("address", format!("Address: {why}."));
    let Config { address } = serde_json::from_str(config).map_err(|_| fault("it is missing".to_owned()))?;
    let address = Address::parse(&address).map_err(|error| fault(error.to_string()))?;
    let config = Config { address: address.to_string() };
    let config = serde_json::to_string(&config).map_err(|error| fault(error.to_string()))?;
    Ok(Checked { config, told: None, asks: Some(address.to_string()) })
}

fn send<'a>(senders: &'a Senders, message: &'a Message) -> BoxFuture<'a, Outcome> {
    async move {
        match letter(senders, message) {
            Ok(letter) => outcome(senders.post.send(&letter, message.now).await),
            Err(why) => Outcome::Failed { why: sentence(&why) },
        }
    }
    .boxed()
}

fn letter(senders: &Senders, message: &Message) -> Result<Letter, String> {
    let config: Config = serde_json::from_str(&message.channel.config).map_err(|error| error.to_string())?;
    let to = Address::parse(&config.address).map_err(|error| error.to_string())?;
    let (links, check, channel) = (&senders.links, message.check.uuid, message.channel.uuid);
    let foot = Foot {
        open: links.open(check),
        mute: links.mute(check, channel),
        pause: links.pause(check),
        stop: links.unsubscribe(channel),
        to: to.to_string(),
        site: senders.site.clone(),
    };
    let written = words::alert(message).mail(&foot).map_err(|error| error.to_string())?;
    let returns_to =
        senders.returns.as_ref().map(|returns| returns.of(message.id, to.as_str())).transpose()?;
    Ok(Letter {
        id: message.id,
        follows: None,
        to: to.into(),
        returns_to,
        subject: written.subject,
        text: written.text,
        html: written.html,
        unsubscribe: Some(Url::parse(&foot.stop).map_err(|error| error.to_string())?),
    })
}

/// A refused recipient ends the channel, and its owner is told another way; all else is worth another try, for
/// the letter is not at fault.
pub(in crate::alerts) fn outcome(sent: Result<Sent, MailError>) -> Outcome {
    match sent {
        Ok(Sent::Relayed { reply }) => Outcome::Sent { note: reply },
        Ok(Sent::Filed { path }) => {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            Outcome::Sent { note: format!("No mail server is set up; written to the outbox as {file}.") }
        }
        Err(error @ MailError::Rejected { .. }) => Outcome::Disable { why: sentence(&error.to_string()) },
        Err(error) if error.is_permanent() => Outcome::Failed { why: sentence(&error.to_string()) },
        Err(error) => Outcome::Retry { why: sentence(&error.to_string()), after: None },
    }
}

#[cfg(test)]
mod tests;
