//! SQL of the tables `members` (what changes them) and `invitations`. Whoever writes here holds the project's row.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{Invitation, Member};
use crate::accounts::Role;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    LIST_MEMBERS =
        "SELECT users.id AS user_id, users.uuid AS uuid, users.email AS email, members.role AS role, \
         members.created_at AS created_at FROM members JOIN users ON users.id = members.user_id \
         WHERE members.project_id = $1 ORDER BY members.created_at, users.id";
    FIND_ROLE = "SELECT role FROM members WHERE project_id = $1 AND user_id = $2";
    /// Adds a member. Zero rows: they are one already.
    CREATE_MEMBER =
        "INSERT INTO members (project_id, user_id, role, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (project_id, user_id) DO NOTHING";
    /// Changes a role; never the owner's. Zero rows: the member is gone, or the owner by now.
    SET_ROLE = "UPDATE members SET role = $3 WHERE project_id = $1 AND user_id = $2 AND role <> 'owner'";
    /// Removes a member; never the owner. Zero rows: as for `SET_ROLE`.
    DELETE_MEMBER = "DELETE FROM members WHERE project_id = $1 AND user_id = $2 AND role <> 'owner'";
    /// Transfer: the owner becomes a member. Zero rows: there is none, which cannot be.
    DEMOTE_OWNER = "UPDATE members SET role = 'member' WHERE project_id = $1 AND role = 'owner'";
    /// Transfer: a member becomes the owner. Zero rows: they are no member any more.
    PROMOTE = "UPDATE members SET role = 'owner' WHERE project_id = $1 AND user_id = $2";
    /// Projects that a user is in without owning them, deleted ones among them, which may come back.
    LIST_JOINED = "SELECT project_id AS id FROM members WHERE user_id = $1 AND role <> 'owner' ORDER BY project_id";
    /// Locks a project's row, also a deleted one's.
    LOCK_EVEN_DELETED = "SELECT id FROM projects WHERE id = $1";
    LIST_INVITATIONS =
        "SELECT uuid, email, role, invited_by, created_at, expires_at FROM invitations \
         WHERE project_id = $1 AND expires_at > $2 ORDER BY id";
    CREATE_INVITATION =
        "INSERT INTO invitations (uuid, project_id, email, role, digest, invited_by, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    /// Deletes the invitation to an address, which another one replaces. Zero rows: there is none.
    DROP_INVITATION_TO = "DELETE FROM invitations WHERE project_id = $1 AND email = $2";
    FIND_INVITED =
        "SELECT projects.id AS project_id, projects.uuid AS project, projects.name AS project_name, \
         invitations.email AS email, invitations.role AS role, invitations.invited_by AS invited_by \
         FROM invitations JOIN projects ON projects.id = invitations.project_id \
         WHERE invitations.digest = $1 AND invitations.expires_at > $2 AND projects.deleted_at IS NULL";
    /// Redeem: an invitation works once, for the address it was sent to. Zero rows: used, revoked or expired.
    REDEEM_INVITATION =
        "DELETE FROM invitations WHERE digest = $1 AND email = $2 AND expires_at > $3 RETURNING role";
    /// Revokes an invitation of the project. Zero rows: it was redeemed or revoked before.
    DELETE_INVITATION = "DELETE FROM invitations WHERE project_id = $1 AND uuid = $2";
    EXPIRE_INVITATIONS = "DELETE FROM invitations WHERE project_id = $1 AND expires_at <= $2";
    LIST_EXPIRED = "SELECT project_id AS id FROM invitations WHERE expires_at <= $1 ORDER BY expires_at";
}

/// What an invitation leads to.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Invited {
    pub project_id: i64,
    pub project: Uuid,
    pub project_name: String,
    pub email: String,
    pub role: Role,
    pub invited_by: String,
}

#[derive(sqlx::FromRow)]
struct Id {
    id: i64,
}

#[derive(sqlx::FromRow)]
struct HasRole {
    role: Role,
}

/// The members of a project, longest there first.
pub async fn list_members(tx: &mut ReadTx, project_id: i64) -> Result<Vec<Member>> {
    Ok(tx.query(LIST_MEMBERS).bind(project_id).all().await?)
}

pub async fn find_role(tx: &mut ReadTx, project_id: i64, user_id: i64) -> Result<Option<Role>> {
    Ok(tx.query(FIND_ROLE).bind(project_id).bind(user_id).maybe::<HasRole>().await?.map(|row| row.role))
}

