//! `checks/<uuid>/flips/`: the log of status changes (`CONTRACT` 3.7).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::{ApiFailure, Caller, Need};
use crate::app::App;
use crate::checks::{self, Status, StoredFlip};
use crate::db;
use crate::time::{Span, Time};

const SECONDS_MAX: i64 = 31_536_000;
const INSTANT_MAX: i64 = 10_000_000_000;

#[derive(Serialize)]
struct FlipList {
    flips: Vec<FlipJson>,
}

#[derive(Serialize)]
struct FlipJson {
    timestamp: String,
    up: u8,
}

impl From<StoredFlip> for FlipJson {
    fn from(flip: StoredFlip) -> Self {
        Self { timestamp: flip.flipped_at.iso_seconds(), up: u8::from(flip.new_status == Status::Up) }
    }
}

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
        Ok(Some(checks::store::list_flips_between(tx, check.id, from, to).await?))
    });
    match found? {
        Some(flips) => {
            Ok(Json(FlipList { flips: flips.into_iter().map(FlipJson::from).collect() }).into_response())
        }
        None => Ok(StatusCode::BAD_REQUEST.into_response()),
    }
}

/// The span that a query asks for, from its first instant until before its last; `None` if it cannot be read.
fn span(query: &str, now: Time) -> Option<(Time, Time)> {
    let (mut from, mut to) = (Time(i64::MIN), Time(i64::MAX));
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if value.is_empty() {
            continue;
        }
        match name.as_ref() {
            "seconds" => from = from.max(now - Span::seconds(number(&value, SECONDS_MAX)?)),
            "start" => from = from.max(Time::from_seconds(number(&value, INSTANT_MAX)?)),
            "end" => to = to.min(Time::from_seconds(number(&value, INSTANT_MAX)?)),
            _ => {}
        }
    }
    Some((from, to))
}

fn number(text: &str, max: i64) -> Option<i64> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|number| *number <= max)
}
