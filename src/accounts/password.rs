//! Passwords: Argon2id with the crate's defaults, as PHC strings.
//!
//! Hashing takes tens of milliseconds of one core and 19 MiB, so callers do it away from the threads that serve,
//! and never inside a transaction. Nothing here says whether an account exists: see [`verify`].

use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher, PasswordVerifier, SaltString};

use crate::error::{Error, Result};
use crate::id;

/// The shortest password that is taken, in characters.
pub const MIN_CHARS: usize = 8;
/// The longest, in bytes: hashing costs time for each.
pub const MAX_BYTES: usize = 1000;

/// Stands in where there is no hash, so that a wrong address takes as long as a wrong password.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGlzIGhlcmU$x5DXQDJ9mLqgkRwZVyXFE1qXmTgUO2bUcUSiDVYtWqk";

/// What is wrong with a password that somebody wants to set, if anything.
pub fn complaint(password: &str) -> Option<String> {
    if password.chars().count() < MIN_CHARS {
        return Some(format!("Write at least {MIN_CHARS} characters."));
    }
    (password.len() > MAX_BYTES).then(|| format!("Write at most {MAX_BYTES} bytes."))
}

/// Hashes a password with a salt of its own.
///
/// # Errors
/// None in practice: the parameters are fixed.
pub fn hash(password: &str) -> Result<String> {
    let failed = |error: argon2::password_hash::Error| Error::internal(error.to_string());
    let salt = SaltString::encode_b64(&id::bytes::<16>()).map_err(failed)?;
    Ok(Argon2::default().hash_password(password.as_bytes(), &salt).map_err(failed)?.to_string())
}

/// Whether the password is the one that was hashed; without a hash the same work is done and the answer is no.
pub fn verify(password: &str, hash: Option<&str>) -> bool {
    let Ok(parsed) = PasswordHash::new(hash.unwrap_or(NOBODY)) else { return false };
    let fits = password.len() <= MAX_BYTES
        && Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok();
    fits && hash.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_opens_its_own_hash_and_no_other() {
        let hashed = hash("correct horse").unwrap();
        assert!(verify("correct horse", Some(&hashed)));
        assert!(!verify("correct horsf", Some(&hashed)));
        assert!(!verify("correct horse", None));
        assert_ne!(hashed, hash("correct horse").unwrap());
    }

    #[test]
    fn the_stand_in_is_a_hash_that_costs_what_real_ones_cost() {
        let (nobody, real) = (PasswordHash::new(NOBODY).unwrap(), hash("12345678").unwrap());
        let real = PasswordHash::new(&real).unwrap();
        assert_eq!((nobody.algorithm, nobody.params.clone()), (real.algorithm, real.params.clone()));
    }

    #[test]
    fn short_and_endless_passwords_are_refused() {
        assert!(complaint("1234567").is_some() && complaint(&"x".repeat(1001)).is_some());
        assert_eq!(complaint("pässwört"), None);
    }
}
