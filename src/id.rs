//! Chance: uuids, keys and tokens. The only file that draws random numbers.
//!
//! Secrets leave this file in clear once, to be shown or mailed; what is stored is their [`digest`].

use rand::distr::{Distribution, Uniform};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Length of every API key, prefix included (`CONTRACT` 1).
pub const API_KEY_CHARS: usize = 32;
const PING_KEY_CHARS: usize = 22;
const TOKEN_CHARS: usize = 40;
const RECOVERY_CODE_CHARS: usize = 16;

const LOWER_ALPHANUMERIC: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";
const ALPHANUMERIC: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A random (version 4) uuid.
pub fn uuid() -> Uuid {
    uuid::Builder::from_random_bytes(bytes()).into_uuid()
}

/// `N` random bytes from the operating system's generator.
#[expect(clippy::disallowed_methods, reason = "the one place that draws chance")]
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut out = [0; N];
    rand::Rng::fill_bytes(&mut rand::rng(), &mut out);
    out
}

/// A number in `0.0..1.0`, for jitter.
pub fn fraction() -> f64 {
    f64::from(u32::from_le_bytes(bytes())) / (f64::from(u32::MAX) + 1.0)
}

#[expect(clippy::disallowed_methods, reason = "the one place that draws chance")]
fn text(alphabet: &[u8], chars: usize) -> String {
    let index = Uniform::new(0, alphabet.len()).expect("an alphabet has letters");
    let mut rng = rand::rng();
    (0..chars).map(|_| char::from(alphabet[index.sample(&mut rng)])).collect()
}

/// A new read-write API key: `hcw_` and 28 letters and digits.
pub fn api_key() -> String {
    format!("hcw_{}", text(ALPHANUMERIC, API_KEY_CHARS - 4))
}

/// A new read-only API key: `hcr_` and 28 letters and digits.
pub fn api_key_readonly() -> String {
    format!("hcr_{}", text(ALPHANUMERIC, API_KEY_CHARS - 4))
}

/// A new ping key: 22 lower-case letters and digits.
pub fn ping_key() -> String {
    text(LOWER_ALPHANUMERIC, PING_KEY_CHARS)
}

/// A new one-time token or session secret: 40 letters and digits, over 230 bits.
pub fn token() -> String {
    text(ALPHANUMERIC, TOKEN_CHARS)
}

/// A new recovery code: 16 lower-case letters and digits, over 80 bits.
pub fn recovery_code() -> String {
    text(LOWER_ALPHANUMERIC, RECOVERY_CODE_CHARS)
}

/// SHA-256 of a secret that was drawn at random; enough for those, never for passwords.
pub fn digest(secret: &str) -> Vec<u8> {
    Sha256::digest(secret.as_bytes()).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_lengths_and_prefixes_that_clients_check() {
        assert_eq!(api_key().len(), API_KEY_CHARS);
        assert!(api_key().starts_with("hcw_") && api_key_readonly().starts_with("hcr_"));
        assert_eq!(ping_key().len(), 22);
        assert!(ping_key().bytes().all(|byte| LOWER_ALPHANUMERIC.contains(&byte)));
        assert_eq!(uuid().get_version_num(), 4);
        assert_ne!(token(), token());
    }
}
