//! Limits on callers: how often what may be asked by whom, beside what plans allow.
//!
//! [`LIMITS`] is the whole list, mirrored in the README. Each count can be changed in the table `[limits]` of the
//! plans file, under the limit's name; `"none"` lifts it. `rate` turns a count into a window, and the name is the
//! `scope` that a refusal carries.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};

use crate::time::Span;

const MINUTE: Span = Span::minutes(1);
const HOUR: Span = Span::hours(1);
const DAY: Span = Span::hours(24);
/// Not in a time, but at the same time.
const ONCE: Span = Span::ZERO;

/// The largest count that makes sense.
const COUNT_MAX: i64 = 1_000_000_000;

/// One row of the table of limits.
#[derive(Debug)]
pub struct Limit {
    pub name: &'static str,
    /// The default.
    pub count: i64,
    /// In which so many are accepted; zero where it is so many at once.
    pub window: Span,
    /// Whose requests are counted together.
    pub subject: &'static str,
    /// What is counted.
    pub counts: &'static str,
}

macro_rules! table {
    ($($rule:ident = $name:literal, $count:literal per $window:ident, $subject:literal, $counts:literal;)+) => {
        /// The limits by what they are for.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule { $(#[doc = $counts] $rule),+ }

        /// Every limit there is, in the order of [`Rule`].
        pub const LIMITS: &[Limit] = &[
            $(Limit { name: $name, count: $count, window: $window, subject: $subject, counts: $counts }),+
        ];

        /// The same rules as a list. The length of [`Limits`] is taken from it: that of [`LIMITS`] would depend on
        /// functions of spans, which an optimising compiler calls a cycle.
        const RULES: &[Rule] = &[$(Rule::$rule),+];
    };
}

table! {
    ApiAddress = "api_address_per_minute", 3000 per MINUTE, "address",
        "API calls with keys whose plan limits them; never less than the key's own plan allows";
    FailedKeysMinute = "failed_keys_per_minute", 60 per MINUTE, "address", "API calls with a key that nobody has";
    FailedKeysDay = "failed_keys_per_day", 2000 per DAY, "address", "API calls with a key that nobody has";
    UnknownPingsMinute = "unknown_pings_per_minute", 300 per MINUTE, "address", "pings of checks that do not exist";
    UnknownPingsDay = "unknown_pings_per_day", 20000 per DAY, "address", "pings of checks that do not exist";
    UnknownReportsMinute = "unknown_reports_per_minute", 60 per MINUTE, "address",
        "reports of failed messages (`notifications/` and `bounces/`) that name none";
    UnknownReportsDay = "unknown_reports_per_day", 2000 per DAY, "address",
        "reports of failed messages (`notifications/` and `bounces/`) that name none";
    CreatesHour = "creates_per_hour", 1000 per HOUR, "project", "pings that make the check they name (`create=1`)";
    TestMessagesMinute = "test_messages_per_minute", 6 per MINUTE, "account", "test messages to a channel";
    TestMessagesDay = "test_messages_per_day", 100 per DAY, "account", "test messages to a channel";
    VerificationsMinute = "verification_mails_per_minute", 2 per MINUTE, "mail address",
        "mails that ask whether an address is the reader's";
    VerificationsDay = "verification_mails_per_day", 6 per DAY, "mail address",
        "mails that ask whether an address is the reader's";
    InvitationsMinute = "invitations_per_minute", 10 per MINUTE, "account", "invitations to a project";
    InvitationsDay = "invitations_per_day", 100 per DAY, "account", "invitations to a project";
    InvitationsTarget = "invitations_target_per_day", 6 per DAY, "mail address", "invitations to a project";
    ProjectsDay = "projects_per_day", 50 per DAY, "account", "projects made";
    WebhooksTarget = "webhook_calls_target_per_minute", 300 per MINUTE, "account and target host",
        "webhook calls; one beyond waits for its turn and is not lost";
    WebhooksAccount = "webhook_calls_per_minute", 1000 per MINUTE, "account",
        "webhook calls; one beyond waits for its turn and is not lost";
    MagicLinksMinute = "magic_links_per_minute", 3 per MINUTE, "mail address and address", "mailed sign-in links";
    MagicLinksAddressMinute = "magic_links_address_per_minute", 10 per MINUTE, "address", "mailed sign-in links";
    MagicLinksDay = "magic_links_per_day", 20 per DAY, "mail address and address", "mailed sign-in links";
    MagicLinksAddressDay = "magic_links_address_per_day", 100 per DAY, "address", "mailed sign-in links";
    SignInMinute = "sign_in_per_minute", 10 per MINUTE, "mail address and address", "passwords tried";
    SignInAddressMinute = "sign_in_address_per_minute", 30 per MINUTE, "address", "passwords tried";
    SignInEmailMinute = "sign_in_email_per_minute", 20 per MINUTE, "mail address",
        "passwords tried; sign-in links are not counted here, so that nobody can lock an owner out";
    SignInDay = "sign_in_per_day", 100 per DAY, "mail address and address", "passwords tried";
    SignInAddressDay = "sign_in_address_per_day", 1000 per DAY, "address", "passwords tried";
    SecondFactorMinute = "second_factor_per_minute", 5 per MINUTE, "user and address", "codes of an authenticator app tried";
    SecondFactorDay = "second_factor_per_day", 50 per DAY, "user and address", "codes of an authenticator app tried";
    SecondFactorUserDay = "second_factor_user_per_day", 100 per DAY, "user",
        "codes of an authenticator app tried; recovery codes are not counted here, so that nobody can lock an owner out";
    RecoveryMinute = "recovery_codes_per_minute", 10 per MINUTE, "address", "recovery codes tried";
    RecoveryDay = "recovery_codes_per_day", 100 per DAY, "address", "recovery codes tried";
    PasskeysMinute = "passkeys_per_minute", 60 per MINUTE, "address", "steps of making or using a passkey, two each";
    PasskeysDay = "passkeys_per_day", 2000 per DAY, "address", "steps of making or using a passkey, two each";
    PasskeysHeld = "passkeys_at_once", 20 per ONCE, "user", "passkeys that somebody has";
    SignUpMinute = "sign_ups_per_minute", 5 per MINUTE, "address", "accounts asked for";
    SignUpDay = "sign_ups_per_day", 50 per DAY, "address", "accounts asked for";
    LivePages = "live_pages_at_once", 30 per ONCE, "user", "open pages that are told what changes, in one process";
}

