//! An error's face for programs: the contract's status and JSON.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::answers::Failed;
use crate::db::AsDatabase;
use crate::error::Error;
use crate::http::{limits, reply};
use crate::rate::Refusal;

/// Why the API did not do what it was asked.
#[derive(Debug)]
pub enum ApiFailure {
    /// No such thing at all.
    NotFound,
    /// It exists, in a project that the key does not open.
    Forbidden,
    /// The plan's number of checks is used up.
    NoRoom,
    MissingKey,
    WrongKey,
    /// The request's body or fields cannot be taken.
    Invalid(String),
    /// It was edited since the caller looked.
    Edited,
    /// The thing is not in the state that the call is for.
    Conflict(&'static str),
    /// Asked too often.
    Limited(Refusal),
    /// The domain's or the database's.
    Other(Error),
}

impl From<Error> for ApiFailure {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound => Self::NotFound,
            Error::Invalid(sentence) => Self::Invalid(sentence),
            other => Self::Other(other),
        }
    }
}

impl From<sqlx::Error> for ApiFailure {
    fn from(error: sqlx::Error) -> Self {
        Self::Other(error.into())
    }
}

impl AsDatabase for ApiFailure {
    fn as_database(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Other(error) => error.as_database(),
            _ => None,
        }
    }

    fn asks_to_retry(&self) -> bool {
        matches!(self, Self::Other(error) if error.asks_to_retry())
    }
}

impl IntoResponse for ApiFailure {
    fn into_response(self) -> Response {
        let error = |status: StatusCode, what: &str| {
            (status, Json(Failed { error: what.to_owned() })).into_response()
        };
        match self {
            Self::NotFound => StatusCode::NOT_FOUND.into_response(),
            Self::Forbidden | Self::NoRoom => StatusCode::FORBIDDEN.into_response(),
            Self::MissingKey => error(StatusCode::UNAUTHORIZED, "missing api key"),
            Self::WrongKey => error(StatusCode::UNAUTHORIZED, "wrong api key"),
            Self::Invalid(sentence) => error(StatusCode::BAD_REQUEST, &sentence),
            Self::Edited => error(StatusCode::PRECONDITION_FAILED, "the check was edited meanwhile"),
            Self::Limited(refusal) => limits::refused(&refusal),
            Self::Conflict(text) => reply::text(StatusCode::CONFLICT, text),
            Self::Other(cause) => reply::failure(&cause),
        }
    }
}
