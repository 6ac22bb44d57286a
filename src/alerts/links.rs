//! Links for letters: what a reader may do without signing in, each signed for that one thing.
//!
//! A signed link is `<site>/mail/<verb>/<token>`: the token holds what is meant and a signature over it and the verb,
//! so a link to mute cannot be turned into one to pause. A check is meant by its unique key, since whoever reads a
//! letter may have no business to ping. Links do not expire, for a letter may be read late; a new secret ends them all.
//! A look at one (GET) must change nothing, for mail scanners look; what it says is done on POST. Nothing is stored
//! here and nothing is done here.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

use crate::checks::UniqueKey;
use crate::checks::unique_key;

/// Bytes of the signature that a token carries: half of HMAC-SHA256, no less may be carried (RFC 2104).
const SIGNATURE_BYTES: usize = 16;
const UUID_BYTES: usize = 16;
const KEY_BYTES: usize = unique_key::BYTES;
/// Sets these signatures apart from whatever else is signed with the same secret.
const CONTEXT: &[u8] = b"flatline mail link 2\0";

/// Makes and reads the links of one site.
#[derive(Clone)]
pub struct Links {
    site_url: String,
    key: Hmac<Sha256>,
}

/// What a signed link allows, to whoever holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Stop watching a check.
    Pause { check: UniqueKey },
    /// Tell this channel nothing more about the check.
    Mute { check: UniqueKey, channel: Uuid },
    /// Send this channel nothing any more.
    Stop { channel: Uuid },
    /// Send this channel's alerts to the address it had when the link was made; see [`address_mark`].
    Confirm { channel: Uuid, address: Uuid },
}

/// Stands for an address in a link, so that a link made for one address confirms no other.
pub fn address_mark(address: &str) -> Uuid {
    let digest = crate::id::digest(&address.to_lowercase());
    Uuid::from_slice(&digest[..UUID_BYTES]).unwrap_or_default()
}

impl Action {
    const fn verb(self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Mute { .. } => "mute",
            Self::Stop { .. } => "stop",
            Self::Confirm { .. } => "confirm",
        }
    }

    /// What is meant, in the order of the fields.
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Pause { check } => check.as_bytes().to_vec(),
            Self::Stop { channel } => channel.as_bytes().to_vec(),
            Self::Mute { check, channel } => [check.as_bytes().as_slice(), channel.as_bytes()].concat(),
            Self::Confirm { channel, address } => [channel.into_bytes(), address.into_bytes()].concat(),
        }
    }

    fn read(verb: &str, bytes: &[u8]) -> Option<Self> {
        let check = |bytes: &[u8]| bytes.try_into().map(UniqueKey::from_bytes).ok();
        let uuid = |bytes: &[u8]| Uuid::from_slice(bytes).ok();
        match verb {
            "pause" => Some(Self::Pause { check: check(bytes)? }),
            "stop" => Some(Self::Stop { channel: uuid(bytes)? }),
            "mute" => {
                let (one, other) = bytes.split_at_checked(KEY_BYTES)?;
                Some(Self::Mute { check: check(one)?, channel: uuid(other)? })
            }
            "confirm" => {
                let (one, other) = bytes.split_at_checked(UUID_BYTES)?;
                Some(Self::Confirm { channel: uuid(one)?, address: uuid(other)? })
            }
            _ => None,
        }
    }
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Links").field("site_url", &self.site_url).finish_non_exhaustive()
    }
}

impl Links {
    /// `site_url` has no slash at its end; `secret` is the instance's and at least 32 random bytes.
    pub fn new(site_url: &str, secret: &[u8]) -> Self {
        let key = Hmac::new_from_slice(secret).expect("HMAC takes a key of any length");
        Self { site_url: site_url.to_owned(), key }
    }

    /// The check's page, for members who are signed in.
    pub fn open(&self, check: UniqueKey) -> String {
        format!("{}/checks/{check}", self.site_url)
    }

    pub fn pause(&self, check: UniqueKey) -> String {
        self.signed(Action::Pause { check })
    }

    pub fn mute(&self, check: UniqueKey, channel: Uuid) -> String {
        self.signed(Action::Mute { check, channel })
    }

    /// The link of the foot and of `List-Unsubscribe`: POST with `List-Unsubscribe=One-Click` acts at once
    /// (RFC 8058).
    pub fn unsubscribe(&self, channel: Uuid) -> String {
        self.signed(Action::Stop { channel })
    }

