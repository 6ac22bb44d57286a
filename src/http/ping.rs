//! The ping route: `{P}<uuid>` or `{P}<ping key>/<slug>`, with `/start /fail /log /<exit status>` (`CONTRACT` 2).
//!
//! Any method counts, OPTIONS excepted; one in small letters is none. The body is read before the clock is, kept up to the limit and read to
//! its end; a connection cut before that records nothing. The answer comes once the ping is durable.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{ConnectInfo, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use percent_encoding::percent_decode_str;
use uuid::Uuid;

use super::{body, limits, reply};
use crate::accounts::{self, Project};
use crate::app::App;
use crate::caller::{self, Caller};
use crate::checks::{self, Signal};
use crate::db;
use crate::error::Error;
use crate::id;
use crate::pings::{self, Outcome, Ping, USER_AGENT_CHARS};
use crate::provision::{Provisioned, provision};
use crate::recorder::Unavailable;

/// The longest slug, in bytes (`CONTRACT` 1).
const SLUG_MAX: usize = 100;
/// Names what a ping may be sent with; any other method in capitals counts too.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
/// Characters of a method that are kept.
const METHOD_CHARS: usize = 20;
const NO_STORE: &str = "max-age=0, no-cache, no-store, must-revalidate, private";

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/ping/{*address}", any(ping))
}

/// What a ping's path says.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    target: Target,
    /// The signal and the exit status it was derived from; an exit status over 255 is an error of its own, told
    /// only to those whose check exists.
    action: Result<(Signal, Option<u8>), BadAddress>,
}

/// The check that a path names.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Uuid(Uuid),
    Slug { ping_key: String, slug: String },
}

/// Why a ping is answered without being recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BadAddress {
    NotFound,
    Url,
    RunId,
    Ambiguous,
}

impl IntoResponse for BadAddress {
    fn into_response(self) -> Response {
        let (status, body) = match self {
            Self::NotFound => (StatusCode::NOT_FOUND, "not found"),
            Self::Url => (StatusCode::BAD_REQUEST, "invalid url format"),
            Self::RunId => (StatusCode::BAD_REQUEST, "invalid uuid format"),
            Self::Ambiguous => (StatusCode::CONFLICT, "ambiguous slug"),
        };
        with_cors(reply::text(status, body))
    }
}

/// What the look-up of a target came to.
enum Found {
    Check(Uuid),
    /// No check has the slug yet, and the caller asks for one.
    ToMake(Project),
}

async fn ping(
    State(app): State<Arc<App>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    address: Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    if request.method() == Method::OPTIONS {
        return preflight();
    }
    if request.method().as_str().bytes().any(|byte| byte.is_ascii_lowercase()) {
        app.metrics.refused("method");
        return no_method();
    }
    // A path that is no UTF-8 names nothing.
    let Ok(Path(address)) = address else {
        app.metrics.refused("unknown");
        return BadAddress::NotFound.into_response();
    };
    let from = caller::caller(peer.ip(), request.headers(), &app.proxies);
    let response = take(&app, from, &address, request).await;
    if response.status() != StatusCode::NOT_FOUND {
        return response;
    }
    let limited = limits::ping(&app, &app.rates.unknown_ping(from.address)).await;
    limited.map_or(response, with_cors)
}

async fn take(app: &App, from: Caller, address: &str, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let query = Query::read(parts.uri.query());
    let (found, (signal, exit_status), rid) = match resolve(app, address, &query).await {
        Ok(resolved) => resolved,
        Err(response) => return response,
    };
    let body = match body::read(body, app.settings.ping_body_limit).await {
        Ok(body) => body,
        Err(bad) => {
            app.metrics.refused("body");
            return with_cors(bad.into_response());
        }
    };
    let mut ping = Ping {
        check: Uuid::nil(),
        signal,
        letter: None,
        rid,
        exit_status,
        scheme: if from.https { "https" } else { "http" },
        remote_addr: Some(from.address.to_string().into()),
        method: pings::logged(parts.method.as_str(), METHOD_CHARS),
        user_agent: user_agent(&parts.headers),
        body,
        received_at: app.clock.now(),
    };
    match found {
        Found::Check(uuid) => {
            ping.check = uuid;
            answer(app, app.recorder.record(ping).await, StatusCode::OK)
        }
        Found::ToMake(project) => match limits::ping(app, &app.rates.create_by_ping(project.id)).await {
            Some(limited) => with_cors(limited),
            None => make(app, &project, &slug_of(address), ping).await,
        },
    }
}

