//! What is done to one check from its page.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::checks::{self, Created, Settings};
use crate::db;
use crate::error::Error;
use crate::http::named::Named;
use crate::http::web::visitor::{Need, Posted, check_path};
use crate::http::web::{WebFailure, to};
use crate::{alerts, id, pause as pausing, removal};

const NAME_CHARS: usize = 100;

pub async fn pause(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let uuid = db::write!(app.db, |tx| {
        let (_, check) = posted.visitor.open_check(tx, check, Need::Change, now).await?;
        pausing::pause(tx, check.id, now).await?.0.stayed(&check)?;
        Ok::<_, WebFailure>(check.uuid)
    })?;
    Ok(to(&check_path(uuid)))
}

pub async fn resume(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let uuid = db::write!(app.db, |tx| {
        let (_, check) = posted.visitor.open_check(tx, check, Need::Change, now).await?;
        pausing::resume(tx, check.id, now).await?.0.stayed(&check)?;
        Ok::<_, WebFailure>(check.uuid)
    })?;
    Ok(to(&check_path(uuid)))
}

pub async fn delete(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let project = db::write!(app.db, |tx| {
        let (opened, check) = posted.visitor.open_check(tx, check, Need::Change, now).await?;
        removal::delete_check(tx, &check, now).await?;
        Ok::<_, WebFailure>(opened.membership.project.uuid)
    })?;
    Ok(to(&format!("/projects/{project}?deleted={}", now.0)))
}

/// Makes a check with the same settings and channels, without the slug, and goes on to its form.
pub async fn copy(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let ids = (id::uuid(), id::uuid());
    let made = db::write!(app.db, |tx| {
        let (_, check) = posted.visitor.open_check(tx, check, Need::Change, now).await?;
        let account = app.account(tx, check.account_id).await?;
        let name = format!("{} (copy)", check.settings.name).chars().take(NAME_CHARS).collect();
        let settings = Settings { name, slug: String::new(), ..check.settings.clone() };
        match checks::create(tx, &account, check.project_id, &settings, ids, now).await? {
            Created::Check(made) | Created::Existing(made) => {
                let told = alerts::store::list_assigned_to_check(tx, check.id).await?;
                for channel in alerts::store::list_channels(tx, check.project_id).await? {
                    if told.iter().any(|one| one.channel_uuid == channel.uuid) {
                        alerts::store::assign(tx, made.id, channel.id).await?;
                    }
                }
                Ok(made.uuid)
            }
            Created::NoRoom => {
                let limit = account.plan.checks.unwrap_or(i64::MAX);
                let words =
                    format!("The plan {} has room for {limit} checks, and they are used.", account.plan.name);
                Err(WebFailure::from(Error::Invalid(words)))
            }
        }
    })?;
    Ok(to(&format!("{}/edit", check_path(made))))
}
