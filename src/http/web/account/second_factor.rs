//! `/account/second-factor`: an authenticator app, turned on by its first code, and the codes that stand in for it.
//!
//! While the factor is set up its secret travels with the form and is stored only once a code proved that the app has
//! it; afterwards no page shows it. Recovery codes are shown once, when they are drawn.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::proof::{Asked, prove};
use crate::accounts::second_factor::{self, Authenticator, Code, SecondFactor};
use crate::accounts::sessions::{self, SignedIn};
use crate::accounts::{self, Membership};
use crate::alerts::letters;
use crate::alerts::words::security::Change;
use crate::app::App;
use crate::db;
use crate::http::web::limits::{Attempt, spend};
use crate::http::web::mark::Mark;
use crate::http::web::qr::Picture;
use crate::http::web::shell::Shell;
use crate::http::web::visitor::{Posted, Visitor};
use crate::http::web::when::{Stamp, Wall};
use crate::http::web::{WebFailure, page, to};
use crate::time::Time;

const WRONG_CODE: &str = "This code is not the one of now, or was used before. Wait for the next one.";

#[derive(Template)]
#[template(path = "web/second_factor.html")]
struct Form {
    shell: Shell,
    standing: Standing,
    /// What is wrong, and at which field.
    complaint: Option<(&'static str, &'static str)>,
}

/// Whether the factor is on, and what the page needs then.
enum Standing {
    On { since: Stamp, codes_left: i64 },
    Off { secret: String, picture: Option<Picture>, asked: Asked },
}

/// Recovery codes, for the only time.
#[derive(Template)]
#[template(path = "web/recovery_codes.html")]
struct RecoveryCodes {
    shell: Shell,
    codes: Vec<String>,
}

/// The signed-in user with their factor.
struct Seen {
    signed_in: SignedIn,
    memberships: Vec<Membership>,
    factor: Option<SecondFactor>,
}

async fn see(app: &App, visitor: &Visitor, now: Time) -> Result<Seen, WebFailure> {
    db::read!(app.db, |tx| {
        let (signed_in, memberships) = visitor.signed_in(tx, now).await?;
        let factor = second_factor::store::find(tx, signed_in.user.id).await?;
        Ok(Seen { signed_in, memberships, factor })
    })
}

impl Seen {
    fn form(
        &self,
        app: &App,
        visitor: &Visitor,
        authenticator: Option<Authenticator>,
        complaint: Option<(&'static str, &'static str)>,
        now: Time,
    ) -> Result<Response, WebFailure> {
        let user = &self.signed_in.user;
        let standing = match self.factor {
            Some(factor) => Standing::On {
                since: Wall::new(&user.zone, now).stamp(factor.created_at),
                codes_left: factor.codes_left,
            },
            None => {
                let authenticator = authenticator.map_or_else(Authenticator::draw, Ok)?;
                Standing::Off {
                    picture: Picture::of(&authenticator.address(&app.settings.site_host(), &user.email)),
                    secret: authenticator.text(),
                    asked: Asked::of(&self.signed_in, now),
                }
            }
        };
        let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let shell = Shell::of_account(app, visitor, &self.signed_in, &self.memberships);
        Ok(page(status, &Form { shell, standing, complaint }))
    }

    fn codes(&self, app: &App, visitor: &Visitor, codes: Vec<String>) -> Response {
        let shell = Shell::of_account(app, visitor, &self.signed_in, &self.memberships);
        page(StatusCode::OK, &RecoveryCodes { shell, codes })
    }
}

impl Form {
    fn complaint_at(&self, field: &str) -> Option<&str> {
        self.complaint.filter(|(at, _)| *at == field).map(|(_, words)| words)
    }
}

pub async fn show(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    see(&app, &visitor, now).await?.form(&app, &visitor, None, None, now)
}

pub async fn turn_on(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let Some(authenticator) = Authenticator::read(fields.get("secret")).filter(|_| seen.factor.is_none())
    else {
        return Ok(to("/account/second-factor"));
    };
    let proof = match prove(&app, &visitor, &seen.signed_in, fields.get("proof"), now).await? {
        Ok(proof) => proof,
        Err(words) => return seen.form(&app, &visitor, Some(authenticator), Some(("proof", words)), now),
    };
    let Code::Totp(code) = Code::read(fields.get("code")) else {
        let complaint = Some(("code", "Write the six digits that the app shows."));
        return seen.form(&app, &visitor, Some(authenticator), complaint, now);
    };
    let codes = db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let user = proof.lock(tx).await?;
        let codes = second_factor::turn_on(tx, user.id, &authenticator, &code, now).await?;
        if codes.is_some() {
            sessions::end_all_but(tx, user.id, signed_in.session_uuid).await?;
            letters::tell_change(tx, &user, Change::SecondFactorOn, now).await?;
        }
        Ok::<_, WebFailure>(codes)
    })?;
    match codes {
        Some(codes) => Ok(seen.codes(&app, &visitor, codes)),
        None => seen.form(&app, &visitor, Some(authenticator), Some(("code", WRONG_CODE)), now),
    }
}

pub async fn renew_codes(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let Some(code) = spend_code(&app, &visitor, &seen, fields.get("code")).await? else {
        return Ok(to("/account/second-factor"));
    };
    let codes = db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let user = &signed_in.user;
        accounts::store::lock_user(tx, user.id).await?;
        if !second_factor::redeem(tx, user.id, &code, now).await? {
            return Ok(None);
        }
        letters::tell_change(tx, user, Change::CodesRenewed, now).await?;
        Ok::<_, WebFailure>(Some(second_factor::renew_codes(tx, user.id).await?))
    })?;
    match codes {
        Some(codes) => Ok(seen.codes(&app, &visitor, codes)),
        None => seen.form(&app, &visitor, None, Some(("renew", WRONG_CODE)), now),
    }
}

pub async fn turn_off(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let Some(code) = spend_code(&app, &visitor, &seen, fields.get("code")).await? else {
        return Ok(to("/account/second-factor"));
    };
    let is_off = db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let user = &signed_in.user;
        accounts::store::lock_user(tx, user.id).await?;
        let is_right = second_factor::redeem(tx, user.id, &code, now).await?;
        if is_right {
            second_factor::store::delete(tx, user.id).await?;
            sessions::end_all_but(tx, user.id, signed_in.session_uuid).await?;
            letters::tell_change(tx, user, Change::SecondFactorOff, now).await?;
        }
        Ok::<_, WebFailure>(is_right)
    })?;
    if is_off { Ok(to("/account")) } else { seen.form(&app, &visitor, None, Some(("off", WRONG_CODE)), now) }
}

/// The code that was typed, once its attempt is spent; `None` where the factor is off.
async fn spend_code(
    app: &App,
    visitor: &Visitor,
    seen: &Seen,
    typed: &str,
) -> Result<Option<Code>, WebFailure> {
    if seen.factor.is_none() {
        return Ok(None);
    }
    let code = Code::read(typed);
    let attempt = Attempt::Code { user_id: seen.signed_in.user.id, code: &code };
    spend(app, attempt, visitor.address).await?;
    Ok(Some(code))
}
