//! `/sign-in` and `/sign-out`: by password, or by a link in a letter; where a second factor is on, `sign_in_code`
//! comes after either. With a passkey: `sign_in_passkey`.
//!
//! What is said never depends on whether an address has an account, and a wrong address takes as long as a wrong
//! password. `next` leads only to pages of this site.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::limits::{Attempt, spend};
use super::mark::Mark;
use super::visitor::{Posted, Visitor};
use super::{WebFailure, page, to};
use crate::accounts::sessions::{self, Admitted};
use crate::accounts::{self, User, password};
use crate::alerts::letters::{self, Facts};
use crate::app::App;
use crate::error::Error;
use crate::mail::Address;
use crate::{db, signup};

/// The longest address of a page of ours that one comes back to.
const NEXT_BYTES: usize = 1000;

#[derive(Template)]
#[template(path = "web/sign_in.html")]
struct SignIn {
    token: String,
    email: String,
    next: String,
    complaint: Option<&'static str>,
    link_minutes: i64,
    site: String,
    may_sign_up: bool,
    is_unclaimed: bool,
    /// Whether browsers know passkeys at this site.
    has_passkeys: bool,
}

/// A letter was asked for, for a sign-in or a new account.
#[derive(Template)]
#[template(path = "web/sent.html")]
pub struct Sent {
    pub email: String,
    pub link_minutes: i64,
    pub mail_is_kept: bool,
    /// Whether it is for a new account.
    pub is_new: bool,
}

#[derive(Deserialize)]
pub struct Next {
    #[serde(default)]
    pub next: String,
}

/// The address if it leads to a page of this site, else the front page.
pub fn safe_next(next: &str) -> &str {
    let mut letters = next.chars();
    let ours = letters.next() == Some('/')
        && !matches!(letters.next(), Some('/' | '\\'))
        && next.len() <= NEXT_BYTES
        && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if ours { next } else { "/" }
}

pub async fn show(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Query(query): Query<Next>,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (user, is_unclaimed) =
        db::read!(app.db, |tx| Ok::<_, WebFailure>((visitor.user(tx, now).await?, is_unclaimed(tx).await?)))?;
    let next = safe_next(&query.next);
    if user.is_some() {
        return Ok(to(next));
    }
    Ok(form(&app, &visitor, "", next, None, is_unclaimed))
}

/// Whether the instance waits for its operator.
///
/// # Errors
/// The database's.
pub async fn is_unclaimed(tx: &mut db::ReadTx) -> Result<bool, WebFailure> {
    let instance = accounts::store::find_instance(tx).await?;
    Ok(instance.is_some_and(|instance| instance.operator_id.is_none()))
}

pub fn form(
    app: &App,
    visitor: &Visitor,
    email: &str,
    next: &str,
    complaint: Option<&'static str>,
    is_unclaimed: bool,
) -> Response {
    let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let template = SignIn {
        token: visitor.form_token(),
        email: email.to_owned(),
        next: next.to_owned(),
        complaint,
        link_minutes: sessions::LINK_LIFE.as_seconds() / 60,
        site: app.settings.site_host(),
        may_sign_up: app.settings.signup_open,
        is_unclaimed,
        has_passkeys: app.passkey_site.is_some(),
    };
    let mut response = page(status, &template);
    visitor.remember_guest(response.headers_mut());
    response
}

pub async fn submit(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let next = safe_next(fields.get("next"));
    let typed = fields.trimmed("email");
    let complain = |complaint| Ok(form(&app, &visitor, typed, next, Some(complaint), false));
    let Ok(email) = Address::parse(typed) else {
        return complain("Write your whole address, such as you@example.org.");
    };
    let email = email.as_str().to_lowercase();
    if fields.has("link") {
        spend(&app, Attempt::Letter { email: &email }, visitor.address).await?;
        return mail_link(&app, &email).await;
    }
    spend(&app, Attempt::Password { email: &email }, visitor.address).await?;
    let user = db::read!(app.db, |tx| accounts::store::find_user_by_email(tx, &email).await)?;
    let now = app.clock.now();
    let admitted = match check_password(user, fields.get("password").to_owned()).await? {
        Some(user) => db::write!(app.db, |tx| sessions::admit(tx, &user, &visitor.origin(), now).await)?,
        None => None,
    };
    match admitted {
        Some(admitted) => Ok(let_in(&visitor, &admitted, next)),
        None => complain("The address or the password is wrong. Try again, or have a link mailed."),
    }
}

/// Goes on with whom the first step admitted: to `next`, or to the second step.
pub fn let_in(visitor: &Visitor, admitted: &Admitted, next: &str) -> Response {
    match admitted {
        Admitted::In(secret) => {
            let mut response = to(next);
            visitor.sign_in(secret, response.headers_mut());
            response
        }
        Admitted::Step(secret) => {
            let next: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            let mut response = to(&format!("/sign-in/code?next={next}"));
            visitor.remember_step(secret, response.headers_mut());
            response
        }
    }
}

/// The user, if the password is theirs; judged away from the threads that serve.
async fn check_password(user: Option<User>, password: String) -> Result<Option<User>, WebFailure> {
    let judged = tokio::task::spawn_blocking(move || {
        let hash = user.as_ref().and_then(|user| user.password_hash.as_deref());
        if password::verify(&password, hash) { user } else { None }
    });
    judged.await.map_err(|error| WebFailure::internal(error.to_string()))
}

/// Writes a letter with a link if the address has an account. Both ways end in the same page, after a write.
async fn mail_link(app: &App, email: &str) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        sessions::store::prune(tx, now).await?;
        if let Some(user) = accounts::store::find_user_by_email(tx, email).await? {
            let token = signup::sign_in_link(tx, user.id, sessions::LINK_LIFE, now).await?;
            let url = format!("{}/sign-in/{token}", app.settings.site_url);
            let facts = Facts::SignIn { url, good_for_ms: sessions::LINK_LIFE };
            letters::write_to(tx, Some(user.account_id), email, &facts, now).await?;
        }
        Ok::<_, Error>(())
    })?;
    Ok(sent(app, email, false))
}

/// The page after a letter was asked for.
pub fn sent(app: &App, email: &str, is_new: bool) -> Response {
    let template = Sent {
        email: email.to_owned(),
        link_minutes: sessions::LINK_LIFE.as_seconds() / 60,
        mail_is_kept: app.settings.smtp_url.is_none(),
        is_new,
    };
    page(StatusCode::OK, &template)
}

pub async fn sign_out(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let visitor = posted.visitor;
    db::write!(app.db, |tx| {
        if let Some(signed_in) = visitor.user(tx, now).await? {
            sessions::store::end(tx, signed_in.user.id, signed_in.session_uuid).await?;
        }
        Ok::<_, WebFailure>(())
    })?;
    let mut response = to("/sign-in").into_response();
    visitor.sign_out(response.headers_mut());
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::safe_next;

    #[test]
    fn one_comes_back_to_pages_of_this_site_alone() {
        for ours in ["/", "/checks/1?log=2#x", "/projects/a/checks/new"] {
            assert_eq!(safe_next(ours), ours);
        }
        for foreign in [
            "",
            "//example.com",
            "/\\example.com",
            "https://example.com",
            "javascript:alert(1)",
            "checks",
            "/\t/example.com",
            "/a\\b",
            "/\r\nSet-Cookie: a=b",
            "/ä",
        ] {
            assert_eq!(safe_next(foreign), "/", "{foreign}");
        }
    }
}
