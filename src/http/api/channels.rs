//! `channels/`: the places alerts go to. The list is the contract's (`CONTRACT` 3.1); to create, change, delete
//! and test one is ours.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::access::{Opened, spend};
use super::answers::{Broken, Counted, Keyed, OfOne, Posted};
use super::{ApiFailure, Caller, Need, fields};
use crate::accounts;
use crate::alerts::send::{Kind, Outcome, Told};
use crate::alerts::setup::{self, Judged, Wish, Written};
use crate::alerts::{self, Channel, Message};
use crate::app::App;
use crate::db::{self, ReadTx};
use crate::time::Time;

#[derive(Serialize, ToSchema)]
pub struct ChannelList {
    channels: Vec<Listed>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ListedChannel)]
struct Listed {
    id: Uuid,
    name: String,
    kind: String,
}

/// One channel, with its settings.
#[derive(Serialize, ToSchema)]
#[schema(as = Channel)]
pub struct ChannelJson {
    #[serde(flatten)]
    listed: Listed,
    /// What its kind needs.
    #[schema(value_type = Object)]
    config: Value,
    /// Whether it is told of checks that go down.
    down: bool,
    /// Whether it is told of checks that come back up.
    up: bool,
    /// Whether its owner agreed to get alerts.
    verified: bool,
    /// Whether it is off: its owner turned it off, or nothing can be sent to it.
    disabled: bool,
    last_sent: Option<String>,
    last_error: String,
}

/// What came of a test.
#[derive(Serialize, ToSchema)]
pub struct Tested {
    #[schema(inline)]
    result: TestResult,
    /// What the other side said, or why nothing was sent.
    answer: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TestResult {
    Sent,
    Failed,
}

/// What a posted channel asks for. What is left out stays as it is in a channel that exists; a new one needs `kind`
/// and `config`.
#[derive(Deserialize, ToSchema)]
#[schema(as = ChannelFields)]
struct Fields {
    /// `email` or `webhook`.
    #[schema(nullable = false)]
    kind: Option<String>,
    #[schema(nullable = false, max_length = 100)]
    name: Option<String>,
    /// What its kind needs: `{"address": ".."}` for `email`; `{"down": {"method", "url", "headers", "body"}, "up": ..}`
    /// for `webhook`.
    #[schema(nullable = false, value_type = Object)]
    config: Option<Value>,
    #[schema(nullable = false)]
    down: Option<bool>,
    #[schema(nullable = false)]
    up: Option<bool>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "described here, read by the handlers")]
struct ByUuid {
    /// The channel's uuid.
    #[param(format = "uuid")]
    channel: String,
}

impl From<&Channel> for Listed {
    fn from(channel: &Channel) -> Self {
        Self { id: channel.uuid, name: channel.name.clone(), kind: channel.kind.clone() }
    }
}

impl From<&Channel> for ChannelJson {
    fn from(channel: &Channel) -> Self {
        Self {
            listed: channel.into(),
            config: serde_json::from_str(&channel.config).unwrap_or_default(),
            down: channel.on_down,
            up: channel.on_up,
            verified: channel.verified_at.is_some(),
            disabled: channel.disabled_at.is_some(),
            last_sent: channel.last_sent_at.map(Time::iso_seconds),
            last_error: channel.last_error.clone(),
        }
    }
}

/// List the channels
#[utoipa::path(get, path = "/channels/", operation_id = "list_channels", tag = "channels", security(("key" = [])),
    responses((status = 200, description = "The channels", body = ChannelList), Keyed, Counted, Broken))]
pub async fn list(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<ChannelList>, ApiFailure> {
    let found: Result<Vec<Channel>, ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        Ok(alerts::store::list_channels(tx, opened.project.id).await?)
    });
    Ok(Json(ChannelList { channels: found?.iter().map(Listed::from).collect() }))
}

/// Read a channel
#[utoipa::path(get, path = "/channels/{channel}", operation_id = "read_channel", tag = "channels",
    params(ByUuid), security(("key" = [])),
    responses((status = 200, description = "The channel", body = ChannelJson), OfOne, Keyed, Counted, Broken))]
pub async fn read(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Json<ChannelJson>, ApiFailure> {
    let found: Result<Channel, ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        find(tx, &opened, &channel).await
    });
    Ok(Json(ChannelJson::from(&found?)))
}

/// What a change of a channel is judged by.
struct Seen {
    uuid: Uuid,
    opened: Opened,
    existing: Option<Channel>,
    /// The account's owner, whose own address need not agree.
    owner: String,
}

async fn see(tx: &mut ReadTx, caller: &Caller, path: &str) -> Result<Seen, ApiFailure> {
    let opened = caller.open(tx, Need::Write).await?;
    let uuid = path.parse::<Uuid>().map_err(|_| ApiFailure::NotFound)?;
    let existing = alerts::store::find_channel_by_uuid(tx, uuid).await?;
    if existing.as_ref().is_some_and(|existing| existing.project_id != opened.project.id) {
        return Err(ApiFailure::Forbidden);
    }
    let owner = accounts::owner_email(tx, opened.project.account_id).await?;
    Ok(Seen { uuid, opened, existing, owner })
}

