//! `checks/`: list, create, or update the one that is like what was posted (`CONTRACT` 3.3 and 3.4).

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::answers::{Broken, Counted, Full, Keyed, Posted};
use super::check::{apply, shape};
use super::spec::Spec;
use super::tag::Tagged;
use super::{ApiFailure, Caller, Need, Version, assignment};
use crate::alerts;
use crate::app::App;
use crate::checks::json::{Access, CheckJson};
use crate::checks::{self, Check, Created, Settings};
use crate::db;
use crate::id;

#[derive(Serialize, ToSchema)]
pub struct CheckList {
    checks: Vec<CheckJson>,
}

/// What a list is narrowed to.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// A tag that the checks have; several narrow further.
    #[param(rename = "tag", required = false)]
    tags: Vec<String>,
    /// The slug that the checks have.
    slug: Option<String>,
}

/// List checks
///
/// In the order in which they were made.
#[utoipa::path(get, path = "/checks/", operation_id = "list_checks", tag = "checks", params(Filter),
    security(("key" = []), ("readonly_key" = [])),
    responses((status = 200, description = "The checks", body = CheckList), Keyed, Counted, Broken))]
pub async fn list(
    State(app): State<Arc<App>>,
    version: Version,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Result<Json<CheckList>, ApiFailure> {
    let now = app.clock.now();
    let filter = Filter::read(query.as_deref().unwrap_or_default());
    let checks: Result<Vec<CheckJson>, ApiFailure> = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Read).await?;
        let checks = checks::store::list(tx, opened.project.id).await?;
        let assigned = alerts::store::list_assigned(tx, opened.project.id).await?;
        let mut channels: HashMap<i64, Vec<Uuid>> = HashMap::new();
        for row in assigned {
            channels.entry(row.check_id).or_default().push(row.channel_uuid);
        }
        let shape = |check: Check| {
            let access = if opened.readonly {
                Access::Readonly
            } else {
                Access::full(channels.remove(&check.id).unwrap_or_default())
            };
            CheckJson::new(&check, access, &app.urls, version.0, now)
        };
        Ok(checks.into_iter().filter(|check| filter.takes(check)).map(shape).collect())
    });
    Ok(Json(CheckList { checks: checks? }))
}

impl Filter {
    fn read(query: &str) -> Self {
        let mut filter = Self { tags: Vec::new(), slug: None };
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            match name.as_ref() {
                "tag" => filter.tags.push(value.into_owned()),
                "slug" if !value.is_empty() => filter.slug = Some(value.into_owned()),
                _ => {}
            }
        }
        filter
    }

    /// Whether the check has every tag and the slug.
    fn takes(&self, check: &Check) -> bool {
        let has = |tag: &String| check.settings.tags.split_whitespace().any(|one| one == tag);
        self.tags.iter().all(has) && self.slug.as_ref().is_none_or(|slug| *slug == check.settings.slug)
    }
}

/// Make a check
///
/// Or, with `unique`, change the one that is there.
#[utoipa::path(post, path = "/checks/", operation_id = "create_check", tag = "checks",
    request_body = Spec, security(("key" = [])),
    responses((status = 201, description = "The check was made", body = CheckJson,
            headers(("ETag" = String, description = "The answer's tag"))),
        Tagged, Posted, Full, Keyed, Counted, Broken))]
pub async fn create(
    State(app): State<Arc<App>>,
    version: Version,
    caller: Caller,
) -> Result<(StatusCode, Tagged), ApiFailure> {
    let now = app.clock.now();
    let ids = (id::uuid(), id::uuid());
    db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let spec = Spec::read(&caller.body).map_err(ApiFailure::Invalid)?;
        let account = app.lock_account(tx, opened.project.account_id).await?;
        let mut settings = Settings::default();
        spec.apply(&mut settings, version.0);
        let project_id = opened.project.id;
        let created = match spec.likeness() {
            Some(like) => {
                checks::find_or_create(tx, &account, project_id, &like, &settings, ids, now).await?
            }
            None => checks::create(tx, &account, project_id, &settings, ids, now).await?,
        };
        let (status, check) = match created {
            Created::NoRoom => return Err(ApiFailure::NoRoom),
            Created::Check(check) => (StatusCode::CREATED, *check),
            Created::Existing(check) => (StatusCode::OK, apply(tx, &check, &spec, version).await?),
        };
        if let Some(wanted) = &spec.channels {
            assignment::assign(tx, &check, wanted).await?;
        }
        Ok((status, shape(tx, &app, &opened, &check, version, now).await?))
    })
}
