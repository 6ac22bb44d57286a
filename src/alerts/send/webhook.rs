//! Webhooks: a request of the owner's making for DOWN, for UP, or for both.
//!
//! Any 2xx means taken: a receiver that answers 206 or 208 has the message, and sending it again would repeat it.
//! 410 says that the address is gone for good, so this message is not tried again, but the channel stays on, since
//! one answer is thin evidence. Every other answer, redirects and 4xx too, is tried again for a day: it may be a
//! proxy's bad day, or the owner mends the URL meanwhile, for each attempt reads the configuration anew.

use std::collections::{BTreeMap, HashSet};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use url::Url;

use super::form::{Fault, Field, Input};
use super::placeholders::{in_body, in_header, in_url};
use super::{Checked, Kind, Outcome, Senders, Told, sentence};
use crate::alerts::Message;
use crate::alerts::words::clean;
use crate::checks::Status;
use crate::net::{Answer, CALL_LIMIT, Call, CallError, is_ours};

pub(super) const KIND: Kind = Kind {
    name: "webhook",
    title: "Webhook",
    hint: "Any address, any method, your own body.",
    fields: &[
        Field::new(
            "down.url",
            "Down URL",
            ON_DOWN,
            "Empty: nothing is sent. Placeholders such as $NAME are filled in.",
            Input::Line,
        ),
        Field::new("down.method", "Down method", ON_DOWN, "", METHOD),
        Field::new("down.headers", "Down headers", ON_DOWN, "One in a line, as Name: value.", Input::Pairs),
        Field::new(
            "down.body",
            "Down body",
            ON_DOWN,
            "$JSON is the whole check, $BODY what its last ping carried.",
            Input::Text,
        ),
        Field::new("up.url", "Up URL", ON_UP, "Empty: nothing is sent.", Input::Line),
        Field::new("up.method", "Up method", ON_UP, "", METHOD),
        Field::new("up.headers", "Up headers", ON_UP, "One in a line, as Name: value.", Input::Pairs),
        Field::new("up.body", "Up body", ON_UP, "", Input::Text),
    ],
    place: &["down.url", "up.url"],
    decides: true,
    check,
    send,
    target,
};

const ON_DOWN: &str = "When a check goes down";
const ON_UP: &str = "When it comes up";
const METHOD: Input = Input::Choice(&["POST", "PUT", "GET"]);

const URL_CHARS: usize = 1000;
const BODY_CHARS: usize = 1000;
const HEADER_CHARS: usize = 1000;
const HEADERS: usize = 20;
const EXCERPT_CHARS: usize = 100;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    #[serde(default)]
    down: Option<Request>,
    #[serde(default)]
    up: Option<Request>,
}

/// What is asked; all but the method may hold placeholders.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    method: String,
    /// Empty: nothing is sent.
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

fn check(config: &str) -> Result<Checked, Fault> {
    let config: Config = serde_json::from_str(config)
        .map_err(|error| Fault::whole(format!("The webhook cannot be read: {error}.")))?;
    let config = Config { down: checked(DOWN, config.down)?, up: checked(UP, config.up)? };
    let told = Told { down: config.down.is_some(), up: config.up.is_some() };
    if !told.down && !told.up {
        let words = "Enter a Down URL, an Up URL, or both: without one the webhook is never called.";
        return Err(Fault::at("down.url", words));
    }
    let config = serde_json::to_string(&config)
        .map_err(|error| Fault::whole(format!("The webhook cannot be kept: {error}.")))?;
    Ok(Checked { config, told: Some(told), asks: None })
}

/// One of the two requests: what it is called, and its fields.
#[derive(Clone, Copy)]
struct Side {
    name: &'static str,
    method: &'static str,
    url: &'static str,
    headers: &'static str,
    body: &'static str,
}

const DOWN: Side =
    Side { name: "Down", method: "down.method", url: "down.url", headers: "down.headers", body: "down.body" };
const UP: Side =
    Side { name: "Up", method: "up.method", url: "up.url", headers: "up.headers", body: "up.body" };

fn checked(side: Side, request: Option<Request>) -> Result<Option<Request>, Fault> {
    let Some(mut request) = request.filter(|request| !request.url.trim().is_empty()) else { return Ok(None) };
    request.method = request.method.trim().to_ascii_uppercase();
    request.url = request.url.trim().to_owned();
    let Side { name, method, url, body, .. } = side;
    if !["POST", "PUT", "GET"].contains(&request.method.as_str()) {
        return Err(Fault::at(method, format!("{name} method: choose POST, PUT or GET.")));
    }
    if request.url.chars().count() > URL_CHARS {
        return Err(Fault::at(url, format!("{name} URL: it has more than {URL_CHARS} characters.")));
    }
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    if request.url.chars().any(char::is_control) || !Url::parse(&request.url).is_ok_and(|url| is_http(&url)) {
        let words = format!("{name} URL: it must be an address that begins with http:// or https://.");
        return Err(Fault::at(url, words));
    }
    if request.body.chars().count() > BODY_CHARS {
        return Err(Fault::at(body, format!("{name} body: it has more than {BODY_CHARS} characters.")));
    }
    if request.method == "GET" && !request.body.is_empty() {
        let words = format!("{name} body: a GET request has none; choose POST or PUT, or leave it empty.");
        return Err(Fault::at(body, words));
    }
    check_headers(name, &request.headers).map_err(|words| Fault::at(side.headers, words))?;
    Ok(Some(request))
}

