//! Who is in a project, who is invited, and what they may do there.
//!
//! Every change locks the project's row first (an invitation, which takes a place that the plan counts, its account
//! before that) and looks at the actor's role after it: who was demoted or removed a moment ago does no more. An open
//! invitation holds a place, so whoever accepts one is never told that the project is full. The owner is whose account
//! the project belongs to: nothing here makes, changes or removes one, so a project always has exactly one.
//!
//! A place is taken in [`invite`] alone, under the account's plan, and given back by [`revoke`], [`remove`],
//! [`leave_all`] and [`expire`].

pub mod store;

use uuid::Uuid;

use super::projects::store as projects;
use super::{Account, Role, store as accounts};
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::id;
use crate::time::{Span, Time};

/// How long an invitation is good.
pub const INVITATION_LIFE: Span = Span::hours(24 * 7);

/// A user in a project.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Member {
    pub user_id: i64,
    pub uuid: Uuid,
    pub email: String,
    pub role: Role,
    pub created_at: Time,
}

/// An invitation that nobody redeemed yet.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Invitation {
    pub uuid: Uuid,
    /// Lower-case.
    pub email: String,
    pub role: Role,
    /// The address of the user who invites.
    pub invited_by: String,
    pub created_at: Time,
    pub expires_at: Time,
}

/// Who is to come in as what.
#[derive(Clone, Debug)]
pub struct Invitee {
    /// Lower-case.
    pub email: String,
    pub role: Role,
    /// The address of the user who invites.
    pub invited_by: String,
}

/// Why nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The plan's members are all there, or invited.
    NoRoom,
    /// The address is a member's already.
    IsMember,
    /// The owner stays the owner until somebody takes the project over.
    IsOwner,
    /// The actor's role does not allow it, perhaps since a moment ago.
    NotAllowed,
    /// The member or the invitation is gone.
    Gone,
}

/// How a change of a team ended.
pub type Changed = std::result::Result<(), Refused>;

/// Stores an invitation by the digest of its token. One to an address that has one replaces it and takes no further
/// place.
///
/// # Errors
/// [`Error::Outdated`] if the project is another account's by now, or that has another plan; the database's.
pub async fn invite(
    tx: &mut WriteTx,
    account: &Account,
    project_id: i64,
    actor_id: i64,
    invitee: &Invitee,
    digest: &[u8],
    now: Time,
) -> Result<Changed> {
    if !accounts::pin_plan(tx, account.id, &account.plan.name).await? {
        return Err(Error::Outdated);
    }
    super::lock_project_of(tx, account.id, project_id).await?;
    if !may_manage(tx, project_id, actor_id).await? || invitee.role == Role::Owner {
        return Ok(Err(Refused::NotAllowed));
    }
    expire(tx, project_id, now).await?;
    if store::list_members(tx, project_id).await?.iter().any(|member| member.email == invitee.email) {
        return Ok(Err(Refused::IsMember));
    }
    let is_new = !store::drop_invitation_to(tx, project_id, &invitee.email).await?;
    let limit = account.plan.members.unwrap_or(i64::MAX);
    if is_new && !projects::take_member(tx, project_id, account.id, limit).await? {
        return Ok(Err(Refused::NoRoom));
    }
    let invitation = Invitation {
        uuid: id::uuid(),
        email: invitee.email.clone(),
        role: invitee.role,
        invited_by: invitee.invited_by.clone(),
        created_at: now,
        expires_at: now + INVITATION_LIFE,
    };
    store::create_invitation(tx, project_id, &invitation, digest).await?;
    Ok(Ok(()))
}

/// Redeems an invitation for the user it was sent to, once; returns the project they are in from here on.
///
/// # Errors
/// [`Error::NotFound`] if it was redeemed, revoked, is too old, or is somebody else's.
pub async fn accept(tx: &mut WriteTx, digest: &[u8], user_id: i64, now: Time) -> Result<Uuid> {
    let user = accounts::find_user(tx, user_id).await?.ok_or(Error::NotFound)?;
    let seen = store::find_invited(tx, digest, now).await?.ok_or(Error::NotFound)?;
    accounts::lock_project(tx, seen.project_id).await?.ok_or(Error::NotFound)?;
    let role = store::redeem_invitation(tx, digest, &user.email, now).await?.ok_or(Error::NotFound)?;
    // The place passes on to the member, unless the user has one already.
    if !store::create_member(tx, seen.project_id, user_id, role, now).await? {
        projects::give_back_members(tx, seen.project_id, 1).await?;
    }
    Ok(seen.project)
}

/// Revokes an invitation: its link leads nowhere from here on.
///
/// # Errors
/// The database's.
pub async fn revoke(tx: &mut WriteTx, project_id: i64, actor_id: i64, invitation: Uuid) -> Result<Changed> {
    accounts::lock_project(tx, project_id).await?;
    if !may_manage(tx, project_id, actor_id).await? {
        return Ok(Err(Refused::NotAllowed));
    }
    if !store::delete_invitation(tx, project_id, invitation).await? {
        return Ok(Err(Refused::Gone));
    }
    projects::give_back_members(tx, project_id, 1).await?;
    Ok(Ok(()))
}

