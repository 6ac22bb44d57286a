//! What calls have in common, as the API's description tells it: how a check is named, and what can come back
//! instead of what was asked for. [`ApiFailure`](super::ApiFailure) gives these answers.

use serde::Serialize;
use utoipa::{IntoParams, IntoResponses, ToSchema};

use crate::http::limits::Body as Limited;

/// What was wrong, in words.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Failed {
    pub error: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `named`")]
pub struct ByUuid {
    /// The check's uuid.
    #[param(format = "uuid")]
    check: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by `named`")]
pub struct ByKey {
    /// The check's uuid, or its `unique_key`.
    check: String,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "described here, read by `tag`")]
pub struct Conditional {
    /// Tags of the check, one of which has to name its present revision. Pings that come meanwhile do not matter,
    /// edits do.
    #[param(rename = "If-Match")]
    if_match: Option<String>,
}

/// What a call with a key can come to, whatever it asks for.
#[derive(IntoResponses)]
pub enum Keyed {
    /// No key, a wrong one, or one that may only read
    #[response(status = 401)]
    Unauthorized(Failed),
}

/// What a call that is counted can come to.
#[derive(IntoResponses)]
pub enum Counted {
    /// The key, or the address, asked too often
    #[response(status = 429, headers(
        ("Retry-After" = i64, description = "Seconds to wait"),
        ("RateLimit-Limit" = i64, description = "Calls that the limit allows in its time"),
        ("RateLimit-Remaining" = i64, description = "Calls that are left"),
        ("RateLimit-Reset" = i64, description = "Seconds until all are free again"),
    ))]
    Limited(Limited),
}

/// What any call can come to.
#[derive(IntoResponses)]
pub enum Broken {
    /// Something broke; the log has it under the answer's `X-Request-Id`
    #[response(status = 500, content_type = "text/plain")]
    Internal(String),
    /// The database cannot take it now
    #[response(status = 503, content_type = "text/plain", headers(
        ("Retry-After" = i64, description = "Seconds to wait"),
    ))]
    Unavailable(String),
}

/// What a call with a body can come to.
#[derive(IntoResponses)]
pub enum Posted {
    /// The body cannot be read, or a field in it cannot be taken
    #[response(status = 400)]
    Invalid(Failed),
}

/// What a call about one thing can come to.
#[derive(IntoResponses)]
pub enum OfOne {
    /// It is another project's
    #[response(status = 403)]
    Foreign,
    /// There is none
    #[response(status = 404)]
    Unknown,
}

/// What making a check can come to.
#[derive(IntoResponses)]
pub enum Full {
    /// The plan's number of checks is used up
    #[response(status = 403)]
    NoRoom,
}

/// What a change under `If-Match` can come to.
#[derive(IntoResponses)]
pub enum Edited {
    /// Somebody edited it since the tag was given
    #[response(status = 412)]
    Edited(Failed),
}

/// What a read under `If-None-Match` can come to.
#[derive(IntoResponses)]
pub enum Unchanged {
    /// The caller has this very answer
    #[response(status = 304, headers(("ETag" = String, description = "The answer's tag")))]
    Unchanged,
}
