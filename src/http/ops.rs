//! For whoever runs the instance: is the process alive, can it do its work, and what does it count.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use subtle::ConstantTimeEq;

use super::reply;
use crate::app::App;
use crate::schedule::zone_data;

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/healthz", get(async || reply::text(StatusCode::OK, "OK")))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
}

/// Ready: the database answers, the sweep is not late, no delivery waits for long.
async fn readyz(State(app): State<Arc<App>>) -> Response {
    let plain = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    match app.unready().await {
        Ok(None) => {
            let text = format!(
                "OK\nflatline {}\ndatabase {}\ntime zones {}\n",
                env!("CARGO_PKG_VERSION"),
                app.db.engine(),
                zone_data().version(),
            );
            (plain, text).into_response()
        }
        Ok(Some(reason)) => (StatusCode::SERVICE_UNAVAILABLE, plain, format!("{reason}\n")).into_response(),
        Err(error) => {
            tracing::error!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, plain, "the database does not answer\n").into_response()
        }
    }
}

/// Closed unless a key is set; then only to whoever has it.
async fn metrics(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    let Some(key) = &app.settings.metrics_key else { return StatusCode::NOT_FOUND.into_response() };
    let given = headers.get(header::AUTHORIZATION).map(header::HeaderValue::as_bytes).unwrap_or_default();
    let given = given.strip_prefix(b"Bearer ").unwrap_or_default();
    if !bool::from(given.ct_eq(key.as_bytes())) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], app.metrics.text()).into_response()
}
