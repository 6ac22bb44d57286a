//! What an authenticator app holds: a secret from which it makes a code every half minute.

use totp_rs::{Builder, Secret, Totp};

use crate::error::{Error, Result};
use crate::id;
use crate::time::{CLOCK_SLACK, Time};

const SECRET_BYTES: usize = 20;
const STEP_SECONDS: i64 = 30;
/// Codes of the step before and of the next one are taken too, for clocks that differ.
const SKEW_STEPS: i64 = 1;

/// The secret of one user's app. Never printed.
pub struct Authenticator {
    totp: Totp,
}

impl Authenticator {
    /// One with a new secret.
    ///
    /// # Errors
    /// None in practice: the secret is as long as it must be.
    pub fn draw() -> Result<Self> {
        Self::of(&id::bytes::<SECRET_BYTES>())
    }

    /// The one with a stored secret.
    ///
    /// # Errors
    /// The secret is too short to be one.
    pub fn of(secret: &[u8]) -> Result<Self> {
        let totp = Builder::new().with_secret(secret.to_vec()).with_skew(SKEW_STEPS as u16).build();
        totp.map(|totp| Self { totp }).map_err(|error| Error::internal(error.to_string()))
    }

    /// The one whose secret was written out by [`Authenticator::text`].
    pub fn read(text: &str) -> Option<Self> {
        let secret = Secret::try_from_base32(text).ok()?;
        let secret = secret.as_bytes();
        if secret.len() == SECRET_BYTES { Self::of(secret).ok() } else { None }
    }

    /// The secret as apps take it when it is typed: base32.
    pub fn text(&self) -> String {
        self.totp.secret().to_base32()
    }

    /// The address that apps read from a picture; `site` and `email` are how the app names the entry.
    pub fn address(&self, site: &str, email: &str) -> String {
        let encode = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
        };
        let (issuer, account) = (encode(&format!("Flatline {site}")), encode(email));
        format!("otpauth://totp/{issuer}:{account}?secret={}&issuer={issuer}", self.text())
    }

    pub(super) fn secret(&self) -> &[u8] {
        self.totp.secret().as_bytes()
    }

    /// The step of time whose code it is, if it is one of about now.
    pub fn step(&self, code: &str, now: Time) -> Option<i64> {
        let step = self.totp.check(code, u64::try_from(now.as_seconds()).ok()?)?;
        i64::try_from(step).ok()
    }

    /// The code of an instant.
    pub fn code(&self, at: Time) -> String {
        self.totp.generate(u64::try_from(at.as_seconds()).unwrap_or(0)).to_string()
    }

    /// The last step that a code taken now can have, on a clock that goes before by no more than it may. A stored
    /// step beyond it was written under a wrong clock.
    pub(super) fn ahead(now: Time) -> i64 {
        (now + CLOCK_SLACK).as_seconds() / STEP_SECONDS + SKEW_STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    /// The secret of the examples of RFC 6238.
    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_rfc() {
        let app = Authenticator::of(SECRET).unwrap();
        for (seconds, code) in [(59, "287082"), (1_111_111_109, "081804"), (2_000_000_000, "279037")] {
            assert_eq!(app.code(Time::from_seconds(seconds)), code);
            assert_eq!(app.step(code, Time::from_seconds(seconds)), Some(seconds / 30));
        }
    }

    #[test]
    fn a_code_is_taken_one_step_early_or_late_and_no_more() {
        let app = Authenticator::of(SECRET).unwrap();
        let now = Time::from_seconds(1_111_111_109);
        let step = |away: i64| app.step(&app.code(now + Span::seconds(30 * away)), now);
        assert_eq!(
            [-2, -1, 0, 1, 2].map(step),
            [None, Some(37_037_035), Some(37_037_036), Some(37_037_037), None]
        );
        assert_eq!(app.step("12345", now), None);
    }

    #[test]
    fn the_secret_is_written_and_read_and_no_short_one_is_taken() {
        let app = Authenticator::draw().unwrap();
        assert_eq!(app.text().len(), 32);
        let read = Authenticator::read(&app.text()).unwrap();
        assert_eq!(read.secret(), app.secret());
        assert!(Authenticator::read("GEZDGNBVGY3TQOJQ").is_none());
        assert!(Authenticator::read("not base 32").is_none());
    }

    #[test]
    fn the_address_names_site_and_user_in_letters_that_no_app_stumbles_over() {
        let app = Authenticator::of(SECRET).unwrap();
        assert_eq!(
            app.address("ping.example.org", "you+x@example.org"),
            "otpauth://totp/Flatline%20ping%2Eexample%2Eorg:you%2Bx%40example%2Eorg\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Flatline%20ping%2Eexample%2Eorg"
        );
    }
}
