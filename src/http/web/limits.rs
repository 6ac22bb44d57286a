//! The limits on what people may ask of pages, each spent before the work it guards.

use std::net::IpAddr;

use super::WebFailure;
use crate::accounts::second_factor::Code;
use crate::app::App;
use crate::rate::Verdict;

/// What is about to be tried.
#[derive(Clone, Copy, Debug)]
pub enum Attempt<'a> {
    /// A password, for an address.
    Password { email: &'a str },
    /// A letter with a sign-in link, to an address.
    Letter { email: &'a str },
    /// A code of the second factor, for a user.
    Code { user_id: i64, code: &'a Code },
    /// A step of making a passkey, or of signing in with one.
    Passkey,
    /// A new account.
    Account,
    /// A new project of an account.
    Project { account_id: i64 },
    /// An invitation into one of an account's projects.
    Invitation { account_id: i64, email: &'a str },
    /// A message for trying a channel.
    Test { account_id: i64 },
    /// A letter that asks an address whether its reader wants what was asked for there.
    Confirmation { email: &'a str },
}

/// Spends one attempt, of a caller of the network or of an account; committed before the work, so that it stays spent.
///
/// # Errors
/// There were too many, or they could not be counted.
pub async fn spend(app: &App, attempt: Attempt<'_>, from: IpAddr) -> Result<(), WebFailure> {
    let now = app.clock.now();
    let chain = match attempt {
        Attempt::Password { email } => app.rates.sign_in(email, from),
        Attempt::Letter { email } => app.rates.magic_link(email, from),
        Attempt::Code { user_id, code: Code::Totp(_) } => app.rates.second_factor(user_id, from),
        Attempt::Code { code: Code::Recovery(_), .. } => app.rates.recovery_code(from),
        Attempt::Passkey => app.rates.passkey(from),
        Attempt::Account => app.rates.sign_up(from),
        Attempt::Project { account_id } => app.rates.project(account_id),
        Attempt::Invitation { account_id, email } => app.rates.invitation(account_id, email),
        Attempt::Test { account_id } => app.rates.test_message(account_id),
        Attempt::Confirmation { email } => app.rates.verification_mail(email),
    };
    match chain.spend(&app.db, now).await? {
        Verdict::Accepted(_) => Ok(()),
        Verdict::Refused(refusal) => Err(WebFailure::Limited { refusal, now }),
    }
}
