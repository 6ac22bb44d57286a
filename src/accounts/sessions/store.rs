//! SQL of the tables `sessions`, `sign_in_links` (what redeems them), `sign_in_steps` and `sign_up_links`.

use uuid::Uuid;

use super::{Session, SignedIn};
use crate::accounts::User;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    CREATE_SESSION =
        "INSERT INTO sessions (digest, uuid, user_id, user_agent, address, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)";
    FIND_SESSION =
        "SELECT users.id AS id, users.uuid AS uuid, users.account_id AS account_id, users.email AS email, \
         users.password_hash AS password_hash, users.zone AS zone, sessions.uuid AS session_uuid, \
         sessions.created_at AS session_created_at \
         FROM sessions JOIN users ON users.id = sessions.user_id \
         WHERE sessions.digest = $1 AND sessions.expires_at > $2";
    LIST_SESSIONS =
        "SELECT uuid, user_agent, address, created_at, expires_at FROM sessions \
         WHERE user_id = $1 AND expires_at > $2 ORDER BY created_at DESC, uuid";
    /// Ends a session of the user. Zero rows: it ended before, or is somebody else's.
    END_SESSION = "DELETE FROM sessions WHERE user_id = $1 AND uuid = $2";
    /// Ends every session of the user but one.
    END_OTHER_SESSIONS = "DELETE FROM sessions WHERE user_id = $1 AND uuid <> $2";
    PRUNE_SESSIONS = "DELETE FROM sessions WHERE expires_at <= $1";
    PRUNE_SIGN_IN_LINKS = "DELETE FROM sign_in_links WHERE expires_at <= $1";
    PRUNE_SIGN_UP_LINKS = "DELETE FROM sign_up_links WHERE expires_at <= $1";
    FIND_LINK_USER =
        "SELECT users.id AS id, users.uuid AS uuid, users.account_id AS account_id, users.email AS email, \
         users.password_hash AS password_hash, users.zone AS zone FROM sign_in_links \
         JOIN users ON users.id = sign_in_links.user_id \
         WHERE sign_in_links.digest = $1 AND sign_in_links.expires_at > $2";
    /// Redeem: a sign-in link works once. Zero rows: used or expired.
    REDEEM_SIGN_IN_LINK = "DELETE FROM sign_in_links WHERE digest = $1 AND expires_at > $2";
    DROP_SIGN_IN_LINKS = "DELETE FROM sign_in_links WHERE user_id = $1";
    CREATE_STEP = "INSERT INTO sign_in_steps (digest, user_id, expires_at) VALUES ($1, $2, $3)";
    FIND_STEP_USER =
        "SELECT users.id AS id, users.uuid AS uuid, users.account_id AS account_id, users.email AS email, \
         users.password_hash AS password_hash, users.zone AS zone FROM sign_in_steps \
         JOIN users ON users.id = sign_in_steps.user_id \
         WHERE sign_in_steps.digest = $1 AND sign_in_steps.expires_at > $2";
    /// Redeem: a sign-in that waited goes on once. Zero rows: it did, took too long, or was ended.
    REDEEM_STEP = "DELETE FROM sign_in_steps WHERE digest = $1 AND expires_at > $2 RETURNING user_id AS id";
    DROP_STEPS = "DELETE FROM sign_in_steps WHERE user_id = $1";
    PRUNE_STEPS = "DELETE FROM sign_in_steps WHERE expires_at <= $1";
    CREATE_SIGN_UP_LINK = "INSERT INTO sign_up_links (digest, email, expires_at) VALUES ($1, $2, $3)";
    FIND_SIGN_UP_LINK = "SELECT email FROM sign_up_links WHERE digest = $1 AND expires_at > $2";
    /// Redeem: a sign-up link works once. Zero rows: used or expired.
    REDEEM_SIGN_UP_LINK = "DELETE FROM sign_up_links WHERE digest = $1 AND expires_at > $2 RETURNING email";
}

#[derive(sqlx::FromRow)]
struct Id {
    id: i64,
}

#[derive(sqlx::FromRow)]
struct Email {
    email: String,
}

pub async fn create(tx: &mut WriteTx, digest: Vec<u8>, user_id: i64, session: &Session) -> Result<()> {
    let change = tx
        .change(CREATE_SESSION)
        .bind(digest)
        .bind(session.uuid)
        .bind(user_id)
        .bind(session.user_agent.clone())
        .bind(session.address.clone())
        .bind(session.created_at)
        .bind(session.expires_at);
    change.count().await?;
    Ok(())
}

