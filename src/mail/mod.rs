//! Letters to people: written here, sent by SMTP or, where no server is configured, filed in an outbox folder.
//!
//! `alerts` and the account pages fill a [`Letter`] and hand it to the app's one [`Post`]. A letter has one recipient,
//! so one bad address never costs another person theirs, and an id that stays the same when it is sent again. What
//! people named their things cannot break a header, and neither errors nor `Debug` show a secret. Nothing is retried
//! here: a [`MailError`] says whether another try can help.

mod address;
mod letter;
mod outbox;
mod report;
mod smtp;

use std::io;
use std::path::PathBuf;

pub use address::{Address, AddressError, Mailbox};
pub use letter::Letter;
pub use report::{Report, recipients};
pub use smtp::{SEND_LIMIT, SmtpUrlError};

use crate::time::Time;
use outbox::Outbox;
use smtp::Relay;

/// Characters that are kept of what a mail server says.
const REPLY_CHARS: usize = 200;

/// The way out for letters, with the mailbox that they come from; one per app.
#[derive(Debug)]
pub struct Post {
    from: Mailbox,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Relay(Relay),
    Outbox(Outbox),
}

/// Where a letter is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The mail server took it, with these words.
    Relayed { reply: String },
    /// It lies in this file, for the operator to read.
    Filed { path: PathBuf },
}

/// Why a letter was not sent; the text can be shown to users.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// The mail server does not know or want this recipient, and will not tomorrow.
    #[error("the mail server refused the recipient: {reply}")]
    Rejected { reply: String },
    /// The letter cannot be written, and could not be written tomorrow.
    #[error("the letter cannot be written: {0}")]
    Letter(String),
    #[error("the mail server did not take the letter: {reply}")]
    Deferred { reply: String },
    #[error("the mail server refused the user and password of FLATLINE_SMTP_URL")]
    SignIn,
    #[error("the mail server could not be reached")]
    Unreachable,
    #[error("no secure connection to the mail server: {0}")]
    Tls(String),
    #[error("the mail server did not answer in time")]
    TimedOut,
    #[error("the mail server broke the connection")]
    Broken,
    #[error("the letter could not be put into the outbox: {0}")]
    Outbox(io::ErrorKind),
}

impl MailError {
    /// Whether trying again is pointless. Faults of this instance (sign-in, TLS, disk) are not permanent: an operator
    /// mends them while the letter waits.
    pub fn is_permanent(&self) -> bool {
        matches!(self, Self::Rejected { .. } | Self::Letter(_))
    }
}

impl Post {
    /// Sends through the server of an SMTP URL: `smtp://` (port 25, no TLS), `smtp://..?tls=required` or
    /// `?tls=opportunistic` (port 587, STARTTLS), `smtps://` (port 465); `user:password@` in percent-encoding; a path
    /// is the name said in EHLO. Connects to nothing yet.
    ///
    /// # Errors
    /// [`SmtpUrlError`], which never repeats the URL.
    pub fn smtp(url: &str, from: Mailbox) -> Result<Self, SmtpUrlError> {
        Ok(Self { from, way: Way::Relay(Relay::from_url(url)?) })
    }

    /// Files letters as `*.eml` in `folder`, which is made when the first one comes.
    pub fn outbox(folder: PathBuf, from: Mailbox) -> Self {
        Self { from, way: Way::Outbox(Outbox::new(folder)) }
    }

    /// Whether letters only go to the outbox: then nobody is told anything until the operator looks.
    pub fn is_outbox(&self) -> bool {
        matches!(self.way, Way::Outbox(_))
    }

    /// Sends one letter, dated `now`, within [`SEND_LIMIT`].
    ///
    /// A crash or an error can leave it sent all the same; sent again it carries the same `Message-ID`, and in the
    /// outbox it replaces itself.
    ///
    /// # Errors
    /// [`MailError`]; see [`MailError::is_permanent`].
    pub async fn send(&self, letter: &Letter, now: Time) -> Result<Sent, MailError> {
        let message = letter.write(&self.from, now)?;
        match &self.way {
            Way::Relay(relay) => {
                let from = letter.returns_to.as_ref().unwrap_or(&self.from.address);
                let reply = relay.send(from, &letter.to.address, &message, now).await?;
                Ok(Sent::Relayed { reply })
            }
            Way::Outbox(outbox) => {
                let filed = outbox.file(letter.id, message, now).await;
                filed.map(|path| Sent::Filed { path }).map_err(|error| MailError::Outbox(error.kind()))
            }
        }
    }
}

/// Whether a status code of RFC 3463 says that no letter will ever reach the mailbox, and not that this one did not,
/// for its content, a policy or a full disk. In doubt it does not, for a wrong "no such mailbox" would silence a
/// channel.
fn is_about_mailbox(code: &str) -> bool {
    const MAILBOX: [&str; 6] = ["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10", "5.2.1"];
    MAILBOX.contains(&code)
}

/// Text as one line of at most `max` characters: blanks and control characters become single spaces.
fn one_line(text: &str, max: usize) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(max) {
        None => line,
        Some(_) => line.chars().take(max - 1).chain(['…']).collect(),
    }
}
