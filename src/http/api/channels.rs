//! `channels/`: the places alerts go to. The list is the contract's (`CONTRACT` 3.1); to create, change, delete
//! and test one is ours.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::access::Opened;
use super::{ApiFailure, Caller, Need};
use crate::accounts;
use crate::alerts::letters::{self, Facts};
use crate::alerts::send::{Kind, Outcome, email};
use crate::alerts::{self, Channel, Message, NewChannel};
use crate::app::App;
use crate::db::{self, ReadTx};
use crate::time::Time;

const NAME_CHARS: usize = 100;

#[derive(Serialize)]
struct ChannelList {
    channels: Vec<Listed>,
}

#[derive(Serialize)]
struct Listed {
    id: Uuid,
    name: String,
    kind: String,
}

/// One channel, with its settings.
#[derive(Serialize)]
struct ChannelJson {
    #[serde(flatten)]
    listed: Listed,
    config: Value,
    down: bool,
    up: bool,
    /// Whether its owner agreed to get alerts.
    verified: bool,
    /// Whether it is off: its owner turned it off, or nothing can be sent to it.
    disabled: bool,
    last_sent: Option<String>,
    last_error: String,
}

#[derive(Serialize)]
struct Tested {
    result: &'static str,
    answer: String,
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

pub async fn list(State(app): State<Arc<App>>, caller: Caller) -> Result<Response, ApiFailure> {
    let found: Result<Vec<Channel>, ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        Ok(alerts::store::list_channels(tx, opened.project.id).await?)
    });
    Ok(Json(ChannelList { channels: found?.iter().map(Listed::from).collect() }).into_response())
}

pub async fn read(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let found: Result<Channel, ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        find(tx, &opened, &channel).await
    });
    Ok(Json(ChannelJson::from(&found?)).into_response())
}

/// Makes the channel of that uuid, or changes it.
pub async fn write(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
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
    Ok((status, Json(ChannelJson::from(&channel))).into_response())
}

pub async fn delete(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let deleted: Result<Channel, ApiFailure> = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let channel = find(tx, &opened, &channel).await?;
        if !alerts::store::delete_channel(tx, channel.id).await? {
            return Err(ApiFailure::NotFound);
        }
        Ok(channel)
    });
    Ok(Json(ChannelJson::from(&deleted?)).into_response())
}

/// Sends a message about a made-up check, now, and tells what came of it.
pub async fn test(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
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
        Outcome::Sent { note } => ("sent", note),
        Outcome::Retry { why, .. } | Outcome::Failed { why } | Outcome::Disable { why } => ("failed", why),
    };
    Ok(Json(Tested { result, answer }).into_response())
}

async fn find(tx: &mut ReadTx, opened: &Opened, path: &str) -> Result<Channel, ApiFailure> {
    let uuid = path.parse::<Uuid>().map_err(|_| ApiFailure::NotFound)?;
    let channel = alerts::store::find_channel_by_uuid(tx, uuid).await?.ok_or(ApiFailure::NotFound)?;
    if channel.project_id == opened.project.id { Ok(channel) } else { Err(ApiFailure::Forbidden) }
}

/// Reads `kind`, `name`, `config`, `down` and `up`; what is left out stays as it is in an existing channel.
fn read_body(
    body: &Map<String, Value>,
    uuid: Uuid,
    opened: &Opened,
    existing: Option<&Channel>,
) -> Result<NewChannel, ApiFailure> {
    let invalid = |sentence: &str| ApiFailure::Invalid(sentence.to_owned());
    let kind = match (body.get("kind"), existing) {
        (Some(kind), _) => kind.as_str().ok_or_else(|| invalid("kind is not a string"))?,
        (None, Some(existing)) => existing.kind.as_str(),
        (None, None) => return Err(invalid("kind is missing")),
    };
    let kind = Kind::find(kind).ok_or_else(|| invalid("kind is not one that channels can have"))?;
    if existing.is_some_and(|existing| existing.kind != kind.name) {
        return Err(invalid("kind of a channel cannot be changed"));
    }
    let name = match (body.get("name"), existing) {
        (Some(name), _) => name.as_str().ok_or_else(|| invalid("name is not a string"))?,
        (None, Some(existing)) => existing.name.as_str(),
        (None, None) => "",
    };
    if name.chars().count() > NAME_CHARS || name.contains('\0') {
        return Err(invalid("name is too long"));
    }
    let config = match (body.get("config"), existing) {
        (Some(config), _) => config.to_string(),
        (None, Some(existing)) => existing.config.clone(),
        (None, None) => return Err(invalid("config is missing")),
    };
    let checked = kind.check(&config).map_err(ApiFailure::Invalid)?;
    let told = |field: &str, before: Option<bool>| match body.get(field) {
        Some(value) => value.as_bool().ok_or_else(|| invalid(&format!("{field} is not a boolean"))),
        None => Ok(before.unwrap_or(true)),
    };
    let (on_down, on_up) = match checked.told {
        Some(told) => (told.down, told.up),
        None => (
            told("down", existing.map(|channel| channel.on_down))?,
            told("up", existing.map(|channel| channel.on_up))?,
        ),
    };
    let verified_at =
        existing.filter(|existing| existing.config == checked.config).and_then(|one| one.verified_at);
    Ok(NewChannel {
        uuid,
        project_id: opened.project.id,
        kind: kind.name,
        name: name.to_owned(),
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
