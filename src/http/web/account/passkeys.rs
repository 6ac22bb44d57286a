//! `/account/passkeys`: which there are, a new one, another name, and the end of one.
//!
//! A new one takes two steps. The first asks for a proof that it is the user and answers with a page that holds a
//! challenge; its script has the browser make the passkey and sends what came of it. The challenge carries the proof
//! over: it is the user's and this browser's, and gone once they change how they sign in.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use uuid::Uuid;

use super::proof::{Asked, prove};
use crate::accounts::passkeys::{self, Added, Passkey, Site};
use crate::accounts::sessions::{self, SignedIn};
use crate::accounts::{self, Membership};
use crate::alerts::letters;
use crate::alerts::words::security::Change;
use crate::app::App;
use crate::config::Rule;
use crate::db;
use crate::http::web::limits::{Attempt, spend};
use crate::http::web::mark::Mark;
use crate::http::web::shell::Shell;
use crate::http::web::visitor::{Posted, Visitor};
use crate::http::web::when::{Stamp, Wall};
use crate::http::web::{WebFailure, page, to};
use crate::time::Time;

const PAGE: &str = "/account/passkeys";
const FULL: &str = "You have as many passkeys as there may be. Remove one first.";

#[derive(Template)]
#[template(path = "web/passkeys.html")]
struct Passkeys {
    shell: Shell,
    asked: Asked,
    /// Whether browsers know passkeys at this site.
    is_possible: bool,
    rows: Vec<Row>,
    name_typed: String,
    complaint: Option<Complaint>,
}

struct Row {
    uuid: Uuid,
    name: String,
    added: Stamp,
    used: Option<Stamp>,
}

/// What is wrong, at which field, and of which passkey.
struct Complaint {
    field: &'static str,
    passkey: Option<Uuid>,
    words: String,
}

/// The second step of a new one.
#[derive(Template)]
#[template(path = "web/passkey_new.html")]
struct New {
    shell: Shell,
    name: String,
    /// JSON: what the browser is asked for.
    options: String,
}

/// The signed-in user with their passkeys.
struct Seen {
    signed_in: SignedIn,
    memberships: Vec<Membership>,
    passkeys: Vec<Passkey>,
}

async fn see(app: &App, visitor: &Visitor, now: Time) -> Result<Seen, WebFailure> {
    db::read!(app.db, |tx| {
        let (signed_in, memberships) = visitor.signed_in(tx, now).await?;
        let passkeys = passkeys::store::list(tx, signed_in.user.id).await?;
        Ok(Seen { signed_in, memberships, passkeys })
    })
}

impl Complaint {
    fn new(field: &'static str, words: impl Into<String>) -> Self {
        Self { field, passkey: None, words: words.into() }
    }

    fn about(self, passkey: Uuid) -> Self {
        Self { passkey: Some(passkey), ..self }
    }
}

impl Seen {
    fn page(
        self,
        app: &App,
        visitor: &Visitor,
        name_typed: &str,
        complaint: Option<Complaint>,
        now: Time,
    ) -> Response {
        let wall = Wall::new(&self.signed_in.user.zone, now);
        let row = |one: Passkey| Row {
            uuid: one.uuid,
            name: one.name,
            added: wall.stamp(one.created_at),
            used: one.last_used_at.map(|at| wall.stamp(at)),
        };
        let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
        let template = Passkeys {
            asked: Asked::of(&self.signed_in, now),
            is_possible: app.passkey_site.is_some(),
            shell: Shell::of_account(app, visitor, &self.signed_in, &self.memberships),
            rows: self.passkeys.into_iter().map(row).collect(),
            name_typed: name_typed.to_owned(),
            complaint,
        };
        page(status, &template)
    }

    /// What a browser is asked for: the options of WebAuthn as JSON, bytes in base64url.
    fn options(&self, site: &Site, challenge: &str) -> String {
        let user = &self.signed_in.user;
        let known =
            |one: &Passkey| json!({"type": "public-key", "id": URL_SAFE_NO_PAD.encode(&one.credential)});
        let asked = |algorithm| json!({"type": "public-key", "alg": algorithm});
        let options = json!({
            "rp": {"id": site.name, "name": "Flatline"},
            "user": {
                "id": URL_SAFE_NO_PAD.encode(user.uuid.as_bytes()),
                "name": user.email,
                "displayName": user.email,
            },
            "challenge": challenge,
            "pubKeyCredParams": passkeys::ALGORITHMS.map(asked),
            "timeout": passkeys::CHALLENGE_LIFE.0,
            "excludeCredentials": self.passkeys.iter().map(known).collect::<Vec<_>>(),
            "authenticatorSelection": {
                "residentKey": "required",
                "requireResidentKey": true,
                "userVerification": "required",
            },
            "attestation": "none",
        });
        options.to_string()
    }
}

impl Passkeys {
    /// What is wrong at a field of the form for a new one.
    fn complaint_at(&self, field: &str) -> Option<&str> {
        self.complaint
            .as_ref()
            .filter(|one| one.passkey.is_none() && one.field == field)
            .map(|one| one.words.as_str())
    }

    /// What is wrong at a field of a passkey's forms.
    fn complaint_of(&self, passkey: &Uuid, field: &str) -> Option<&str> {
        self.complaint_about(passkey).filter(|one| one.field == field).map(|one| one.words.as_str())
    }