/// What a browser asks before it sends more than a plain ping: any of it may be sent.
fn preflight() -> Response {
    let mut response = with_cors(StatusCode::NO_CONTENT.into_response());
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

fn no_method() -> Response {
    let mut response = with_cors(reply::text(StatusCode::METHOD_NOT_ALLOWED, "no such method"));
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
    response
}

type Resolved = (Found, (Signal, Option<u8>), Option<Uuid>);

/// Finds the check and judges the rest of the address, in the contract's order: first whether there is a check,
/// then exit status and run id. All of that comes before anything is made or recorded.
async fn resolve(app: &App, path: &str, query: &Query) -> Result<Resolved, Response> {
    let refuse = |bad: BadAddress| {
        app.metrics.refused(if bad == BadAddress::NotFound { "unknown" } else { "address" });
        bad.into_response()
    };
    let address = address_of(path).map_err(refuse)?;
    let found = match &address.target {
        Target::Slug { ping_key, slug } => by_slug(app, ping_key, slug, query.create).await,
        Target::Uuid(uuid) if address.action.is_ok() && query.rid.is_ok() => Ok(Ok(Found::Check(*uuid))),
        // The recorder finds out whether the check exists; only a bad address asks before.
        Target::Uuid(uuid) => by_uuid(app, *uuid).await,
    };
    let found = match found {
        Ok(found) => found.map_err(refuse)?,
        Err(error) => {
            app.metrics.refused("unavailable");
            return Err(with_cors(reply::failure(&error)));
        }
    };
    Ok((found, address.action.map_err(refuse)?, query.rid.map_err(refuse)?))
}

async fn by_uuid(app: &App, uuid: Uuid) -> Result<Result<Found, BadAddress>, Error> {
    let check: Result<_, Error> = db::read!(app.db, |tx| checks::store::find(tx, uuid).await);
    Ok(check?.map(|check| Found::Check(check.uuid)).ok_or(BadAddress::NotFound))
}

async fn by_slug(
    app: &App,
    ping_key: &str,
    slug: &str,
    create: bool,
) -> Result<Result<Found, BadAddress>, Error> {
    if slug.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Ok(Err(BadAddress::Url));
    }
    db::read!(app.db, |tx| {
        let Some(project) = accounts::store::find_project_by_ping_key(tx, ping_key).await? else {
            return Ok(Err(BadAddress::NotFound));
        };
        let checks = checks::store::list_by_slug(tx, project.id, slug).await?;
        Ok(match checks.as_slice() {
            [check] => Ok(Found::Check(check.uuid)),
            [] if create => Ok(Found::ToMake(project)),
            [] => Err(BadAddress::NotFound),
            _ => Err(BadAddress::Ambiguous),
        })
    })
}

fn slug_of(path: &str) -> String {
    path.split('/').nth(1).unwrap_or_default().to_owned()
}

/// Makes the check and records its first ping in one transaction, outside any group.
async fn make(app: &App, project: &Project, slug: &str, ping: Ping) -> Response {
    let ids = (id::uuid(), id::uuid());
    let made: Result<(Outcome, StatusCode), Error> = db::write!(app.db, |tx| {
        // Anew at each attempt: it may have changed hands.
        let Some(project) = accounts::store::find_project(tx, project.id).await? else {
            return Ok((Outcome::Unknown, StatusCode::NOT_FOUND));
        };
        let account = app.lock_account(tx, project.account_id).await?;
        let (check, status) = match provision(tx, &account, project.id, slug, ids, ping.received_at).await? {
            Provisioned::Made(check) => (check, StatusCode::CREATED),
            Provisioned::Found(check) => (check, StatusCode::OK),
            Provisioned::NoRoom => return Ok((Outcome::Unknown, StatusCode::NOT_FOUND)),
        };
        let ping = Ping { check: check.uuid, ..ping.clone() };
        let recorded = pings::record(tx, &app.settings.plans, std::slice::from_ref(&ping), None).await?;
        Ok((recorded.outcomes.into_iter().next().unwrap_or(Outcome::Unknown), status))
    });
    match made {
        Ok((outcome, status)) => answer(app, Ok(outcome), status),
        Err(error) => {
            app.metrics.refused("unavailable");
            with_cors(reply::failure(&error))
        }
    }
}

