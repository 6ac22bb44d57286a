//! Messages that failed after they were taken: a letter that bounced, or a receiver that says so later.
//!
//! Both name a delivery, and are believed for a while. A receiver knows its uuid, which came with the message; a letter
//! comes back to an address that is signed ([`ReturnAddress`]), for anybody can write a letter. Either way the delivery
//! no longer counts as sent and the channel says why, as after an attempt that failed; nothing is sent again.

pub mod store;

use std::fmt;

use base32::Alphabet;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

use super::send::{Outcome, email};
use super::words::clean;
use super::{DeliveryState, setup};
use crate::db::{ReadTx, WriteTx};
use crate::error::Result;
use crate::mail::{Address, Report};
use crate::time::{CLOCK_SLACK, Span, Time};
use store::SentDelivery;

/// For how long a receiver is believed, from the settling on.
pub const RECEIVER_LIFE: Span = Span::hours(1);
/// The same of a letter that came back: mail servers try for up to five days.
pub const LETTER_LIFE: Span = Span::hours(7 * 24);
/// Characters kept of what is said.
const WORDS_CHARS: usize = 200;

const ALPHABET: Alphabet = Alphabet::Rfc4648Lower { padding: false };
const UUID_BYTES: usize = 16;
/// Bytes of the signature, as in `links`.
const SIGNATURE_BYTES: usize = 16;
/// Sets these signatures apart from whatever else is signed with the same secret.
const CONTEXT: &[u8] = b"flatline return address 1\0";
/// The longest name that leaves room for a plus sign and the mark in the 64 characters before the `@`.
const NAME_CHARS: usize = 11;

/// Makes and reads the addresses that letters come back to: `<name>+<mark>@<domain>`, where the mark is the delivery
/// and a signature over it and the recipient. A letter to an address that the channel no longer has says nothing.
#[derive(Clone)]
pub struct ReturnAddress {
    name: String,
    domain: String,
    key: Hmac<Sha256>,
}

/// What an address in our form claims; [`ReturnAddress::is_signed`] judges it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub delivery: Uuid,
    signature: [u8; SIGNATURE_BYTES],
}

impl fmt::Debug for ReturnAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReturnAddress({}+..@{})", self.name, self.domain)
    }
}

impl ReturnAddress {
    /// Addresses beside the plain `address`; `secret` is the instance's.
    ///
    /// # Errors
    /// A sentence about what is wrong with the address.
    pub fn new(address: &str, secret: &[u8]) -> std::result::Result<Self, String> {
        let address = Address::parse(address).map_err(|error| error.to_string())?;
        let name = address.as_str().rsplit_once('@').map_or("", |(name, _)| name);
        if name.len() > NAME_CHARS || name.contains('+') {
            return Err(format!("at most {NAME_CHARS} characters may stand before the @, and no plus sign"));
        }
        let key = Hmac::new_from_slice(secret).expect("HMAC takes a key of any length");
        Ok(Self { name: name.to_lowercase(), domain: address.domain().to_owned(), key })
    }

    /// Where a letter about a delivery comes back to that goes to `recipient`.
    ///
    /// # Errors
    /// The address would be too long.
    pub fn of(&self, delivery: Uuid, recipient: &str) -> std::result::Result<Address, String> {
        let signature = self.mac(delivery, recipient).finalize().into_bytes();
        let mark = [delivery.as_bytes().as_slice(), &signature[..SIGNATURE_BYTES]].concat();
        let mark = base32::encode(ALPHABET, &mark);
        Address::parse(&format!("{}+{mark}@{}", self.name, self.domain)).map_err(|error| error.to_string())
    }

    /// Reads an address; `None` if it does not have our form. Servers on the way may have changed its case.
    pub fn read(&self, address: &str) -> Option<Claim> {
        let address = address.to_ascii_lowercase();
        let (local, domain) = address.rsplit_once('@')?;
        let mark = local.strip_prefix(&self.name)?.strip_prefix('+').filter(|_| domain == self.domain)?;
        let mark = base32::decode(ALPHABET, mark)?;
        let (delivery, signature) = mark.split_at_checked(UUID_BYTES)?;
        Some(Claim { delivery: Uuid::from_slice(delivery).ok()?, signature: signature.try_into().ok()? })
    }

    /// Whether this instance signed the claim for a letter to `recipient`.
    pub fn is_signed(&self, claim: &Claim, recipient: &str) -> bool {
        self.mac(claim.delivery, recipient).verify_truncated_left(&claim.signature).is_ok()
    }

    fn mac(&self, delivery: Uuid, recipient: &str) -> Hmac<Sha256> {
        let key = self.key.clone().chain_update(CONTEXT).chain_update(delivery.as_bytes());
        key.chain_update(recipient.to_lowercase())
    }
}

/// What a letter that came back says of its delivery.
pub fn of_letter(report: Report) -> Outcome {
    match report {
        Report::Delayed { words } => {
            Outcome::Retry { why: sentence("The letter is delayed: ", &words), after: None }
        }
        Report::Failed { words } => Outcome::Failed { why: sentence("The letter came back: ", &words) },
        Report::NoMailbox { words } => Outcome::Disable { why: sentence("The letter came back: ", &words) },
    }
}