/// Gives a member who is not the owner another role than the owner's.
///
/// # Errors
/// The database's.
pub async fn set_role(
    tx: &mut WriteTx,
    project_id: i64,
    actor_id: i64,
    member: Uuid,
    role: Role,
) -> Result<Changed> {
    accounts::lock_project(tx, project_id).await?;
    if !may_manage(tx, project_id, actor_id).await? || role == Role::Owner {
        return Ok(Err(Refused::NotAllowed));
    }
    let found = match find(tx, project_id, member).await? {
        Ok(found) => found,
        refused => return Ok(refused.map(drop)),
    };
    let is_set = store::set_role(tx, project_id, found.user_id, role).await?;
    Ok(if is_set { Ok(()) } else { Err(Refused::Gone) })
}

/// Removes a member who is not the owner; any member may remove themselves.
///
/// # Errors
/// The database's.
pub async fn remove(tx: &mut WriteTx, project_id: i64, actor_id: i64, member: Uuid) -> Result<Changed> {
    accounts::lock_project(tx, project_id).await?;
    let found = match find(tx, project_id, member).await? {
        Ok(found) => found,
        refused => return Ok(refused.map(drop)),
    };
    if found.user_id != actor_id && !may_manage(tx, project_id, actor_id).await? {
        return Ok(Err(Refused::NotAllowed));
    }
    take_out(tx, project_id, found.user_id).await
}

/// Takes a user out of every project that they do not own, deleted ones too: before their account is deleted.
///
/// # Errors
/// The database's.
pub async fn leave_all(tx: &mut WriteTx, user_id: i64) -> Result<()> {
    for project_id in store::list_joined(tx, user_id).await? {
        if store::lock_even_deleted(tx, project_id).await? {
            take_out(tx, project_id, user_id).await?.ok();
        }
    }
    Ok(())
}

/// Deletes the invitations of a project that are too old; returns how many places came back. The project's row is
/// locked by this or before.
///
/// # Errors
/// The database's.
pub async fn expire(tx: &mut WriteTx, project_id: i64, now: Time) -> Result<u64> {
    accounts::lock_project(tx, project_id).await?;
    let expired = store::expire_invitations(tx, project_id, now).await?;
    if expired > 0 {
        projects::give_back_members(tx, project_id, expired).await?;
    }
    Ok(expired)
}

/// Offers the project to one of its members, who becomes its owner by accepting; one offer at a time.
///
/// # Errors
/// The database's.
pub async fn offer(tx: &mut WriteTx, project_id: i64, actor_id: i64, member: Uuid) -> Result<Changed> {
    accounts::lock_project(tx, project_id).await?;
    if store::find_role(tx, project_id, actor_id).await? != Some(Role::Owner) {
        return Ok(Err(Refused::NotAllowed));
    }
    let found = match find(tx, project_id, member).await? {
        Ok(found) => found,
        refused => return Ok(refused.map(drop)),
    };
    let is_there = projects::offer(tx, project_id, found.user_id).await?;
    Ok(if is_there { Ok(()) } else { Err(Refused::Gone) })
}

/// Takes an offer back, as the owner, or turns it down, as the one it was made to.
///
/// # Errors
/// The database's.
pub async fn withdraw(tx: &mut WriteTx, project_id: i64, actor_id: i64) -> Result<Changed> {
    accounts::lock_project(tx, project_id).await?;
    let Some(offered_to) = projects::find_offer(tx, project_id).await? else { return Ok(Err(Refused::Gone)) };
    let is_owner = store::find_role(tx, project_id, actor_id).await? == Some(Role::Owner);
    if !is_owner && offered_to != actor_id {
        return Ok(Err(Refused::NotAllowed));
    }
    projects::withdraw(tx, project_id, offered_to).await?;
    Ok(Ok(()))
}

/// Makes a member the owner and the owner a member. The project's row is locked, and goes to the new owner's account
/// in the same transaction.
///
/// # Errors
/// [`Error::Outdated`] if the user is no member any more; the database's.
pub async fn hand_over(tx: &mut WriteTx, project_id: i64, heir_id: i64) -> Result<()> {
    let demoted = store::demote_owner(tx, project_id).await?;
    let promoted = store::promote(tx, project_id, heir_id).await?;
    if demoted && promoted { Ok(()) } else { Err(Error::Outdated) }
}

/// The member of that uuid who may be changed; the project's row is locked.
async fn find(
    tx: &mut WriteTx,
    project_id: i64,
    member: Uuid,
) -> Result<std::result::Result<Member, Refused>> {
    let members = store::list_members(tx, project_id).await?;
    Ok(match members.into_iter().find(|one| one.uuid == member) {
        None => Err(Refused::Gone),
        Some(found) if found.role == Role::Owner => Err(Refused::IsOwner),
        Some(found) => Ok(found),
    })
}

async fn take_out(tx: &mut WriteTx, project_id: i64, user_id: i64) -> Result<Changed> {
    if !store::delete_member(tx, project_id, user_id).await? {
        return Ok(Err(Refused::Gone));
    }
    projects::give_back_members(tx, project_id, 1).await?;
    projects::withdraw(tx, project_id, user_id).await?;
    Ok(Ok(()))
}

/// Whether the actor may manage members; the project's row is locked, so it stays true.
async fn may_manage(tx: &mut WriteTx, project_id: i64, actor_id: i64) -> Result<bool> {
    Ok(store::find_role(tx, project_id, actor_id).await?.is_some_and(Role::may_manage))
}
