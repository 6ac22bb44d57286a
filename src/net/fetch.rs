//! Reading from a server that the operator named on the command line, with the operator's key.
//!
//! Nobody else chooses this target, so any address may be called, private ones too; the key goes to that one server
//! and no further, for redirects are not followed. A busy server is waited for as long as it asks, a few times; an
//! answer has a largest size, and each attempt ends in time.

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};

use super::call::CallError;
use super::outgoing::NoClient;
use crate::time::Span;

/// The largest answer that is read, in bytes.
const ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Attempts at one answer, where the server is busy or faulty.
const ATTEMPTS: u32 = 4;
/// The longest that a server's wish to wait is honoured.
const PATIENCE: Span = Span::seconds(90);
const USER_AGENT: &str = concat!("Flatline/", env!("CARGO_PKG_VERSION"));

/// A client for one server.
#[derive(Debug)]
pub struct Fetch {
    client: Client,
}

/// Why there is no answer that could be used.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("the answer is larger than {} MiB", ANSWER_BYTES / 1024 / 1024)]
    TooLarge,
    /// It still was busy or faulty at the last attempt.
    #[error("the server answered {0}, {ATTEMPTS} times in a row")]
    Busy(u16),
}

/// An answer with its whole body.
#[derive(Debug)]
pub struct Fetched {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Fetch {
    /// Builds the client; an attempt may take `limit` in all, and each request carries `headers`.
    ///
    /// # Errors
    /// [`NoClient`] if TLS cannot be set up on this machine.
    #[expect(
        clippy::disallowed_methods,
        reason = "the operator's own target is not judged as a stranger's is"
    )]
    pub fn new(limit: Span, headers: HeaderMap) -> Result<Self, NoClient> {
        // The process has one provider. Should somebody have installed one before, theirs is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .timeout(limit.to_std())
            .default_headers(headers)
            .user_agent(USER_AGENT)
            .build()
            .map_err(NoClient)?;
        Ok(Self { client })
    }

    /// Gets one answer. `waiting` hears of each wait before it begins.
    ///
    /// # Errors
    /// [`FetchError`] if the server does not answer, or only that it is busy.
    pub async fn get(&self, url: &Url, waiting: impl Fn(u16, Span)) -> Result<Fetched, FetchError> {
        for attempt in 1.. {
            let response =
                self.client.get(url.clone()).send().await.map_err(|error| CallError::of(&error))?;
            let status = response.status().as_u16();
            if !matches!(status, 429 | 500..=599) {
                return Ok(Fetched { status, body: body(response).await? });
            }
            if attempt == ATTEMPTS {
                return Err(FetchError::Busy(status));
            }
            let span = wish(response.headers()).unwrap_or(Span::seconds(i64::from(attempt))).min(PATIENCE);
            waiting(status, span);
            tokio::time::sleep(span.to_std()).await;
        }
        Err(CallError::Broken.into())
    }
}

/// How long the server asks to be left alone; a date instead of seconds is taken as no wish.
fn wish(headers: &HeaderMap) -> Option<Span> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse::<u32>().ok().map(|s| Span::seconds(s.into()))
}

async fn body(mut response: Response) -> Result<Vec<u8>, FetchError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| CallError::of(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_BYTES {
            return Err(FetchError::TooLarge);
        }
    }
    Ok(bytes)
}