/// Answers a ping; `status` is for one that was recorded.
fn answer(app: &App, outcome: Result<Outcome, Unavailable>, status: StatusCode) -> Response {
    match outcome {
        Ok(Outcome::Recorded { signal, flip }) => {
            app.metrics.accepted(signal.word());
            if let Some(reason) = flip {
                app.metrics.flipped(reason.word());
                app.flipped.notify_one();
            }
            accepted(app, status)
        }
        Ok(Outcome::Merged) => {
            app.metrics.accepted("merged");
            accepted(app, status)
        }
        Ok(Outcome::Unknown) => {
            app.metrics.refused("unknown");
            BadAddress::NotFound.into_response()
        }
        Ok(Outcome::TooFast { min_interval, retry_after, .. }) => {
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

fn accepted(app: &App, status: StatusCode) -> Response {
    let text = if status == StatusCode::CREATED { "Created" } else { "OK" };
    let mut response = with_cors(reply::text(status, text));
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

/// Reads what stands after the prefix: `<uuid>[/<action>]` or `<ping key>/<slug>[/<action>]`. Upper-case uuids
/// are taken; a slash at the end only after a bare uuid.
fn address_of(path: &str) -> Result<Address, BadAddress> {
    let segments: Vec<&str> = path.split('/').collect();
    let by_uuid = canonical_uuid(segments[0]).map(Target::Uuid);
    let (target, action) = match (segments.as_slice(), by_uuid) {
        ([_] | [_, ""], Some(target)) => (Some(target), None),
        ([_, action], Some(target)) => (Some(target), Some(*action)),
        ([key, slug], None) => (slug_target(key, slug), None),
        ([key, slug, action], None) => (slug_target(key, slug), Some(*action)),
        _ => (None, None),
    };
    let target = target.ok_or(BadAddress::NotFound)?;
    let action = match action {
        None => Ok((Signal::Success, None)),
        Some(action) => action_of(action).ok_or(BadAddress::NotFound)?,
    };
    Ok(Address { target, action })
}

fn slug_target(ping_key: &str, slug: &str) -> Option<Target> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_plain = |text: &str| !text.is_empty() && text.bytes().all(plain);
    (is_plain(ping_key) && is_plain(slug) && slug.len() <= SLUG_MAX)
        .then(|| Target::Slug { ping_key: ping_key.to_owned(), slug: slug.to_owned() })
}

/// What the last segment says; `None` if it is no action at all.
fn action_of(text: &str) -> Option<Result<(Signal, Option<u8>), BadAddress>> {
    match text {
        "start" => Some(Ok((Signal::Start, None))),
        "fail" => Some(Ok((Signal::Fail, None))),
        "log" => Some(Ok((Signal::Log, None))),
        digits if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(
            exit_status(digits)
                .map(|status| (if status == 0 { Signal::Success } else { Signal::Fail }, Some(status))),
        ),
        _ => None,
    }
}

/// Leading zeros do not count; a number too large for any integer is just as much over 255.
fn exit_status(digits: &str) -> Result<u8, BadAddress> {
    match digits.trim_start_matches('0') {
        "" => Ok(0),
        digits => digits.parse().map_err(|_| BadAddress::Url),
    }
}

/// A uuid in its canonical form, 8-4-4-4-12; any case.
fn canonical_uuid(text: &str) -> Option<Uuid> {
    if text.len() != 36 { None } else { Uuid::try_parse(text).ok() }
}

/// What a ping's query says; anything else in it is ignored.
#[derive(Debug, PartialEq, Eq)]
struct Query {
    /// The last `rid`, if there is one; it must be a uuid in its canonical form.
    rid: Result<Option<Uuid>, BadAddress>,
    /// Whether `create` is exactly `1`.
    create: bool,
}

impl Query {
    fn read(query: Option<&str>) -> Self {
        let mut read = Self { rid: Ok(None), create: false };
        for pair in query.unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            match percent_decode_str(name).decode_utf8_lossy().as_ref() {
                "rid" => read.rid = canonical_uuid(&value).map(Some).ok_or(BadAddress::RunId),
                "create" => read.create = value == "1",
                _ => {}
            }
        }
        read
    }
}

fn user_agent(headers: &HeaderMap) -> Arc<str> {
    let bytes = headers.get(header::USER_AGENT).map(HeaderValue::as_bytes).unwrap_or_default();
    pings::logged(&String::from_utf8_lossy(bytes), USER_AGENT_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f";

    fn read(suffix: &str) -> Result<(Signal, Option<u8>), BadAddress> {
        let address = address_of(&format!("{UUID}{suffix}"))?;
        match address.target {
            Target::Uuid(uuid) if uuid.to_string() == UUID => address.action,
            _ => Err(BadAddress::NotFound),
        }
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
        for suffix in ["/-1", "/foo", "/fail/", "/START", "/1/2", "//", "/start/x"] {
            assert_eq!(read(suffix), Err(BadAddress::NotFound), "{suffix}");
        }
        assert_eq!(address_of("3f2b8c1e6a4d4c1b9e7f0a1b2c3d4e5f"), Err(BadAddress::NotFound));
        assert_eq!(
            address_of(&UUID.to_uppercase()).map(|address| address.target),
            Ok(Target::Uuid(UUID.parse().unwrap()))
        );
    }

    #[test]
    fn a_ping_key_and_a_slug_name_a_check_too() {
        let slug = |ping_key: &str, slug: &str| Target::Slug {
            ping_key: ping_key.to_owned(),
            slug: slug.to_owned(),
        };
        let read = |path: &str| address_of(path).map(|address| (address.target, address.action));
        assert_eq!(read("key/db"), Ok((slug("key", "db"), Ok((Signal::Success, None)))));
        assert_eq!(read("key/db/start"), Ok((slug("key", "db"), Ok((Signal::Start, None)))));
        assert_eq!(read("key/db/256"), Ok((slug("key", "db"), Err(BadAddress::Url))));
        for path in ["key/db/", "key/a b", "key/a.b", "key/é", "key/a/b/c", "key", "", "/db", "key//start"] {
            assert_eq!(read(path), Err(BadAddress::NotFound), "{path}");
        }
    }

    #[test]
    fn the_last_run_id_counts_and_anything_but_a_uuid_is_refused() {
        let rid = |query: &str| Query::read(Some(query)).rid;
        assert_eq!(Query::read(None).rid, Ok(None));
        assert_eq!(rid("a=1&create=1"), Ok(None));
        assert_eq!(rid(&format!("rid=x&rid={UUID}")), Ok(canonical_uuid(UUID)));
        assert_eq!(rid(&format!("rid={}", UUID.to_uppercase())), Ok(canonical_uuid(UUID)));
        for bad in ["rid", "rid=", "rid=1", "rid=3f2b8c1e6a4d4c1b9e7f0a1b2c3d4e5f", &format!("rid={UUID}%0a")]
        {
            assert_eq!(rid(bad), Err(BadAddress::RunId), "{bad}");
        }
    }

    #[test]
    fn only_create_equals_1_makes_a_check() {
        let create = |query: &str| Query::read(Some(query)).create;
        assert!(create("create=1") && create("rid=x&create=1"));
        for off in ["create", "create=", "create=true", "create=01", "created=1"] {
            assert!(!create(off), "{off}");
        }
    }
}
