//! Which addresses take letters: `<uuid>@<domain>`, `<ping key>+<slug>@<domain>`, and those that alerts come back to.
//! Pure.

use uuid::Uuid;

use crate::alerts::returned::{Claim, ReturnAddress};

const PING_KEY_CHARS: usize = 22;

/// Whose letters are taken.
#[derive(Clone, Copy, Debug)]
pub struct Ours<'a> {
    /// Of the addresses that ping, compared exactly.
    pub domain: &'a str,
    pub returns: Option<&'a ReturnAddress>,
}

/// The check, or the delivery, that a recipient names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    Uuid(Uuid),
    Slug {
        ping_key: String,
        slug: String,
    },
    /// A delivery whose letter came back.
    Returned(Claim),
}

/// Why an address takes no letters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It belongs to somebody else; a listener that took it would be a relay.
    Domain,
    Mailbox,
}

impl Recipient {
    /// Reads an address.
    ///
    /// # Errors
    /// It is none of ours.
    pub fn parse(address: &str, ours: Ours<'_>) -> Result<Self, Refused> {
        if let Some(claim) = ours.returns.and_then(|returns| returns.read(address)) {
            return Ok(Self::Returned(claim));
        }
        let (local, its_domain) = address.rsplit_once('@').ok_or(Refused::Domain)?;
        if its_domain != ours.domain {
            return Err(Refused::Domain);
        }
        if local.len() == 36 {
            let uuid = Uuid::try_parse(local).ok().filter(|uuid| uuid.get_version_num() == 4);
            return uuid.map(Self::Uuid).ok_or(Refused::Mailbox);
        }
        let (ping_key, slug) = local.split_once('+').ok_or(Refused::Mailbox)?;
        let in_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let in_slug = |byte: u8| in_key(byte) && !byte.is_ascii_uppercase();
        let is_key = ping_key.len() == PING_KEY_CHARS && ping_key.bytes().all(in_key);
        if !is_key || slug.is_empty() || !slug.bytes().all(in_slug) {
            return Err(Refused::Mailbox);
        }
        Ok(Self::Slug { ping_key: ping_key.to_owned(), slug: slug.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_mailboxes_take_letters() {
        let uuid = "3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f";
        let ours = Ours { domain: "ping.test", returns: None };
        let parse = |address: &str| Recipient::parse(address, ours);
        assert_eq!(parse(&format!("{uuid}@ping.test")), Ok(Recipient::Uuid(uuid.parse().unwrap())));
        assert!(parse(&format!("{}@ping.test", uuid.to_uppercase())).is_ok());
        assert_eq!(
            parse("aaaaaaaaaaaaaaaaaaaaaa+db-1@ping.test"),
            Ok(Recipient::Slug { ping_key: "a".repeat(22), slug: "db-1".to_owned() })
        );
        for (address, refused) in [
            (format!("{uuid}@Ping.test"), Refused::Domain),
            (format!("{uuid}@other.test"), Refused::Domain),
            (format!("{uuid}@evil@other.test"), Refused::Domain),
            (uuid.to_owned(), Refused::Domain),
            ("root@ping.test".to_owned(), Refused::Mailbox),
            (format!("{}@ping.test", uuid.replace("-4c1b-", "-1c1b-")), Refused::Mailbox),
            ("short+db@ping.test".to_owned(), Refused::Mailbox),
            ("aaaaaaaaaaaaaaaaaaaaaa+DB@ping.test".to_owned(), Refused::Mailbox),
            ("aaaaaaaaaaaaaaaaaaaaaa+@ping.test".to_owned(), Refused::Mailbox),
        ] {
            assert_eq!(parse(&address), Err(refused), "{address}");
        }
    }
}
