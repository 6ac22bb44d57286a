//! `/account/delete`: leaving, with all that belongs to the account. The page says what goes; nothing brings it back.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::proof::{Asked, prove};
use crate::accounts::sessions::SignedIn;
use crate::accounts::{self, Membership};
use crate::app::App;
use crate::checks;
use crate::db;
use crate::http::web::mark::Mark;
use crate::http::web::shell::Shell;
use crate::http::web::visitor::{Posted, Visitor};
use crate::http::web::when::counted;
use crate::http::web::{WebFailure, page};
use crate::removal;
use crate::time::Time;

#[derive(Template)]
#[template(path = "web/account_delete.html")]
struct Delete {
    shell: Shell,
    is_operator: bool,
    goes: Vec<Goes>,
    /// Names of the projects that the user leaves and that stay.
    stays: Vec<String>,
    asked: Asked,
    complaint: Option<&'static str>,
}

/// A project that goes with the account.
struct Goes {
    name: String,
    /// In words.
    checks: String,
    /// Other people who lose it, in words, if there are any.
    members: Option<String>,
}

/// The page after it was done.
#[derive(Template)]
#[template(path = "web/account_deleted.html")]
struct Deleted;

/// What the page shows, as it was read.
struct Seen {
    signed_in: SignedIn,
    memberships: Vec<Membership>,
    is_operator: bool,
    goes: Vec<Goes>,
}

async fn see(app: &App, visitor: &Visitor, now: Time) -> Result<Seen, WebFailure> {
    db::read!(app.db, |tx| {
        let (signed_in, memberships) = visitor.signed_in(tx, now).await?;
        let account_id = signed_in.user.account_id;
        let instance = accounts::store::find_instance(tx).await?;
        let is_operator = instance.is_some_and(|instance| instance.operator_id == Some(account_id));
        let mut goes = Vec::new();
        for project in accounts::store::list_member_counts(tx, account_id).await? {
            let checks = checks::store::count_in_project(tx, project.id).await?;
            let others = usize::try_from(project.members - 1).unwrap_or(0);
            let checks = counted(usize::try_from(checks).unwrap_or(0), "check");
            let members = (others > 0).then(|| {
                format!(
                    "{} no longer",
                    if others == 1 { "1 member is".to_owned() } else { format!("{others} members are") }
                )
            });
            goes.push(Goes { name: project.name, checks, members });
        }
        Ok(Seen { signed_in, memberships, is_operator, goes })
    })
}

fn render(app: &App, visitor: &Visitor, seen: Seen, complaint: Option<&'static str>, now: Time) -> Response {
    let Seen { signed_in, memberships, is_operator, goes } = seen;
    let is_foreign = |one: &&Membership| one.project.account_id != signed_in.user.account_id;
    let template = Delete {
        is_operator,
        goes,
        stays: memberships.iter().filter(is_foreign).map(|one| one.project.name.clone()).collect(),
        asked: Asked::of(&signed_in, now),
        complaint,
        shell: Shell::of_account(app, visitor, &signed_in, &memberships),
    };
    let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    page(status, &template)
}

pub async fn show(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    Ok(render(&app, &visitor, seen, None, now))
}

pub async fn delete(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let seen = see(&app, &visitor, now).await?;
    let proof = match prove(&app, &visitor, &seen.signed_in, fields.get("proof"), now).await? {
        Ok(proof) => proof,
        Err(complaint) => return Ok(render(&app, &visitor, seen, Some(complaint), now)),
    };
    db::write!(app.db, |tx| {
        visitor.signed_in(tx, now).await?;
        let user = proof.lock(tx).await?;
        Ok::<_, WebFailure>(removal::close_account(tx, &user, now).await?)
    })?;
    let mut response = page(StatusCode::OK, &Deleted);
    visitor.sign_out(response.headers_mut());
    Ok(response)
}
