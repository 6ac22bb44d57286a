//! The http client for targets that strangers configure; one per app.

use std::net::IpAddr;
use std::sync::Arc;

use chrono::DateTime;
use ipnet::IpNet;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, Url, redirect};
use url::Host;

use super::address;
use super::call::{Answer, Call, CallError, is_ours};
use super::resolver::Judging;
use crate::time::{Span, Time};

/// The longest that a call may take in all.
pub const CALL_LIMIT: Span = Span::seconds(30);
/// As much of an answer's body is kept; the rest is not read.
pub const EXCERPT_BYTES: usize = 10_000;
const CONNECT_LIMIT: Span = Span::seconds(10);
const USER_AGENT: &str = concat!("Flatline/", env!("CARGO_PKG_VERSION"));

/// Sends calls to public targets and to the networks that the operator allowed.
#[derive(Clone, Debug)]
pub struct Outgoing {
    client: Client,
    allowed: Arc<[IpNet]>,
}

/// The client could not be built: mostly a machine without certificate authorities.
#[derive(Debug, thiserror::Error)]
#[error("outgoing calls cannot be made: {0}")]
pub struct NoClient(#[source] pub(super) reqwest::Error);

impl Outgoing {
    /// Builds the client; `allowed` are the networks of `FLATLINE_PRIVATE_TARGETS`.
    ///
    /// # Errors
    /// [`NoClient`] if TLS cannot be set up on this machine.
    #[expect(clippy::disallowed_methods, reason = "the one place that builds a client")]
    pub fn new(allowed: Vec<IpNet>) -> Result<Self, NoClient> {
        // The process has one provider. Should somebody have installed one before, theirs is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let allowed: Arc<[IpNet]> = allowed.into();
        let client = Client::builder()
            .no_proxy()
            .redirect(redirect::Policy::none())
            .dns_resolver(Judging { allowed: allowed.clone() })
            .connect_timeout(CONNECT_LIMIT.to_std())
            .timeout(CALL_LIMIT.to_std())
            .user_agent(USER_AGENT)
            .build()
            .map_err(NoClient)?;
        Ok(Self { client, allowed })
    }

    /// Makes one call and reads the beginning of its answer; `now` turns a `Retry-After` date into a span.
    ///
    /// A status is an answer, also 3xx and 5xx, and stays one if the body after it stalls or breaks.
    ///
    /// # Errors
    /// [`CallError`] if the target may not be called or did not answer.
    pub async fn send(&self, call: Call, now: Time) -> Result<Answer, CallError> {
        self.check(&call)?;
        let response = self
            .client
            .request(call.method, call.url)
            .headers(call.headers)
            .body(call.body)
            .timeout(call.timeout.min(CALL_LIMIT).to_std())
            .send()
            .await
            .map_err(|error| CallError::of(&error))?;
        let private = response.remote_addr().is_none_or(|peer| address::is_private(peer.ip()));
        Ok(Answer {
            status: response.status().as_u16(),
            retry_after: retry_after(response.headers(), now),
            excerpt: if private { String::new() } else { excerpt(response).await },
            private,
        })
    }

    /// What can be refused before any name is looked up.
    fn check(&self, call: &Call) -> Result<(), CallError> {
        if !matches!(call.url.scheme(), "http" | "https") {
            return Err(CallError::Scheme);
        }
        if let Some(name) = call.headers.keys().find(|name| is_ours(name)) {
            return Err(CallError::Header(name.clone()));
        }
        match literal(&call.url) {
            Some(address) => Ok(address::judge(address, &self.allowed)?),
            None => Ok(()),
        }
    }
}

/// The address in a url, if its host is one; `url` has turned `0x7f000001` and `127.1` into `127.0.0.1`.
fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(IpAddr::V4(address)),
        Host::Ipv6(address) => Some(IpAddr::V6(address)),
        Host::Domain(_) => None,
    }
}

async fn excerpt(mut response: Response) -> String {
    let mut bytes = Vec::new();
    while bytes.len() < EXCERPT_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) | Err(_) => break,
        }
    }
    readable(&bytes)
}

/// Text of at most [`EXCERPT_BYTES`] bytes, without NUL, which PostgreSQL does not store.
fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}");
    let cut = text.floor_char_boundary(EXCERPT_BYTES);
    text[..cut].to_owned()
}

fn retry_after(headers: &HeaderMap, now: Time) -> Option<Span> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let span = match value.parse::<u32>() {
        Ok(seconds) => Span::seconds(seconds.into()),
        Err(_) => Time(DateTime::parse_from_rfc2822(value).ok()?.timestamp_millis()) - now,
    };
    Some(span.max(Span::ZERO))
}

#[cfg(test)]
mod tests;
