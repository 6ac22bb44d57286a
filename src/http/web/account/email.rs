//! `/account/email`: another address to sign in with.
//!
//! The new address proves itself by a letter, whose link works for the signed-in user alone; the old one is told when
//! it is done. Whether the new one has an account is said to its reader and to nobody else.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::proof::prove;
use super::{Page, see};
use crate::accounts::emails::{self, Change};
use crate::accounts::{self, sessions};
use crate::alerts::letters::{self, Facts};
use crate::app::App;
use crate::db;
use crate::http::web::limits::{Attempt, spend};
use crate::http::web::sign_in_link::LinkOver;
use crate::http::web::visitor::{Posted, Visitor};
use crate::http::web::{WebFailure, page, to};
use crate::mail::Address;

#[derive(Template)]
#[template(path = "web/email_link.html")]
struct EmailLink {
    token: String,
    link: String,
    old: String,
    new: String,
}

pub async fn ask(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let typed = fields.trimmed("email");
    let answer = |page: Page| Ok(page.email(typed).render(&app, &visitor, seen.clone(), now));
    let email = match Address::parse(&typed.to_lowercase()) {
        Ok(email) if email.as_str() == seen.signed_in.user.email => {
            return answer(Page::complaint("email", "This is the address already."));
        }
        Ok(email) => email,
        Err(_) => {
            return answer(Page::complaint("email", "Write the whole address, such as you@example.org."));
        }
    };
    let proof = match prove(&app, &visitor, &seen.signed_in, fields.get("proof"), now).await? {
        Ok(proof) => proof,
        Err(complaint) => return answer(Page::complaint("proof", complaint)),
    };
    let email = email.as_str();
    spend(&app, Attempt::Confirmation { email }, visitor.address).await?;
    db::write!(app.db, |tx| {
        visitor.signed_in(tx, now).await?;
        let user = proof.lock(tx).await?;
        // The row is written whether or not the address has an account, so that both ways take the same time.
        let token = emails::ask(tx, user.id, email, now).await?;
        let facts = match accounts::store::find_user_by_email(tx, email).await? {
            Some(_) => Facts::EmailTaken,
            None => {
                let url = format!("{}/account/email/{token}", app.settings.site_url);
                Facts::NewEmail { url, old: user.email.clone(), good_for_ms: emails::LINK_LIFE }
            }
        };
        Ok::<_, WebFailure>(letters::write_to(tx, None, email, &facts, now).await?)
    })?;
    let note = format!(
        "A letter to {email} is on its way. Open its link in this browser, within {} hours; until then nothing changes.",
        emails::LINK_LIFE.as_seconds() / 3600
    );
    Ok(Page::note(note).render(&app, &visitor, seen, now))
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(link): Path<String>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (user, new) = db::read!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let new = emails::look_at(tx, signed_in.user.id, &link, now).await?;
        Ok::<_, WebFailure>((signed_in.user, new))
    })?;
    Ok(match new {
        Some(new) => {
            page(StatusCode::OK, &EmailLink { token: visitor.form_token(), link, old: user.email, new })
        }
        None => page(StatusCode::GONE, &LinkOver),
    })
}

pub async fn redeem(
    State(app): State<Arc<App>>,
    Path(link): Path<String>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let visitor = posted.visitor;
    let change = db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let user = &signed_in.user;
        let change = emails::redeem(tx, user, &link, now).await?;
        if let Change::Done { old, new } = &change {
            sessions::end_all_but(tx, user.id, signed_in.session_uuid).await?;
            let facts = Facts::EmailChanged { new: new.clone() };
            letters::write_to(tx, Some(user.account_id), old, &facts, now).await?;
        }
        Ok::<_, WebFailure>(change)
    })?;
    Ok(match change {
        Change::Done { .. } => to("/account"),
        Change::Over => page(StatusCode::GONE, &LinkOver),
    })
}
