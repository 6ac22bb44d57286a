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
use crate::alerts::send::{Kind, Outcome, Told};
use crate::alerts::setup::{self, Judged, Wish, Written};
use crate::alerts::{self, Channel, Message};
use crate::app::App;
use crate::db::{self, ReadTx};
use crate::rate::{Chain, Verdict};
use crate::time::Time;

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
    let owner = accounts::store::find_user_of_account(tx, opened.project.account_id).await?;
    Ok(Seen { uuid, opened, existing, owner: owner.map(|owner| owner.email).unwrap_or_default() })
}

/// Makes the channel of that uuid, or changes it.
pub async fn write(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
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
        Written::Made(channel) => {
            Ok((StatusCode::CREATED, Json(ChannelJson::from(&channel))).into_response())
        }
        Written::Changed(channel) => Ok(Json(ChannelJson::from(&channel)).into_response()),
        Written::Outdated => Err(ApiFailure::NotFound),
    }
}

async fn spend(app: &App, chain: &Chain) -> Result<(), ApiFailure> {
    match chain.spend(&app.db, app.clock.now()).await? {
        Verdict::Accepted(_) => Ok(()),
        Verdict::Refused(refusal) => Err(ApiFailure::Limited(refusal)),
    }
}

pub async fn delete(
    State(app): State<Arc<App>>,
    Path((_, channel)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let deleted: Result<Channel, ApiFailure> = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let channel = find(tx, &opened, &channel).await?;
        setup::delete(tx, &channel).await?;
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

/// Reads `kind`, `name`, `config`, `down` and `up`, and judges them; what is left out stays as it is in an existing
/// channel.
fn judge(body: &Map<String, Value>, seen: &Seen, now: Time) -> Result<Judged, ApiFailure> {
    let invalid = |sentence: &str| ApiFailure::Invalid(sentence.to_owned());
    let existing = seen.existing.as_ref();
    let kind = match (body.get("kind"), existing) {
        (Some(kind), _) => kind.as_str().ok_or_else(|| invalid("kind is not a string"))?,
        (None, Some(existing)) => existing.kind.as_str(),
        (None, None) => return Err(invalid("kind is missing")),
    };
    let name = match (body.get("name"), existing) {
        (Some(name), _) => name.as_str().ok_or_else(|| invalid("name is not a string"))?,
        (None, Some(existing)) => existing.name.as_str(),
        (None, None) => "",
    };
    let config = match (body.get("config"), existing) {
        (Some(config), _) => config.to_string(),
        (None, Some(existing)) => existing.config.clone(),
        (None, None) => return Err(invalid("config is missing")),
    };
    let told = |field: &str, before: Option<bool>| match body.get(field) {
        Some(value) => value.as_bool().ok_or_else(|| invalid(&format!("{field} is not a boolean"))),
        None => Ok(before.unwrap_or(true)),
    };
    let wish = Wish {
        uuid: seen.uuid,
        kind: Kind::find(kind).ok_or_else(|| invalid("kind is not one that channels can have"))?,
        name: name.to_owned(),
        config,
        told: Told {
            down: told("down", existing.map(|channel| channel.on_down))?,
            up: told("up", existing.map(|channel| channel.on_up))?,
        },
    };
    let judged = setup::judge(wish, seen.opened.project.id, existing, &seen.owner, now);
    judged.map_err(|fault| ApiFailure::Invalid(fault.words))
}
