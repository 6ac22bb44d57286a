//! The ping route: `{P}<uuid>` with `/start /fail /log /<exit status>` (`CONTRACT` 2).
//!
//! Any method counts, OPTIONS excepted. The body is read before the clock is, kept up to the limit and read to
//! its end; a connection cut before that records nothing. The answer comes once the ping is durable.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http_body_util::BodyExt;
use percent_encoding::percent_decode_str;
use uuid::Uuid;

use super::reply;
use crate::app::App;
use crate::caller;
use crate::checks::Signal;
use crate::pings::{Outcome, Ping, USER_AGENT_CHARS};
use crate::recorder::Unavailable;

/// A body whose next piece takes longer than this is given up.
const BODY_IDLE: Duration = Duration::from_secs(30);
const NO_STORE: &str = "max-age=0, no-cache, no-store, must-revalidate, private";

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/ping/{*address}", any(ping))
}

/// What a ping's path says.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    check: Uuid,
    signal: Signal,
    exit_status: Option<u8>,
}

/// Why a path or query cannot be a ping.
#[derive(Debug, PartialEq, Eq)]
enum BadAddress {
    NotFound,
    Url,
    RunId,
}

impl IntoResponse for BadAddress {
    fn into_response(self) -> Response {
        let (status, body) = match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "not found"),
            Self::Url => (StatusCode::BAD_REQUEST, "invalid url format"),
            Self::RunId => (StatusCode::BAD_REQUEST, "invalid uuid format"),
        };
        with_cors(reply::text(status, body))
    }
}

async fn ping(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Path(address): Path<String>,
    request: Request,
) -> Response {
    if request.method() == Method::OPTIONS {
        return with_cors(StatusCode::NO_CONTENT.into_response());
    }
    let (parts, body) = request.into_parts();
    let read = address_of(&address).and_then(|read| Ok((read, run_id(parts.uri.query())?)));
    let (address, rid) = match read {
        Ok(read) => read,
        Err(bad) => {
            app.metrics.refused("address");
            return bad.into_response();
        }
    };
    let body = match read_body(body, app.settings.ping_body_limit).await {
        Ok(body) => body,
        Err(response) => {
            app.metrics.refused("body");
            return response;
        }
    };
    let from = caller::caller(peer.ip(), &parts.headers, &app.proxies);
    let ping = Ping {
        check: address.check,
        signal: address.signal,
        rid,
        exit_status: address.exit_status,
        scheme: if from.https { "https" } else { "http" },
        remote_addr: Some(from.address.to_string()),
        method: parts.method.as_str().chars().take(20).collect(),
        user_agent: user_agent(&parts.headers),
        body,
        received_at: app.clock.now(),
    };
    let outcome = app.recorder.record(ping).await;
    answer(&app, outcome)
}

fn answer(app: &App, outcome: Result<Outcome, Unavailable>) -> Response {
    match outcome {
        Ok(Outcome::Recorded { signal, flip }) => {
            app.metrics.accepted(signal.word());
            if let Some(reason) = flip {
                app.metrics.flipped(reason.word());
                app.flipped.notify_one();
            }
            accepted(app)
        }
        Ok(Outcome::Merged) => {
            app.metrics.accepted("merged");
            accepted(app)
        }
        Ok(Outcome::Unknown) => {
            app.metrics.refused("unknown");
            BadAddress::NotFound.into_response()
        }
        Ok(Outcome::TooFast { min_interval, retry_after }) => {
            app.metrics.refused("too_fast");
            let body = serde_json::json!({
                "error": "ping rejected — too fast",
                "min_interval_seconds": min_interval.as_seconds(),
                "retry_after": retry_after.as_seconds_up(),
            });
            with_cors((StatusCode::TOO_MANY_REQUESTS, axum::Json(body)).into_response())
        }
        Err(Unavailable) => {
            app.metrics.refused("unavailable");
            with_cors(reply::unavailable())
        }
    }
}

fn accepted(app: &App) -> Response {
    let mut response = with_cors(reply::text(StatusCode::OK, "OK"));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(NO_STORE));
    if let Some(limit) = app.settings.ping_body_limit {
        headers.insert("ping-body-limit", HeaderValue::from(limit));
    }
    response
}

