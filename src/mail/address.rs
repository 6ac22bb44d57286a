//! E-mail addresses as people type them, checked and brought to one form.

use std::fmt;
use std::str::FromStr;

use url::Host;

use super::one_line;

const ADDRESS_BYTES: usize = 254;
const LOCAL_BYTES: usize = 64;
const NAME_CHARS: usize = 100;

/// An address that mail can be sent to: pure ASCII, the domain in lower case and punycode.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(lettre::Address);

/// What is wrong with an address, in words for the person who typed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("an e-mail address is missing")]
    Empty,
    #[error("an e-mail address has the form name@example.org")]
    NoAt,
    #[error("an e-mail address has at most 254 characters, at most 64 of them before the @")]
    TooLong,
    #[error(
        "the part before the @ may hold only ASCII letters, digits, single dots and !#$%&'*+-/=?^_`{{|}}~"
    )]
    Local,
    #[error("the part after the @ is not a domain name")]
    Domain,
}

impl Address {
    /// Reads one bare address; blanks around it are dropped.
    ///
    /// A local part in quotes or beyond ASCII and a numeric domain are refused: each is legal somewhere and reaches
    /// nobody here. Domains of one word are taken, for mail servers at home.
    ///
    /// # Errors
    /// [`AddressError`] names the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AddressError::Empty);
        }
        let (local, domain) = text.rsplit_once('@').ok_or(AddressError::NoAt)?;
        if local.is_empty() || domain.is_empty() {
            return Err(AddressError::NoAt);
        }
        let domain = domain_of(domain)?;
        if local.len() > LOCAL_BYTES || local.len() + 1 + domain.len() > ADDRESS_BYTES {
            return Err(AddressError::TooLong);
        }
        if !local.is_ascii() || local.contains('"') {
            return Err(AddressError::Local);
        }
        match lettre::Address::new(local, domain) {
            Ok(address) => Ok(Self(address)),
            Err(lettre::address::AddressError::InvalidUser) => Err(AddressError::Local),
            Err(_) => Err(AddressError::Domain),
        }
    }

    pub fn as_str(&self) -> &str {
        self.0.as_ref()
    }

    /// The part after the `@`.
    pub fn domain(&self) -> &str {
        self.0.domain()
    }

    pub(super) fn to_lettre(&self) -> lettre::Address {
        self.0.clone()
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        Self::parse(text)
    }
}

/// `url` reads hosts in percent-encoding and with a root dot too; a mail address has neither.
fn domain_of(text: &str) -> Result<String, AddressError> {
    if text.contains('%') || text.ends_with('.') {
        return Err(AddressError::Domain);
    }
    match Host::parse(text) {
        Ok(Host::Domain(domain)) => Ok(domain),
        _ => Err(AddressError::Domain),
    }
}

/// An address with the name that mail programs show for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    name: Option<String>,
    pub address: Address,
}

impl Mailbox {
    /// A mailbox with a name: one line of at most 100 characters, whatever was given.
    pub fn named(name: &str, address: Address) -> Self {
        Self { name: Some(one_line(name, NAME_CHARS)).filter(|name| !name.is_empty()), address }
    }

    /// Reads `name@example.org` or `Some Name <name@example.org>`, as in `FLATLINE_MAIL_FROM`.
    ///
    /// # Errors
    /// [`AddressError`] as for [`Address::parse`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        match text.trim().strip_suffix('>').and_then(|inner| inner.rsplit_once('<')) {
            None => Ok(Address::parse(text)?.into()),
            Some((name, address)) => Ok(Self::named(unquoted(name.trim()), Address::parse(address)?)),
        }
    }

    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn to_lettre(&self) -> lettre::message::Mailbox {
        lettre::message::Mailbox::new(self.name.clone(), self.address.to_lettre())
    }
}

impl From<Address> for Mailbox {
    fn from(address: Address) -> Self {
        Self { name: None, address }
    }
}

fn unquoted(name: &str) -> &str {
    name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_brought_to_one_form() {
        for (typed, expected) in [
            ("  ann@example.org ", "ann@example.org"),
            ("Ann.B+tag@EXAMPLE.Org", "Ann.B+tag@example.org"),
            ("ann@bücher.example", "ann@xn--bcher-kva.example"),
            ("root@localhost", "root@localhost"),
            ("o'neil/x=y@example.org", "o'neil/x=y@example.org"),
        ] {
            assert_eq!(Address::parse(typed).unwrap().as_str(), expected, "{typed}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_part_that_is_wrong() {
        let long_local = format!("{}@example.org", "a".repeat(65));
        let long_domain = format!("a@{}example.org", "b.".repeat(125));
        for (typed, expected) in [
            (" ", AddressError::Empty),
            ("ann", AddressError::NoAt),
            ("@example.org", AddressError::NoAt),
            ("ann@", AddressError::NoAt),
            (long_local.as_str(), AddressError::TooLong),
            (long_domain.as_str(), AddressError::TooLong),
            ("a b@example.org", AddressError::Local),
            (".ann@example.org", AddressError::Local),
            ("a..b@example.org", AddressError::Local),
            ("ann@x@example.org", AddressError::Local),
            ("änn@example.org", AddressError::Local),
            ("\"ann\"@example.org", AddressError::Local),
            ("ann\r\nRCPT TO:<eve@example.org>@example.org", AddressError::Local),
            ("ann\0@example.org", AddressError::Local),
            ("<ann@example.org>", AddressError::Domain),
            ("ann@example.org, eve@example.org", AddressError::Local),
            ("ann@exa mple.org", AddressError::Domain),
            ("ann@example.org\r\nX: y", AddressError::Domain),
            ("ann@[127.0.0.1]", AddressError::Domain),
            ("ann@127.0.0.1", AddressError::Domain),
            ("ann@example%2eorg", AddressError::Domain),
            ("ann@example..org", AddressError::Domain),
            ("ann@example.org.", AddressError::Domain),
            ("ann@-example.org/", AddressError::Domain),
        ] {
            assert_eq!(Address::parse(typed), Err(expected), "{typed:?}");
        }
    }

    #[test]
    fn a_mailbox_is_read_with_and_without_a_name() {
        for (typed, name, address) in [
            ("ann@example.org", None, "ann@example.org"),
            ("<ann@example.org>", None, "ann@example.org"),
            ("Ann <ann@example.org>", Some("Ann"), "ann@example.org"),
            ("\"Doe, Ann\" <ann@example.org>", Some("Doe, Ann"), "ann@example.org"),
            ("Änn  Ö. <ann@example.org>", Some("Änn Ö."), "ann@example.org"),
        ] {
            let mailbox = Mailbox::parse(typed).unwrap();
            assert_eq!((mailbox.name(), mailbox.address.as_str()), (name, address), "{typed}");
        }
        assert_eq!(Mailbox::parse("Ann <ann>"), Err(AddressError::NoAt));
    }

    #[test]
    fn a_name_is_one_short_line() {
        let address = Address::parse("ann@example.org").unwrap();
        let named = |name: &str| Mailbox::named(name, address.clone()).name().map(str::to_owned);
        assert_eq!(named("Ann\r\nBcc: eve@example.org\0"), Some("Ann Bcc: eve@example.org".to_owned()));
        assert_eq!(named(" \n "), None);
        assert_eq!(named(&"x".repeat(101)), Some(format!("{}…", "x".repeat(99))));
    }
}