pub async fn find(tx: &mut ReadTx, digest: &[u8], now: Time) -> Result<Option<SignedIn>> {
    Ok(tx.query(FIND_SESSION).bind(digest.to_vec()).bind(now).maybe().await?)
}

/// Sessions that have not ended, newest first.
pub async fn list(tx: &mut ReadTx, user_id: i64, now: Time) -> Result<Vec<Session>> {
    Ok(tx.query(LIST_SESSIONS).bind(user_id).bind(now).all().await?)
}

/// Whether there was such a session: see [`END_SESSION`].
pub async fn end(tx: &mut WriteTx, user_id: i64, uuid: Uuid) -> Result<bool> {
    Ok(tx.change(END_SESSION).bind(user_id).bind(uuid).count().await? == 1)
}

/// How many sessions were ended.
pub async fn end_others(tx: &mut WriteTx, user_id: i64, kept: Uuid) -> Result<u64> {
    Ok(tx.change(END_OTHER_SESSIONS).bind(user_id).bind(kept).count().await?)
}

/// Forgets sessions, links and challenges that are over.
pub async fn prune(tx: &mut WriteTx, now: Time) -> Result<()> {
    for statement in [PRUNE_SESSIONS, PRUNE_SIGN_IN_LINKS, PRUNE_STEPS, PRUNE_SIGN_UP_LINKS] {
        tx.change(statement).bind(now).count().await?;
    }
    crate::accounts::passkeys::store::prune(tx, now).await?;
    crate::accounts::emails::store::prune(tx, now).await
}

pub async fn find_link_user(tx: &mut ReadTx, digest: &[u8], now: Time) -> Result<Option<User>> {
    Ok(tx.query(FIND_LINK_USER).bind(digest.to_vec()).bind(now).maybe().await?)
}

/// Whether it is the first who asks: see [`REDEEM_SIGN_IN_LINK`].
pub async fn redeem_link(tx: &mut WriteTx, digest: &[u8], now: Time) -> Result<bool> {
    Ok(tx.change(REDEEM_SIGN_IN_LINK).bind(digest.to_vec()).bind(now).count().await? == 1)
}

pub async fn drop_links(tx: &mut WriteTx, user_id: i64) -> Result<()> {
    tx.change(DROP_SIGN_IN_LINKS).bind(user_id).count().await?;
    Ok(())
}

pub async fn create_step(tx: &mut WriteTx, digest: Vec<u8>, user_id: i64, expires_at: Time) -> Result<()> {
    tx.change(CREATE_STEP).bind(digest).bind(user_id).bind(expires_at).count().await?;
    Ok(())
}

pub async fn find_step_user(tx: &mut ReadTx, digest: &[u8], now: Time) -> Result<Option<User>> {
    Ok(tx.query(FIND_STEP_USER).bind(digest.to_vec()).bind(now).maybe().await?)
}

/// The user's id, for the first who asks: see [`REDEEM_STEP`].
pub async fn redeem_step(tx: &mut WriteTx, digest: &[u8], now: Time) -> Result<Option<i64>> {
    let change = tx.change(REDEEM_STEP).bind(digest.to_vec()).bind(now);
    Ok(change.maybe::<Id>().await?.map(|row| row.id))
}

pub async fn drop_steps(tx: &mut WriteTx, user_id: i64) -> Result<()> {
    tx.change(DROP_STEPS).bind(user_id).count().await?;
    Ok(())
}

pub async fn create_sign_up_link(
    tx: &mut WriteTx,
    digest: Vec<u8>,
    email: &str,
    expires_at: Time,
) -> Result<()> {
    let change = tx.change(CREATE_SIGN_UP_LINK).bind(digest).bind(email.to_owned()).bind(expires_at);
    change.count().await?;
    Ok(())
}

pub async fn find_sign_up_link(tx: &mut ReadTx, digest: &[u8], now: Time) -> Result<Option<String>> {
    let query = tx.query(FIND_SIGN_UP_LINK).bind(digest.to_vec()).bind(now);
    Ok(query.maybe::<Email>().await?.map(|row| row.email))
}

/// The address, for the first who asks: see [`REDEEM_SIGN_UP_LINK`].
pub async fn redeem_sign_up_link(tx: &mut WriteTx, digest: &[u8], now: Time) -> Result<Option<String>> {
    let change = tx.change(REDEEM_SIGN_UP_LINK).bind(digest.to_vec()).bind(now);
    Ok(change.maybe::<Email>().await?.map(|row| row.email))
}
