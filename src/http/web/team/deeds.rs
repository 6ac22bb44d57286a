//! What is done about members and invitations from the page of a team.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use uuid::Uuid;

use super::{render, see};
use crate::accounts::team::{self, Changed, INVITATION_LIFE, Invitee, Refused};
use crate::accounts::{Account, Role};
use crate::alerts::letters::{self, Facts};
use crate::app::App;
use crate::db::{self, WriteTx};
use crate::error::Error;
use crate::http::web::limits::{Attempt, spend};
use crate::http::web::visitor::{Need, Opened, Posted, Visitor};
use crate::http::web::{WebFailure, to};
use crate::id;
use crate::mail::Address;
use crate::plans::transfer;
use crate::time::Time;

/// The role of a form; one that is none, or is not given, counts as the least.
fn role(word: &str) -> Role {
    Role::from_word(word).filter(|role| *role != Role::Owner).unwrap_or(Role::Readonly)
}

fn team_of(project: Uuid) -> Response {
    to(&format!("/projects/{project}/team"))
}

/// What a refusal means for the one who asked.
fn failure(refused: Refused) -> WebFailure {
    match refused {
        Refused::Gone => WebFailure::NotFound,
        Refused::NotAllowed => WebFailure::Forbidden,
        Refused::IsOwner => WebFailure::from(Error::invalid(
            "The owner stays in the project with all rights until a member takes it over.",
        )),
        Refused::IsMember | Refused::NoRoom => WebFailure::internal("a refusal that only an invitation gets"),
    }
}

pub async fn invite(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let Posted { visitor, fields } = posted;
    let now = app.clock.now();
    let typed = fields.trimmed("email");
    let role = role(fields.get("role"));
    let opened = db::read!(app.db, |tx| visitor.open(tx, project, Need::Manage, now).await)?;
    let email = match Address::parse(&typed.to_lowercase()) {
        Ok(email) => email.to_string(),
        Err(_) => {
            let words = "Write the whole address, such as you@example.org.".to_owned();
            return complain(&app, &visitor, project, words, typed, now).await;
        }
    };
    let account_id = opened.membership.project.account_id;
    spend(&app, Attempt::Invitation { account_id, email: &email }, visitor.address).await?;
    let token = id::token();
    let (account, changed) =
        db::write!(app.db, |tx| write_invitation(tx, &app, &visitor, project, (&email, role), &token, now)
            .await)?;
    match changed {
        Ok(()) => Ok(to(&format!("/projects/{project}/team#invitations"))),
        Err(Refused::IsMember) => {
            complain(&app, &visitor, project, format!("{email} is in the project already."), typed, now).await
        }
        Err(Refused::NoRoom) => complain(&app, &visitor, project, no_room(&account), typed, now).await,
        Err(refused) => Err(failure(refused)),
    }
}

fn no_room(account: &Account) -> String {
    format!(
        "The plan {} has {} places for members in a project, open invitations among them, and they are taken. Revoke \
         an invitation or remove a member, or ask the operator for a larger plan.",
        account.plan.name,
        account.plan.members.unwrap_or(i64::MAX)
    )
}

/// Stores the invitation and its letter together.
async fn write_invitation(
    tx: &mut WriteTx,
    app: &App,
    visitor: &Visitor,
    project: Uuid,
    (email, role): (&str, Role),
    token: &str,
    now: Time,
) -> Result<(Account, Changed), WebFailure> {
    let opened = visitor.open(tx, project, Need::Manage, now).await?;
    let (row, user) = (&opened.membership.project, &opened.signed_in.user);
    let account = app.account(tx, row.account_id).await?;
    let invitee = Invitee { email: email.to_owned(), role, invited_by: user.email.clone() };
    let changed = team::invite(tx, &account, row.id, user.id, &invitee, &id::digest(token), now).await?;
    if changed.is_ok() {
        let facts = Facts::Invitation {
            url: format!("{}/invitations/{token}", app.settings.site_url),
            good_for_ms: INVITATION_LIFE,
            project: row.name.clone(),
            role: role.title().to_owned(),
            invited_by: user.email.clone(),
        };
        letters::write_to(tx, Some(account.id), email, &facts, now).await?;
    }
    Ok((account, changed))
}

