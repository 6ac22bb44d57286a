//! The Management API, versions 1 to 3 (`CONTRACT` 3): one file per resource.
//!
//! Every endpoint answers OPTIONS without a key, refuses methods it does not have (HEAD too) with an empty 405,
//! and carries the CORS headers that browsers need; [`endpoint`] sees to that for all of them.

pub mod access;
pub mod checks;
pub mod failure;
pub mod spec;

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{MethodRouter, any, get};

use crate::app::App;

pub use access::{Caller, Need};
pub use failure::ApiFailure;

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
        .route("/api/{version}/checks", any(add_slash))
        .route(
            "/api/{version}/checks/{check}",
            endpoint("DELETE, GET, POST", get(checks::read).post(checks::update).delete(checks::delete)),
        )
        .route("/api/{version}/checks/{check}/pause", endpoint("POST", axum::routing::post(checks::pause)))
        .route("/api/{version}/checks/{check}/resume", endpoint("POST", axum::routing::post(checks::resume)))
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
    response
}

/// Completes a resource's methods: OPTIONS, 405 for all others, and CORS headers on every answer.
fn endpoint(methods: &'static str, router: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    router
        .options(async || StatusCode::NO_CONTENT)
        .head(async || StatusCode::METHOD_NOT_ALLOWED)
        .fallback(async || StatusCode::METHOD_NOT_ALLOWED)
        .layer(middleware::from_fn(move |request: Request, next: Next| cors(methods, request, next)))
}

async fn cors(methods: &'static str, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("X-Api-Key"));
    let allowed = HeaderValue::try_from(format!("{methods}, OPTIONS"))
        .expect("the methods of a route are written in this file, in ASCII");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, allowed);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
