//! `channels/`: the places alerts go to (`CONTRACT` 3.1).

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use uuid::Uuid;

use super::{ApiFailure, Caller, Need};
use crate::alerts::{self, Channel};
use crate::app::App;
use crate::db;

#[derive(Serialize)]
struct ChannelList {
    channels: Vec<ChannelJson>,
}

#[derive(Serialize)]
struct ChannelJson {
    id: Uuid,
    name: String,
    kind: String,
}

impl From<Channel> for ChannelJson {
    fn from(channel: Channel) -> Self {
        Self { id: channel.uuid, name: channel.name, kind: channel.kind }
    }
}

pub async fn list(State(app): State<Arc<App>>, caller: Caller) -> Result<Response, ApiFailure> {
    let found: Result<Vec<Channel>, ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        Ok(alerts::store::list_channels(tx, opened.project.id).await?)
    });
    let channels = found?.into_iter().map(ChannelJson::from).collect();
    Ok(Json(ChannelList { channels }).into_response())
}
