//! `checks/<uuid>/flips/`: the log of status changes (`CONTRACT` 3.7).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::answers::{Broken, ByKey, Counted, Keyed, OfOne};
use super::{ApiFailure, Caller, Need};
use crate::app::App;
use crate::checks::{self, Status, StoredFlip};
use crate::db;
use crate::time::{Span, Time};

const SECONDS_MAX: i64 = 31_536_000;
const INSTANT_MAX: i64 = 10_000_000_000;

#[derive(Serialize, ToSchema)]
pub struct FlipList {
    flips: Vec<FlipJson>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Flip)]
struct FlipJson {
    #[schema(format = "date-time")]
    timestamp: String,
    /// 1 if it turned up, else 0.
    #[schema(maximum = 1)]
    up: u8,
}

impl From<StoredFlip> for FlipJson {
    fn from(flip: StoredFlip) -> Self {
        Self { timestamp: flip.flipped_at.iso_seconds(), up: u8::from(flip.new_status == Status::Up) }
    }
}

/// The span that a list is narrowed to.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described here, read by `span`")]
struct Within {
    /// The last so many seconds.
    #[param(minimum = 0, maximum = 31_536_000)]
    seconds: Option<i64>,
    /// From this instant on, in seconds since 1970.
    #[param(minimum = 0, maximum = 10_000_000_000_i64)]
    start: Option<i64>,
    /// Until before this instant, in seconds since 1970.
    #[param(minimum = 0, maximum = 10_000_000_000_i64)]
    end: Option<i64>,
}

/// List a check's changes of status
///
/// Newest first.
#[utoipa::path(get, path = "/checks/{check}/flips/", operation_id = "list_flips", tag = "checks",
    params(ByKey, Within), security(("key" = []), ("readonly_key" = [])),
    responses((status = 200, description = "The changes", body = FlipList),
        (status = 400, description = "A parameter is no number, or too large"), OfOne, Keyed, Counted, Broken))]
pub async fn list(
    State(app): State<Arc<App>>,
    Path((_, check)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let found: Result<Option<Vec<StoredFlip>>, ApiFailure> = db::read!(app.db, |tx| {
        let (_, check) = caller.open_check(tx, Need::Read, &check).await?;
        let Some((from, to)) = span(query.as_deref().unwrap_or_default(), now) else { return Ok(None) };
        Ok(Some(checks::flips::store::list_between(tx, check.id, from, to).await?))
    });
    match found? {
        Some(flips) => {
            Ok(Json(FlipList { flips: flips.into_iter().map(FlipJson::from).collect() }).into_response())
        }
        None => Ok(StatusCode::BAD_REQUEST.into_response()),
    }
}

/// The span that a query asks for, from its first instant until before its last; `None` if it cannot be read. Of
/// several parameters of one name the last counts.
fn span(query: &str, now: Time) -> Option<(Time, Time)> {
    let (mut seconds, mut start, mut end) = (None, None, None);
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match name.as_ref() {
            "seconds" => seconds = Some(value),
            "start" => start = Some(value),
            "end" => end = Some(value),
            _ => {}
        }
    }
    let (mut from, mut to) = (Time(i64::MIN), Time(i64::MAX));
    if let Some(seconds) = seconds.filter(|text| !text.is_empty()) {
        from = now - Span::seconds(number(&seconds, SECONDS_MAX)?);
    }
    if let Some(start) = start.filter(|text| !text.is_empty()) {
        from = from.max(Time::from_seconds(number(&start, INSTANT_MAX)?));
    }
    if let Some(end) = end.filter(|text| !text.is_empty()) {
        to = Time::from_seconds(number(&end, INSTANT_MAX)?);
    }
    Some((from, to))
}

fn number(text: &str, max: i64) -> Option<i64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number| *number <= max)
}
