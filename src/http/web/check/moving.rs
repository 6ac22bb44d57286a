//! `/checks/<key>/move`: to which project a check goes, and what that changes.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use crate::app::App;
use crate::checks::{Check, UniqueKey};
use crate::db;
use crate::error::Error;
use crate::http::named::Named;
use crate::http::web::mark::Mark;
use crate::http::web::shell::{ProjectLink, Shell};
use crate::http::web::visitor::{Need, Opened, Posted, Visitor, check_path};
use crate::http::web::{WebFailure, page, to};
use crate::moving;

#[derive(Template)]
#[template(path = "web/move.html")]
struct Move {
    shell: Shell,
    key: UniqueKey,
    name: String,
    targets: Vec<ProjectLink>,
    complaint: Option<String>,
}

fn form(
    app: &App,
    visitor: &Visitor,
    opened: &Opened,
    check: &Check,
    chosen: Option<Uuid>,
    complaint: Option<String>,
) -> Response {
    let template = Move {
        key: UniqueKey::of(check.uuid),
        name: check.display_name(),
        targets: opened.other_projects(chosen),
        shell: Shell::of_project(app, visitor, opened, "Checks"),
        complaint,
    };
    let status = if template.complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page(status, &template)
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (opened, check) = db::read!(app.db, |tx| visitor.open_check(tx, check, Need::Change, now).await)?;
    Ok(form(&app, &visitor, &opened, &check, None, None))
}

pub async fn carry_out(
    State(app): State<Arc<App>>,
    Path(named): Path<Named>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let chosen: Option<Uuid> = fields.get("project").parse().ok();
    let moved = db::write!(app.db, |tx| {
        let (_, check) = visitor.open_check(tx, named, Need::Change, now).await?;
        let Some(chosen) = chosen else {
            return Err(Error::invalid("Choose the project that the check goes to.").into());
        };
        let target = visitor.open(tx, chosen, Need::Change, now).await?.membership.project;
        let uuid = check.uuid;
        moving::move_checks(tx, &app.settings.plans, &[check], &target, now).await?;
        Ok::<_, WebFailure>(uuid)
    });
    match moved {
        Ok(uuid) => Ok(to(&check_path(uuid))),
        Err(WebFailure::Error(Error::Invalid(words))) => {
            let (opened, check) =
                db::read!(app.db, |tx| visitor.open_check(tx, named, Need::Change, now).await)?;
            Ok(form(&app, &visitor, &opened, &check, chosen, Some(words)))
        }
        Err(failure) => Err(failure),
    }
}
