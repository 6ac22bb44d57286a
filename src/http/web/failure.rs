//! What a page says when it cannot be shown, and how errors become that.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::page;
use crate::error::Error;
use crate::http::{limits, reply};
use crate::rate::Refusal;
use crate::time::Time;

/// Why there is no page.
#[derive(Debug)]
pub enum WebFailure {
    /// Not there, or not for this visitor.
    NotFound,
    /// Somebody must sign in first, and then goes on to `next`.
    SignIn {
        next: String,
    },
    /// What the visitor may see stands at another address.
    Moved {
        to: String,
    },
    /// A member whose role does not go so far.
    Forbidden,
    /// The form is not from a page that this browser was served, or that page is too old.
    Stale,
    /// The form is longer than any of ours.
    TooLong,
    /// A limit on callers; they may come again.
    Limited {
        refusal: Refusal,
        now: Time,
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

    fn asks_to_retry(&self) -> bool {
        matches!(self, Self::Error(error) if error.asks_to_retry())
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
            Self::Moved { to } => Redirect::permanent(&to).into_response(),
            Self::Forbidden => failed(
                StatusCode::FORBIDDEN,
                "Your role does not allow this",
                "Nothing was changed. The project's owner or a manager can give you another role.",
            ),
            Self::Stale => failed(
                StatusCode::FORBIDDEN,
                "This form was too old",
                "Nothing was changed. Go back, load the page again, and send it once more.",
            ),
            Self::TooLong => {
                failed(StatusCode::PAYLOAD_TOO_LARGE, "This form was too long", "Nothing was changed.")
            }
            Self::Limited { refusal, now } => limits::page(&refusal, None, now),
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