    /// The link by which the owner of an address agrees to get a channel's alerts.
    pub fn confirm(&self, channel: Uuid, address: &str) -> String {
        self.signed(Action::Confirm { channel, address: address_mark(address) })
    }

    /// Reads the last two parts of a link's path; `None` for anything that this site did not sign.
    pub fn verify(&self, verb: &str, token: &str) -> Option<Action> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
        let (meant, signature) = bytes.split_at(bytes.len().checked_sub(SIGNATURE_BYTES)?);
        let action = Action::read(verb, meant)?;
        self.mac(action).verify_truncated_left(signature).ok().map(|()| action)
    }

    fn signed(&self, action: Action) -> String {
        let signature = self.mac(action).finalize().into_bytes();
        let token = [action.bytes().as_slice(), &signature[..SIGNATURE_BYTES]].concat();
        format!("{}/mail/{}/{}", self.site_url, action.verb(), BASE64_URL_SAFE_NO_PAD.encode(token))
    }

    fn mac(&self, action: Action) -> Hmac<Sha256> {
        self.key
            .clone()
            .chain_update(CONTEXT)
            .chain_update(action.verb())
            .chain_update(b"\0")
            .chain_update(action.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: Uuid = Uuid::from_u128(0x4f7c_1b9e_0000_4000_8000_0000_0000_0001);
    const CHANNEL: Uuid = Uuid::from_u128(0x6a2d_9c40_0000_4000_8000_0000_0000_0002);

    fn links() -> Links {
        Links::new("https://watch.example.org", &[7; 32])
    }

    fn parts(link: &str) -> (&str, &str) {
        let path = link.strip_prefix("https://watch.example.org/mail/").unwrap();
        path.split_once('/').unwrap()
    }

    #[test]
    fn a_link_says_what_it_does_and_reads_back_as_that() {
        let links = links();
        let check = UniqueKey::of(UUID);
        let all = [
            (links.pause(check), "pause", Action::Pause { check }),
            (links.mute(check, CHANNEL), "mute", Action::Mute { check, channel: CHANNEL }),
            (links.unsubscribe(CHANNEL), "stop", Action::Stop { channel: CHANNEL }),
            (
                links.confirm(CHANNEL, "Ops@Example.org"),
                "confirm",
                Action::Confirm { channel: CHANNEL, address: address_mark("ops@example.org") },
            ),
        ];
        for (link, said, action) in all {
            let (verb, token) = parts(&link);
            assert_eq!(verb, said);
            assert_eq!(links.verify(verb, token), Some(action));
        }
        assert_eq!(
            links.open(check),
            "https://watch.example.org/checks/5a7e13a6d0de2346a76c4d7d7588c2c45390d8f5"
        );
    }

    #[test]
    fn links_stay_the_same_from_one_release_to_the_next() {
        assert_eq!(
            links().pause(UniqueKey::of(UUID)),
            "https://watch.example.org/mail/pause/Wn4TptDeI0anbE19dYjCxFOQ2PVzWbhbzb_vdo691O3X0KOt"
        );
    }

    #[test]
    fn a_signature_is_good_for_one_verb_only() {
        let links = links();
        let pause = links.pause(UniqueKey::of(UUID));
        let token = parts(&pause).1;
        for verb in ["stop", "mute", "open", "PAUSE", ""] {
            assert_eq!(links.verify(verb, token), None);
        }
        // The same check signed for another purpose.
        assert_ne!(token, parts(&links.unsubscribe(UUID)).1);
    }

    #[test]
    fn what_was_not_signed_here_is_refused() {
        let links = links();
        let pause = links.pause(UniqueKey::of(UUID));
        let token = parts(&pause).1;
        let stranger = Links::new("https://watch.example.org", &[8; 32]);
        assert_eq!(stranger.verify("pause", token), None);
        for at in 0..token.len() {
            let mut bent = token.as_bytes().to_vec();
            bent[at] = if bent[at] == b'A' { b'B' } else { b'A' };
            assert_eq!(links.verify("pause", std::str::from_utf8(&bent).unwrap()), None, "at {at}");
        }
        let longer = format!("{token}AAAA");
        for token in ["", "A", "AAAA", "=", "ä", &token[1..], &token[..token.len() - 1], &longer] {
            assert_eq!(links.verify("pause", token), None, "{token}");
        }
    }
}
