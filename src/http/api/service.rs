//! `status/` and `metrics/`: whether the service works, and what it has before it (`CONTRACT` 3.1).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Serialize;
use subtle::ConstantTimeEq;
use utoipa::ToSchema;

use super::answers::Broken;
use super::{ApiFailure, Version};
use crate::alerts;
use crate::app::App;
use crate::checks;
use crate::db;
use crate::http::reply;

#[derive(Serialize, ToSchema)]
pub struct Metrics {
    /// The server's clock, in seconds since 1970.
    ts: i64,
    max_ping_id: Option<i64>,
    max_notification_id: Option<i64>,
    num_unprocessed_flips: i64,
}

/// Ask whether the service works
///
/// It answers after a round trip to its database.
#[utoipa::path(get, path = "/status/", operation_id = "read_status", tag = "service",
    responses((status = 200, description = "It works", body = str, content_type = "text/plain"), Broken))]
pub async fn status(State(app): State<Arc<App>>, _version: Version) -> Result<Response, ApiFailure> {
    let checked: Result<(), ApiFailure> = db::read!(app.db, |tx| {
        checks::store::find_by_id(tx, 0).await?;
        Ok(())
    });
    checked?;
    Ok(reply::text(StatusCode::OK, "OK"))
}

/// Read what the service has before it
///
/// For the operator, whose key is a setting of the server.
#[utoipa::path(get, path = "/metrics/", operation_id = "read_metrics", tag = "service",
    security(("metrics_key" = [])),
    responses((status = 200, description = "The counts", body = Metrics),
        (status = 403, description = "No key, or a wrong one"), Broken))]
pub async fn metrics(
    State(app): State<Arc<App>>,
    _version: Version,
    headers: HeaderMap,
) -> Result<Json<Metrics>, ApiFailure> {
    let given = headers.get("x-metrics-key").map(|value| value.as_bytes()).unwrap_or_default();
    let opens = app.settings.metrics_key.as_ref().is_some_and(|key| bool::from(given.ct_eq(key.as_bytes())));
    if !opens {
        return Err(ApiFailure::Forbidden);
    }
    let now = app.clock.now();
    let counts: Result<Metrics, ApiFailure> = db::read!(app.db, |tx| {
        let (max_notification_id, num_unprocessed_flips) = alerts::store::count_open(tx).await?;
        let max_ping_id = checks::log::store::count_recorded(tx).await?;
        Ok(Metrics { ts: now.as_seconds(), max_ping_id, max_notification_id, num_unprocessed_flips })
    });
    Ok(Json(counts?))
}
