//! What is limited, and in which order: one function for each place, so that a route names its chain and cannot
//! get it wrong.
//!
//! Where a chain asks together, its limiters count subjects that are the caller's own. What costs a longer budget
//! (a day) or somebody else (a mail address, whoever knows it) is asked in order, behind them. Sign-in links are
//! never limited by the mail address alone, so nobody can lock an owner out from outside.

use std::net::IpAddr;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{Limit, Place, Places, Refusal, Verdict, Window, enforce, enforce_all};
use crate::caller;
use crate::config::{Limits, Plan, Rule};
use crate::db::Db;
use crate::error::Result;
use crate::time::{Span, Time};

/// Bytes of a hashed subject.
const SUBJECT_BYTES: usize = 16;
const MINUTE: Span = Span::minutes(1);
const DAY: Span = Span::hours(24);

/// The limits of one instance, and the secret under which subjects are hashed.
pub struct Rates {
    limits: Limits,
    secret: Vec<u8>,
    live_pages: Places,
}

/// The limiters that stand before one piece of work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Asked first, all at once.
    pub together: Vec<Limit>,
    /// Asked after them, in order.
    pub then: Vec<Limit>,
}

impl Chain {
    /// Asks the whole chain; to be awaited before the transaction of the work opens.
    ///
    /// # Errors
    /// A count could not be taken; the work must not be done.
    pub async fn spend(&self, db: &Db, now: Time) -> Result<Verdict> {
        let first = match enforce_all(db, &self.together, now).await? {
            Verdict::Accepted(standing) => standing,
            refused @ Verdict::Refused(_) => return Ok(refused),
        };
        Ok(match enforce(db, &self.then, now).await? {
            Verdict::Accepted(standing) => Verdict::Accepted(super::scarcer(first, standing)),
            refused @ Verdict::Refused(_) => refused,
        })
    }

    /// Whether it limits nothing, so that asking costs nothing.
    pub fn is_empty(&self) -> bool {
        self.together.is_empty() && self.then.is_empty()
    }
}

impl Rates {
    pub fn new(limits: Limits, secret: &[u8]) -> Self {
        Self { limits, secret: secret.to_vec(), live_pages: Places::default() }
    }

    /// An API call with a known key: key and address each know of every call, the key's day is spared by both. A
    /// plan without limits asks nothing at all.
    pub fn api(&self, key_id: i64, plan: &Plan, from: IpAddr) -> Chain {
        let [minute, day] = self.api_key(key_id, plan);
        if minute.is_none() && day.is_none() {
            return Chain::default();
        }
        let mut address = self.limit(Rule::ApiAddress, &address(from));
        if let Some(address) = &mut address {
            address.window.limit = address.window.limit.max(plan.api_per_minute.unwrap_or(0));
        }
        Chain { together: minute.into_iter().chain(address).collect(), then: day.into_iter().collect() }
    }

    /// What a plan lets one key ask: in a minute and in a day.
    pub fn api_key(&self, key_id: i64, plan: &Plan) -> [Option<Limit>; 2] {
        let subject = format!("key {key_id}");
        let limit = |scope, limit: Option<i64>, length| {
            limit.map(|limit| self.window(scope, &subject, Window { limit, length }))
        };
        [limit("api_per_minute", plan.api_per_minute, MINUTE), limit("api_per_day", plan.api_per_day, DAY)]
    }

    /// An API call with a key that nobody has.
    pub fn failed_key(&self, from: IpAddr) -> Chain {
        self.in_order(&[(Rule::FailedKeysMinute, address(from)), (Rule::FailedKeysDay, address(from))])
    }

    /// A ping of a check that does not exist.
    pub fn unknown_ping(&self, from: IpAddr) -> Chain {
        self.in_order(&[(Rule::UnknownPingsMinute, address(from)), (Rule::UnknownPingsDay, address(from))])
    }

    /// A report of a failed message that names none.
    pub fn unknown_report(&self, from: IpAddr) -> Chain {
        self.in_order(&[
            (Rule::UnknownReportsMinute, address(from)),
            (Rule::UnknownReportsDay, address(from)),
        ])
    }

    /// A ping that makes its check.
    pub fn create_by_ping(&self, project_id: i64) -> Chain {
        self.in_order(&[(Rule::CreatesHour, format!("project {project_id}"))])
    }

    /// A test message to one of the account's channels.
    pub fn test_message(&self, account_id: i64) -> Chain {
        let account = account(account_id);
        self.in_order(&[(Rule::TestMessagesMinute, account.clone()), (Rule::TestMessagesDay, account)])
    }

    /// A mail that asks `target` whether the address is theirs.
    pub fn verification_mail(&self, target: &str) -> Chain {
        self.in_order(&[(Rule::VerificationsMinute, email(target)), (Rule::VerificationsDay, email(target))])
    }

    /// An invitation from one of the account's projects to `target`.
    pub fn invitation(&self, account_id: i64, target: &str) -> Chain {
        self.in_order(&[
            (Rule::InvitationsMinute, account(account_id)),
            (Rule::InvitationsDay, account(account_id)),
            (Rule::InvitationsTarget, email(target)),
        ])
    }

