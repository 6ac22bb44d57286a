//! Entity tags of single checks: `ETag`, `If-None-Match` and `If-Match` (RFC 9110, 8.8.3 and 13.1).
//!
//! A tag is the revision of the check's settings and a digest of the answer that it came with. `If-None-Match`
//! compares the whole, so that whoever polls sees every change. `If-Match` compares the revision: what it protects
//! from being written over are other people's edits, and a job that pings meanwhile is none. The revision is judged
//! in the WHERE of the write that locks the check, never before it alone.

use std::collections::BTreeMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base16ct::lower;
use sha2::{Digest, Sha256};
use utoipa::openapi::{self, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::ApiFailure;
use crate::checks::json::CheckJson;
use crate::checks::{self, Check};
use crate::db::WriteTx;
use crate::error::Error;
use crate::http::reply;

/// Bytes of the digest in a tag.
const DIGEST_BYTES: usize = 8;

/// A check's JSON as an answer, with its tag.
#[derive(Debug)]
pub struct Tagged {
    /// The revision of the settings.
    pub rev: i64,
    pub json: CheckJson,
}

/// The tags that a request names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Named {
    /// `*`
    Any,
    /// Each as it was written, with its quotes and, if it is weak, with `W/`.
    Tags(Vec<String>),
}

/// The caller wants the answer only if it is not one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IfNoneMatch(Option<Named>);

/// The caller wants to change the check only if it is still one of these.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IfMatch(Option<Named>);

fn named(headers: &HeaderMap, name: &HeaderName) -> Option<Named> {
    let lines = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let tags: Vec<String> =
        lines.flat_map(|line| line.split(',').map(|tag| tag.trim().to_owned()).collect::<Vec<_>>()).collect();
    match tags.as_slice() {
        [] => None,
        [any] if any == "*" => Some(Named::Any),
        _ => Some(Named::Tags(tags)),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfNoneMatch {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(named(&parts.headers, &header::IF_NONE_MATCH)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(named(&parts.headers, &header::IF_MATCH)))
    }
}

impl IfNoneMatch {
    /// Whether the caller has this very answer. Weak tags are as good as strong ones here.
    fn has(&self, tag: &str) -> bool {
        match &self.0 {
            None => false,
            Some(Named::Any) => true,
            Some(Named::Tags(tags)) => tags.iter().any(|one| one.strip_prefix("W/").unwrap_or(one) == tag),
        }
    }
}

impl IfMatch {
    /// Locks the check at the revision that was read, if that is one that the caller named; does nothing where the
    /// caller named none.
    ///
    /// # Errors
    /// [`ApiFailure::Edited`]: it is another revision by now.
    pub async fn hold(&self, tx: &mut WriteTx, check: &Check) -> Result<(), ApiFailure> {
        let Some(Named::Tags(tags)) = &self.0 else { return Ok(()) };
        let is_named = tags.iter().any(|tag| revision(tag) == Some(check.rev));
        if is_named && checks::store::lock_at(tx, check.id, check.rev).await? {
            Ok(())
        } else {
            Err(ApiFailure::Edited)
        }
    }
}

/// The revision in a strong tag of ours.
fn revision(tag: &str) -> Option<i64> {
    let (revision, digest) = tag.strip_prefix('"')?.strip_suffix('"')?.split_once('-')?;
    if digest.len() == 2 * DIGEST_BYTES { revision.parse().ok() } else { None }
}

impl Tagged {
    /// The answer, or an empty 304 if the caller has it already.
    pub fn unless(self, known: &IfNoneMatch) -> Response {
        let mut response = self.into_response();
        let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
        if tag.is_some_and(|tag| known.has(tag)) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = axum::body::Body::empty();
            response.headers_mut().remove(header::CONTENT_TYPE);
        }
        response
    }
}

impl utoipa::IntoResponses for Tagged {
    fn responses() -> BTreeMap<String, RefOr<openapi::Response>> {
        let tag =
            openapi::Header::builder().schema(Some(String::schema())).description(Some("The answer's tag"));
        let content =
            openapi::ContentBuilder::new().schema(Some(openapi::Ref::from_schema_name(CheckJson::name())));
        let response = openapi::ResponseBuilder::new()
            .description("The check")
            .header("ETag", tag.build())
            .content("application/json", content.build());
        BTreeMap::from([("200".to_owned(), response.build().into())])
    }
}

impl IntoResponse for Tagged {
    fn into_response(self) -> Response {
        let body = match serde_json::to_vec(&self.json) {
            Ok(body) => body,
            Err(error) => return reply::failure(&Error::internal(error.to_string())),
        };
        let digest = Sha256::digest(&body);
        let digest = lower::encode_string(&digest[..DIGEST_BYTES]);
        let tag = HeaderValue::try_from(format!("\"{}-{digest}\"", self.rev))
            .expect("digits, a dash and quotes can stand in a header");
        let headers =
            [(header::CONTENT_TYPE, HeaderValue::from_static("application/json")), (header::ETAG, tag)];
        (headers, body).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_strong_tag_of_ours_names_a_revision() {
        assert_eq!(revision("\"12-0123456789abcdef\""), Some(12));
        for tag in ["W/\"12-0123456789abcdef\"", "12-0123456789abcdef", "\"12\"", "\"12-short\"", "\"\"", "*"]
        {
            assert_eq!(revision(tag), None, "{tag}");
        }
    }

    #[test]
    fn tags_are_read_from_lists_and_several_lines() {
        let mut headers = HeaderMap::new();
        assert_eq!(named(&headers, &header::IF_MATCH), None);
        headers.append(header::IF_MATCH, HeaderValue::from_static("\"a\", W/\"b\""));
        headers.append(header::IF_MATCH, HeaderValue::from_static("\"c\""));
        let tags = ["\"a\"", "W/\"b\"", "\"c\""].map(str::to_owned).to_vec();
        assert_eq!(named(&headers, &header::IF_MATCH), Some(Named::Tags(tags)));
        let known = IfNoneMatch(named(&headers, &header::IF_MATCH));
        assert!(known.has("\"b\"") && !known.has("\"d\""));
    }
}
