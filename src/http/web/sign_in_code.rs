//! `/sign-in/code`: the second step of a sign-in, for who has a second factor.
//!
//! A cookie says who passed the first step, for a few minutes; nothing is open to them before the code. A code is tried
//! under limits of its own, and is used up by the transaction that begins the session.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::limits::{Attempt, spend};
use super::mark::Mark;
use super::sign_in::{Next, let_in, safe_next};
use super::visitor::{Posted, Visitor};
use super::{WebFailure, page, to};
use crate::accounts::second_factor::{self, Code};
use crate::accounts::sessions::{self, Admitted};
use crate::accounts::{self, User};
use crate::alerts::letters;
use crate::alerts::words::security::Change;
use crate::app::App;
use crate::db;
use crate::time::Time;

#[derive(Template)]
#[template(path = "web/sign_in_code.html")]
struct SignInCode {
    token: String,
    email: String,
    next: String,
    is_wrong: bool,
}

/// How a code was taken.
enum Tried {
    In(String),
    Wrong,
    /// The first step is too long ago, or was used.
    Over,
}

fn form(visitor: &Visitor, user: User, next: &str, is_wrong: bool) -> Response {
    let status = if is_wrong { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let (token, next) = (visitor.form_token(), next.to_owned());
    let mut response = page(status, &SignInCode { token, email: user.email, next, is_wrong });
    visitor.remember_guest(response.headers_mut());
    response
}

async fn waiting(app: &App, visitor: &Visitor, now: Time) -> Result<Option<User>, WebFailure> {
    let Some(step) = visitor.step() else { return Ok(None) };
    db::read!(app.db, |tx| Ok(sessions::find_step(tx, step, now).await?))
}

pub async fn show(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Query(query): Query<Next>,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    Ok(match waiting(&app, &visitor, now).await? {
        Some(user) => form(&visitor, user, safe_next(&query.next), false),
        None => to("/sign-in"),
    })
}

pub async fn submit(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let Some(user) = waiting(&app, &visitor, now).await? else { return Ok(to("/sign-in")) };
    let next = safe_next(fields.get("next"));
    let code = Code::read(fields.get("code"));
    spend(&app, Attempt::Code { user_id: user.id, code: &code }, visitor.address).await?;
    let step = visitor.step().unwrap_or_default();
    let tried = db::write!(app.db, |tx| {
        accounts::store::lock_user(tx, user.id).await?;
        if !second_factor::redeem(tx, user.id, &code, now).await? {
            return Ok::<_, WebFailure>(Tried::Wrong);
        }
        let Some(secret) = sessions::finish(tx, step, &visitor.origin(), now).await? else {
            return Ok(Tried::Over);
        };
        if matches!(code, Code::Recovery(_)) {
            let left = second_factor::store::find(tx, user.id).await?.map_or(0, |factor| factor.codes_left);
            letters::tell_change(tx, &user, Change::CodeUsed { left }, now).await?;
        }
        Ok(Tried::In(secret))
    })?;
    Ok(match tried {
        Tried::In(secret) => let_in(&visitor, &Admitted::In(secret), next),
        Tried::Wrong => form(&visitor, user, next, true),
        Tried::Over => to("/sign-in"),
    })
}
