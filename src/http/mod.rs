//! The HTTP edge: routes, what every answer carries, and how errors are shown.
//!
//! Handlers read the clock once, open one transaction, call a verb, and shape its outcome. Request logs name the
//! route's pattern and a request id, never the path or query, which hold secrets.

pub mod address;
pub mod api;
pub mod badge;
pub mod body;
pub mod connection;
pub mod limits;
pub mod ops;
pub mod ping;
pub mod project_metrics;
pub mod reply;
pub mod web;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, Version, header};
use axum::middleware::{self, Next};
use tower::util::MapRequest;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestId, PropagateRequestIdLayer, RequestId, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;
use tracing::Span as LogSpan;

use crate::app::App;
use crate::id;
use address::PingAddress;

/// The header that carries a request's id, ours in answers and logs.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[derive(Clone, Copy)]
struct FreshId;

impl MakeRequestId for FreshId {
    fn make_request_id<B>(&mut self, _request: &Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&id::uuid().simple().to_string()).ok().map(RequestId::new)
    }
}

/// All routes of the program, pings also under an address of their own if there is one.
pub fn router(app: Arc<App>) -> Router {
    let pings = PingAddress::of(&app.settings.ping_url, &app.settings.site_url);
    let routes = routes(app);
    match pings {
        None => routes,
        // Around the routes, since a layer of theirs comes after one was chosen.
        Some(pings) => Router::new()
            .fallback_service(MapRequest::new(routes, move |request: Request| pings.rewrite(request))),
    }
}

fn routes(app: Arc<App>) -> Router {
    Router::new()
        .merge(ops::routes())
        .merge(ping::routes())
        .merge(api::routes())
        .merge(badge::routes())
        .merge(project_metrics::routes())
        .merge(web::routes())
        .fallback(not_found)
        .with_state(app)
        .layer(middleware::from_fn(require_host))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .layer(SetResponseHeaderLayer::if_not_present(
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ))
        .layer(CatchPanicLayer::custom(|_| reply::internal()))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_request(())
                .on_response(|response: &Response<_>, latency: std::time::Duration, _: &LogSpan| {
                    let ms = latency.as_millis();
                    tracing::debug!(status = response.status().as_u16(), ms, "answered");
                })
                .on_failure(()),
        )
        // A caller's own request id is not taken over: it could not be told from ours.
        .layer(SetRequestIdLayer::new(REQUEST_ID, FreshId))
        .layer(middleware::map_request(drop_request_id))
}

/// What stands behind every address that is none of ours: a page, and for programs nothing.
async fn not_found(request: Request) -> Response<Body> {
    if request.uri().path().starts_with("/api/") { api::nothing() } else { web::not_found().await }
}

/// In HTTP/1.1 a request names its host, once (RFC 9112 3.2): whoever stands between could read another one.
async fn require_host(request: Request, next: Next) -> Response<Body> {
    let named = request.headers().get_all(header::HOST).iter().count();
    if named > 1 || (named == 0 && request.version() == Version::HTTP_11) {
        return reply::text(StatusCode::BAD_REQUEST, "name the host, once");
    }
    next.run(request).await
}

async fn drop_request_id<B>(mut request: Request<B>) -> Request<B> {
    request.headers_mut().remove(REQUEST_ID);
    request
}

fn span<B>(request: &Request<B>) -> LogSpan {
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    tracing::info_span!("request", id, method = %request.method(), route)
}