    fn complaint_about(&self, passkey: &Uuid) -> Option<&Complaint> {
        self.complaint.as_ref().filter(|one| one.passkey.as_ref() == Some(passkey))
    }
}

/// How many passkeys one user may have.
fn limit(app: &App) -> i64 {
    app.settings.limits.get(Rule::PasskeysHeld).unwrap_or(i64::MAX)
}

fn wrong_name(name: &str) -> Option<Complaint> {
    match name.chars().count() {
        0 => Some(Complaint::new("name", "Give it a name, by which you tell it from others.")),
        1..=passkeys::NAME_CHARS => None,
        _ => Some(Complaint::new("name", format!("Write at most {} characters.", passkeys::NAME_CHARS))),
    }
}

pub async fn show(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    Ok(see(&app, &visitor, now).await?.page(&app, &visitor, "", None, now))
}

pub async fn begin(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let site = app.passkeys()?;
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let name = fields.trimmed("name");
    let is_full = i64::try_from(seen.passkeys.len()).is_ok_and(|held| held >= limit(&app));
    let complaint = wrong_name(name).or_else(|| is_full.then(|| Complaint::new("name", FULL)));
    if complaint.is_some() {
        return Ok(seen.page(&app, &visitor, name, complaint, now));
    }
    let proof = match prove(&app, &visitor, &seen.signed_in, fields.get("proof"), now).await? {
        Ok(proof) => proof,
        Err(words) => {
            return Ok(seen.page(&app, &visitor, name, Some(Complaint::new("proof", words)), now));
        }
    };
    spend(&app, Attempt::Passkey, visitor.address).await?;
    let browser = visitor.browser();
    let challenge = db::write!(app.db, |tx| {
        visitor.signed_in(tx, now).await?;
        let user = proof.lock(tx).await?;
        Ok::<_, WebFailure>(passkeys::ask(tx, &browser, Some(user.id), now).await?)
    })?;
    let options = seen.options(site, &challenge);
    let shell = Shell::of_account(&app, &visitor, &seen.signed_in, &seen.memberships);
    Ok(page(StatusCode::OK, &New { shell, name: name.to_owned(), options }))
}

pub async fn add(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let site = app.passkeys()?;
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let name = fields.trimmed("name");
    if let Some(complaint) = wrong_name(name) {
        return Ok(seen.page(&app, &visitor, name, Some(complaint), now));
    }
    spend(&app, Attempt::Passkey, visitor.address).await?;
    let client_data = fields.bytes("client_data");
    let made = passkeys::read_new(site, &client_data, &fields.bytes("attestation"));
    let challenge = passkeys::challenge_of(&client_data).unwrap_or_default();
    let browser = visitor.browser();
    let asked = passkeys::Asked { challenge: &challenge, browser: &browser };
    let user_id = seen.signed_in.user.id;
    let added = db::write!(app.db, |tx| {
        visitor.signed_in(tx, now).await?;
        let user = accounts::store::lock_user(tx, user_id).await?.ok_or(WebFailure::Stale)?;
        let added = passkeys::add(tx, &user, &asked, &made, (name, limit(&app)), now).await?;
        if added == Ok(Added::Done) {
            letters::tell_change(tx, &user, Change::PasskeyAdded { name: name.to_owned() }, now).await?;
        }
        Ok::<_, WebFailure>(added)
    })?;
    let words = match added {
        Ok(Added::Done) => return Ok(to(PAGE)),
        Ok(Added::Full) => FULL,
        Ok(Added::Known) => "This passkey is known here already.",
        Err(flaw) => {
            tracing::warn!(user = %seen.signed_in.user.uuid, %flaw, "a new passkey was refused");
            "The answer of the browser did not hold, so nothing was added. Begin once more."
        }
    };
    Ok(seen.page(&app, &visitor, name, Some(Complaint::new("name", words)), now))
}

pub async fn rename(
    State(app): State<Arc<App>>,
    Path(passkey): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let name = fields.trimmed("name");
    if let Some(complaint) = wrong_name(name) {
        let seen = see(&app, &visitor, now).await?;
        return Ok(seen.page(&app, &visitor, "", Some(complaint.about(passkey)), now));
    }
    db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        match passkeys::store::set_name(tx, signed_in.user.id, passkey, name).await? {
            true => Ok(()),
            false => Err(WebFailure::NotFound),
        }
    })?;
    Ok(to(PAGE))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Path(passkey): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let proof = match prove(&app, &visitor, &seen.signed_in, fields.get("proof"), now).await? {
        Ok(proof) => proof,
        Err(words) => {
            let complaint = Complaint::new("proof", words).about(passkey);
            return Ok(seen.page(&app, &visitor, "", Some(complaint), now));
        }
    };
    db::write!(app.db, |tx| {
        let (signed_in, _) = visitor.signed_in(tx, now).await?;
        let user = proof.lock(tx).await?;
        let name = passkeys::remove(tx, user.id, passkey).await?.ok_or(WebFailure::NotFound)?;
        sessions::end_all_but(tx, user.id, signed_in.session_uuid).await?;
        Ok::<_, WebFailure>(letters::tell_change(tx, &user, Change::PasskeyRemoved { name }, now).await?)
    })?;
    Ok(to(PAGE))
}
