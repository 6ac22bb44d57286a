//! `checks/<uuid>/pings/` and the bodies of pings (`CONTRACT` 3.6).

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::answers::{Broken, ByUuid, Counted, Keyed, OfOne};
use super::{ApiFailure, Caller, Need, Version};
use crate::app::App;
use crate::checks::Signal;
use crate::checks::log::{self, Entry};
use crate::db;

/// The most entries in one answer.
const ENTRIES_MAX: i64 = 1000;

#[derive(Serialize, ToSchema)]
pub struct PingList {
    pings: Vec<PingJson>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Ping)]
struct PingJson {
    #[serde(rename = "type")]
    #[schema(inline)]
    kind: Signal,
    /// With microseconds.
    #[schema(format = "date-time")]
    date: String,
    /// 1 for the check's first ping.
    n: i64,
    scheme: String,
    remote_addr: Option<String>,
    method: String,
    /// The caller's `User-Agent`.
    ua: String,
    /// The run that it belongs to.
    rid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// How long the run took, in seconds, where it ended one.
    duration: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// The exit status in its URL, if there was one.
    exitstatus: Option<i64>,
    /// Where its body is, if it has one.
    body_url: Option<String>,
}

/// List a check's pings
///
/// Newest first, as many as the plan keeps, at most 1000.
#[utoipa::path(get, path = "/checks/{check}/pings/", operation_id = "list_pings", tag = "checks",
    params(ByUuid), security(("key" = [])),
    responses((status = 200, description = "The pings", body = PingList), OfOne, Keyed, Counted, Broken))]
pub async fn list(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    caller: Caller,
) -> Result<Json<PingList>, ApiFailure> {
    let found: Result<(Uuid, Vec<Entry>), ApiFailure> = db::read!(app.db, |tx| {
        let (_, check) = caller.open_check(tx, Need::Write, &check).await?;
        let kept = app.account(tx, check.account_id).await?.plan.log_entries;
        let above = check.state.n_pings - kept;
        Ok((check.uuid, log::store::list(tx, check.id, above, kept.min(ENTRIES_MAX)).await?))
    });
    let (uuid, entries) = found?;
    let site = &app.urls.site;
    let pings = entries.into_iter().map(|entry| shape(entry, site, version, uuid)).collect();
    Ok(Json(PingList { pings }))
}

/// Read a ping's body
///
/// Byte for byte, as far as it was kept.
#[utoipa::path(get, path = "/checks/{check}/pings/{n}/body", operation_id = "read_ping_body", tag = "checks",
    params(ByUuid, ("n" = i64, Path, description = "The ping's number")), security(("key" = [])),
    responses((status = 200, description = "The body", body = String, content_type = "text/plain"), OfOne, Keyed, Counted,
        Broken))]
pub async fn body(
    State(app): State<Arc<App>>,
    Path((_, check, n)): Path<(String, String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let found: Result<Option<Vec<u8>>, ApiFailure> = db::read!(app.db, |tx| {
        let (_, check) = caller.open_check(tx, Need::Write, &check).await?;
        let kept = app.account(tx, check.account_id).await?.plan.log_entries;
        let digits = n.bytes().all(|byte| byte.is_ascii_digit()).then_some(n.as_str());
        match digits.map(str::parse::<i64>) {
            Some(Ok(n)) if n > check.state.n_pings - kept => {
                Ok(log::store::find_body(tx, check.id, n).await?)
            }
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
        kind: entry.kind,
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