/// Make or change a channel
///
/// The uuid is the caller's choice.
#[utoipa::path(put, path = "/channels/{channel}", operation_id = "write_channel", tag = "channels",
    params(ByUuid), request_body = Fields, security(("key" = [])),
    responses((status = 200, description = "The channel, changed", body = ChannelJson),
        (status = 201, description = "The channel, made", body = ChannelJson), Posted, OfOne, Keyed, Counted, Broken))]
pub async fn write(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<(StatusCode, Json<ChannelJson>), ApiFailure> {
    let now = app.clock.now();
    let seen: Result<Seen, ApiFailure> = db::read!(app.db, |tx| see(tx, &caller, &channel).await);
    let asked = judge(&caller.body, &seen?, now)?.asks;
    if let Some(address) = &asked {
        spend(&app, &app.rates.verification_mail(address)).await?;
    }
    let written: Result<Written, ApiFailure> = db::write!(app.db, |tx| {
        let seen = see(tx, &caller, &channel).await?;
        let mut judged = judge(&caller.body, &seen, now)?;
        // Only the letter that was paid for is written.
        judged.asks = judged.asks.filter(|address| Some(address) == asked.as_ref());
        Ok(setup::write(tx, &seen.opened.project, judged, None, &seen.owner, now).await?)
    });
    match written? {
        Written::Made(channel) => Ok((StatusCode::CREATED, Json(ChannelJson::from(&channel)))),
        Written::Changed(channel) => Ok((StatusCode::OK, Json(ChannelJson::from(&channel)))),
        Written::Outdated => Err(ApiFailure::NotFound),
    }
}

/// Delete a channel
///
/// The answer is the channel as it was.
#[utoipa::path(delete, path = "/channels/{channel}", operation_id = "delete_channel", tag = "channels",
    params(ByUuid), security(("key" = [])),
    responses((status = 200, description = "The channel as it was", body = ChannelJson), OfOne, Keyed, Counted,
        Broken))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Json<ChannelJson>, ApiFailure> {
    let deleted: Result<Channel, ApiFailure> = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let channel = find(tx, &opened, &channel).await?;
        setup::delete(tx, &channel).await?;
        Ok(channel)
    });
    Ok(Json(ChannelJson::from(&deleted?)))
}

/// Test a channel
///
/// Sends a message about a made-up check, now, and tells what came of it.
#[utoipa::path(post, path = "/channels/{channel}/test", operation_id = "test_channel", tag = "channels",
    params(ByUuid), security(("key" = [])),
    responses((status = 200, description = "What came of it", body = Tested), Posted, OfOne,
        (status = 409, description = "Its owner did not agree yet", body = str, content_type = "text/plain"),
        Keyed, Counted, Broken))]
pub async fn test(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Json<Tested>, ApiFailure> {
    let now = app.clock.now();
    let found: Result<(Message, i64), ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let channel = find(tx, &opened, &channel).await?;
        if channel.verified_at.is_none() {
            return Err(ApiFailure::Conflict("channel is not verified"));
        }
        let account_id = opened.project.account_id;
        Ok((Message::test(channel, &opened.project.name, &app.urls, now), account_id))
    });
    let (message, account_id) = found?;
    spend(&app, &app.rates.test_message(account_id)).await?;
    let (result, answer) = match app.test_channel(&message).await? {
        Outcome::Sent { note } => (TestResult::Sent, note),
        Outcome::Retry { why, .. } | Outcome::Failed { why } | Outcome::Disable { why } => {
            (TestResult::Failed, why)
        }
    };
    Ok(Json(Tested { result, answer }))
}

async fn find(tx: &mut ReadTx, opened: &Opened, path: &str) -> Result<Channel, ApiFailure> {
    let uuid = path.parse::<Uuid>().map_err(|_| ApiFailure::NotFound)?;
    let channel = alerts::store::find_channel_by_uuid(tx, uuid).await?.ok_or(ApiFailure::NotFound)?;
    if channel.project_id == opened.project.id { Ok(channel) } else { Err(ApiFailure::Forbidden) }
}

/// Reads a body and judges it; what is left out stays as it is in an existing channel.
fn judge(body: &Map<String, Value>, seen: &Seen, now: Time) -> Result<Judged, ApiFailure> {
    let invalid = |sentence: &str| ApiFailure::Invalid(sentence.to_owned());
    let existing = seen.existing.as_ref();
    let Fields { kind, name, config, down, up } = fields::read(body).map_err(ApiFailure::Invalid)?;
    let kind = kind.or_else(|| existing.map(|existing| existing.kind.clone()));
    let kind = kind.ok_or_else(|| invalid("kind is missing"))?;
    let config = config.map(|config| config.to_string());
    let config = config.or_else(|| existing.map(|existing| existing.config.clone()));
    let wish = Wish {
        uuid: seen.uuid,
        kind: Kind::find(&kind).ok_or_else(|| invalid("kind is not one that channels can have"))?,
        name: name.or_else(|| existing.map(|existing| existing.name.clone())).unwrap_or_default(),
        config: config.ok_or_else(|| invalid("config is missing"))?,
        told: Told {
            down: down.or(existing.map(|channel| channel.on_down)).unwrap_or(true),
            up: up.or(existing.map(|channel| channel.on_up)).unwrap_or(true),
        },
    };
    let judged = setup::judge(wish, seen.opened.project.id, existing, &seen.owner, now);
    judged.map_err(|fault| ApiFailure::Invalid(fault.words))
}
