//! `/projects/<uuid>/team`: who is in a project and who is invited; what is done about them is in [`deeds`].
//!
//! Every member sees who the others are. What a member may do about them is decided by `accounts::team` on locked
//! rows; the page only leaves out the buttons of what would be refused.

mod deeds;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use std::sync::Arc;
use uuid::Uuid;

pub use deeds::{accept, invite, leave, offer, remove, revoke, set_role, withdraw};

use super::mark::Mark;
use super::shell::Shell;
use super::visitor::{Need, Opened, Visitor};
use super::when::{Stamp, Wall, counted};
use super::{WebFailure, page};
use crate::accounts::team::{Invitation, Member, store};
use crate::accounts::{self, Account, Role};
use crate::app::App;
use crate::db::{self, ReadTx};
use crate::time::Time;

/// Roles that are given, with what they may do.
const GIVEN: [(Role, &str); 3] = [
    (Role::Member, "may change checks, channels and keys"),
    (Role::Manager, "may also invite and remove members"),
    (Role::Readonly, "sees checks, and neither ping addresses nor keys"),
];

#[derive(Template)]
#[template(path = "web/team.html")]
struct Team {
    shell: Shell,
    project: Uuid,
    name: String,
    headline: String,
    /// How many places the plan has, for those who may fill them.
    places: Option<String>,
    members: Vec<MemberRow>,
    invitations: Vec<InvitationRow>,
    offer: Offer,
    may_manage: bool,
    is_owner: bool,
    complaint: Option<String>,
    email_typed: String,
}

struct MemberRow {
    uuid: Uuid,
    email: String,
    role: Role,
    since: Stamp,
    is_self: bool,
}

struct InvitationRow {
    uuid: Uuid,
    email: String,
    role: Role,
    invited_by: String,
    until: Stamp,
}

/// Whether the project is offered to somebody.
#[derive(Debug, PartialEq, Eq)]
enum Offer {
    None,
    /// By the one who looks, to a member.
    Made(String),
    /// To the one who looks, by the owner.
    Got(String),
}

/// All that the page shows, as it was read.
struct Seen {
    opened: Opened,
    account: Account,
    members: Vec<Member>,
    invitations: Vec<Invitation>,
    offered_to: Option<i64>,
    places_used: i64,
}

async fn see(
    tx: &mut ReadTx,
    app: &App,
    visitor: &Visitor,
    project: Uuid,
    now: Time,
) -> Result<Seen, WebFailure> {
    let opened = visitor.open(tx, project, Need::Look, now).await?;
    let row = &opened.membership.project;
    let counts = accounts::store::list_member_counts(tx, row.account_id).await?;
    Ok(Seen {
        account: app.account(tx, row.account_id).await?,
        members: store::list_members(tx, row.id).await?,
        invitations: store::list_invitations(tx, row.id, now).await?,
        offered_to: accounts::projects::store::find_offer(tx, row.id).await?,
        places_used: counts.iter().find(|one| one.id == row.id).map_or(0, |one| one.members),
        opened,
    })
}

fn render(
    app: &App,
    visitor: &Visitor,
    seen: Seen,
    complaint: Option<String>,
    email_typed: &str,
    now: Time,
) -> Response {
    let Seen { opened, account, members, invitations, offered_to, places_used } = seen;
    let wall = Wall::new(&opened.signed_in.user.zone, now);
    let (own_id, role) = (opened.signed_in.user.id, opened.membership.role);
    let status = if complaint.is_some() { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK };
    let offer = offer_of(&members, offered_to, own_id, role);
    let row = |member: Member| MemberRow {
        is_self: member.user_id == own_id,
        uuid: member.uuid,
        email: member.email,
        role: member.role,
        since: wall.stamp(member.created_at),
    };
    let invitation = |one: Invitation| InvitationRow {
        uuid: one.uuid,
        email: one.email,
        role: one.role,
        invited_by: one.invited_by,
        until: wall.stamp(one.expires_at),
    };
    let template = Team {
        project: opened.membership.project.uuid,
        name: opened.membership.project.name.clone(),
        headline: headline(members.len()),
        places: role.may_manage().then(|| places(&account, places_used, invitations.len())),
        members: members.into_iter().map(row).collect(),
        invitations: invitations.into_iter().map(invitation).collect(),
        offer,
        may_manage: role.may_manage(),
        is_owner: role == Role::Owner,
        complaint,
        email_typed: email_typed.to_owned(),
        shell: Shell::of_project(app, visitor, &opened, "Team"),
    };
    page(status, &template)
}

fn headline(members: usize) -> String {
    if members == 1 {
        "You are alone in this project".to_owned()
    } else {
        format!("{} people are in this project", members)
    }
}

fn places(account: &Account, used: i64, invited: usize) -> String {
    let invited = match invited {
        0 => String::new(),
        invited => format!(", {} among them", counted(invited, "open invitation")),
    };
    match account.plan.members {
        None => format!("The plan {} sets no limit on members.", account.plan.name),
        Some(limit) => {
            format!("{used} of the {limit} places of the plan {} are taken{invited}.", account.plan.name)
        }
    }
}

fn offer_of(members: &[Member], offered_to: Option<i64>, own_id: i64, role: Role) -> Offer {
    let email = |is_meant: &dyn Fn(&Member) -> bool| {
        members.iter().find(|one| is_meant(one)).map(|one| one.email.clone()).unwrap_or_default()
    };
    match offered_to {
        Some(user_id) if user_id == own_id => Offer::Got(email(&|one| one.role == Role::Owner)),
        Some(user_id) if role == Role::Owner => Offer::Made(email(&|one| one.user_id == user_id)),
        _ => Offer::None,
    }
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &app, &visitor, project, now).await)?;
    Ok(render(&app, &visitor, seen, None, "", now))
}
