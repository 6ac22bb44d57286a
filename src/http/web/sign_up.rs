//! `/sign-up`: an account for whoever reads mail at an address, and the operator's for whoever runs the machine.
//!
//! An address is proved before anything is made for it: the form only sends a letter, the same page follows
//! whether or not the address has an account, and the letter's link goes on to the password. The operator proves
//! another thing, the machine: by the token in the log, or by coming from the machine itself.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use super::limits::{Attempt, spend};
use super::mark::Mark;
use super::sign_in::{is_unclaimed, sent};
use super::sign_in_link::LinkOver;
use super::visitor::{Posted, Visitor};
use super::{WebFailure, page, to};
use crate::accounts::{self, password, sessions};
use crate::alerts::letters::{self, Facts};
use crate::app::App;
use crate::db::{self, WriteTx};
use crate::error::Error;
use crate::mail::Address;
use crate::signup::{self, Applicant};
use crate::time::Time;
use crate::{id, provision};

/// Name and address of the check that a new project begins with.
const FIRST_CHECK: &str = "my-first-check";

#[derive(Template)]
#[template(path = "web/sign_up.html")]
struct SignUp {
    token: String,
    email: String,
    site: String,
    complaint: Option<String>,
    step: Step,
}

/// What the form asks for.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// An address; a letter follows.
    Address { is_unclaimed: bool },
    /// Address and password of the operator.
    Operator { claim: String },
    /// A password for the address that the link proved.
    Password { link: String },
    /// No new accounts here.
    Closed { is_unclaimed: bool },
}

#[derive(Deserialize)]
pub struct Claim {
    #[serde(default)]
    claim: String,
}

fn form(app: &App, visitor: &Visitor, email: &str, step: Step, complaint: Option<String>) -> Response {
    let status = match (&complaint, &step) {
        (Some(_), _) => StatusCode::UNPROCESSABLE_ENTITY,
        (None, Step::Closed { .. }) => StatusCode::FORBIDDEN,
        (None, _) => StatusCode::OK,
    };
    let site = app.settings.site_host();
    let template = SignUp { token: visitor.form_token(), email: email.to_owned(), site, complaint, step };
    let mut response = page(status, &template);
    visitor.remember_guest(response.headers_mut());
    response
}

/// What the form has to ask this visitor for.
fn step(app: &App, visitor: &Visitor, claim: &str, is_unclaimed: bool) -> Step {
    let proved = visitor.is_local || signup::is_claim(&app.secret, claim);
    if is_unclaimed && proved {
        return Step::Operator { claim: claim.to_owned() };
    }
    if app.settings.signup_open { Step::Address { is_unclaimed } } else { Step::Closed { is_unclaimed } }
}

pub async fn show(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Query(query): Query<Claim>,
) -> Result<Response, WebFailure> {
    let is_unclaimed = db::read!(app.db, |tx| is_unclaimed(tx).await)?;
    Ok(form(&app, &visitor, "", step(&app, &visitor, &query.claim, is_unclaimed), None))
}

pub async fn submit(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let is_unclaimed = db::read!(app.db, |tx| is_unclaimed(tx).await)?;
    let step = step(&app, &visitor, fields.get("claim"), is_unclaimed);
    let typed = fields.trimmed("email");
    if matches!(step, Step::Closed { .. }) {
        return Ok(form(&app, &visitor, typed, step, None));
    }
    let Ok(email) = Address::parse(&typed.to_lowercase()) else {
        let complaint = "Write your whole address, such as you@example.org.".to_owned();
        return Ok(form(&app, &visitor, typed, step, Some(complaint)));
    };
    spend(&app, Attempt::Account, visitor.address).await?;
    if !matches!(step, Step::Operator { .. }) {
        return mail_link(&app, email.as_str()).await;
    }
    match password::complaint(fields.get("password")) {
        Some(complaint) => Ok(form(&app, &visitor, typed, step, Some(complaint))),
        None => {
            let hash = hash(fields.get("password")).await?;
            let applicant = Applicant { email, password_hash: Some(hash), plan: None, may_operate: true };
            make(&app, &visitor, &applicant, None).await
        }
    }
}