    /// A project made for an account.
    pub fn project(&self, account_id: i64) -> Chain {
        self.in_order(&[(Rule::ProjectsDay, account(account_id))])
    }

    /// A webhook call of an account's to a host. Each account is limited by itself, so that nobody can hold up
    /// others who call the same host; all hosts together are limited too, for one victim may have many names.
    pub fn webhook_call(&self, account_id: i64, host: &str) -> Chain {
        let account = account(account_id);
        let target = format!("{account} host {}", host.to_lowercase());
        self.in_order(&[(Rule::WebhooksTarget, target), (Rule::WebhooksAccount, account)])
    }

    /// A mailed sign-in link. Never limited by the mail address alone.
    pub fn magic_link(&self, to: &str, from: IpAddr) -> Chain {
        let pair = pair(to, from);
        Chain {
            together: self.limits_of(&[
                (Rule::MagicLinksMinute, pair.clone()),
                (Rule::MagicLinksAddressMinute, address(from)),
            ]),
            then: self.limits_of(&[(Rule::MagicLinksDay, pair), (Rule::MagicLinksAddressDay, address(from))]),
        }
    }

    /// A password tried. The mail address alone is asked last, so that a caller who is refused for its own sake
    /// does not slow the owner, and has no day, so that it only slows.
    pub fn sign_in(&self, to: &str, from: IpAddr) -> Chain {
        let pair = pair(to, from);
        Chain {
            together: self
                .limits_of(&[(Rule::SignInMinute, pair.clone()), (Rule::SignInAddressMinute, address(from))]),
            then: self.limits_of(&[
                (Rule::SignInDay, pair),
                (Rule::SignInAddressDay, address(from)),
                (Rule::SignInEmailMinute, email(to)),
            ]),
        }
    }

    /// A code of an authenticator app, tried for a user. Six digits bear few guesses, so the user's day is counted
    /// over all addresses; who uses it up knows the password, and the owner still gets in by a recovery code.
    pub fn second_factor(&self, user_id: i64, from: IpAddr) -> Chain {
        let user = format!("user {user_id}");
        let pair = format!("{} {user}", address(from));
        self.in_order(&[
            (Rule::SecondFactorMinute, pair.clone()),
            (Rule::SecondFactorDay, pair),
            (Rule::SecondFactorUserDay, user),
        ])
    }

    /// A recovery code tried. Never limited by the user: nobody guesses one, and it is what is left to an owner.
    pub fn recovery_code(&self, from: IpAddr) -> Chain {
        self.in_order(&[(Rule::RecoveryMinute, address(from)), (Rule::RecoveryDay, address(from))])
    }

    /// A step of making a passkey, or of signing in with one. Never limited by the user: nobody guesses a signature.
    pub fn passkey(&self, from: IpAddr) -> Chain {
        self.in_order(&[(Rule::PasskeysMinute, address(from)), (Rule::PasskeysDay, address(from))])
    }

    /// An account asked for.
    pub fn sign_up(&self, from: IpAddr) -> Chain {
        self.in_order(&[(Rule::SignUpMinute, address(from)), (Rule::SignUpDay, address(from))])
    }

    /// A place for a page that is told what changes, for as long as it is open; `subject` is whoever looks.
    ///
    /// # Errors
    /// As many are open as there may be.
    pub fn live_page(&self, subject: &str) -> std::result::Result<Place, Refusal> {
        let (most, scope) = (self.limits.get(Rule::LivePages), Rule::LivePages.row().name);
        let refusal = Refusal { scope, limit: most.unwrap_or(0), reset: MINUTE, retry_after: MINUTE };
        self.live_pages.take(subject, most).ok_or(refusal)
    }

    fn in_order(&self, asked: &[(Rule, String)]) -> Chain {
        Chain { together: Vec::new(), then: self.limits_of(asked) }
    }

    fn limits_of(&self, asked: &[(Rule, String)]) -> Vec<Limit> {
        asked.iter().filter_map(|(rule, subject)| self.limit(*rule, subject)).collect()
    }

    fn limit(&self, rule: Rule, subject: &str) -> Option<Limit> {
        let row = rule.row();
        let window = |limit| Window { limit, length: row.window };
        self.limits.get(rule).map(|limit| self.window(row.name, subject, window(limit)))
    }

    fn window(&self, scope: &'static str, subject: &str, window: Window) -> Limit {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes keys of any length");
        mac.update(b"rate\0");
        mac.update(subject.as_bytes());
        Limit { scope, subject: mac.finalize().into_bytes()[..SUBJECT_BYTES].to_vec(), window }
    }
}

fn address(from: IpAddr) -> String {
    format!("address {}", caller::subject(from))
}

fn email(to: &str) -> String {
    format!("email {}", to.to_lowercase())
}

fn pair(to: &str, from: IpAddr) -> String {
    format!("{} {}", address(from), email(to))
}

fn account(id: i64) -> String {
    format!("account {id}")
}
