//! Limits on callers, as HTTP asks for them and tells of them.
//!
//! A route asks its chain of `rate` before its transaction opens. A program that is refused gets a 429 whose body
//! and headers name the limit; a person gets a page. For a ping the `Retry-After` header is left out: `curl
//! --retry` would sleep for it inside the job.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::Json;
use axum::extract::{ConnectInfo, Request};
use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::{reply, web};
use crate::accounts::{self, store::KeyPlan};
use crate::alerts::words::clock::{Wall, long};
use crate::app::App;
use crate::caller;
use crate::config::{LIMITS, Plan};
use crate::db;
use crate::error::Result;
use crate::rate::{Chain, Refusal, Standing, Verdict};
use crate::time::{CLOCK_SLACK, Span, Time};

const LIMIT: HeaderName = HeaderName::from_static("ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("ratelimit-reset");

/// How exactly the last use of a key is known.
const USE_STEP: Span = Span::minutes(1);

/// How asking for the use of an API key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The key is somebody's and may be used.
    Known(Option<Standing>),
    /// Nobody has that key.
    Unknown,
    Refused(Refusal),
}

/// The address that a request counts for.
pub fn address(app: &App, extensions: &Extensions, headers: &HeaderMap) -> IpAddr {
    let ConnectInfo(peer) = extensions
        .get::<ConnectInfo<SocketAddr>>()
        .expect("`serve` gives every request the address it came from");
    caller::caller(peer.ip(), headers, &app.proxies).address
}

/// Asks for the use of an API key: a known one spends of its plan, an unknown one of the address's failures.
///
/// # Errors
/// The key could not be looked up or counted.
pub async fn api_key(app: &App, from: IpAddr, key: &str) -> Result<Asked> {
    let now = app.clock.now();
    let found: Result<_> = db::read!(app.db, |tx| accounts::find_key_plan(tx, key).await);
    let Some(found) = found? else {
        return Ok(match app.rates.failed_key(from).spend(&app.db, now).await? {
            Verdict::Accepted(_) => Asked::Unknown,
            Verdict::Refused(refusal) => Asked::Refused(refusal),
        });
    };
    let chain = app.rates.api(found.id, &app.settings.plans.of(&found.plan), from);
    Ok(match chain.spend(&app.db, now).await? {
        Verdict::Accepted(standing) => {
            note_use(app, &found, now).await;
            Asked::Known(standing)
        }
        Verdict::Refused(refusal) => Asked::Refused(refusal),
    })
}

/// Notes that a key was used, at most once in [`USE_STEP`], in a transaction of its own. It is for people to read, so
/// that a call goes on where it fails.
async fn note_use(app: &App, key: &KeyPlan, now: Time) {
    let is_noted = |at: Time| now - USE_STEP < at && at <= now + CLOCK_SLACK;
    if key.last_used_at.is_some_and(is_noted) {
        return;
    }
    let noted: Result<bool> =
        db::write!(app.db, |tx| accounts::store::use_key(tx, key.id, now, USE_STEP).await);
    if let Err(error) = noted {
        tracing::warn!(%error, "the use of a key could not be noted");
    }
}

/// Asks a chain that stands before a ping; the answer, if it may not go on.
pub async fn ping(app: &App, chain: &Chain) -> Option<Response> {
    match chain.spend(&app.db, app.clock.now()).await {
        Ok(Verdict::Accepted(_)) => None,
        Ok(Verdict::Refused(refusal)) => {
            app.metrics.refused("limited");
            Some(machine(&refusal))
        }
        Err(error) => {
            app.metrics.refused("unavailable");
            Some(reply::failure(&error))
        }
    }
}

/// What a program that was refused reads.
#[derive(Serialize, ToSchema)]
#[schema(as = Limited)]
pub struct Body {
    /// Always `rate_limited`.
    error: &'static str,
    /// The limit's name.
    scope: &'static str,
    /// Seconds to wait.
    retry_after: i64,
}

/// The 429 of a program that was refused.
pub fn refused(refusal: &Refusal) -> Response {
    let mut response = machine(refusal);
    let seconds = HeaderValue::from(refusal.retry_after.as_seconds_up());
    response.headers_mut().insert(header::RETRY_AFTER, seconds);
    response
}

