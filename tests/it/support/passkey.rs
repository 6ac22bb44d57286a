//! A passkey in software, with the browser before it: what it answers is right unless a test has it say otherwise.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use coset::cbor::value::Value;
use flatline::accounts::passkeys::Assertion;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;
use sha2::{Digest, Sha256};

/// Somebody is there, was verified, and the passkey stays on its device.
pub const PRESENT_AND_VERIFIED: u8 = 0x05;
const HAS_CREDENTIAL: u8 = 0x40;

/// A key pair in a device.
pub struct SoftPasskey {
    pair: EcdsaKeyPair,
    pub credential: Vec<u8>,
    pub user_handle: Vec<u8>,
}

/// What browser and authenticator say of themselves.
#[derive(Clone, Debug)]
pub struct Said {
    pub kind: &'static str,
    pub challenge: String,
    pub origin: String,
    /// More of what the browser says.
    pub more: serde_json::Value,
    /// The site's name, of which the authenticator says the digest.
    pub site: String,
    pub flags: u8,
    pub count: u32,
    /// What stands behind all that.
    pub tail: Vec<u8>,
}

impl Said {
    /// What is said in an answer for the site at `origin`.
    pub fn new(kind: &'static str, challenge: &str, origin: &str) -> Self {
        let url = url::Url::parse(origin).expect("an origin");
        Self {
            kind,
            challenge: challenge.to_owned(),
            origin: origin.to_owned(),
            more: json!({}),
            site: url.host_str().expect("a host").to_owned(),
            flags: PRESENT_AND_VERIFIED,
            count: 0,
            tail: Vec::new(),
        }
    }

    fn client_data(&self) -> Vec<u8> {
        let mut said = json!({"type": self.kind, "challenge": self.challenge, "origin": self.origin});
        let more = self.more.as_object().expect("an object").clone();
        said.as_object_mut().expect("an object").extend(more);
        said.to_string().into_bytes()
    }

    fn report(&self, flags: u8, credential: &[u8]) -> Vec<u8> {
        let digest = Sha256::digest(&self.site);
        [digest.as_slice(), &[self.flags | flags], &self.count.to_be_bytes(), credential, &self.tail].concat()
    }
}

/// CBOR.
pub fn cbor(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    coset::cbor::ser::into_writer(value, &mut bytes).expect("memory takes it");
    bytes
}

/// A map of CBOR with text for keys.
pub fn map(entries: &[(&str, Value)]) -> Value {
    Value::Map(entries.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
}

impl SoftPasskey {
    /// One for a user.
    pub fn new(user_handle: &[u8]) -> Self {
        let chance = SystemRandom::new();
        let document =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &chance).expect("a pair");
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, document.as_ref(), &chance);
        Self {
            pair: pair.expect("it reads its own"),
            credential: flatline::id::bytes::<32>().to_vec(),
            user_handle: user_handle.to_vec(),
        }
    }

    /// The public key in COSE.
    pub fn public_key(&self) -> Vec<u8> {
        let point = self.pair.public_key().as_ref();
        let entries: [(i64, Value); 5] = [
            (1, 2.into()),
            (3, (-7).into()),
            (-1, 1.into()),
            (-2, Value::Bytes(point[1..33].to_vec())),
            (-3, Value::Bytes(point[33..].to_vec())),
        ];
        cbor(&Value::Map(entries.into_iter().map(|(label, value)| (label.into(), value)).collect()))
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.pair.sign(&SystemRandom::new(), message).expect("it signs").as_ref().to_vec()
    }

    /// The browser's words and the authenticator's, for a new passkey.
    pub fn made(&self, said: &Said) -> (Vec<u8>, Vec<u8>) {
        let length = u16::try_from(self.credential.len()).expect("ids are short").to_be_bytes();
        let credential = [&[0; 16], length.as_slice(), &self.credential, &self.public_key()].concat();
        (said.client_data(), said.report(HAS_CREDENTIAL, &credential))
    }

    /// The same as an object with no attestation.
    pub fn make(&self, said: &Said) -> (Vec<u8>, Vec<u8>) {
        let (client_data, report) = self.made(said);
        let parts = [("fmt", "none".into()), ("attStmt", map(&[])), ("authData", Value::Bytes(report))];
        (client_data, cbor(&map(&parts)))
    }

    /// The answer to the question who signs in.
    pub fn answer(&self, said: &Said) -> Assertion {
        let (client_data, authenticator) = (said.client_data(), said.report(0, &[]));
        let signed = [authenticator.as_slice(), &Sha256::digest(&client_data)].concat();
        Assertion {
            credential: self.credential.clone(),
            signature: self.sign(&signed),
            client_data,
            authenticator,
            user_handle: self.user_handle.clone(),
        }
    }
}

/// Bytes as forms carry them.
pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