/// The page again, with what was wrong.
async fn complain(
    app: &App,
    visitor: &Visitor,
    project: Uuid,
    words: String,
    typed: &str,
    now: Time,
) -> Result<Response, WebFailure> {
    let seen = db::read!(app.db, |tx| see(tx, app, visitor, project, now).await)?;
    Ok(render(app, visitor, seen, Some(words), typed, now))
}

/// What is done with one member or invitation.
#[derive(Clone, Copy)]
enum Deed {
    Revoke(Uuid),
    SetRole(Uuid, Role),
    Remove(Uuid),
    Leave,
    Offer(Uuid),
    Withdraw,
}

impl Deed {
    /// What the page asks of the role before the locked rows decide.
    const fn need(self) -> Need {
        match self {
            Self::Revoke(_) | Self::SetRole(..) | Self::Remove(_) => Need::Manage,
            Self::Offer(_) => Need::Own,
            Self::Leave | Self::Withdraw => Need::Look,
        }
    }

    async fn carry_out(self, tx: &mut WriteTx, opened: &Opened) -> Result<Changed, Error> {
        let (project_id, user) = (opened.membership.project.id, &opened.signed_in.user);
        match self {
            Self::Revoke(invitation) => team::revoke(tx, project_id, user.id, invitation).await,
            Self::SetRole(member, role) => team::set_role(tx, project_id, user.id, member, role).await,
            Self::Remove(member) => team::remove(tx, project_id, user.id, member).await,
            Self::Leave => team::remove(tx, project_id, user.id, user.uuid).await,
            Self::Offer(member) => team::offer(tx, project_id, user.id, member).await,
            Self::Withdraw => team::withdraw(tx, project_id, user.id).await,
        }
    }
}

async fn change(app: &App, visitor: &Visitor, project: Uuid, deed: Deed) -> Result<(), WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let opened = visitor.open(tx, project, deed.need(), now).await?;
        deed.carry_out(tx, &opened).await?.map_err(failure)
    })
}

pub async fn revoke(
    State(app): State<Arc<App>>,
    Path((project, invitation)): Path<(Uuid, Uuid)>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    change(&app, &posted.visitor, project, Deed::Revoke(invitation)).await?;
    Ok(to(&format!("/projects/{project}/team#invitations")))
}

pub async fn set_role(
    State(app): State<Arc<App>>,
    Path((project, member)): Path<(Uuid, Uuid)>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let role = role(posted.fields.get("role"));
    change(&app, &posted.visitor, project, Deed::SetRole(member, role)).await?;
    Ok(team_of(project))
}

pub async fn remove(
    State(app): State<Arc<App>>,
    Path((project, member)): Path<(Uuid, Uuid)>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    change(&app, &posted.visitor, project, Deed::Remove(member)).await?;
    Ok(team_of(project))
}

pub async fn leave(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    change(&app, &posted.visitor, project, Deed::Leave).await?;
    Ok(to("/projects"))
}

/// Offers the project to one of its members.
pub async fn offer(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let member = posted.fields.get("member").parse().unwrap_or_default();
    change(&app, &posted.visitor, project, Deed::Offer(member)).await?;
    Ok(team_of(project))
}

/// Takes an offer back, or turns it down.
pub async fn withdraw(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    change(&app, &posted.visitor, project, Deed::Withdraw).await?;
    Ok(team_of(project))
}

/// Takes the project over that is offered to the signed-in member.
pub async fn accept(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let opened = posted.visitor.open(tx, project, Need::Look, now).await?;
        let user = &opened.signed_in.user;
        let heir = app.account(tx, user.account_id).await?;
        transfer::accept(tx, &heir, user.id, &opened.membership.project).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(team_of(project))
}
