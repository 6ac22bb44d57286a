//! `checks/<uuid>/pings/` and the bodies of pings (`CONTRACT` 3.6).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use uuid::Uuid;

use super::{ApiFailure, Caller, Need, Version};
use crate::app::App;
use crate::checks::log::{self, Entry};
use crate::db;

/// The most entries in one answer.
const ENTRIES_MAX: i64 = 1000;

#[derive(Serialize)]
struct PingList {
    pings: Vec<PingJson>,
}

#[derive(Serialize)]
struct PingJson {
    #[serde(rename = "type")]
    kind: &'static str,
    date: String,
    n: i64,
    scheme: String,
    remote_addr: Option<String>,
    method: String,
    ua: String,
    rid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exitstatus: Option<i64>,
    body_url: Option<String>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let found: Result<(Uuid, Vec<Entry>), ApiFailure> = db::read!(app.db, |tx| {
        let (_, check) = caller.open_check(tx, Need::Write, &check).await?;
        let kept = app.account(tx, check.account_id).await?.plan.log_entries;
        let above = check.state.n_pings - kept;
        Ok((check.uuid, log::store::list(tx, check.id, above, kept.min(ENTRIES_MAX)).await?))
    });
    let (uuid, entries) = found?;
    let site = &app.urls.site;
    let pings = entries.into_iter().map(|entry| shape(entry, site, version, uuid)).collect();
    Ok(Json(PingList { pings }).into_response())
}

pub async fn body(
    State(app): State<Arc<App>>,
    Path((_, check, n)): Path<(String, String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let found: Result<Option<Vec<u8>>, ApiFailure> = db::read!(app.db, |tx| {
        let (_, check) = caller.open_check(tx, Need::Write, &check).await?;
        let kept = app.account(tx, check.account_id).await?.plan.log_entries;
        match n.parse::<i64>() {
            Ok(n) if n > check.state.n_pings - kept => Ok(log::store::find_body(tx, check.id, n).await?),
            _ => Ok(None),
        }
    });
    let body = found?.filter(|body| !body.is_empty()).ok_or(ApiFailure::NotFound)?;
    Ok(([(header::CONTENT_TYPE, "text/plain")], body).into_response())
}

fn shape(entry: Entry, site: &str, version: Version, check: Uuid) -> PingJson {
    let url = || format!("{site}/api/v{}/checks/{check}/pings/{}/body", version.0, entry.n);
    #[expect(clippy::cast_precision_loss, reason = "durations are far below 2^52 ms")]
    let seconds = |ms: i64| (ms as f64 / 10.0).round() / 100.0;
    PingJson {
        kind: entry.kind.word(),
        date: entry.received_at.iso_micros(),
        n: entry.n,
        body_url: (entry.body_bytes > 0).then(url),
        scheme: entry.scheme,
        remote_addr: entry.remote_addr,
        method: entry.method,
        ua: entry.user_agent,
        rid: entry.rid,
        duration: entry.duration_ms.map(|span| seconds(span.0)),
        exitstatus: entry.exit_status,
    }
}
