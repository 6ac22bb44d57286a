//! What the bar below the list does with the checks that are ticked, all in one transaction.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use uuid::Uuid;

use crate::app::App;
use crate::checks::{self, Check, UniqueKey, unique_key};
use crate::db::{self, WriteTx};
use crate::error::{Error, Result};
use crate::http::web::fields::Fields;
use crate::http::web::visitor::{Need, Posted};
use crate::http::web::{WebFailure, to};
use crate::time::Time;
use crate::{moving, pause, removal};

/// Tags of one check together, in characters.
const TAGS_CHARS: usize = 500;

/// What is to be done.
enum Deed {
    Pause,
    Resume,
    Delete,
    Tag(String),
    Untag(String),
    /// To another project.
    Move(Uuid),
}

impl Deed {
    fn read(fields: &Fields) -> Option<Self> {
        let tag = || Some(fields.trimmed("tag").to_owned()).filter(|tag| !tag.is_empty());
        match fields.get("do") {
            "pause" => Some(Self::Pause),
            "resume" => Some(Self::Resume),
            "delete" => Some(Self::Delete),
            "tag" => tag().map(Self::Tag),
            "untag" => tag().map(Self::Untag),
            "move" => fields.get("project").parse().ok().map(Self::Move),
            _ => None,
        }
    }
}

pub async fn change(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let Posted { visitor, fields } = posted;
    let keys: Vec<UniqueKey> = fields.all("check").filter_map(|key| key.parse().ok()).collect();
    let list = format!("/projects/{project}");
    let Some(deed) = Deed::read(&fields) else { return Ok(to(&list)) };
    db::write!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Change, now).await?;
        let mut ticked = Vec::new();
        for key in &keys {
            let checks = unique_key::store::list(tx, *key).await?;
            ticked.extend(checks.into_iter().filter(|one| one.project_id == opened.membership.project.id));
        }
        // Several rows are locked in the order of their ids, whatever order they were ticked in.
        ticked.sort_by_key(|check| check.id);
        ticked.dedup_by_key(|check| check.id);
        if let Deed::Move(target) = &deed {
            let target = visitor.open(tx, *target, Need::Change, now).await?.membership.project;
            moving::move_checks(tx, &app.settings.plans, &ticked, &target, now).await?;
        } else {
            for check in &ticked {
                carry_out(tx, &deed, check, now).await?;
            }
        }
        Ok::<_, WebFailure>(())
    })?;
    Ok(match deed {
        Deed::Delete if !keys.is_empty() => to(&format!("{list}?deleted={}", now.0)),
        Deed::Move(target) => to(&format!("/projects/{target}")),
        _ => to(&list),
    })
}

/// What somebody else did meanwhile is no failure.
async fn carry_out(tx: &mut WriteTx, deed: &Deed, check: &Check, now: Time) -> Result<()> {
    let done = match deed {
        Deed::Pause => pause::pause(tx, check.id, now).await.and_then(|(live, _)| live.stayed(check)),
        Deed::Resume => pause::resume(tx, check.id, now).await.and_then(|(live, _)| live.stayed(check)),
        Deed::Delete => removal::delete_check(tx, check, now).await,
        Deed::Tag(tag) => retag(tx, check, |tags| tags.push(tag.clone())).await,
        Deed::Untag(tag) => retag(tx, check, |tags| tags.retain(|one| one != tag)).await,
        Deed::Move(_) => Ok(()),
    };
    match done {
        Err(Error::NotFound) if !matches!(deed, Deed::Delete) => Ok(()),
        done => done,
    }
}

async fn retag(tx: &mut WriteTx, check: &Check, change: impl FnOnce(&mut Vec<String>)) -> Result<()> {
    let edited = checks::edit(tx, check.id, None, |settings| {
        let mut tags: Vec<String> = settings.tags.split_whitespace().map(str::to_owned).collect();
        change(&mut tags);
        let mut kept: Vec<String> = Vec::with_capacity(tags.len());
        for tag in tags.iter().flat_map(|tag| tag.split_whitespace()) {
            if !kept.iter().any(|one| one == tag) {
                kept.push(tag.to_owned());
            }
        }
        let tags = kept.join(" ");
        if tags.chars().count() > TAGS_CHARS {
            return Err(Error::invalid(format!(
                "The tags of one check have at most {TAGS_CHARS} characters."
            )));
        }
        settings.tags = tags;
        Ok(())
    });
    edited.await.and_then(|live| live.stayed(check))
}

pub async fn restore(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let Posted { visitor, fields } = posted;
    let at = fields.get("at").parse().map(Time).map_err(|_| WebFailure::NotFound)?;
    db::write!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Change, now).await?;
        let project = &opened.membership.project;
        let account = app.account(tx, project.account_id).await?;
        removal::restore_checks(tx, &account, project.id, at, now).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/projects/{project}")))
}