impl Rule {
    /// The limit's row in the table.
    pub fn row(self) -> &'static Limit {
        &LIMITS[self as usize]
    }
}

/// The counts in force; `None` is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits([Option<i64>; RULES.len()]);

impl Default for Limits {
    fn default() -> Self {
        Self(std::array::from_fn(|index| Some(LIMITS[index].count)))
    }
}

impl Limits {
    /// How many are accepted in the limit's window.
    pub fn get(&self, rule: Rule) -> Option<i64> {
        self.0[rule as usize]
    }

    /// Changes one count.
    pub fn set(&mut self, rule: Rule, count: Option<i64>) {
        self.0[rule as usize] = count;
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = RULES.iter().copied().find(|rule| rule.row().name == name);
        known.ok_or_else(|| D::Error::custom(format!("there is no limit '{name}'")))
    }
}

/// A count as the plans file writes it: a number from `LEAST`, or the word `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count<const LEAST: i64>(pub Option<i64>);

impl<'de, const LEAST: i64> Deserialize<'de> for Count<LEAST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written<const LEAST: i64>;
        impl<const LEAST: i64> Visitor<'_> for Written<LEAST> {
            type Value = Count<LEAST>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number from {LEAST} to {COUNT_MAX}, or \"none\"")
            }

            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Count<LEAST>, E> {
                if (LEAST..=COUNT_MAX).contains(&value) {
                    return Ok(Count(Some(value)));
                }
                Err(E::invalid_value(Unexpected::Signed(value), &self))
            }

            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Count<LEAST>, E> {
                if value == "none" {
                    return Ok(Count(None));
                }
                Err(E::invalid_value(Unexpected::Str(value), &self))
            }
        }
        deserializer.deserialize_any(Written::<LEAST>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_name_of_its_own_that_tells_its_window() {
        for (index, limit) in LIMITS.iter().enumerate() {
            let window = match limit.window {
                MINUTE => "_per_minute",
                HOUR => "_per_hour",
                ONCE => "_at_once",
                _ => "_per_day",
            };
            assert!(limit.name.ends_with(window), "{}", limit.name);
            assert!(!LIMITS[..index].iter().any(|earlier| earlier.name == limit.name), "{}", limit.name);
            assert_eq!(RULES[index].row().name, limit.name);
        }
    }
}
