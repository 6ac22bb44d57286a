//! Who calls the API, how often, and what its key opens (`CONTRACT` 3, "Auth" and "POST body").

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, Method};
use serde_json::{Map, Value};

use super::{ApiFailure, named, numbers};
use crate::accounts::{self, Project};
use crate::app::App;
use crate::checks::Check;
use crate::db::ReadTx;
use crate::http::body;
use crate::http::limits::{self, Asked, Note};
use crate::id::API_KEY_CHARS;
use crate::rate::{Chain, Verdict};

/// The longest body that the API reads, in bytes.
const BODY_LIMIT: usize = 1024 * 1024;

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Read,
    Write,
}

/// The caller as the request names it: a key that the limits let through, and the body's members.
#[derive(Debug)]
pub struct Caller {
    key: Option<String>,
    /// The JSON object that was posted; empty where there was no body.
    pub body: Map<String, Value>,
}

/// What a key opens.
#[derive(Debug)]
pub struct Opened {
    pub project: Project,
    pub readonly: bool,
}

impl FromRequest<Arc<App>> for Caller {
    type Rejection = ApiFailure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiFailure> {
        let (parts, body) = request.into_parts();
        let body = match parts.method {
            Method::POST | Method::PUT => parse(&read(body).await?)?,
            _ => Map::new(),
        };
        let in_body = || body.get("api_key").and_then(Value::as_str).map(str::to_owned);
        let key = in_header(&parts.headers).or_else(in_body);
        if let Some(key) = key.as_ref().filter(|key| is_well_formed(key)) {
            let from = limits::address(app, &parts.extensions, &parts.headers);
            match limits::api_key(app, from, key).await? {
                Asked::Known(standing) => {
                    standing.into_iter().for_each(|standing| Note::keep(&parts.extensions, standing));
                }
                Asked::Unknown => return Err(ApiFailure::WrongKey),
                Asked::Refused(refusal) => return Err(ApiFailure::Limited(refusal)),
            }
        }
        Ok(Self { key, body })
    }
}

/// Asks the limiters that stand before a call for anything but its key.
///
/// # Errors
/// One of them refused, or could not count.
pub async fn spend(app: &App, chain: &Chain) -> Result<(), ApiFailure> {
    match chain.spend(&app.db, app.clock.now()).await? {
        Verdict::Accepted(_) => Ok(()),
        Verdict::Refused(refusal) => Err(ApiFailure::Limited(refusal)),
    }
}

fn is_well_formed(key: &str) -> bool {
    key.len() == API_KEY_CHARS
}

/// Reads the body to its end, also one that is too long: a client that still sends would not hear the refusal.
async fn read(body: Body) -> Result<Vec<u8>, ApiFailure> {
    match body::read(body, Some(BODY_LIMIT + 1)).await {
        Ok(bytes) if bytes.len() <= BODY_LIMIT => Ok(bytes),
        _ => Err(ApiFailure::Invalid("could not read request body, or it is over 1 MiB".to_owned())),
    }
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, ApiFailure> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(&numbers::bounded(bytes)) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(ApiFailure::Invalid("json validation error: value is not an object".to_owned())),
        Err(_) => Err(ApiFailure::Invalid("could not parse request body".to_owned())),
    }
}

fn in_header(headers: &HeaderMap) -> Option<String> {
    headers.get("x-api-key").map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

impl Caller {
    /// Looks the key up, in the transaction of the call.
    ///
    /// # Errors
    /// There is none, it is unknown, or it may only read.
    pub async fn open(&self, tx: &mut ReadTx, need: Need) -> Result<Opened, ApiFailure> {
        let key = self.key.as_ref().filter(|key| is_well_formed(key)).ok_or(ApiFailure::MissingKey)?;
        let found = accounts::find_key(tx, key).await?.ok_or(ApiFailure::WrongKey)?;
        if found.readonly && need == Need::Write {
            return Err(ApiFailure::WrongKey);
        }
        let project =
            accounts::store::find_project(tx, found.project_id).await?.ok_or(ApiFailure::WrongKey)?;
        Ok(Opened { project, readonly: found.readonly })
    }

    /// Looks the key up and then the check that a path names, in that order.
    ///
    /// # Errors
    /// As for [`Caller::open`] and [`named::find`].
    pub async fn open_check(
        &self,
        tx: &mut ReadTx,
        need: Need,
        path: &str,
    ) -> Result<(Opened, Check), ApiFailure> {
        let opened = self.open(tx, need).await?;
        let check = named::find(tx, &opened, path).await?;
        Ok((opened, check))
    }
}
