//! SQL of the table `projects` beyond finding and locking one, and of what ends an API key.

use uuid::Uuid;

use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    SET_NAME = "UPDATE projects SET name = $2 WHERE id = $1";
    SET_PING_KEY = "UPDATE projects SET ping_key = $2 WHERE id = $1";
    /// Count limit: takes a member's place. The account is locked, with the plan whose limit `$3` is. Zero rows:
    /// nothing is left, or the project is gone or another account's.
    TAKE_MEMBER =
        "UPDATE projects SET members_used = members_used + 1 \
         WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL AND members_used < $3";
    /// Counts a member that no limit keeps out: a project's owner.
    COUNT_MEMBER = "UPDATE projects SET members_used = members_used + 1 WHERE id = $1";
    /// Gives places back. Zero rows: the project is gone, or its count is wrong already.
    GIVE_BACK_MEMBERS =
        "UPDATE projects SET members_used = members_used - $2 WHERE id = $1 AND members_used >= $2";
    /// Count limit: takes an API key's place. Zero rows: nothing is left, or the project is gone.
    TAKE_KEY =
        "UPDATE projects SET keys_used = keys_used + 1 WHERE id = $1 AND deleted_at IS NULL AND keys_used < $2";
    GIVE_BACK_KEY = "UPDATE projects SET keys_used = keys_used - 1 WHERE id = $1 AND keys_used > 0";
    /// Revokes a key of the project. Zero rows: somebody did, or it is another project's.
    DELETE_KEY = "DELETE FROM api_keys WHERE project_id = $1 AND uuid = $2";
    /// Deletes a project so that it can be brought back; its account is locked. Zero rows: somebody did, or it is
    /// another account's by now.
    DELETE_PROJECT =
        "UPDATE projects SET deleted_at = $3, offered_to_id = NULL \
         WHERE id = $1 AND account_id = $2 AND deleted_at IS NULL";
    FIND_DELETED =
        "SELECT id, name, deleted_at FROM projects \
         WHERE uuid = $1 AND account_id = $2 AND deleted_at IS NOT NULL";
    /// Brings a project back. Zero rows: somebody did, or it is gone for good.
    RESTORE_PROJECT =
        "UPDATE projects SET deleted_at = NULL WHERE id = $1 AND account_id = $2 AND deleted_at = $3";
    /// Deletes for good what can no longer be brought back.
    PURGE_PROJECTS = "DELETE FROM projects WHERE deleted_at <= $1";
    FIND_OFFER = "SELECT offered_to_id AS id FROM projects WHERE id = $1";
    /// Offers a project to one of its members, who is locked with it. Zero rows: it is gone.
    OFFER = "UPDATE projects SET offered_to_id = $2 WHERE id = $1 AND deleted_at IS NULL";
    /// Takes the offer back, or turns it down. Zero rows: it was made to somebody else, or not at all.
    WITHDRAW = "UPDATE projects SET offered_to_id = NULL WHERE id = $1 AND offered_to_id = $2";
    /// Transfer: the project changes hands, if it is still offered to the user and has no more members than the new
    /// owner's plan allows. Both accounts are locked. Zero rows: one of these is no longer so.
    HAND_OVER =
        "UPDATE projects SET account_id = $3, offered_to_id = NULL \
         WHERE id = $1 AND account_id = $2 AND offered_to_id = $4 AND deleted_at IS NULL AND members_used <= $5";
    /// Projects whose counts are not those of their rows. A deleted one may have lost its owner with their account.
    LIST_MISCOUNTED =
        "SELECT uuid, members_used, keys_used, members, keys FROM (SELECT uuid, members_used, keys_used, \
         (SELECT COUNT(*) FROM members WHERE members.project_id = projects.id) \
         + (SELECT COUNT(*) FROM invitations WHERE invitations.project_id = projects.id) AS members, \
         (SELECT COUNT(*) FROM api_keys WHERE api_keys.project_id = projects.id) AS keys FROM projects WHERE deleted_at IS NULL) \
         AS counted \
         WHERE members_used <> members OR keys_used <> keys";
}

/// A project that can perhaps be brought back.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Deleted {
    pub id: i64,
    pub name: String,
    pub deleted_at: Time,
}

/// A project that counts other members or keys than it has.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Miscounted {
    pub uuid: Uuid,
    pub members_used: i64,
    pub keys_used: i64,
    /// Members and open invitations.
    pub members: i64,
    pub keys: i64,
}

#[derive(sqlx::FromRow)]
struct MaybeId {
    id: Option<i64>,
}

