//! `/projects`: the projects one is in, trouble first; making one; bringing one back that was deleted.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use super::limits::{Attempt, spend};
use super::mark::Mark;
use super::shell::Shell;
use super::shown::Shown;
use super::visitor::{Posted, Visitor};
use super::when::counted;
use super::{WebFailure, page, to};
use crate::accounts::Membership;
use crate::accounts::projects::{self, NAME_CHARS, store::Deleted};
use crate::accounts::sessions::SignedIn;
use crate::app::App;
use crate::checks::holdings::{Standing, store as holdings};
use crate::db::{self, ReadTx};
use crate::mail::Address;
use crate::removal::{self, UNDO_LIFE};
use crate::signup;
use crate::time::Time;

#[derive(Template)]
#[template(path = "web/projects.html")]
struct Projects {
    shell: Shell,
    headline: Headline,
    rows: Vec<Row>,
    complaint: Option<String>,
    typed: String,
    /// The project that was just deleted, while that can be undone.
    undo: Option<(Uuid, String)>,
}

/// The one sentence that is true now.
struct Headline {
    mark: Option<Shown>,
    text: String,
    more: String,
}

struct Row {
    uuid: Uuid,
    name: String,
    role: &'static str,
    standing: Standing,
    state: Option<Shown>,
    says: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct View {
    deleted: String,
}

/// All that the page shows, as it was read.
struct Seen {
    signed_in: SignedIn,
    memberships: Vec<Membership>,
    standings: Vec<Standing>,
    deleted: Option<(Uuid, Deleted)>,
}

async fn see(tx: &mut ReadTx, visitor: &Visitor, deleted: &str, now: Time) -> Result<Seen, WebFailure> {
    let (signed_in, memberships) = visitor.signed_in(tx, now).await?;
    let standings = holdings::list_standings(tx, signed_in.user.id, now).await?;
    let deleted = match deleted.parse() {
        Ok(uuid) => {
            let found = projects::store::find_deleted(tx, uuid, signed_in.user.account_id).await?;
            found.map(|deleted| (uuid, deleted))
        }
        Err(_) => None,
    };
    Ok(Seen { signed_in, memberships, standings, deleted })
}

fn render(
    app: &App,
    visitor: &Visitor,
    seen: Seen,
    complaint: Option<String>,
    typed: &str,
    now: Time,
) -> Response {
    let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let undo = seen.deleted.filter(|(_, deleted)| now < deleted.deleted_at + UNDO_LIFE);
    let mut rows: Vec<Row> = seen.memberships.iter().map(|one| row(one, &seen.standings)).collect();
    rows.sort_by_key(|row| (row.state.unwrap_or(Shown::Paused), row.name.to_lowercase()));
    let template = Projects {
        headline: headline(&rows),
        rows,
        complaint,
        typed: typed.to_owned(),
        undo: undo.map(|(uuid, deleted)| (uuid, deleted.name)),
        shell: Shell::of_account(app, visitor, &seen.signed_in, &seen.memberships),
    };
    page(status, &template)
}

fn row(membership: &Membership, standings: &[Standing]) -> Row {
    let project = &membership.project;
    let found = standings.iter().find(|one| one.project_id == project.id).cloned();
    let standing = found.unwrap_or(Standing { project_id: project.id, checks: 0, down: 0, late: 0 });
    let (state, says) = match standing {
        Standing { checks: 0, .. } => (None, "No check yet".to_owned()),
        Standing { down: 0, late: 0, .. } => (Some(Shown::Up), "Nothing is down".to_owned()),
        Standing { down: 0, late, .. } => (Some(Shown::Late), format!("{late} late")),
        Standing { down, late: 0, .. } => (Some(Shown::Down), format!("{down} down")),
        Standing { down, late, .. } => (Some(Shown::Down), format!("{down} down, {late} late")),
    };
    Row {
        uuid: project.uuid,
        name: project.name.clone(),
        role: membership.role.title(),
        standing,
        state,
        says,
    }
}

fn headline(rows: &[Row]) -> Headline {
    let sum = |of: fn(&Standing) -> i64| rows.iter().map(|row| of(&row.standing)).sum::<i64>();
    let (down, late, all) = (sum(|one| one.down), sum(|one| one.late), sum(|one| one.checks));
    let number = |number: i64| counted(usize::try_from(number).unwrap_or_default(), "check");
    let are = |number: i64| if number == 1 { "is" } else { "are" };
    let (mark, text) = match (rows.len(), down, late) {
        (0, ..) => (None, "You are in no project".to_owned()),
        (_, 0, 0) if all == 0 => (None, format!("{} without a check", counted(rows.len(), "project"))),
        (_, 0, 0) => (Some(Shown::Up), "Nothing is down".to_owned()),
        (_, 0, late) => (Some(Shown::Late), format!("{} {} late", number(late), are(late))),
        (_, down, _) => (Some(Shown::Down), format!("{} {} down", number(down), are(down))),
    };
    let more = match rows.len() {
        0 => "Make one below, or ask for an invitation to one.".to_owned(),
        projects => format!("{} in {}.", number(all), counted(projects, "project")),
    };
    Headline { mark, text, more }
}

pub async fn show(
    State(app): State<Arc<App>>,
    Query(view): Query<View>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &visitor, &view.deleted, now).await)?;
    Ok(render(&app, &visitor, seen, None, "", now))
}

/// Makes a project of the signed-in user's account, with the user's own address as its channel.
pub async fn create(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &visitor, "", now).await)?;
    let name = match projects::name(fields.get("name")) {
        Ok(name) => name,
        Err(complaint) => {
            return Ok(render(&app, &visitor, seen, Some(complaint), fields.get("name"), now));
        }
    };
    let account_id = seen.signed_in.user.account_id;
    spend(&app, Attempt::Project { account_id }, visitor.address).await?;
    let made = db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let user = &signed_in.user;
        let project = projects::create(tx, user.account_id, user.id, &name, now).await?;
        let email = Address::parse(&user.email).map_err(|error| WebFailure::internal(error.to_string()))?;
        signup::own_channel(tx, project.id, &email, now).await?;
        Ok::<_, WebFailure>(project.uuid)
    })?;
    Ok(to(&format!("/projects/{made}")))
}

/// Brings a project back that the signed-in user's account deleted within the hour.
pub async fn restore(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let project = fields.get("project").parse().unwrap_or_default();
    db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let account = app.account(tx, signed_in.user.account_id).await?;
        removal::restore_project(tx, &account, project, now).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/projects/{project}")))
}
