//! `/sign-in/<token>`: where a mailed or printed link leads. Looking at it changes nothing, since mail scanners
//! look; the button redeems it, once. The page says who will be signed in, so that nobody becomes somebody else
//! unawares.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::visitor::{Posted, Visitor};
use super::{WebFailure, page, to};
use crate::accounts::sessions;
use crate::app::App;
use crate::db;

#[derive(Template)]
#[template(path = "web/sign_in_link.html")]
struct Link {
    token: String,
    link: String,
    email: String,
    /// Who is signed in now, if it is somebody else.
    other: Option<String>,
}

/// A link that is used up, expired, or never was one.
#[derive(Template)]
#[template(path = "web/link_over.html")]
pub struct LinkOver;

pub async fn show(
    State(app): State<Arc<App>>,
    Path(link): Path<String>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (user, signed_in) = db::read!(app.db, |tx| Ok::<_, WebFailure>((
        sessions::look_at_link(tx, &link, now).await?,
        visitor.user(tx, now).await?,
    )))?;
    let Some(user) = user else { return Ok(page(StatusCode::GONE, &LinkOver)) };
    let other = signed_in.filter(|one| one.user.id != user.id).map(|one| one.user.email);
    let template = Link { token: visitor.form_token(), link, email: user.email, other };
    let mut response = page(StatusCode::OK, &template);
    visitor.remember_guest(response.headers_mut());
    Ok(response)
}

pub async fn redeem(
    State(app): State<Arc<App>>,
    Path(link): Path<String>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let visitor = posted.visitor;
    let secret = db::write!(app.db, |tx| {
        match sessions::redeem_link(tx, &link, now).await? {
            Some(user_id) => Ok(Some(sessions::begin(tx, user_id, &visitor.origin(), now).await?)),
            None => Ok::<_, WebFailure>(None),
        }
    })?;
    let Some(secret) = secret else { return Ok(page(StatusCode::GONE, &LinkOver)) };
    let mut response = to("/");
    visitor.sign_in(&secret, response.headers_mut());
    Ok(response)
}