pub async fn set_name(tx: &mut WriteTx, id: i64, name: &str) -> Result<()> {
    tx.change(SET_NAME).bind(id).bind(name.to_owned()).count().await?;
    Ok(())
}

/// Puts another ping key in place, or none.
pub async fn set_ping_key(tx: &mut WriteTx, id: i64, key: Option<String>) -> Result<()> {
    tx.change(SET_PING_KEY).bind(id).bind(key).count().await?;
    Ok(())
}

/// Whether one was left: see [`TAKE_MEMBER`].
pub async fn take_member(tx: &mut WriteTx, id: i64, account_id: i64, limit: i64) -> Result<bool> {
    Ok(tx.change(TAKE_MEMBER).bind(id).bind(account_id).bind(limit).count().await? == 1)
}

pub async fn count_member(tx: &mut WriteTx, id: i64) -> Result<()> {
    tx.change(COUNT_MEMBER).bind(id).count().await?;
    Ok(())
}

pub async fn give_back_members(tx: &mut WriteTx, id: i64, number: u64) -> Result<()> {
    tx.change(GIVE_BACK_MEMBERS).bind(id).bind(number.cast_signed()).count().await?;
    Ok(())
}

/// Whether one was left: see [`TAKE_KEY`].
pub async fn take_key(tx: &mut WriteTx, id: i64, limit: i64) -> Result<bool> {
    Ok(tx.change(TAKE_KEY).bind(id).bind(limit).count().await? == 1)
}

pub async fn give_back_key(tx: &mut WriteTx, id: i64) -> Result<()> {
    tx.change(GIVE_BACK_KEY).bind(id).count().await?;
    Ok(())
}

/// Whether the project had the key: see [`DELETE_KEY`].
pub async fn delete_key(tx: &mut WriteTx, project_id: i64, key: Uuid) -> Result<bool> {
    Ok(tx.change(DELETE_KEY).bind(project_id).bind(key).count().await? == 1)
}

/// Whether the account had the project: see [`DELETE_PROJECT`].
pub async fn delete(tx: &mut WriteTx, id: i64, account_id: i64, now: Time) -> Result<bool> {
    Ok(tx.change(DELETE_PROJECT).bind(id).bind(account_id).bind(now).count().await? == 1)
}

pub async fn find_deleted(tx: &mut ReadTx, uuid: Uuid, account_id: i64) -> Result<Option<Deleted>> {
    Ok(tx.query(FIND_DELETED).bind(uuid).bind(account_id).maybe().await?)
}

/// Whether it could be brought back: see [`RESTORE_PROJECT`].
pub async fn restore(tx: &mut WriteTx, id: i64, account_id: i64, deleted_at: Time) -> Result<bool> {
    Ok(tx.change(RESTORE_PROJECT).bind(id).bind(account_id).bind(deleted_at).count().await? == 1)
}

/// How many were deleted for good.
pub async fn purge(tx: &mut WriteTx, deleted_until: Time) -> Result<u64> {
    Ok(tx.change(PURGE_PROJECTS).bind(deleted_until).count().await?)
}

/// The user to whom the project is offered.
pub async fn find_offer(tx: &mut ReadTx, id: i64) -> Result<Option<i64>> {
    Ok(tx.query(FIND_OFFER).bind(id).maybe::<MaybeId>().await?.and_then(|row| row.id))
}

/// Whether the project is there: see [`OFFER`].
pub async fn offer(tx: &mut WriteTx, id: i64, user_id: i64) -> Result<bool> {
    Ok(tx.change(OFFER).bind(id).bind(user_id).count().await? == 1)
}

/// Whether it was offered to the user: see [`WITHDRAW`].
pub async fn withdraw(tx: &mut WriteTx, id: i64, user_id: i64) -> Result<bool> {
    Ok(tx.change(WITHDRAW).bind(id).bind(user_id).count().await? == 1)
}

/// Whether it changed hands, `from` one account `to` another: see [`HAND_OVER`].
pub async fn hand_over(
    tx: &mut WriteTx,
    id: i64,
    (from, to): (i64, i64),
    user_id: i64,
    members: i64,
) -> Result<bool> {
    let change = tx.change(HAND_OVER).bind(id).bind(from).bind(to).bind(user_id).bind(members);
    Ok(change.count().await? == 1)
}

pub async fn list_miscounted(tx: &mut ReadTx) -> Result<Vec<Miscounted>> {
    Ok(tx.query(LIST_MISCOUNTED).all().await?)
}
