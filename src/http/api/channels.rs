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

use super::access::Opened;
use super::answers::{Broken, Keyed, OfOne, Posted};
use super::{ApiFailure, Caller, Need, fields};
use crate::accounts;
use crate::alerts::letters::{self, Facts};
use crate::alerts::send::{Kind, Outcome, email};
use crate::alerts::{self, Channel, Message, NewChannel};
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
    result: Verdict,
    /// What the other side said, or why nothing was sent.
    answer: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Verdict {
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
    responses((status = 200, description = "The channels", body = ChannelList), Keyed, Broken))]
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
    responses((status = 200, description = "The channel", body = ChannelJson), OfOne, Keyed, Broken))]
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

/// Make or change a channel
///
/// The uuid is the caller's choice.
#[utoipa::path(put, path = "/channels/{channel}", operation_id = "write_channel", tag = "channels",
    params(ByUuid), request_body = Fields, security(("key" = [])),
    responses((status = 200, description = "The channel, changed", body = ChannelJson),
        (status = 201, description = "The channel, made", body = ChannelJson), Posted, OfOne, Keyed, Broken))]
pub async fn write(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<(StatusCode, Json<ChannelJson>), ApiFailure> {
    let now = app.clock.now();
    let written: Result<(StatusCode, Channel), ApiFailure> = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let uuid = channel.parse::<Uuid>().map_err(|_| ApiFailure::NotFound)?;
        let existing = alerts::store::find_channel_by_uuid(tx, uuid).await?;
        if existing.as_ref().is_some_and(|existing| existing.project_id != opened.project.id) {
            return Err(ApiFailure::Forbidden);
        }
        let new = read_body(&caller.body, uuid, &opened, existing.as_ref())?;
        let owner = accounts::store::find_user_of_account(tx, opened.project.account_id).await?;
        let asked_by = owner.map(|owner| owner.email).unwrap_or_default();
        let new = verified(new, &asked_by, now);
        let (status, channel) = match alerts::store::update_channel(tx, &new).await? {
            Some(channel) => (StatusCode::OK, channel),
            None => (StatusCode::CREATED, alerts::store::create_channel(tx, new, now).await?),
        };
        if channel.verified_at.is_none()
            && let Some(address) = email::address_of(&channel.config)
        {
            let facts = Facts::Confirm { channel: uuid, project: opened.project.name.clone(), asked_by };
            letters::ask_to_confirm(tx, opened.project.account_id, &address, &facts, now).await?;
        }
        Ok((status, channel))
    });
    let (status, channel) = written?;
    Ok((status, Json(ChannelJson::from(&channel))))
}

/// Delete a channel
///
/// The answer is the channel as it was.
#[utoipa::path(delete, path = "/channels/{channel}", operation_id = "delete_channel", tag = "channels",
    params(ByUuid), security(("key" = [])),
    responses((status = 200, description = "The channel as it was", body = ChannelJson), OfOne, Keyed, Broken))]
pub async fn delete(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Json<ChannelJson>, ApiFailure> {
    let deleted: Result<Channel, ApiFailure> = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let channel = find(tx, &opened, &channel).await?;
        if !alerts::store::delete_channel(tx, channel.id).await? {
            return Err(ApiFailure::NotFound);
        }
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
        Keyed, Broken))]
pub async fn test(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Json<Tested>, ApiFailure> {
    let now = app.clock.now();
    let found: Result<Message, ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let channel = find(tx, &opened, &channel).await?;
        if channel.verified_at.is_none() {
            return Err(ApiFailure::Conflict("channel is not verified"));
        }
        Ok(Message::test(channel, &opened.project.name, &app.urls, now))
    });
    let (result, answer) = match app.senders.send(&found?).await {
        Outcome::Sent { note } => (Verdict::Sent, note),
        Outcome::Retry { why, .. } | Outcome::Failed { why } | Outcome::Disable { why } => {
            (Verdict::Failed, why)
        }
    };
    Ok(Json(Tested { result, answer }))
}

async fn find(tx: &mut ReadTx, opened: &Opened, path: &str) -> Result<Channel, ApiFailure> {
    let uuid = path.parse::<Uuid>().map_err(|_| ApiFailure::NotFound)?;
    let channel = alerts::store::find_channel_by_uuid(tx, uuid).await?.ok_or(ApiFailure::NotFound)?;
    if channel.project_id == opened.project.id { Ok(channel) } else { Err(ApiFailure::Forbidden) }
}

/// Reads a body; what is left out stays as it is in an existing channel.
fn read_body(
    body: &Map<String, Value>,
    uuid: Uuid,
    opened: &Opened,
    existing: Option<&Channel>,
) -> Result<NewChannel, ApiFailure> {
    let invalid = |sentence: &str| ApiFailure::Invalid(sentence.to_owned());
    let Fields { kind, name, config, down, up } = fields::read(body).map_err(ApiFailure::Invalid)?;
    let kind = kind.or_else(|| existing.map(|existing| existing.kind.clone()));
    let kind = kind.ok_or_else(|| invalid("kind is missing"))?;
    let kind = Kind::find(&kind).ok_or_else(|| invalid("kind is not one that channels can have"))?;
    if existing.is_some_and(|existing| existing.kind != kind.name) {
        return Err(invalid("kind of a channel cannot be changed"));
    }
    let config = config.map(|config| config.to_string());
    let config = config.or_else(|| existing.map(|existing| existing.config.clone()));
    let checked =
        kind.check(&config.ok_or_else(|| invalid("config is missing"))?).map_err(ApiFailure::Invalid)?;
    let (on_down, on_up) = match checked.told {
        Some(told) => (told.down, told.up),
        None => (
            down.or(existing.map(|channel| channel.on_down)).unwrap_or(true),
            up.or(existing.map(|channel| channel.on_up)).unwrap_or(true),
        ),
    };
    let verified_at =
        existing.filter(|existing| existing.config == checked.config).and_then(|one| one.verified_at);
    Ok(NewChannel {
        uuid,
        project_id: opened.project.id,
        kind: kind.name,
        name: name.or_else(|| existing.map(|existing| existing.name.clone())).unwrap_or_default(),
        config: checked.config,
        on_down,
        on_up,
        verified_at,
    })
}

/// An address that is not the account owner's own has to agree first; every other kind belongs to whoever sets
/// it up.
fn verified(new: NewChannel, owner: &str, now: Time) -> NewChannel {
    let is_own = email::address_of(&new.config).is_some_and(|address| address.eq_ignore_ascii_case(owner));
    let agreed = new.verified_at.or_else(|| (new.kind != email::NAME || is_own).then_some(now));
    NewChannel { verified_at: agreed, ..new }
}
