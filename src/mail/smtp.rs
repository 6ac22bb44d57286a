//! Sending through a mail server, over connections that are kept for the next letter.
//!
//! lettre speaks the protocol; the pool is our own, since lettre's bounds only the TCP connect and would keep a
//! connection whose answer was given up, so that the next letter read it as its own. Here a connection goes back only
//! after the server's answer was read to its end, and every stage of the talk is known, so that a refused recipient
//! is told apart from a server that refuses us.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use lettre::transport::smtp::Error as SmtpError;
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt, Rset};
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::response::Response;
use tokio::time::timeout;

use super::{Address, MailError, REPLY_CHARS, is_about_mailbox, one_line};
use crate::time::{Span, Time};

mod url;

pub use self::url::SmtpUrlError;

/// The longest that sending one letter may take; a lease on it must be longer.
pub const SEND_LIMIT: Span = Span::seconds(60);
const CONNECT_LIMIT: Span = Span::seconds(15);
const RESET_LIMIT: Span = Span::seconds(5);
const IDLE_LIMIT: Span = Span::seconds(30);
const IDLE_CONNECTIONS: usize = 4;

/// A mail server that takes letters for everybody.
pub(super) struct Relay {
    host: String,
    port: u16,
    hello: ClientId,
    security: Security,
    credentials: Option<Credentials>,
    idle: Mutex<Vec<Idle>>,
}

enum Security {
    None,
    Opportunistic(TlsParameters),
    Required(TlsParameters),
    Wrapped(TlsParameters),
}

struct Idle {
    connection: AsyncSmtpConnection,
    since: Time,
}

/// How far the talk had come when it failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Connect,
    SignIn,
    Sender,
    Recipient,
    Content,
}

struct Failure {
    error: MailError,
    /// The server answered, so the next answer belongs to the next command.
    in_step: bool,
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

impl Relay {
    /// Sends one message to one recipient and returns the server's last words.
    pub(super) async fn send(
        &self,
        from: &Address,
        to: &Address,
        message: &[u8],
        now: Time,
    ) -> Result<String, MailError> {
        let sent = timeout(SEND_LIMIT.to_std(), self.deliver(from, to, message, now)).await;
        sent.unwrap_or(Err(MailError::TimedOut))
    }

    async fn deliver(
        &self,
        from: &Address,
        to: &Address,
        message: &[u8],
        now: Time,
    ) -> Result<String, MailError> {
        let mut connection = match self.kept(now).await {
            Some(connection) => connection,
            None => self.connect().await.map_err(|failure| failure.error)?,
        };
        let outcome = hand_over(&mut connection, from, to, message).await;
        if outcome.as_ref().map_or_else(|failure| failure.in_step, |_| true) {
            self.keep(connection, now);
        }
        outcome.map(|response| reply_of(&response)).map_err(|failure| failure.error)
    }

    /// A connection from before that still answers; RSET also ends what a refusal left open.
    async fn kept(&self, now: Time) -> Option<AsyncSmtpConnection> {
        while let Some(mut idle) = self.take() {
            let fresh = now - idle.since < IDLE_LIMIT;
            let reset = timeout(RESET_LIMIT.to_std(), idle.connection.command(Rset));
            if fresh && matches!(reset.await, Ok(Ok(_))) {
                return Some(idle.connection);
            }
        }
        None
    }

    fn take(&self) -> Option<Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn keep(&self, connection: AsyncSmtpConnection, since: Time) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_CONNECTIONS {
            idle.push(Idle { connection, since });
        }
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Failure> {
        let wrapped = match &self.security {
            Security::Wrapped(tls) => Some(tls.clone()),
            _ => None,
        };
        let server = (self.host.as_str(), self.port);
        let limit = Some(CONNECT_LIMIT.to_std());
        let mut connection = AsyncSmtpConnection::connect_tokio1(server, limit, &self.hello, wrapped, None)
            .await
            .map_err(|error| failure(&error, Stage::Connect))?;
        match &self.security {
            Security::Required(_) if !connection.can_starttls() => {
                let error = MailError::Tls("the mail server offers no STARTTLS".to_owned());
                return Err(Failure { error, in_step: true });
            }
            Security::Required(tls) | Security::Opportunistic(tls) if connection.can_starttls() => {
                let upgraded = connection.starttls(tls.clone(), &self.hello).await;
                upgraded.map_err(|error| failure(&error, Stage::Connect))?;
            }
            _ => {}
        }
        if let Some(credentials) = &self.credentials {
            let signed_in = connection.auth(DEFAULT_MECHANISMS, credentials).await;
            signed_in.map_err(|error| failure(&error, Stage::SignIn))?;
        }
        Ok(connection)
    }
}

async fn hand_over(
    connection: &mut AsyncSmtpConnection,
    from: &Address,
    to: &Address,
    message: &[u8],
) -> Result<Response, Failure> {
    let sender = Mail::new(Some(from.to_lettre()), Vec::new());
    connection.command(sender).await.map_err(|error| failure(&error, Stage::Sender))?;
    let recipient = Rcpt::new(to.to_lettre(), Vec::new());
    connection.command(recipient).await.map_err(|error| failure(&error, Stage::Recipient))?;
    connection.command(Data).await.map_err(|error| failure(&error, Stage::Content))?;
    connection.message(message).await.map_err(|error| failure(&error, Stage::Content))
}

fn reply_of(response: &Response) -> String {
    let words = response.message().collect::<Vec<_>>().join(" ");
    one_line(&format!("{} {words}", response.code()), REPLY_CHARS)
}

fn failure(error: &SmtpError, stage: Stage) -> Failure {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let Some(code) = error.status().map(|code| code.to_string()) else {
        return Failure { error: silence(error, stage, &source), in_step: false };
    };
    let reply = one_line(&format!("{code} {source}"), REPLY_CHARS);
    let error = match stage {
        // What a server says to a sign-in may repeat what was said to it.
        Stage::SignIn => MailError::SignIn,
        _ if error.is_permanent() && is_about_recipient(stage, &code, &source) => {
            MailError::Rejected { reply }
        }
        _ => MailError::Deferred { reply },
    };
    Failure { error, in_step: true }
}

/// The talk failed without a negative answer.
fn silence(error: &SmtpError, stage: Stage, source: &str) -> MailError {
    if error.is_timeout() {
        MailError::TimedOut
    } else if error.is_tls() {
        MailError::Tls(one_line(source, REPLY_CHARS))
    } else if stage == Stage::SignIn && error.is_client() {
        MailError::SignIn
    } else if stage == Stage::Connect {
        MailError::Unreachable
    } else {
        MailError::Broken
    }
}

/// Whether a 5xx speaks of the mailbox and not of us: any answer to RCPT but "sign in first" and a policy (5.7.x, as
/// in "relay access denied"); later only the statuses that name the mailbox, for else the letter is tried again.
fn is_about_recipient(stage: Stage, code: &str, words: &str) -> bool {
    let status = words.split_whitespace().next().unwrap_or_default();
    match stage {
        Stage::Recipient => code != "530" && !status.starts_with("5.7."),
        Stage::Content => is_about_mailbox(status),
        Stage::Connect | Stage::SignIn | Stage::Sender => false,
    }
}

#[cfg(test)]
mod tests;
