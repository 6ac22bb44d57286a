//! `/account`: the address and the password one signs in with, the second factor, passkeys, the zone in which times are
//! shown, where one is signed in, and how to take everything along or leave.
//!
//! What could lock the user out is asked for with a proof that it is the user ([`proof`]), and ends every other way
//! in once it is done.

mod agent;
mod delete;
mod email;
mod export;
mod passkeys;
mod proof;
mod second_factor;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use uuid::Uuid;

use super::mark::Mark;
use super::shell::Shell;
use super::sign_up::hash;
use super::visitor::{Posted, Visitor};
use super::when::{Stamp, Wall, counted};
use super::{WebFailure, page, to};
use crate::accounts::second_factor::SecondFactor;
use crate::accounts::sessions::{self, Session, SignedIn};
use crate::accounts::{self, Membership, password};
use crate::alerts::letters;
use crate::alerts::words::security::Change;
use crate::app::App;
use crate::db;
use crate::schedule::Zone;
use crate::time::Time;
use proof::{Asked, prove};

/// The pages of somebody's account.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/account", get(show))
        .route("/account/password", post(set_password))
        .route("/account/zone", post(set_zone))
        .route("/account/email", post(email::ask))
        .route("/account/email/{token}", get(email::show).post(email::redeem))
        .route("/account/second-factor", get(second_factor::show).post(second_factor::turn_on))
        .route("/account/second-factor/codes", post(second_factor::renew_codes))
        .route("/account/second-factor/off", post(second_factor::turn_off))
        .route("/account/passkeys", get(passkeys::show).post(passkeys::add))
        .route("/account/passkeys/new", post(passkeys::begin))
        .route("/account/passkeys/{passkey}/name", post(passkeys::rename))
        .route("/account/passkeys/{passkey}/remove", post(passkeys::remove))
        .route("/account/export", post(export::download))
        .route("/account/delete", get(delete::show).post(delete::delete))
        .route("/account/sessions/{session}/end", post(end_session))
        .route("/account/sessions/end-others", post(end_other_sessions))
}

#[derive(Template)]
#[template(path = "web/account.html")]
struct Account {
    shell: Shell,
    has_password: bool,
    asked: Asked,
    second_factor: Option<SecondFactor>,
    /// How many there are, in words; `None` where there are none and can be none.
    passkeys: Option<String>,
    sessions: Vec<Row>,
    page: Page,
}

struct Row {
    uuid: Uuid,
    user_agent: String,
    address: String,
    since: Stamp,
    is_this: bool,
}

/// What the page says beside what is stored.
#[derive(Debug, Default)]
struct Page {
    /// What is wrong, and at which field.
    complaint: Option<(&'static str, String)>,
    /// What was begun.
    note: Option<String>,
    email_typed: String,
    zone_typed: Option<String>,
}

/// All that the page shows, as it was read.
#[derive(Clone)]
struct Seen {
    signed_in: SignedIn,
    memberships: Vec<Membership>,
    second_factor: Option<SecondFactor>,
    passkeys: usize,
    sessions: Vec<Session>,
}

async fn see(app: &App, visitor: &Visitor, now: Time) -> Result<Seen, WebFailure> {
    db::read!(app.db, |tx| {
        let (signed_in, memberships) = visitor.signed_in(tx, now).await?;
        let sessions = sessions::store::list(tx, signed_in.user.id, now).await?;
        let second_factor = accounts::second_factor::store::find(tx, signed_in.user.id).await?;
        let passkeys = accounts::passkeys::store::list(tx, signed_in.user.id).await?.len();
        Ok(Seen { signed_in, memberships, second_factor, passkeys, sessions })
    })
}

impl Page {
    fn complaint(field: &'static str, words: impl Into<String>) -> Self {
        Self { complaint: Some((field, words.into())), ..Self::default() }
    }

    fn note(words: String) -> Self {
        Self { note: Some(words), ..Self::default() }
    }

    fn email(mut self, typed: &str) -> Self {
        self.email_typed = typed.to_owned();
        self
    }

    fn complaint_at(&self, field: &str) -> Option<&str> {
        self.complaint.as_ref().filter(|(at, _)| *at == field).map(|(_, words)| words.as_str())
    }

    fn render(self, app: &App, visitor: &Visitor, seen: Seen, now: Time) -> Response {
        let Seen { signed_in, memberships, second_factor, passkeys, sessions } = seen;
        let wall = Wall::new(&signed_in.user.zone, now);
        let row = |session: Session| Row {
            is_this: session.uuid == signed_in.session_uuid,
            since: wall.stamp(session.created_at),
            uuid: session.uuid,
            user_agent: agent::words(&session.user_agent),
            address: session.address,
        };
        let status = if self.complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let template = Account {
            has_password: signed_in.user.password_hash.is_some(),
            asked: Asked::of(&signed_in, now),
            second_factor,
            passkeys: (passkeys > 0 || app.passkey_site.is_some()).then(|| counted(passkeys, "passkey")),
            sessions: sessions.into_iter().map(row).collect(),
            page: self,
            shell: Shell::of_account(app, visitor, &signed_in, &memberships),
        };
        page(status, &template)
    }
}

impl Account {
    fn complaint_at(&self, field: &str) -> Option<&str> {
        self.page.complaint_at(field)
    }

    fn zone_typed(&self) -> &str {
        self.page.zone_typed.as_deref().unwrap_or(&self.shell.zone)
    }
}

pub async fn show(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    Ok(Page::default().render(&app, &visitor, seen, now))
}

pub async fn set_password(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let new = fields.get("new");
    let proof = match (
        prove(&app, &visitor, &seen.signed_in, fields.get("old"), now).await?,
        password::complaint(new),
    ) {
        (Ok(proof), None) => proof,
        (Err(complaint), _) => return Ok(Page::complaint("old", complaint).render(&app, &visitor, seen, now)),
        (_, Some(complaint)) => {
            return Ok(Page::complaint("new", complaint).render(&app, &visitor, seen, now));
        }
    };
    let hashed = hash(new).await?;
    db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let user = proof.lock(tx).await?;
        accounts::store::set_password(tx, user.id, &hashed).await?;
        sessions::end_all_but(tx, user.id, signed_in.session_uuid).await?;
        letters::tell_change(tx, &user, Change::Password, now).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to("/account"))
}

pub async fn set_zone(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let typed = fields.trimmed("zone");
    let zone = match Zone::parse(typed) {
        Ok(zone) => zone,
        Err(error) => {
            let seen = see(&app, &visitor, now).await?;
            let page =
                Page { zone_typed: Some(typed.to_owned()), ..Page::complaint("zone", error.to_string()) };
            return Ok(page.render(&app, &visitor, seen, now));
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