fn check_headers(side: &str, headers: &BTreeMap<String, String>) -> Result<(), String> {
    if headers.len() > HEADERS {
        return Err(format!("{side} headers: there are more than {HEADERS}."));
    }
    let mut seen = HashSet::new();
    for (name, value) in headers {
        let shown = clean::one_line(name, 50);
        let header = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("{side} headers: '{shown}' is not the name of a header."))?;
        if is_ours(&header) {
            return Err(format!("{side} headers: {shown} is set by Flatline itself and cannot be given."));
        }
        if value.chars().count() > HEADER_CHARS {
            return Err(format!("{side} headers: {shown} has more than {HEADER_CHARS} characters."));
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return Err(format!("{side} headers: {shown} must be one line without control characters."));
        }
        if !seen.insert(header) {
            return Err(format!("{side} headers: {shown} is there twice."));
        }
    }
    Ok(())
}

fn send<'a>(senders: &'a Senders, message: &'a Message) -> BoxFuture<'a, Outcome> {
    async move {
        match call(message) {
            Ok(call) => outcome(senders.outgoing.send(call, message.now).await),
            Err(outcome) => outcome,
        }
    }
    .boxed()
}

fn target(message: &Message) -> Option<String> {
    call(message).ok()?.url.host_str().map(str::to_owned)
}

fn call(message: &Message) -> Result<Call, Outcome> {
    let config: Config = serde_json::from_str(&message.channel.config)
        .map_err(|error| Outcome::Failed { why: format!("The webhook cannot be read: {error}.") })?;
    let (side, request) = match message.flip.new_status {
        Status::Down => ("DOWN", config.down),
        _ => ("UP", config.up),
    };
    let request = request.ok_or_else(|| Outcome::Failed { why: format!("There is no URL for {side}.") })?;
    let unusable = |what: &str| Outcome::Retry {
        why: format!("{what} cannot be used once its placeholders are filled in."),
        after: None,
    };
    let url = Url::parse(&in_url(&request.url, message)).map_err(|_| unusable("The URL"))?;
    let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| unusable("The method"))?;
    let mut headers = HeaderMap::new();
    let id = HeaderValue::try_from(message.id.to_string()).map_err(|_| unusable("The id"))?;
    headers.insert(IDEMPOTENCY_KEY, id);
    for (name, template) in &request.headers {
        let name = HeaderName::try_from(name.as_str()).map_err(|_| unusable("A header"))?;
        let value =
            HeaderValue::from_bytes(&in_header(template, message)).map_err(|_| unusable("A header"))?;
        headers.insert(name, value);
    }
    let body = if method == Method::GET { Vec::new() } else { in_body(&request.body, message).into_bytes() };
    Ok(Call { method, url, headers, body, timeout: CALL_LIMIT })
}

fn outcome(answer: Result<Answer, CallError>) -> Outcome {
    let answer = match answer {
        Ok(answer) => answer,
        // A header that Flatline sets itself, or another scheme, was refused when the webhook was set up.
        Err(error @ (CallError::Header(_) | CallError::Scheme)) => {
            return Outcome::Failed { why: sentence(&error.to_string()) };
        }
        Err(error) => return Outcome::Retry { why: sentence(&error.to_string()), after: None },
    };
    let status = answer.status;
    if answer.accepted() {
        return Outcome::Sent { note: format!("The target answered {status}.") };
    }
    let said = clean::one_line(&answer.excerpt, EXCERPT_CHARS);
    let said = if said.is_empty() { String::new() } else { format!(": {said}") };
    match status {
        410 => Outcome::Failed { why: sentence(&format!("The target answered 410, it is gone{said}")) },
        300..400 => Outcome::Retry {
            why: format!(
                "The target answered {status}: it points elsewhere, and redirects are not followed. Enter the address \
                 it points to."
            ),
            after: answer.retry_after,
        },
        _ => Outcome::Retry {
            why: sentence(&format!("The target answered {status}{said}")),
            after: answer.retry_after,
        },
    }
}

#[cfg(test)]
mod tests;