/// What a receiver says of its delivery; with `ends` nothing more is to be sent to it.
pub fn of_receiver(words: &str, ends: bool) -> Outcome {
    let why = sentence("The receiver reported a failure: ", words);
    if ends { Outcome::Disable { why } } else { Outcome::Failed { why } }
}

fn sentence(head: &str, words: &str) -> String {
    let words = clean::one_line(words, WORDS_CHARS);
    let stop = if words.ends_with(['.', '…', '!']) { "" } else { "." };
    format!("{head}{words}{stop}")
}

/// The delivery that a receiver speaks of, if it still may.
///
/// # Errors
/// The database's.
pub async fn find(tx: &mut ReadTx, delivery: Uuid, now: Time) -> Result<Option<SentDelivery>> {
    let found = store::find(tx, delivery).await?;
    Ok(found.filter(|found| is_fresh(found, RECEIVER_LIFE, now)))
}

/// The delivery that a letter came back for.
///
/// # Errors
/// The database's.
pub async fn find_signed(
    tx: &mut ReadTx,
    returns: &ReturnAddress,
    claim: &Claim,
    now: Time,
) -> Result<Option<SentDelivery>> {
    let found = store::find(tx, claim.delivery).await?.filter(|found| is_fresh(found, LETTER_LIFE, now));
    Ok(found.filter(|found| {
        let address = email::address_of(&found.config);
        address.is_some_and(|address| returns.is_signed(claim, &address))
    }))
}

/// An instant that the clock has not reached counts as not set.
fn is_fresh(found: &SentDelivery, life: Span, now: Time) -> bool {
    found.settled_at.is_some_and(|at| now - life < at && at <= now + CLOCK_SLACK)
}

/// Keeps on a delivery and its channel what the message came to after all; nothing if that is known.
///
/// # Errors
/// The database's.
pub async fn take_back(tx: &mut WriteTx, sent: &SentDelivery, outcome: &Outcome, now: Time) -> Result<bool> {
    let (state, why) = match outcome {
        Outcome::Sent { note } => (DeliveryState::Sent, note),
        Outcome::Retry { why, .. } => (DeliveryState::Sent, why),
        Outcome::Failed { why } | Outcome::Disable { why } => (DeliveryState::GivenUp, why),
    };
    let is_news = store::take_back(tx, sent.id, state, why).await?;
    if is_news {
        setup::note(tx, sent.channel_id, outcome, now).await?;
        tx.changes_check(sent.project_id, sent.check_uuid);
    }
    Ok(is_news)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELIVERY: Uuid = Uuid::from_u128(0x4f7c_1b9e_0000_4000_8000_0000_0000_00d1);

    fn returns() -> ReturnAddress {
        ReturnAddress::new("Bounces@Watch.example.org", &[7; 32]).unwrap()
    }

    #[test]
    fn an_address_stays_the_same_and_reads_back_as_its_delivery_in_any_case() {
        let address = returns().of(DELIVERY, "ann@example.org").unwrap();
        // Letters outlive releases.
        assert_eq!(
            address.as_str(),
            "bounces+j56bxhqaabaabaaaaaaaaaaa2g3qy6mzmrr7dlbemjtfgok5ftrq@watch.example.org"
        );
        for written in [address.to_string(), address.as_str().to_uppercase()] {
            let claim = returns().read(&written).unwrap();
            assert_eq!(claim.delivery, DELIVERY);
            assert!(returns().is_signed(&claim, "Ann@Example.org"));
            assert!(!returns().is_signed(&claim, "bob@example.org"));
            let stranger = ReturnAddress::new("bounces@watch.example.org", &[8; 32]).unwrap();
            assert!(!stranger.is_signed(&claim, "ann@example.org"));
        }
    }

    #[test]
    fn what_does_not_have_our_form_claims_nothing() {
        let address = returns().of(DELIVERY, "ann@example.org").unwrap().to_string();
        for other in [
            address.replace("bounces+", "bounce+"),
            address.replace("bounces+", "bounces-"),
            address.replace("watch.example.org", "example.org"),
            address.replace("@", "a@"),
            address.replace("bounces+j", "bounces+1"),
            "bounces@watch.example.org".to_owned(),
            "bounces+@watch.example.org".to_owned(),
            String::new(),
        ] {
            assert_eq!(returns().read(&other), None, "{other}");
        }
    }

    #[test]
    fn the_longest_name_leaves_room_for_the_mark() {
        let returns = |address: &str| ReturnAddress::new(address, &[7; 32]);
        let longest = returns("undelivered@example.org").unwrap().of(DELIVERY, "ann@example.org").unwrap();
        assert_eq!(longest.as_str().split('@').next().map(str::len), Some(64));
        for bad in ["undelivered1@example.org", "a+b@example.org", "example.org"] {
            assert!(returns(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_comes_back_is_told_in_one_sentence() {
        let delayed = of_letter(Report::Delayed { words: "status 4.4.1".to_owned() });
        let why = "The letter is delayed: status 4.4.1.".to_owned();
        assert_eq!(delayed, Outcome::Retry { why, after: None });
        let said = of_receiver("no\r\nsuch \u{1b}[31mnumber. ", true);
        let why = "The receiver reported a failure: no such [31mnumber.".to_owned();
        assert_eq!(said, Outcome::Disable { why });
    }
}