fn with_cors(mut response: Response) -> Response {
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// Reads what stands after the prefix. Upper-case uuids are taken; a slash at the end only after a bare uuid.
fn address_of(path: &str) -> Result<Address, BadAddress> {
    let (check, action) = match path.split_once('/') {
        Some((check, "")) => (check, None),
        Some((check, action)) => (check, Some(action)),
        None => (path, None),
    };
    let check = canonical_uuid(check).ok_or(BadAddress::NotFound)?;
    let (signal, exit_status) = match action {
        None => (Signal::Success, None),
        Some("start") => (Signal::Start, None),
        Some("fail") => (Signal::Fail, None),
        Some("log") => (Signal::Log, None),
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // A number too large for any integer is just as much over 255.
            let status: u8 = digits
                .trim_start_matches('0')
                .parse()
                .or_else(|error| {
                    let zero = digits.bytes().all(|byte| byte == b'0');
                    if zero { Ok(0) } else { Err(error) }
                })
                .map_err(|_| BadAddress::Url)?;
            (if status == 0 { Signal::Success } else { Signal::Fail }, Some(status))
        }
        Some(_) => return Err(BadAddress::NotFound),
    };
    Ok(Address { check, signal, exit_status })
}

/// A uuid in its canonical form, 8-4-4-4-12; any case.
fn canonical_uuid(text: &str) -> Option<Uuid> {
    if text.len() != 36 { None } else { Uuid::try_parse(text).ok() }
}

/// The last `rid` of the query, if there is one; it must be a uuid in its canonical form.
fn run_id(query: Option<&str>) -> Result<Option<Uuid>, BadAddress> {
    let pairs = query.unwrap_or_default().split('&').filter_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (percent_decode_str(name).decode_utf8_lossy() == "rid").then_some(value)
    });
    match pairs.last() {
        None => Ok(None),
        Some(value) => {
            let value = percent_decode_str(value).decode_utf8_lossy();
            canonical_uuid(&value).map(Some).ok_or(BadAddress::RunId)
        }
    }
}

/// The body up to `limit` bytes; what comes after is read and thrown away.
async fn read_body(mut body: Body, limit: Option<usize>) -> Result<Vec<u8>, Response> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    loop {
        let frame = match tokio::time::timeout(BODY_IDLE, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => return Ok(kept),
            Ok(Some(Err(_))) => return Err(reply::text(StatusCode::BAD_REQUEST, "incomplete body")),
            Err(_) => return Err(reply::text(StatusCode::REQUEST_TIMEOUT, "the body took too long")),
        };
        if let Some(piece) = frame.data_ref() {
            let room = limit - kept.len();
            kept.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }
}

fn user_agent(headers: &HeaderMap) -> String {
    let bytes = headers.get(header::USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    String::from_utf8_lossy(bytes).chars().take(USER_AGENT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f";

    fn read(suffix: &str) -> Result<(Signal, Option<u8>), BadAddress> {
        address_of(&format!("{UUID}{suffix}")).map(|address| (address.signal, address.exit_status))
    }

    #[test]
    fn the_path_names_the_signal() {
        assert_eq!(read(""), Ok((Signal::Success, None)));
        assert_eq!(read("/"), Ok((Signal::Success, None)));
        assert_eq!(read("/start"), Ok((Signal::Start, None)));
        assert_eq!(read("/fail"), Ok((Signal::Fail, None)));
        assert_eq!(read("/log"), Ok((Signal::Log, None)));
        assert_eq!(read("/0"), Ok((Signal::Success, Some(0))));
        assert_eq!(read("/000"), Ok((Signal::Success, Some(0))));
        assert_eq!(read("/007"), Ok((Signal::Fail, Some(7))));
        assert_eq!(read("/255"), Ok((Signal::Fail, Some(255))));
    }

    #[test]
    fn what_is_no_ping_is_refused_as_the_contract_says() {
        assert_eq!(read("/256"), Err(BadAddress::Url));
        assert_eq!(read("/99999999999999999999999999"), Err(BadAddress::Url));
        for suffix in ["/-1", "/foo", "/fail/", "/START", "/1/2", "//"] {
            assert_eq!(read(suffix), Err(BadAddress::NotFound), "{suffix}");
        }
        assert_eq!(address_of("3f2b8c1e6a4d4c1b9e7f0a1b2c3d4e5f"), Err(BadAddress::NotFound));
        assert_eq!(address_of(&UUID.to_uppercase()).map(|address| address.signal), Ok(Signal::Success));
    }

    #[test]
    fn the_last_run_id_counts_and_anything_but_a_uuid_is_refused() {
        assert_eq!(run_id(None), Ok(None));
        assert_eq!(run_id(Some("a=1&create=1")), Ok(None));
        assert_eq!(run_id(Some(&format!("rid=x&rid={UUID}"))), Ok(canonical_uuid(UUID)));
        assert_eq!(run_id(Some(&format!("rid={}", UUID.to_uppercase()))), Ok(canonical_uuid(UUID)));
        for bad in ["rid", "rid=", "rid=1", "rid=3f2b8c1e6a4d4c1b9e7f0a1b2c3d4e5f", &format!("rid={UUID}%0a")]
        {
            assert_eq!(run_id(Some(bad)), Err(BadAddress::RunId), "{bad}");
        }
    }
}