fn machine(refusal: &Refusal) -> Response {
    let Refusal { scope, limit, reset, retry_after } = *refusal;
    let body = Body { error: "rate_limited", scope, retry_after: retry_after.as_seconds_up() };
    let mut response = (StatusCode::TOO_MANY_REQUESTS, Json(body)).into_response();
    stand(response.headers_mut(), &Standing { scope, limit, remaining: 0, reset });
    response
}

fn stand(headers: &mut HeaderMap, standing: &Standing) {
    headers.insert(LIMIT, HeaderValue::from(standing.limit));
    headers.insert(REMAINING, HeaderValue::from(standing.remaining));
    headers.insert(RESET, HeaderValue::from(standing.reset.as_seconds_up()));
}

/// Where a request's handler leaves what the answer's headers are to tell.
#[derive(Clone, Debug, Default)]
pub struct Note(Arc<OnceLock<Standing>>);

impl Note {
    /// Keeps the standing for the answer to the request with these extensions.
    pub fn keep(extensions: &Extensions, standing: Standing) {
        if let Some(note) = extensions.get::<Self>() {
            note.0.get_or_init(|| standing);
        }
    }
}

/// Tells on each answer where its caller stands, if anything limits the caller.
pub async fn tell(mut request: Request, next: Next) -> Response {
    let note = Note::default();
    request.extensions_mut().insert(note.clone());
    let mut response = next.run(request).await;
    if let Some(standing) = note.0.get() {
        stand(response.headers_mut(), standing);
    }
    response
}

#[derive(Template)]
#[template(path = "web/limited.html")]
struct Limited {
    what: &'static str,
    limit: i64,
    window: &'static str,
    wait: String,
    /// By the clock of UTC, and as machines read it.
    until: String,
    instant: String,
    plan: Option<String>,
}

/// The page for a person who was refused at `now`: what was limited, until when, and, where it was the plan, whose
/// limit it is.
pub fn page(refusal: &Refusal, plan: Option<&Plan>, now: Time) -> Response {
    let row = LIMITS.iter().find(|row| row.name == refusal.scope);
    let until = now + refusal.retry_after;
    let limited = Limited {
        what: row.map_or("API calls with one key", |row| row.counts),
        limit: refusal.limit,
        window: refusal.scope.rsplit('_').next().unwrap_or_default(),
        wait: long(Span::seconds(refusal.retry_after.as_seconds_up())),
        until: Wall::new("UTC", now).at(until),
        instant: until.utc().format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        plan: plan.filter(|_| row.is_none()).map(|plan| plan.name.clone()),
    };
    let mut response = web::page(StatusCode::TOO_MANY_REQUESTS, &limited);
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from(refusal.retry_after.as_seconds_up()));
    let Refusal { scope, limit, reset, .. } = *refusal;
    stand(headers, &Standing { scope, limit, remaining: 0, reset });
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Plans;
    use crate::time::Span;

    fn refusal(scope: &'static str) -> Refusal {
        Refusal { scope, limit: 5, reset: Span::seconds(90), retry_after: Span::millis(60_001) }
    }

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), 100_000).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_person_reads_what_was_limited_and_until_when() {
        let now = Time::parse("2026-03-26T03:12:00Z").unwrap();
        let response = page(&refusal("sign_in_per_minute"), None, now);
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()["retry-after"], "61");
        let html = text(response).await;
        assert!(html.contains("At most 5 per minute are taken of this: passwords tried."), "{html}");
        assert!(
            html.contains(
                "again in 1 minute 1 second, <time datetime=\"2026-03-26T03:13:00Z\">at 03:13</time> UTC"
            ),
            "{html}"
        );
    }

    #[tokio::test]
    async fn a_person_reads_which_plan_sets_the_limit() {
        let plans = Plans::built_in();
        let response = page(&refusal("api_per_day"), plans.get("free"), Time::EPOCH);
        let html = text(response).await;
        assert!(html.contains("At most 5 per day are taken of this: API calls with one key."), "{html}");
        assert!(html.contains("The plan “free” sets this limit."), "{html}");
    }

    #[test]
    fn a_ping_is_told_to_wait_in_its_body_alone() {
        let headers = |response: Response| response.headers().contains_key(header::RETRY_AFTER);
        assert!(headers(refused(&refusal("api_per_day"))));
        assert!(!headers(machine(&refusal("creates_per_hour"))));
    }
}
