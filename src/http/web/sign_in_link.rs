//! `/sign-in/<token>`: where a mailed or printed link leads. Looking at it changes nothing, since mail scanners
//! look; the button redeems it, once. The page says who will be signed in, so that nobody becomes somebody else
//! unawares.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::sign_in::let_in;
use super::visitor::{Posted, Visitor};
use super::{WebFailure, page};
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
    let admitted = db::write!(app.db, |tx| {
        Ok::<_, WebFailure>(sessions::redeem_link(tx, &link, &visitor.origin(), now).await?)
    })?;
    Ok(match admitted {
        Some(admitted) => let_in(&visitor, &admitted, "/"),
        None => page(StatusCode::GONE, &LinkOver),
    })
}
