//! Links for letters: what a reader may do without signing in, each signed for that one thing.
//!
//! A signed link is `<site>/mail/<verb>/<token>`: the token holds the uuids and a signature over verb and uuids,
//! so it shows neither to a proxy's log, and a link to mute cannot be turned into one to pause. Links do not
//! expire, for a letter may be read late; a new secret ends them all. A look at one (GET) must change nothing, for
//! mail scanners look; what it says is done on POST. Nothing is stored here and nothing is done here.

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

/// Bytes of the signature that a token carries: half of HMAC-SHA256, no less may be carried (RFC 2104).
const SIGNATURE_BYTES: usize = 16;
const UUID_BYTES: usize = 16;
/// Sets these signatures apart from whatever else is signed with the same secret.
const CONTEXT: &[u8] = b"flatline mail link 1\0";

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
    Pause { check: Uuid },
    /// Tell this channel nothing more about the check.
    Mute { check: Uuid, channel: Uuid },
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

    fn uuids(self) -> Vec<u8> {
        match self {
            Self::Pause { check: one } | Self::Stop { channel: one } => one.as_bytes().to_vec(),
            Self::Mute { check: one, channel: other } | Self::Confirm { channel: one, address: other } => {
                [one.into_bytes(), other.into_bytes()].concat()
            }
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
    pub fn open(&self, check: Uuid) -> String {
        format!("{}/checks/{check}", self.site_url)
    }

    pub fn pause(&self, check: Uuid) -> String {
        self.signed(Action::Pause { check })
    }

    pub fn mute(&self, check: Uuid, channel: Uuid) -> String {
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
        let (uuids, signature) = bytes.split_at(bytes.len().checked_sub(SIGNATURE_BYTES)?);
        let (uuids, rest) = uuids.as_chunks::<UUID_BYTES>();
        let uuids: Vec<Uuid> = uuids.iter().copied().map(Uuid::from_bytes).collect();
        let action = match (verb, uuids.as_slice(), rest) {
            ("pause", [check], []) => Action::Pause { check: *check },
            ("mute", [check, channel], []) => Action::Mute { check: *check, channel: *channel },
            ("stop", [channel], []) => Action::Stop { channel: *channel },
            ("confirm", [channel, address], []) => Action::Confirm { channel: *channel, address: *address },
            _ => return None,
        };
        self.mac(action).verify_truncated_left(signature).ok().map(|()| action)
    }

    fn signed(&self, action: Action) -> String {
        let signature = self.mac(action).finalize().into_bytes();
        let token = [action.uuids().as_slice(), &signature[..SIGNATURE_BYTES]].concat();
        format!("{}/mail/{}/{}", self.site_url, action.verb(), BASE64_URL_SAFE_NO_PAD.encode(token))
    }

    fn mac(&self, action: Action) -> Hmac<Sha256> {
        self.key
            .clone()
            .chain_update(CONTEXT)
            .chain_update(action.verb())
            .chain_update(b"\0")
            .chain_update(action.uuids())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: Uuid = Uuid::from_u128(0x4f7c_1b9e_0000_4000_8000_0000_0000_0001);
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
        let all = [
            (links.pause(CHECK), "pause", Action::Pause { check: CHECK }),
            (links.mute(CHECK, CHANNEL), "mute", Action::Mute { check: CHECK, channel: CHANNEL }),
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
            links.open(CHECK),
            "https://watch.example.org/checks/4f7c1b9e-0000-4000-8000-000000000001"
        );
    }

    #[test]
    fn links_stay_the_same_from_one_release_to_the_next() {
        assert_eq!(
            links().pause(CHECK),
            "https://watch.example.org/mail/pause/T3wbngAAQACAAAAAAAAAAXPkTi-tZ8sKsD8INNi8Npw"
        );
    }

    #[test]
    fn a_signature_is_good_for_one_verb_only() {
        let links = links();
        let pause = links.pause(CHECK);
        let token = parts(&pause).1;
        for verb in ["stop", "mute", "open", "PAUSE", ""] {
            assert_eq!(links.verify(verb, token), None);
        }
        // The same uuid signed for another purpose.
        assert_ne!(token, parts(&links.unsubscribe(CHECK)).1);
    }

    #[test]
    fn what_was_not_signed_here_is_refused() {
        let links = links();
        let pause = links.pause(CHECK);
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
