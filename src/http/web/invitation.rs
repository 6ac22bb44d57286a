//! `/invitations/<token>`: where the letter of an invitation leads. Looking at it changes nothing; the button redeems
//! it, once.
//!
//! The token proves that its reader gets mail at the invited address, and no more: whoever has an account there signs
//! in first, by whatever that takes, and whoever has none makes it here, also where strangers cannot, since they were
//! asked in. Nobody gets in under another address.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::limits::{Attempt, spend};
use super::mark::Mark;
use super::sign_in_link::LinkOver;
use super::sign_up::{hash, open_account};
use super::visitor::{Posted, Visitor};
use super::{WebFailure, page, to};
use crate::accounts::team::store::{Invited, find_invited};
use crate::accounts::{self, password, sessions, team};
use crate::app::App;
use crate::db::{self, ReadTx};
use crate::id;
use crate::mail::Address;
use crate::signup::Applicant;
use crate::time::Time;

#[derive(Template)]
#[template(path = "web/invitation.html")]
struct Invitation {
    token: String,
    link: String,
    invited: Invited,
    step: Step,
    complaint: Option<String>,
}

/// What stands between the reader and the project.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// One click.
    Join,
    /// Signing in at the invited address.
    SignIn,
    /// The same, and somebody else is signed in here.
    SignOut { other: String },
    /// A password for a new account.
    Password,
}

async fn see(
    tx: &mut ReadTx,
    visitor: &Visitor,
    link: &str,
    now: Time,
) -> Result<Option<(Invited, Step)>, WebFailure> {
    let Some(invited) = find_invited(tx, &id::digest(link), now).await? else { return Ok(None) };
    let step = match visitor.user(tx, now).await? {
        Some(one) if one.user.email == invited.email => Step::Join,
        Some(one) => Step::SignOut { other: one.user.email },
        None if accounts::store::find_user_by_email(tx, &invited.email).await?.is_some() => Step::SignIn,
        None => Step::Password,
    };
    Ok(Some((invited, step)))
}

fn render(visitor: &Visitor, link: String, seen: (Invited, Step), complaint: Option<String>) -> Response {
    let (invited, step) = seen;
    let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let template = Invitation { token: visitor.form_token(), link, invited, step, complaint };
    let mut response = page(status, &template);
    visitor.remember_guest(response.headers_mut());
    response
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(link): Path<String>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &visitor, &link, now).await)?;
    Ok(match seen {
        Some(seen) => render(&visitor, link, seen, None),
        None => page(StatusCode::GONE, &LinkOver),
    })
}

pub async fn redeem(
    State(app): State<Arc<App>>,
    Path(link): Path<String>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &visitor, &link, now).await)?;
    let Some((invited, step)) = seen else { return Ok(page(StatusCode::GONE, &LinkOver)) };
    match step {
        Step::SignIn | Step::SignOut { .. } => Ok(render(&visitor, link, (invited, step), None)),
        Step::Join => join(&app, &visitor, &link).await,
        Step::Password => match password::complaint(fields.get("password")) {
            Some(complaint) => Ok(render(&visitor, link, (invited, step), Some(complaint))),
            None => {
                spend(&app, Attempt::Account, visitor.address).await?;
                let hash = hash(fields.get("password")).await?;
                join_anew(&app, &visitor, &link, &invited.email, hash).await
            }
        },
    }
}

async fn join(app: &App, visitor: &Visitor, link: &str) -> Result<Response, WebFailure> {
    let (now, digest) = (app.clock.now(), id::digest(link));
    let project = db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        Ok::<_, WebFailure>(team::accept(tx, &digest, signed_in.user.id, now).await?)
    })?;
    Ok(to(&format!("/projects/{project}")))
}

/// Makes an account for the invited address, redeems the invitation and signs in, all or nothing.
async fn join_anew(
    app: &App,
    visitor: &Visitor,
    link: &str,
    email: &str,
    hash: String,
) -> Result<Response, WebFailure> {
    let (now, digest, ids) = (app.clock.now(), id::digest(link), (id::uuid(), id::uuid()));
    let email = Address::parse(email).map_err(|error| WebFailure::internal(error.to_string()))?;
    let applicant = Applicant { email, password_hash: Some(hash), plan: None, may_operate: false };
    let (project, secret) = db::write!(app.db, |tx| {
        let user_id = open_account(tx, app, &applicant, ids, now).await?;
        let project = team::accept(tx, &digest, user_id, now).await?;
        Ok::<_, WebFailure>((project, sessions::begin(tx, user_id, &visitor.origin(), now).await?))
    })?;
    let mut response = to(&format!("/projects/{project}"));
    visitor.sign_in(&secret, response.headers_mut());
    Ok(response)
}
