//! The second factor: codes of an authenticator app (TOTP, RFC 6238), and recovery codes that stand in for them.
//!
//! A code works once: its step of time is written by a guard that only lets steps go forward, and a recovery code is
//! redeemed by deleting it. The secret is shown while it is set up, and never again: not on a page, in a log or an
//! export. It is stored as it is, because the only key that could encrypt it would lie in the same database.
//! Recovery codes are drawn at random, long enough to be kept as digests. How often codes may be tried is `rate`'s
//! to say, and who may turn the factor on or off is the page's.

mod authenticator;
pub mod store;

pub use authenticator::Authenticator;

use crate::db::WriteTx;
use crate::error::Result;
use crate::id;
use crate::time::Time;

/// How many recovery codes there are at first.
pub const RECOVERY_CODES: usize = 10;

/// A second factor as its user sees it.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct SecondFactor {
    pub created_at: Time,
    /// Recovery codes that were not used.
    pub codes_left: i64,
}

/// What somebody typed as a code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// Six digits from an authenticator app.
    Totp(String),
    /// Anything else, as recovery codes are compared: letters and digits alone.
    Recovery(String),
}

impl Code {
    /// Reads a code with whatever stands between its letters.
    pub fn read(typed: &str) -> Self {
        let plain: String = typed.chars().filter(char::is_ascii_alphanumeric).collect();
        let is_totp = plain.len() == 6 && plain.bytes().all(|byte| byte.is_ascii_digit());
        if is_totp { Self::Totp(plain) } else { Self::Recovery(plain.to_lowercase()) }
    }
}

/// Turns the factor on, if the code is the authenticator's of now; returns the recovery codes, for the only time.
/// The code is used up by it.
///
/// # Errors
/// The database's.
pub async fn turn_on(
    tx: &mut WriteTx,
    user_id: i64,
    authenticator: &Authenticator,
    code: &str,
    now: Time,
) -> Result<Option<Vec<String>>> {
    let Some(step) = authenticator.step(code, now) else { return Ok(None) };
    if !store::create(tx, user_id, authenticator.secret(), step, now).await? {
        return Ok(None);
    }
    renew_codes(tx, user_id).await.map(Some)
}

/// Whether the code is one of the user's, and was not used before; then it is from here on.
///
/// # Errors
/// The database's.
pub async fn redeem(tx: &mut WriteTx, user_id: i64, code: &Code, now: Time) -> Result<bool> {
    let code = match code {
        Code::Totp(code) => code,
        Code::Recovery(code) => return store::redeem_code(tx, user_id, &id::digest(code)).await,
    };
    let Some(secret) = store::find_secret(tx, user_id).await? else { return Ok(false) };
    let authenticator = Authenticator::of(&secret)?;
    match authenticator.step(code, now) {
        Some(step) => store::advance(tx, user_id, &secret, step, Authenticator::ahead(now)).await,
        None => Ok(false),
    }
}

/// Draws new recovery codes in the place of the old ones; returns them for the only time.
///
/// # Errors
/// The database's.
pub async fn renew_codes(tx: &mut WriteTx, user_id: i64) -> Result<Vec<String>> {
    let codes: Vec<String> = (0..RECOVERY_CODES).map(|_| id::recovery_code()).collect();
    store::drop_codes(tx, user_id).await?;
    for code in &codes {
        store::create_code(tx, user_id, &id::digest(code)).await?;
    }
    Ok(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_however_they_are_written() {
        assert_eq!(Code::read(" 123 456 "), Code::Totp("123456".to_owned()));
        let recovery = Code::Recovery("abcdefghijklmnop".to_owned());
        assert_eq!(Code::read("abcd-efgh-ijkl-mnop"), recovery);
        assert_eq!(Code::read("ABCD EFGH IJKL MNOP"), recovery);
        assert_eq!(Code::read("1234567"), Code::Recovery("1234567".to_owned()));
        assert_eq!(Code::read(""), Code::Recovery(String::new()));
    }
}
