//! `badges/`: the addresses of a project's badges (`CONTRACT` 3.8). The badges themselves are in `http::badge`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::answers::{Broken, Keyed};
use super::{ApiFailure, Caller, Need};
use crate::app::App;
use crate::badges::{self, ALL};
use crate::checks;
use crate::db;

const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'~').remove(b'.').remove(b'-');

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
    responses((status = 200, description = "The addresses", body = BadgeList), Keyed, Broken))]
pub async fn list(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<BadgeList>, ApiFailure> {
    let found: Result<(Uuid, BTreeSet<String>), ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Read).await?;
        let checks = checks::store::list(tx, opened.project.id).await?;
        let tags = checks.iter().flat_map(|check| check.settings.tags.split_whitespace());
        Ok((opened.project.badge_key, tags.map(str::to_owned).collect()))
    });
    let (badge_key, tags) = found?;
    let all = std::iter::once(ALL.to_owned()).chain(tags);
    let badges = all.map(|tag| (tag.clone(), urls(&app, badge_key, &tag))).collect();
    Ok(Json(BadgeList { badges }))
}

fn urls(app: &App, badge_key: Uuid, tag: &str) -> BadgeUrls {
    let signature = badges::signature(&app.secret, badge_key, tag);
    // Encoded twice, so that a server in between that decodes the path once makes no slash of a tag's.
    let encoded = utf8_percent_encode(tag, PLAIN).to_string();
    let tail = if tag == ALL { String::new() } else { format!("/{}", encoded.replace('%', "%25")) };
    let url = |suffix: &str, format: &str| {
        format!("{}/badge/{badge_key}/{signature}{suffix}{tail}.{format}", app.urls.site)
    };
    BadgeUrls {
        svg: url("-2", "svg"),
        svg3: url("", "svg"),
        json: url("-2", "json"),
        json3: url("", "json"),
        shields: url("-2", "shields"),
        shields3: url("", "shields"),
    }
}