/// Writes the letter: to go on with a new account, or to sign in where the address has one.
async fn mail_link(app: &App, email: &str) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let site_url = &app.settings.site_url;
    db::write!(app.db, |tx| {
        let good_for_ms = sessions::LINK_LIFE;
        let facts = match accounts::store::find_user_by_email(tx, email).await? {
            Some(user) => {
                let token = signup::sign_in_link(tx, user.id, good_for_ms, now).await?;
                Facts::SignIn { url: format!("{site_url}/sign-in/{token}"), good_for_ms }
            }
            None => {
                let token = sessions::sign_up_link(tx, email, now).await?;
                Facts::SignUp { url: format!("{site_url}/sign-up/{token}"), good_for_ms }
            }
        };
        letters::write_to(tx, None, email, &facts, now).await
    })?;
    Ok(sent(app, email, true))
}

pub async fn show_link(
    State(app): State<Arc<App>>,
    Path(link): Path<String>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let digest = id::digest(&link);
    let email = db::read!(app.db, |tx| sessions::store::find_sign_up_link(tx, &digest, now).await)?;
    Ok(match email {
        Some(email) => form(&app, &visitor, &email, Step::Password { link }, None),
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
    let digest = id::digest(&link);
    let email = db::read!(app.db, |tx| sessions::store::find_sign_up_link(tx, &digest, now).await)?;
    let Some(email) = email else { return Ok(page(StatusCode::GONE, &LinkOver)) };
    if let Some(complaint) = password::complaint(fields.get("password")) {
        return Ok(form(&app, &visitor, &email, Step::Password { link }, Some(complaint)));
    }
    let hash = hash(fields.get("password")).await?;
    let email = Address::parse(&email).map_err(|error| WebFailure::internal(error.to_string()))?;
    let applicant = Applicant { email, password_hash: Some(hash), plan: None, may_operate: false };
    make(&app, &visitor, &applicant, Some(&digest)).await
}

/// Hashes away from the threads that serve.
pub async fn hash(password: &str) -> Result<String, WebFailure> {
    let password = password.to_owned();
    let hashed = tokio::task::spawn_blocking(move || password::hash(&password)).await;
    Ok(hashed.map_err(|error| WebFailure::internal(error.to_string()))??)
}

/// Makes an account with its first check, under these ids; returns its user's id.
///
/// # Errors
/// The address has an account already, or the database's.
pub async fn open_account(
    tx: &mut WriteTx,
    app: &App,
    applicant: &Applicant,
    ids: (Uuid, Uuid),
    now: Time,
) -> Result<i64, WebFailure> {
    let settings = &app.settings;
    let new = signup::sign_up(tx, &settings.plans, &settings.default_plan, applicant, now).await?;
    let project = accounts::store::find_project_by_uuid(tx, new.project).await?.ok_or(Error::NotFound)?;
    let account = app.account(tx, project.account_id).await?;
    provision::provision(tx, &account, project.id, FIRST_CHECK, ids, now).await?;
    Ok(new.user_id)
}

/// Makes the account with its first check, and signs its user in. With `link`, only for the first who redeems it.
async fn make(
    app: &App,
    visitor: &Visitor,
    applicant: &Applicant,
    link: Option<&[u8]>,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let ids = (id::uuid(), id::uuid());
    let secret = db::write!(app.db, |tx| {
        if let Some(digest) = link
            && sessions::store::redeem_sign_up_link(tx, digest, now).await?.is_none()
        {
            return Err(WebFailure::NotFound);
        }
        let user_id = open_account(tx, app, applicant, ids, now).await?;
        Ok(sessions::begin(tx, user_id, &visitor.origin(), now).await?)
    })?;
    let mut response = to("/");
    visitor.sign_in(&secret, response.headers_mut());
    Ok(response)
}
