//! Plain answers that several edges give.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::error::Error;

/// For how long a client should wait before it tries again after a 503, in seconds.
const RETRY_AFTER_SECONDS: &str = "2";

/// A short text for programs.
pub fn text(status: StatusCode, body: &'static str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response()
}

/// The database cannot take it now; the caller should come again.
pub fn unavailable() -> Response {
    let mut response = text(StatusCode::SERVICE_UNAVAILABLE, "not available, try again");
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
    response
}

/// Something that must not happen did; the log has it under the request's id.
pub fn internal() -> Response {
    text(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}

/// An error that has no face of its own: unavailable or internal, logged here.
pub fn failure(error: &Error) -> Response {
    use crate::db::{Fault, fault};
    tracing::error!(%error, "a request failed");
    match error {
        Error::Database(error) if fault(error) != Fault::Statement => unavailable(),
        Error::Outdated => unavailable(),
        _ => internal(),
    }
}
