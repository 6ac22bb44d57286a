//! `badges/`: the addresses of a project's badges (`CONTRACT` 3.8). The badges themselves are in `http::badge`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::answers::{Broken, Counted, Keyed};
use super::{ApiFailure, Caller, Need};
use crate::app::App;
use crate::badges::{self, ALL, States};
use crate::checks;
use crate::db;

#[derive(Serialize, ToSchema)]
pub struct BadgeList {
    /// By tag; `*` is the whole project.
    badges: BTreeMap<String, BadgeUrls>,
}

/// Where the badges are; those that end in 3 tell late apart from up.
#[derive(Serialize, ToSchema)]
struct BadgeUrls {
    svg: String,
    svg3: String,
    json: String,
    json3: String,
    shields: String,
    shields3: String,
}

/// List the addresses of badges
#[utoipa::path(get, path = "/badges/", operation_id = "list_badges", tag = "badges",
    security(("key" = []), ("readonly_key" = [])),
    responses((status = 200, description = "The addresses", body = BadgeList), Keyed, Counted, Broken))]
pub async fn list(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<BadgeList>, ApiFailure> {
    let found: Result<(Uuid, BTreeSet<String>), ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Read).await?;
        let checks = checks::store::list(tx, opened.project.id).await?;
        let tags = badges::tags(checks.iter().map(|check| &check.settings));
        Ok((opened.project.badge_key, tags.into_iter().map(str::to_owned).collect()))
    });
    let (badge_key, tags) = found?;
    let all = std::iter::once(ALL.to_owned()).chain(tags);
    let badges = all.map(|tag| (tag.clone(), urls(&app, badge_key, &tag))).collect();
    Ok(Json(BadgeList { badges }))
}

fn urls(app: &App, badge_key: Uuid, tag: &str) -> BadgeUrls {
    let url = |states: States, format: &str| {
        format!("{}{}", app.urls.site, badges::path(&app.secret, badge_key, tag, states, format))
    };
    BadgeUrls {
        svg: url(States::UpDown, "svg"),
        svg3: url(States::UpLateDown, "svg"),
        json: url(States::UpDown, "json"),
        json3: url(States::UpLateDown, "json"),
        shields: url(States::UpDown, "shields"),
        shields3: url(States::UpLateDown, "shields"),
    }
}
