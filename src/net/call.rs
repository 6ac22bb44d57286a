//! What is asked and what comes back: the types of [`Outgoing::send`](super::Outgoing::send).

use std::error::Error;
use std::io;

use reqwest::header::{HeaderMap, HeaderName};
use reqwest::{Method, Url};

use super::address::Refused;
use crate::time::Span;

/// One request to a target that somebody configured. It may hold secrets in each part, so it cannot be printed.
pub struct Call {
    pub method: Method,
    pub url: Url,
    /// None of these may be one that [`is_ours`].
    pub headers: HeaderMap,
    pub body: Vec<u8>,
    /// From the look-up of the name to the end of the answer; more than [`CALL_LIMIT`](super::CALL_LIMIT) is cut
    /// to it.
    pub timeout: Span,
}

/// What the target said; any status is an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// What `Retry-After` asks for, given in seconds or as a date; never negative.
    pub retry_after: Option<Span>,
    /// The first [`EXCERPT_BYTES`](super::EXCERPT_BYTES) of the body as text without NUL; empty from a private target.
    pub excerpt: String,
    /// The target was reachable only because the operator allowed its network: show status and time, no more.
    pub private: bool,
}

impl Answer {
    /// Whether the target took the message: a status of 200 to 299.
    pub fn accepted(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// Why no answer came, in words for the person who entered the target; never holds the url or a header's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the address must begin with http:// or https://")]
    Scheme,
    #[error("the header {0} is set by Flatline itself")]
    Header(HeaderName),
    #[error("the host name was not found")]
    NameNotFound,
    #[error("the connection was refused")]
    ConnectionRefused,
    #[error("no connection could be made")]
    NoConnection,
    #[error("timed out")]
    TimedOut,
    #[error("TLS failed: {0}")]
    Tls(String),
    #[error("the connection broke before an answer came")]
    Broken,
}

impl CallError {
    pub(super) fn of(error: &reqwest::Error) -> Self {
        if let Some(known) = find::<Self>(error) {
            return known.clone();
        }
        if let Some(tls) = find::<rustls::Error>(error) {
            return Self::Tls(tls.to_string());
        }
        if error.is_timeout() {
            return Self::TimedOut;
        }
        if !error.is_connect() {
            return Self::Broken;
        }
        match find::<io::Error>(error).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => Self::ConnectionRefused,
            _ => Self::NoConnection,
        }
    }
}

/// Whether a header belongs to the connection and may not be given: Host, Content-Length, Transfer-Encoding,
/// Connection and what goes with the last.
pub fn is_ours(name: &HeaderName) -> bool {
    const OURS: [&str; 10] = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
        "expect",
    ];
    OURS.contains(&name.as_str())
}

/// The first error of this type in a chain. An `io::Error` hides the error that it wraps from `source`.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(current) = next {
        if let Some(found) = current.downcast_ref::<T>() {
            return Some(found);
        }
        next = match current.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => current.source(),
        };
    }
    None
}
