//! `/projects/<uuid>/settings`: a project's name, its ping key, its API keys, and its end.
//!
//! Members who may change things see it, for it shows keys. A new API key is shown by the answer to the form that
//! made it, and by nothing else ever.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use super::mark::Mark;
use super::shell::Shell;
use super::visitor::{Need, Opened, Posted, Visitor};
use super::when::{Stamp, Wall, counted};
use super::{WebFailure, page, to};
use crate::accounts::projects::{self, KEYS_MAX, NAME_CHARS};
use crate::accounts::{self, Role};
use crate::app::App;
use crate::checks;
use crate::db::{self, ReadTx};
use crate::time::Time;
use crate::{id, removal};

/// The longest name of a key, in characters.
const KEY_NAME_CHARS: usize = 60;

#[derive(Template)]
#[template(path = "web/settings.html")]
struct Settings {
    shell: Shell,
    project: Uuid,
    /// Where programs reach the site.
    site_url: String,
    ping_url: String,
    name: String,
    name_typed: String,
    ping_key: Option<String>,
    keys: Vec<KeyRow>,
    /// A key that was made just now, in clear for the only time.
    new_key: Option<NewKey>,
    /// What is wrong, and at which field.
    complaint: Option<(&'static str, String)>,
    checks: String,
    is_owner: bool,
}

struct KeyRow {
    uuid: Uuid,
    name: String,
    hint: String,
    is_readonly: bool,
    made: Stamp,
    used: Option<Stamp>,
}

struct NewKey {
    name: String,
    key: String,
    is_readonly: bool,
}

/// What the answer to a form adds to the page.
#[derive(Default)]
struct Said<'a> {
    complaint: Option<(&'static str, String)>,
    name_typed: Option<&'a str>,
    new_key: Option<NewKey>,
}

impl Settings {
    fn complaint_at(&self, field: &str) -> Option<&str> {
        self.complaint.as_ref().filter(|(at, _)| *at == field).map(|(_, words)| words.as_str())
    }
}

/// All that the page shows, as it was read.
struct Seen {
    opened: Opened,
    keys: Vec<accounts::store::NamedKey>,
    checks: usize,
}

async fn see(tx: &mut ReadTx, visitor: &Visitor, project: Uuid, now: Time) -> Result<Seen, WebFailure> {
    let opened = visitor.open(tx, project, Need::Change, now).await?;
    let project_id = opened.membership.project.id;
    let keys = accounts::store::list_keys(tx, project_id).await?;
    let standings = checks::holdings::store::list_standings(tx, opened.signed_in.user.id, now).await?;
    let checks = standings.iter().find(|one| one.project_id == project_id).map_or(0, |one| one.checks);
    Ok(Seen { opened, keys, checks: usize::try_from(checks).unwrap_or_default() })
}

fn render(app: &App, visitor: &Visitor, seen: Seen, said: Said<'_>, now: Time) -> Response {
    let Seen { opened, keys, checks } = seen;
    let wall = Wall::new(&opened.signed_in.user.zone, now);
    let status = if said.complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let project = &opened.membership.project;
    let row = |key: accounts::store::NamedKey| KeyRow {
        uuid: key.uuid,
        name: key.name,
        hint: key.hint,
        is_readonly: key.readonly,
        made: wall.stamp(key.created_at),
        used: key.last_used_at.map(|at| wall.stamp(at)),
    };
    let template = Settings {
        project: project.uuid,
        site_url: app.settings.site_url.clone(),
        ping_url: app.settings.ping_url.clone(),
        name: project.name.clone(),
        name_typed: said.name_typed.unwrap_or(&project.name).to_owned(),
        ping_key: project.ping_key.clone(),
        keys: keys.into_iter().map(row).collect(),
        new_key: said.new_key,
        complaint: said.complaint,
        checks: counted(checks, "check"),
        is_owner: opened.membership.role == Role::Owner,
        shell: Shell::of_project(app, visitor, &opened, "Settings"),
    };
    page(status, &template)
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &visitor, project, now).await)?;
    Ok(render(&app, &visitor, seen, Said::default(), now))
}

pub async fn rename(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let typed = fields.get("name");
    let name = match projects::name(typed) {
        Ok(name) => name,
        Err(words) => {
            let seen = db::read!(app.db, |tx| see(tx, &visitor, project, now).await)?;
            let said = Said { complaint: Some(("name", words)), name_typed: Some(typed), ..Said::default() };
            return Ok(render(&app, &visitor, seen, said, now));
        }
    };
    db::write!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Change, now).await?;
        projects::store::set_name(tx, opened.membership.project.id, &name).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/projects/{project}/settings")))
}

/// Puts another ping key in place of the one there is, if any.
pub async fn replace_ping_key(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    set_ping_key(&app, project, &posted.visitor, Some(id::ping_key())).await
}

pub async fn remove_ping_key(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    set_ping_key(&app, project, &posted.visitor, None).await
}

async fn set_ping_key(
    app: &App,
    project: Uuid,
    visitor: &Visitor,
    key: Option<String>,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Change, now).await?;
        projects::store::set_ping_key(tx, opened.membership.project.id, key.clone()).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/projects/{project}/settings#ping-key")))
}

/// Makes an API key and shows it.
pub async fn create_key(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let (name, is_readonly) = (fields.trimmed("key_name").to_owned(), fields.has("readonly"));
    if name.is_empty() || name.chars().count() > KEY_NAME_CHARS || name.chars().any(char::is_control) {
        let words = format!("A key needs a name of at most {KEY_NAME_CHARS} characters.");
        let seen = db::read!(app.db, |tx| see(tx, &visitor, project, now).await)?;
        let said = Said { complaint: Some(("key_name", words)), ..Said::default() };
        return Ok(render(&app, &visitor, seen, said, now));
    }
    let key = if is_readonly { id::api_key_readonly() } else { id::api_key() };
    let (seen, made) = db::write!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Change, now).await?;
        let project_id = opened.membership.project.id;
        let made = projects::create_key(tx, project_id, &name, is_readonly, &key, now).await?;
        Ok::<_, WebFailure>((see(tx, &visitor, project, now).await?, made))
    })?;
    let said = if made {
        Said { new_key: Some(NewKey { name, key, is_readonly }), ..Said::default() }
    } else {
        let words = format!("A project has at most {KEYS_MAX} keys. Revoke one that nobody uses.");
        Said { complaint: Some(("key_name", words)), ..Said::default() }
    };
    Ok(render(&app, &visitor, seen, said, now))
}

pub async fn revoke_key(
    State(app): State<Arc<App>>,
    Path((project, key)): Path<(Uuid, Uuid)>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let opened = posted.visitor.open(tx, project, Need::Change, now).await?;
        match projects::revoke_key(tx, opened.membership.project.id, key).await? {
            true => Ok(()),
            false => Err(WebFailure::NotFound),
        }
    })?;
    Ok(to(&format!("/projects/{project}/settings#keys")))
}

/// Deletes the project; its owner can undo it for a while.
pub async fn delete(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let opened = posted.visitor.open(tx, project, Need::Own, now).await?;
        let row = &opened.membership.project;
        removal::delete_project(tx, row.account_id, row.id, now).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/projects?deleted={project}")))
}
