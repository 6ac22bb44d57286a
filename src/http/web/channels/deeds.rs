//! What is done to one channel from its page: trying it, asking its owner again, deleting it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use uuid::Uuid;

use crate::accounts;
use crate::alerts::setup;
use crate::alerts::{self, Channel, Message};
use crate::app::App;
use crate::db::{self, ReadTx};
use crate::error::Error;
use crate::http::web::limits::{Attempt, spend};
use crate::http::web::visitor::{Need, Opened, Posted, Visitor};
use crate::http::web::{WebFailure, to};
use crate::time::Time;

/// The member at a channel of one of their projects, which they may change.
///
/// # Errors
/// As for [`Visitor::open`].
pub async fn open(
    tx: &mut ReadTx,
    visitor: &Visitor,
    channel: Uuid,
    now: Time,
) -> Result<(Opened, Channel), WebFailure> {
    let found = alerts::store::find_channel_by_uuid(tx, channel).await?;
    let project_id = found.as_ref().map(|channel| channel.project_id);
    let opened = visitor.open_where(tx, Need::Change, now, |one| Some(one.project.id) == project_id).await?;
    found.map(|channel| (opened, channel)).ok_or(WebFailure::NotFound)
}

/// Sends a message about a made-up check, now; the channel's page then shows what came of it.
pub async fn test(
    State(app): State<Arc<App>>,
    Path(channel): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (opened, found) = db::read!(app.db, |tx| open(tx, &posted.visitor, channel, now).await)?;
    if found.verified_at.is_none() {
        let words = "Nothing is sent to an address before its owner agreed.";
        return Err(WebFailure::from(Error::invalid(words)));
    }
    let project = &opened.membership.project;
    spend(&app, Attempt::Test { account_id: project.account_id }, posted.visitor.address).await?;
    app.test_channel(&Message::test(found, &project.name, &app.urls, now)).await?;
    Ok(to(&format!("/channels/{channel}?tested=1")))
}

/// Asks the owner of the address once more.
pub async fn ask(
    State(app): State<Arc<App>>,
    Path(channel): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (_, found) = db::read!(app.db, |tx| open(tx, &posted.visitor, channel, now).await)?;
    let Some(address) = found.asks() else { return Ok(to(&format!("/channels/{channel}"))) };
    spend(&app, Attempt::Confirmation { email: &address }, posted.visitor.address).await?;
    db::write!(app.db, |tx| {
        let (opened, live) = open(tx, &posted.visitor, channel, now).await?;
        if live.asks().as_ref() == Some(&address) {
            let project = &opened.membership.project;
            let owner = accounts::owner_email(tx, project.account_id).await?;
            setup::ask(tx, project, channel, &address, &owner, now).await?;
        }
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/channels/{channel}?asked=1")))
}

pub async fn delete(
    State(app): State<Arc<App>>,
    Path(channel): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let project = db::write!(app.db, |tx| {
        let (opened, channel) = open(tx, &posted.visitor, channel, now).await?;
        setup::delete(tx, &channel).await?;
        Ok::<_, WebFailure>(opened.membership.project.uuid)
    })?;
    Ok(to(&format!("/projects/{project}/channels?deleted=1")))
}
