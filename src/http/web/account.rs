//! `/account`: the password, the zone in which times are shown, and where one is signed in.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

use super::limits::{Attempt, spend};
use super::mark::Mark;
use super::shell::Shell;
use super::sign_up::hash;
use super::visitor::{Posted, Visitor};
use super::when::{Stamp, Wall};
use super::{WebFailure, page, to};
use crate::accounts::sessions::{self, Session, SignedIn};
use crate::accounts::{self, Membership, password};
use crate::app::App;
use crate::db;
use crate::schedule::Zone;
use crate::time::Time;

#[derive(Template)]
#[template(path = "web/account.html")]
struct Account {
    shell: Shell,
    has_password: bool,
    sessions: Vec<Row>,
    /// What is wrong, and at which field.
    complaint: Option<(&'static str, String)>,
    zone_typed: String,
}

struct Row {
    uuid: Uuid,
    user_agent: String,
    address: String,
    since: Stamp,
    is_this: bool,
}

impl Account {
    fn complaint_at(&self, field: &str) -> Option<&str> {
        self.complaint.as_ref().filter(|(at, _)| *at == field).map(|(_, words)| words.as_str())
    }
}

/// All that the page shows, as it was read.
struct Seen {
    signed_in: SignedIn,
    memberships: Vec<Membership>,
    sessions: Vec<Session>,
}

async fn see(app: &App, visitor: &Visitor, now: Time) -> Result<Seen, WebFailure> {
    db::read!(app.db, |tx| {
        let (signed_in, memberships) = visitor.signed_in(tx, now).await?;
        let sessions = sessions::store::list(tx, signed_in.user.id, now).await?;
        Ok(Seen { signed_in, memberships, sessions })
    })
}

fn render(
    app: &App,
    visitor: &Visitor,
    seen: Seen,
    complaint: Option<(&'static str, String)>,
    zone_typed: Option<&str>,
    now: Time,
) -> Response {
    let Seen { signed_in, memberships, sessions } = seen;
    let wall = Wall::new(&signed_in.user.zone, now);
    let row = |session: Session| Row {
        is_this: session.uuid == signed_in.session_uuid,
        since: wall.stamp(session.created_at),
        uuid: session.uuid,
        user_agent: session.user_agent,
        address: session.address,
    };
    let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let template = Account {
        has_password: signed_in.user.password_hash.is_some(),
        sessions: sessions.into_iter().map(row).collect(),
        complaint,
        zone_typed: zone_typed.unwrap_or(&signed_in.user.zone).to_owned(),
        shell: Shell::of_account(app, visitor, &signed_in, &memberships),
    };
    page(status, &template)
}

pub async fn show(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    Ok(render(&app, &visitor, seen, None, None, now))
}

pub async fn set_password(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let user = &seen.signed_in.user;
    spend(&app, Attempt::Password { email: &user.email }, visitor.address).await?;
    let (old, new) = (fields.get("old").to_owned(), fields.get("new").to_owned());
    let complaint = match user.password_hash.clone() {
        Some(stored) if !is_right(old, stored.clone()).await? => {
            Some(("old", "This is not the password that was set.".to_owned()))
        }
        _ => password::complaint(&new).map(|complaint| ("new", complaint)),
    };
    if complaint.is_some() {
        return Ok(render(&app, &visitor, seen, complaint, None, now));
    }
    let hashed = hash(&new).await?;
    db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        accounts::store::set_password(tx, signed_in.user.id, &hashed).await?;
        sessions::store::end_others(tx, signed_in.user.id, signed_in.session_uuid).await?;
        sessions::store::drop_links(tx, signed_in.user.id).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to("/account"))
}

async fn is_right(password: String, stored: String) -> Result<bool, WebFailure> {
    let judged = tokio::task::spawn_blocking(move || password::verify(&password, Some(&stored))).await;
    judged.map_err(|error| WebFailure::internal(error.to_string()))
}

pub async fn set_zone(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let typed = fields.trimmed("zone");
    let zone = match Zone::parse(typed) {
        Ok(zone) => zone,
        Err(error) => {
            let seen = see(&app, &visitor, now).await?;
            return Ok(render(&app, &visitor, seen, Some(("zone", error.to_string())), Some(typed), now));
        }
    };
    db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        accounts::store::set_zone(tx, signed_in.user.id, zone.name()).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to("/account"))
}

pub async fn end_session(
    State(app): State<Arc<App>>,
    Path(session): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let (signed_in, _) = posted.visitor.signed_in(tx, now).await?;
        match sessions::store::end(tx, signed_in.user.id, session).await? {
            true => Ok(()),
            false => Err(WebFailure::NotFound),
        }
    })?;
    Ok(to("/account#sessions"))
}

pub async fn end_other_sessions(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let (signed_in, _) = posted.visitor.signed_in(tx, now).await?;
        sessions::store::end_others(tx, signed_in.user.id, signed_in.session_uuid).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to("/account#sessions"))
}
