//! What an authenticator answers, judged as WebAuthn level 3 has it: section 7.1 for a new passkey, 7.2 for a sign-in.
//!
//! Pure: bytes in, the facts or the [`Flaw`] out. That the challenge was ours, is fresh and was not answered before
//! is not judged here; the row of it is redeemed, by whoever stores what comes of this. User verification is always
//! required, since a passkey stands in for every other factor. No attestation is asked for: whose make an
//! authenticator is nobody needs to know.

use coset::cbor::de::from_reader_with_recursion_limit;
use coset::cbor::value::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::key::PublicKey;
use super::site::{Ceremony, Site};
use super::{Flaw, Known};

/// The longest id of a credential that authenticators may draw, in bytes.
const ID_BYTES_MAX: usize = 1023;
/// The longest public key that is kept, in bytes.
const KEY_BYTES_MAX: usize = 2048;
/// How deep CBOR may nest: deeper than any answer does.
const DEPTH: usize = 16;

const PRESENT: u8 = 0x01;
const VERIFIED: u8 = 0x04;
const MAY_SYNC: u8 = 0x08;
const IS_SYNCED: u8 = 0x10;
const HAS_CREDENTIAL: u8 = 0x40;
const HAS_EXTENSIONS: u8 = 0x80;

/// A passkey that an authenticator made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credential {
    pub id: Vec<u8>,
    /// COSE, as it came.
    pub public_key: Vec<u8>,
    pub sign_count: i64,
}

/// An answer to the question who signs in, as it came.
#[derive(Clone, Debug, Default)]
pub struct Assertion {
    pub credential: Vec<u8>,
    pub client_data: Vec<u8>,
    pub authenticator: Vec<u8>,
    pub signature: Vec<u8>,
    /// The user that the authenticator made the passkey for.
    pub user_handle: Vec<u8>,
}

/// What an answer proves: that the passkey's user is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proved {
    pub passkey: Uuid,
    pub user_id: i64,
    pub sign_count: i64,
}

/// What the authenticator says in every answer.
struct Report<'a> {
    site_digest: &'a [u8; 32],
    flags: u8,
    sign_count: i64,
    rest: &'a [u8],
}

impl<'a> Report<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (site_digest, rest) = bytes.split_first_chunk()?;
        let (flags, rest) = rest.split_first()?;
        let (count, rest) = rest.split_first_chunk()?;
        Some(Self { site_digest, flags: *flags, sign_count: i64::from(u32::from_be_bytes(*count)), rest })
    }

    fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    fn judge(&self, site: &Site) -> Result<(), Flaw> {
        if self.site_digest != Sha256::digest(&site.name).as_slice() {
            return Err(Flaw::OtherSite);
        }
        if !self.has(PRESENT) {
            return Err(Flaw::NobodyThere);
        }
        if !self.has(VERIFIED) {
            return Err(Flaw::Unverified);
        }
        if self.has(IS_SYNCED) && !self.has(MAY_SYNC) {
            return Err(Flaw::Contradiction);
        }
        Ok(())
    }

    /// Whether nothing stands behind what was read, but for extensions where there are some; these say nothing that
    /// was asked.
    fn ends_with(&self, mut rest: &[u8]) -> bool {
        if self.has(HAS_EXTENSIONS) && !matches!(value(&mut rest), Some(Value::Map(_))) {
            return false;
        }
        rest.is_empty()
    }
}

/// The next value of CBOR.
fn value(bytes: &mut &[u8]) -> Option<Value> {
    from_reader_with_recursion_limit(bytes, DEPTH).ok()
}

fn entry<'a>(map: &'a Value, name: &str) -> Option<&'a Value> {
    let found = map.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name));
    found.map(|(_, value)| value)
}

/// Judges the answer to the question for a new passkey.
///
/// # Errors
/// Why it is none.
pub fn read_new(site: &Site, client_data: &[u8], attestation: &[u8]) -> Result<Credential, Flaw> {
    site.judge(client_data, Ceremony::Create)?;
    let mut rest = attestation;
    let object = value(&mut rest).filter(|_| rest.is_empty()).ok_or(Flaw::Unreadable)?;
    let part = |name| entry(&object, name).ok_or(Flaw::Unreadable);
    let report_bytes = part("authData")?.as_bytes().ok_or(Flaw::Unreadable)?;
    let report = Report::read(report_bytes).ok_or(Flaw::Unreadable)?;
    report.judge(site)?;
    let credential = credential(&report).ok_or(Flaw::Unreadable)?;
    let key = PublicKey::read(&credential.public_key).ok_or(Flaw::UnknownKey)?;
    let signed = [report_bytes.as_slice(), &Sha256::digest(client_data)].concat();
    let format = part("fmt")?.as_text().ok_or(Flaw::Unreadable)?;
    if is_attested(format, part("attStmt")?, &key, &signed) { Ok(credential) } else { Err(Flaw::Attestation) }
}

/// The credential in a report: 16 bytes of the authenticator's kind, the id behind its length, and the key.
fn credential(report: &Report<'_>) -> Option<Credential> {
    if !report.has(HAS_CREDENTIAL) {
        return None;
    }
    let (_, rest) = report.rest.split_first_chunk::<16>()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (id, key) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    let mut rest = key;
    value(&mut rest)?;
    let public_key = &key[..key.len() - rest.len()];
    let is_whole =
        (1..=ID_BYTES_MAX).contains(&id.len()) && public_key.len() <= KEY_BYTES_MAX && report.ends_with(rest);
    is_whole.then(|| Credential {
        id: id.to_vec(),
        public_key: public_key.to_vec(),
        sign_count: report.sign_count,
    })
}

/// Whether the statement holds: there is none, as was asked, or the key itself vouches.
fn is_attested(format: &str, statement: &Value, key: &PublicKey, signed: &[u8]) -> bool {
    let Some(entries) = statement.as_map() else { return false };
    match format {
        "none" => entries.is_empty(),
        "packed" => {
            let algorithm = entry(statement, "alg").and_then(Value::as_integer);
            let signature = entry(statement, "sig").and_then(Value::as_bytes);
            entries.len() == 2
                && algorithm == Some(key.algorithm().into())
                && signature.is_some_and(|signature| key.has_signed(signed, signature))
        }
        _ => false,
    }
}

impl Assertion {
    /// Judges the answer by the passkey that is stored under its credential.
    ///
    /// # Errors
    /// Why it proves nothing.
    pub fn judge(&self, site: &Site, known: &Known) -> Result<Proved, Flaw> {
        if self.user_handle != known.user_uuid.as_bytes() {
            return Err(Flaw::OtherUser);
        }
        site.judge(&self.client_data, Ceremony::Get)?;
        let report = Report::read(&self.authenticator).ok_or(Flaw::Unreadable)?;
        report.judge(site)?;
        if !report.ends_with(report.rest) {
            return Err(Flaw::Unreadable);
        }
        let key = PublicKey::read(&known.public_key).ok_or(Flaw::UnknownKey)?;
        let signed = [self.authenticator.as_slice(), &Sha256::digest(&self.client_data)].concat();
        if !key.has_signed(&signed, &self.signature) {
            return Err(Flaw::Signature);
        }
        Ok(Proved { passkey: known.uuid, user_id: known.user_id, sign_count: report.sign_count })
    }
}
