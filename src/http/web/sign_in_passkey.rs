//! `/sign-in/passkey`: a passkey signs in alone, without an address, a password or a code.
//!
//! The script of the sign-in page asks for a challenge, lets the browser answer it, and sends the answer as a form.
//! Whatever is wrong with an answer is said in one sentence that fits all of it, and named in the log alone. Passkeys
//! are asked for without naming any, so that nobody learns who has one.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::WebFailure;
use super::limits::{Attempt, spend};
use super::sign_in::{form, let_in, safe_next};
use super::visitor::Posted;
use crate::accounts::passkeys::{self, Asked, Assertion, Flaw, Site};
use crate::accounts::sessions::Admitted;
use crate::app::App;
use crate::db;

const REFUSED: &str = "This passkey was not taken. Try once more, or sign in another way.";

impl App {
    /// The site as passkeys know it.
    ///
    /// # Errors
    /// Browsers know none here.
    pub(super) fn passkeys(&self) -> Result<&Site, WebFailure> {
        self.passkey_site.as_ref().ok_or(WebFailure::NotFound)
    }
}

pub async fn begin(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let site = app.passkeys()?;
    spend(&app, Attempt::Passkey, posted.visitor.address).await?;
    let now = app.clock.now();
    let browser = posted.visitor.browser();
    let challenge = db::write!(app.db, |tx| passkeys::ask(tx, &browser, None, now).await)?;
    let asked = json!({
        "challenge": challenge,
        "rpId": site.name,
        "timeout": passkeys::CHALLENGE_LIFE.0,
        "userVerification": "required",
    });
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(asked)).into_response())
}

pub async fn submit(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let site = app.passkeys()?;
    let Posted { visitor, fields } = posted;
    spend(&app, Attempt::Passkey, visitor.address).await?;
    let now = app.clock.now();
    let next = safe_next(fields.get("next"));
    let answer = Assertion {
        credential: fields.bytes("credential"),
        client_data: fields.bytes("client_data"),
        authenticator: fields.bytes("authenticator"),
        signature: fields.bytes("signature"),
        user_handle: fields.bytes("user_handle"),
    };
    let known = db::read!(app.db, |tx| passkeys::store::find_known(tx, &answer.credential).await)?;
    let judged = known.as_ref().map_or(Err(Flaw::NoPasskey), |known| answer.judge(site, known));
    let challenge = passkeys::challenge_of(&answer.client_data).unwrap_or_default();
    let (browser, origin) = (visitor.browser(), visitor.origin());
    let asked = Asked { challenge: &challenge, browser: &browser };
    let admitted = db::write!(app.db, |tx| passkeys::sign_in(tx, &asked, &judged, &origin, now).await)?;
    Ok(match admitted {
        Ok(secret) => let_in(&visitor, &Admitted::In(secret), next),
        Err(flaw) => {
            let passkey = known.map(|known| known.uuid);
            tracing::warn!(?passkey, %flaw, "a passkey was refused");
            form(&app, &visitor, "", next, Some(REFUSED), false)
        }
    })
}
