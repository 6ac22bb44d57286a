//! The site that passkeys are for: its name, to which an authenticator binds each of them, and its origin, which the
//! browser says where it was asked.

use serde::Deserialize;
use url::{Host, Url};

use super::Flaw;

/// This site as passkeys know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The host's name: the id of the relying party.
    pub name: String,
    origin: String,
}

/// What a browser was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ceremony {
    /// To make a passkey.
    Create,
    /// To sign in with one.
    Get,
}

/// What the browser says about the question that it passed on.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    is_cross_origin: bool,
    #[serde(default, rename = "topOrigin")]
    top_origin: Option<String>,
}

impl Ceremony {
    const fn word(self) -> &'static str {
        match self {
            Self::Create => "webauthn.create",
            Self::Get => "webauthn.get",
        }
    }
}

impl Site {
    /// The site at an address; `None` where browsers know no passkeys: at a number in the place of a name, or without
    /// https, unless it is this machine's own name.
    pub fn of(site_url: &str) -> Option<Self> {
        let url = Url::parse(site_url).ok()?;
        let Some(Host::Domain(name)) = url.host() else { return None };
        let is_local = name == "localhost" || name.ends_with(".localhost");
        let is_known = url.scheme() == "https" || is_local;
        is_known.then(|| Self { name: name.to_owned(), origin: url.origin().ascii_serialization() })
    }

    /// Whether what the browser says is about this site and this ceremony, asked for by a page of its own.
    pub(super) fn judge(&self, client_data: &[u8], ceremony: Ceremony) -> Result<(), Flaw> {
        let said = ClientData::read(client_data).ok_or(Flaw::Unreadable)?;
        if said.kind != ceremony.word() {
            return Err(Flaw::OtherCeremony);
        }
        if said.origin != self.origin {
            return Err(Flaw::OtherOrigin);
        }
        if said.is_cross_origin || said.top_origin.is_some() {
            return Err(Flaw::InsideAnother);
        }
        Ok(())
    }
}

impl ClientData {
    fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

/// The challenge that an answer is for, whatever else is in it.
pub fn challenge_of(client_data: &[u8]) -> Option<String> {
    ClientData::read(client_data).map(|said| said.challenge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_has_passkeys_by_https_or_on_this_machine_and_by_a_name() {
        let origin = |url: &str| Site::of(url).map(|site| (site.name, site.origin));
        let pair = |name: &str, origin: &str| Some((name.to_owned(), origin.to_owned()));
        assert_eq!(
            origin("https://watch.example.org"),
            pair("watch.example.org", "https://watch.example.org")
        );
        assert_eq!(origin("https://Example.org:443/at"), pair("example.org", "https://example.org"));
        assert_eq!(origin("https://example.org:8443"), pair("example.org", "https://example.org:8443"));
        assert_eq!(origin("http://localhost:8000"), pair("localhost", "http://localhost:8000"));
        for other in
            ["http://127.0.0.1:8000", "https://[::1]", "http://example.org", "http://localhost.org", ""]
        {
            assert_eq!(origin(other), None, "{other}");
        }
    }
}
