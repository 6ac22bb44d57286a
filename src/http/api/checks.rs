//! `checks/` and `checks/<uuid>`: create or update, list, read, delete, pause, resume (`CONTRACT` 3.2 to 3.5).

use std::collections::HashMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use uuid::Uuid;

use super::access::Opened;
use super::spec::Spec;
use super::{ApiFailure, Caller, Need, Version};
use crate::alerts::{self, Channel};
use crate::app::App;
use crate::checks::json::{Access, CheckJson, unique_key};
use crate::checks::{self, Check, Created, Settings};
use crate::db::{self, ReadTx, WriteTx};
use crate::id;
use crate::pause::{self, Turned};
use crate::removal;
use crate::time::Time;

#[derive(Serialize)]
struct CheckList {
    checks: Vec<CheckJson>,
}

pub async fn list(
    State(app): State<Arc<App>>,
    version: Version,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Result<Response, ApiFailure> {
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
            let access = access(&opened, channels.remove(&check.id).unwrap_or_default());
            CheckJson::new(&check, access, &app.urls, version.0, now)
        };
        Ok(checks.into_iter().filter(|check| filter.takes(check)).map(shape).collect())
    });
    Ok(Json(CheckList { checks: checks? }).into_response())
}

/// What a list is narrowed to.
struct Filter {
    tags: Vec<String>,
    slug: Option<String>,
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

pub async fn create(
    State(app): State<Arc<App>>,
    version: Version,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let ids = (id::uuid(), id::uuid());
    let made: Result<(StatusCode, CheckJson), ApiFailure> = db::write!(app.db, |tx| {
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
            assign(tx, &check, wanted).await?;
        }
        Ok((status, shape(tx, &app, &opened, &check, version, now).await?))
    });
    let (status, shape) = made?;
    Ok((status, Json(shape)).into_response())
}

/// Writes what a body asks for over a check; what it does not mention stays.
async fn apply(tx: &mut WriteTx, check: &Check, spec: &Spec, version: Version) -> Result<Check, ApiFailure> {
    let edited = checks::edit(tx, check.id, None, |settings| {
        spec.apply(settings, version.0);
        Ok(())
    });
    let edited = edited.await?;
    edited.stayed(check)?;
    Ok(edited)
}

pub async fn read(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let shape = db::read!(app.db, |tx| {
        let opened = caller.open(tx, Need::Read).await?;
        let check = find(tx, &opened, &check).await?;
        shape(tx, &app, &opened, &check, version, now).await
    })?;
    Ok(Json(shape).into_response())
}

pub async fn update(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let shape = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let check = find(tx, &opened, &check).await?;
        let spec = Spec::read(&caller.body).map_err(ApiFailure::Invalid)?;
        let check = apply(tx, &check, &spec, version).await?;
        if let Some(wanted) = &spec.channels {
            assign(tx, &check, wanted).await?;
        }
        shape(tx, &app, &opened, &check, version, now).await
    })?;
    Ok(Json(shape).into_response())
}

pub async fn delete(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let shape = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let check = find(tx, &opened, &check).await?;
        removal::delete_check(tx, &check, now).await?;
        shape(tx, &app, &opened, &check, version, now).await
    })?;
    Ok(Json(shape).into_response())
}

pub async fn pause(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let shape = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let check = find(tx, &opened, &check).await?;
        let (paused, _) = pause::pause(tx, check.id, now).await?;
        paused.stayed(&check)?;
        let check = paused;
        shape(tx, &app, &opened, &check, version, now).await
    })?;
    Ok(Json(shape).into_response())
}

pub async fn resume(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let shape = db::write!(app.db, |tx| {
        let opened = caller.open(tx, Need::Write).await?;
        let check = find(tx, &opened, &check).await?;
        let (resumed, turned) = pause::resume(tx, check.id, now).await?;
        resumed.stayed(&check)?;
        let check = resumed;
        if turned == Turned::Already {
            return Err(ApiFailure::Conflict("check is not paused"));
        }
        shape(tx, &app, &opened, &check, version, now).await
    })?;
    Ok(Json(shape).into_response())
}

/// The check that a path names, by uuid or by the key under which read-only access knows it. By uuid: unknown is
/// 404, another project's 403. By key, only the project that the API key opens is looked at.
pub async fn find(tx: &mut ReadTx, opened: &Opened, path: &str) -> Result<Check, ApiFailure> {
    match Named::of(path) {
        Named::Uuid(uuid) => {
            let check = checks::store::find(tx, uuid).await?.ok_or(ApiFailure::NotFound)?;
            if check.project_id == opened.project.id { Ok(check) } else { Err(ApiFailure::Forbidden) }
        }
        Named::UniqueKey => {
            let checks = checks::store::list(tx, opened.project.id).await?;
            let named = |check: &Check| unique_key(check.uuid) == path;
            checks.into_iter().find(named).ok_or(ApiFailure::NotFound)
        }
        Named::Nothing => Err(ApiFailure::NotFound),
    }
}

/// What the last segment of `checks/<..>` can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Uuid(Uuid),
    /// 40 hex digits.
    UniqueKey,
    Nothing,
}

impl Named {
    pub fn of(path: &str) -> Self {
        let uuid = if path.len() == 36 { Uuid::try_parse(path).ok() } else { None };
        match uuid {
            Some(uuid) => Self::Uuid(uuid),
            None if path.len() == 40 && path.bytes().all(|byte| byte.is_ascii_hexdigit()) => Self::UniqueKey,
            None => Self::Nothing,
        }
    }
}

async fn shape(
    tx: &mut ReadTx,
    app: &App,
    opened: &Opened,
    check: &Check,
    version: Version,
    now: Time,
) -> Result<CheckJson, ApiFailure> {
    let assigned = alerts::store::list_assigned_to_check(tx, check.id).await?;
    let access = access(opened, assigned.into_iter().map(|row| row.channel_uuid).collect());
    Ok(CheckJson::new(check, access, &app.urls, version.0, now))
}

fn access(opened: &Opened, channels: Vec<Uuid>) -> Access {
    if opened.readonly {
        return Access::Readonly;
    }
    let mut channels: Vec<String> = channels.iter().map(Uuid::to_string).collect();
    channels.sort();
    Access::Full { channels: channels.join(",") }
}

/// Assigns the channels that a body names: `*` is all, empty is none, else uuids or exact names.
async fn assign(tx: &mut WriteTx, check: &Check, wanted: &str) -> Result<(), ApiFailure> {
    let all = alerts::store::list_channels(tx, check.project_id).await?;
    let chosen: Vec<i64> = match wanted {
        "*" => all.iter().map(|channel| channel.id).collect(),
        "" => Vec::new(),
        list => list.split(',').map(|one| choose(&all, one)).collect::<Result<_, _>>()?,
    };
    alerts::store::unassign_all(tx, check.id).await?;
    for channel_id in chosen {
        alerts::store::assign(tx, check.id, channel_id).await?;
    }
    Ok(())
}

fn choose(all: &[Channel], one: &str) -> Result<i64, ApiFailure> {
    if one.is_empty() {
        return Err(ApiFailure::Invalid("empty channel identifier".to_owned()));
    }
    let named = |channel: &&Channel| channel.uuid.to_string() == one || channel.name == one;
    let mut found = all.iter().filter(named);
    match (found.next(), found.next()) {
        (Some(channel), None) => Ok(channel.id),
        (None, _) => Err(ApiFailure::Invalid(format!("invalid channel identifier: {one}"))),
        (Some(_), Some(_)) => Err(ApiFailure::Invalid(format!("non-unique channel identifier: {one}"))),
    }
}
