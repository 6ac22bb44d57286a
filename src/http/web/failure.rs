//! What a page says when it cannot be shown, and how errors become that.

use askama::Template;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};

use super::page;
use crate::error::Error;
use crate::http::reply;

/// Why there is no page.
#[derive(Debug)]
pub enum WebFailure {
    /// Not there, or not for this visitor.
    NotFound,
    /// Somebody must sign in first, and then goes on to `next`.
    SignIn {
        next: String,
    },
    /// A member whose role may only look.
    Forbidden,
    /// The form is not from a page that this browser was served, or that page is too old.
    Stale,
    /// The form is longer than any of ours.
    TooLong,
    /// A limit on callers; they may come again.
    TooMany {
        retry_after_seconds: i64,
    },
    Error(Error),
}

impl WebFailure {
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Error(Error::internal(what))
    }
}

impl From<Error> for WebFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::NotFound,
            error => Self::Error(error),
        }
    }
}

impl From<sqlx::Error> for WebFailure {
    fn from(error: sqlx::Error) -> Self {
        Self::Error(error.into())
    }
}

impl crate::db::AsDatabase for WebFailure {
    fn as_database(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Error(error) => error.as_database(),
            _ => None,
        }
    }
}

#[derive(Template)]
#[template(path = "web/failed.html")]
struct Failed {
    title: &'static str,
    words: String,
}

fn failed(status: StatusCode, title: &'static str, words: impl Into<String>) -> Response {
    page(status, &Failed { title, words: words.into() })
}

/// What stands behind every address that is none of ours.
pub fn not_found() -> Response {
    failed(
        StatusCode::NOT_FOUND,
        "There is nothing at this address",
        "It may have been deleted, the link may have been cut, or it belongs to somebody else.",
    )
}

impl IntoResponse for WebFailure {
    fn into_response(self) -> Response {
        match self {
            Self::NotFound => not_found(),
            Self::SignIn { next } if next == "/" => Redirect::to("/sign-in").into_response(),
            Self::SignIn { next } => {
                let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
                Redirect::to(&format!("/sign-in?next={next}")).into_response()
            }
            Self::Forbidden => failed(
                StatusCode::FORBIDDEN,
                "Your role may only look",
                "In this project you are a read-only member. Its owner or a manager can change that.",
            ),
            Self::Stale => failed(
                StatusCode::FORBIDDEN,
                "This form was too old",
                "Nothing was changed. Go back, load the page again, and send it once more.",
            ),
            Self::TooLong => {
                failed(StatusCode::PAYLOAD_TOO_LARGE, "This form was too long", "Nothing was changed.")
            }
            Self::TooMany { retry_after_seconds } => {
                let words = format!("Try again in {} minutes.", (retry_after_seconds + 59) / 60);
                let mut response = failed(StatusCode::TOO_MANY_REQUESTS, "Too many attempts", words);
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry_after_seconds));
                response
            }
            Self::Error(Error::Invalid(sentence)) => {
                failed(StatusCode::BAD_REQUEST, "That cannot be done", sentence)
            }
            Self::Error(error) => {
                let response = reply::failure(&error);
                if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                    let words = "The database cannot take it now. Try again in a moment.";
                    return failed(StatusCode::SERVICE_UNAVAILABLE, "Not available", words);
                }
                failed(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "That went wrong",
                    "The fault is Flatline's. The log has it under this request's id.",
                )
            }
        }
    }
}