/// Whether the user was none before: see [`CREATE_MEMBER`].
pub async fn create_member(
    tx: &mut WriteTx,
    project_id: i64,
    user_id: i64,
    role: Role,
    now: Time,
) -> Result<bool> {
    let change = tx.change(CREATE_MEMBER).bind(project_id).bind(user_id).bind(role).bind(now);
    Ok(change.count().await? == 1)
}

/// Whether there was such a member: see [`SET_ROLE`].
pub async fn set_role(tx: &mut WriteTx, project_id: i64, user_id: i64, role: Role) -> Result<bool> {
    Ok(tx.change(SET_ROLE).bind(project_id).bind(user_id).bind(role).count().await? == 1)
}

/// Whether there was such a member: see [`DELETE_MEMBER`].
pub async fn delete_member(tx: &mut WriteTx, project_id: i64, user_id: i64) -> Result<bool> {
    Ok(tx.change(DELETE_MEMBER).bind(project_id).bind(user_id).count().await? == 1)
}

/// Whether there was one owner: see [`DEMOTE_OWNER`].
pub async fn demote_owner(tx: &mut WriteTx, project_id: i64) -> Result<bool> {
    Ok(tx.change(DEMOTE_OWNER).bind(project_id).count().await? == 1)
}

/// Whether there was such a member: see [`PROMOTE`].
pub async fn promote(tx: &mut WriteTx, project_id: i64, user_id: i64) -> Result<bool> {
    Ok(tx.change(PROMOTE).bind(project_id).bind(user_id).count().await? == 1)
}

/// Ids of the projects that a user is in without owning them, deleted ones among them.
pub async fn list_joined(tx: &mut ReadTx, user_id: i64) -> Result<Vec<i64>> {
    let rows = tx.query(LIST_JOINED).bind(user_id).all::<Id>().await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// Locks a project's row, also a deleted one's; whether it is there.
pub async fn lock_even_deleted(tx: &mut WriteTx, project_id: i64) -> Result<bool> {
    Ok(tx.lock(LOCK_EVEN_DELETED).bind(project_id).maybe::<Id>().await?.is_some())
}

/// Invitations that can still be redeemed, oldest first.
pub async fn list_invitations(tx: &mut ReadTx, project_id: i64, now: Time) -> Result<Vec<Invitation>> {
    Ok(tx.query(LIST_INVITATIONS).bind(project_id).bind(now).all().await?)
}

pub async fn create_invitation(
    tx: &mut WriteTx,
    project_id: i64,
    invitation: &Invitation,
    digest: &[u8],
) -> Result<()> {
    let change = tx.change(CREATE_INVITATION).bind(invitation.uuid).bind(project_id);
    let change = change.bind(invitation.email.clone()).bind(invitation.role).bind(digest.to_vec());
    let change = change.bind(invitation.invited_by.clone()).bind(invitation.created_at);
    change.bind(invitation.expires_at).count().await?;
    Ok(())
}

/// Whether there was one: see [`DROP_INVITATION_TO`].
pub async fn drop_invitation_to(tx: &mut WriteTx, project_id: i64, email: &str) -> Result<bool> {
    Ok(tx.change(DROP_INVITATION_TO).bind(project_id).bind(email.to_owned()).count().await? == 1)
}

/// What the invitation with this digest leads to; it stays good.
pub async fn find_invited(tx: &mut ReadTx, digest: &[u8], now: Time) -> Result<Option<Invited>> {
    Ok(tx.query(FIND_INVITED).bind(digest.to_vec()).bind(now).maybe().await?)
}

/// The role, for the first who asks: see [`REDEEM_INVITATION`].
pub async fn redeem_invitation(
    tx: &mut WriteTx,
    digest: &[u8],
    email: &str,
    now: Time,
) -> Result<Option<Role>> {
    let change = tx.change(REDEEM_INVITATION).bind(digest.to_vec()).bind(email.to_owned()).bind(now);
    Ok(change.maybe::<HasRole>().await?.map(|row| row.role))
}

/// Whether it was open: see [`DELETE_INVITATION`].
pub async fn delete_invitation(tx: &mut WriteTx, project_id: i64, invitation: Uuid) -> Result<bool> {
    Ok(tx.change(DELETE_INVITATION).bind(project_id).bind(invitation).count().await? == 1)
}

/// How many were too old.
pub async fn expire_invitations(tx: &mut WriteTx, project_id: i64, now: Time) -> Result<u64> {
    Ok(tx.change(EXPIRE_INVITATIONS).bind(project_id).bind(now).count().await?)
}

/// Ids of the projects that have invitations which are too old.
pub async fn list_expired(tx: &mut ReadTx, now: Time) -> Result<BTreeSet<i64>> {
    let rows = tx.query(LIST_EXPIRED).bind(now).all::<Id>().await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}
