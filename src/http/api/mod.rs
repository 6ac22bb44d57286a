//! The Management API, versions 1 to 3 (`CONTRACT` 3): one file per resource.
//!
//! Every endpoint answers OPTIONS without a key, refuses methods it does not have (HEAD too) with an empty 405,
//! and carries the CORS headers that browsers need; [`endpoint`] sees to that for all of them.

pub mod access;
pub mod answers;
pub mod assignment;
pub mod badges;
pub mod channels;
pub mod check;
pub mod checks;
pub mod failure;
pub mod fields;
pub mod flips;
pub mod named;
pub mod numbers;
pub mod openapi;
pub mod pings;
pub mod returned;
pub mod schedules;
pub mod service;
pub mod spec;
pub mod tag;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, any, get, post};

use crate::app::App;
use crate::http::limits;

pub use access::{Caller, Need};
pub use failure::ApiFailure;

use named::Named;

/// The version in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(pub u8);

impl<S: Send + Sync> FromRequestParts<S> for Version {
    type Rejection = ApiFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiFailure> {
        #[derive(serde::Deserialize)]
        struct InPath {
            version: String,
        }
        let path = Path::<InPath>::from_request_parts(parts, state).await;
        match path.map(|Path(path)| path.version).as_deref() {
            Ok("v1") => Ok(Self(1)),
            Ok("v2") => Ok(Self(2)),
            Ok("v3") => Ok(Self(3)),
            _ => Err(ApiFailure::NotFound),
        }
    }
}

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/api/{version}/checks/", endpoint("GET, POST", get(checks::list).post(checks::create)))
        .route(
            "/api/{version}/checks/{check}",
            of_check(
                "DELETE, GET, POST",
                Some("GET"),
                get(check::read).post(check::update).delete(check::delete),
            ),
        )
        .route("/api/{version}/checks/{check}/pause", of_check("POST", None, post(check::pause)))
        .route("/api/{version}/checks/{check}/resume", of_check("POST", None, post(check::resume)))
        .route("/api/{version}/checks/{check}/pings/", of_check("GET", None, get(pings::list)))
        .route("/api/{version}/checks/{check}/pings/{n}/body", of_check("GET", None, get(pings::body)))
        .route("/api/{version}/checks/{check}/flips/", of_check("GET", Some("GET"), get(flips::list)))
        .route("/api/{version}/channels/", endpoint("GET", get(channels::list)))
        .route(
            "/api/{version}/channels/{channel}",
            endpoint("DELETE, GET, PUT", get(channels::read).put(channels::write).delete(channels::delete)),
        )
        .route("/api/{version}/channels/{channel}/test", endpoint("POST", post(channels::test)))
        .route("/api/{version}/schedules/preview", endpoint("GET", get(schedules::preview)))
        .route("/api/{version}/badges/", endpoint("GET", get(badges::list)))
        .route("/api/{version}/notifications/{delivery}/status", endpoint("POST", post(returned::status)))
        .route("/api/{version}/bounces/", endpoint("POST", post(returned::bounce)))
        .route("/api/{version}/status/", get(service::status))
        .route("/api/{version}/metrics/", get(service::metrics))
        .route("/api/{version}/openapi.json", endpoint("GET", get(openapi::describe)))
        .route("/api/{version}/checks", any(add_slash))
        .route("/api/{version}/checks/{check}/pings", any(add_slash))
        .route("/api/{version}/checks/{check}/flips", any(add_slash))
        .route("/api/{version}/channels", any(add_slash))
        .route("/api/{version}/badges", any(add_slash))
        .route("/api/{version}/bounces", any(add_slash))
        .route("/api/{version}/status", any(add_slash))
        .route("/api/{version}/metrics", any(add_slash))
        .layer(middleware::from_fn(limits::tell))
}

/// Clients that forget the slash are sent to it, whatever their method.
async fn add_slash(request: Request) -> Response {
    let path = format!("{}/", request.uri().path());
    let target = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path,
    };
    let mut response = Redirect::permanent(&target).into_response();
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    // A browser follows only what it may read.
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response
}

/// The answer to everything under `/api/` that is no resource.
pub fn nothing() -> Response {
    with_cors(StatusCode::NOT_FOUND.into_response(), "")
}

type AnyVersion = Result<Version, ApiFailure>;

/// Completes a resource's methods: OPTIONS, 405 for all others, and CORS headers on every answer.
fn endpoint(methods: &'static str, router: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    complete(router).layer(middleware::from_fn(
        move |version: AnyVersion, request: Request, next: Next| async move {
            match version {
                Ok(_) => with_cors(next.run(request).await, methods),
                Err(_) => nothing(),
            }
        },
    ))
}

/// The same for a resource of one check, which a uuid names or, for the methods `by_key`, the check's unique
/// key; anything else is no resource at all.
fn of_check(
    methods: &'static str,
    by_key: Option<&'static str>,
    router: MethodRouter<Arc<App>>,
) -> MethodRouter<Arc<App>> {
    complete(router).layer(middleware::from_fn(
        move |version: AnyVersion, request: Request, next: Next| async move {
            let segment = request.uri().path().split('/').nth(4).unwrap_or_default();
            match (version.map(|_| Named::of(segment)), by_key) {
                (Ok(Named::Uuid(_)), _) => with_cors(next.run(request).await, methods),
                (Ok(Named::UniqueKey), Some(methods)) => {
                    let allowed = request.method() == Method::OPTIONS || request.method() == methods;
                    let refused = StatusCode::METHOD_NOT_ALLOWED.into_response();
                    with_cors(if allowed { next.run(request).await } else { refused }, methods)
                }
                _ => nothing(),
            }
        },
    ))
}

fn complete(router: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    router
        .options(async || StatusCode::NO_CONTENT)
        .head(async || StatusCode::METHOD_NOT_ALLOWED)
        .fallback(async || StatusCode::METHOD_NOT_ALLOWED)
}

fn with_cors(mut response: Response, methods: &'static str) -> Response {
    let allowed = if methods.is_empty() { "OPTIONS".to_owned() } else { format!("{methods}, OPTIONS") };
    let allowed =
        HeaderValue::try_from(allowed).expect("the methods of a route are written in this file, in ASCII");
    let is_refused = response.status() == StatusCode::METHOD_NOT_ALLOWED;
    let headers = response.headers_mut();
    if is_refused {
        headers.insert(header::ALLOW, allowed.clone());
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("X-Api-Key"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allowed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
