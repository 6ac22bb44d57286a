//! SQL of the tables `passkeys` and `passkey_challenges`, and of the count of passkeys in `users`.

use uuid::Uuid;

use super::{Asked, Credential, Known, Passkey, Proved};
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::id;
use crate::time::Time;

statements! {
    LIST =
        "SELECT uuid, credential, name, created_at, last_used_at FROM passkeys WHERE user_id = $1 ORDER BY id";
    FIND_KNOWN =
        "SELECT passkeys.uuid AS uuid, passkeys.user_id AS user_id, users.uuid AS user_uuid, \
         passkeys.public_key AS public_key \
         FROM passkeys JOIN users ON users.id = passkeys.user_id WHERE passkeys.credential = $1";
    /// Count limit: takes a passkey's place. Zero rows: nothing is left, or the user is gone.
    TAKE_PLACE = "UPDATE users SET passkeys_used = passkeys_used + 1 WHERE id = $1 AND passkeys_used < $2";
    /// Gives a place back. Zero rows: the user is gone, or their count is wrong already.
    GIVE_BACK_PLACE = "UPDATE users SET passkeys_used = passkeys_used - 1 WHERE id = $1 AND passkeys_used > 0";
    /// One user for each credential; its place was taken before. Zero rows: it is stored already.
    CREATE =
        "INSERT INTO passkeys (uuid, user_id, credential, public_key, sign_count, name, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (credential) DO NOTHING";
    /// A passkey's count of signatures goes forward, or stays nothing where its authenticator counts none. Zero rows:
    /// it would not, or the passkey was removed.
    ADVANCE =
        "UPDATE passkeys SET sign_count = $3, last_used_at = $4 WHERE uuid = $1 AND user_id = $2 \
         AND (sign_count < $3 OR (sign_count = 0 AND $3 = 0))";
    /// Renames a passkey of the user. Zero rows: it was removed, or is somebody else's.
    SET_NAME = "UPDATE passkeys SET name = $3 WHERE user_id = $1 AND uuid = $2";
    /// Removes a passkey of the user. Zero rows: it was removed, or is somebody else's.
    DELETE = "DELETE FROM passkeys WHERE user_id = $1 AND uuid = $2 RETURNING name";
    CREATE_CHALLENGE =
        "INSERT INTO passkey_challenges (digest, browser, user_id, expires_at) VALUES ($1, $2, $3, $4)";
    /// Redeem: a challenge is answered once, in the browser it was given to and for what it was asked for. Zero rows:
    /// one of these is not so, or it is too old.
    REDEEM_CHALLENGE =
        "DELETE FROM passkey_challenges WHERE digest = $1 AND browser = $2 AND user_id IS NOT DISTINCT FROM $3 \
         AND expires_at > $4";
    DROP_CHALLENGES = "DELETE FROM passkey_challenges WHERE user_id = $1";
    PRUNE_CHALLENGES = "DELETE FROM passkey_challenges WHERE expires_at <= $1";
    /// Users whose count is not that of their passkeys.
    COUNT_PASSKEY_MISMATCHES =
        "SELECT COUNT(*) AS number FROM users \
         WHERE passkeys_used <> (SELECT COUNT(*) FROM passkeys WHERE passkeys.user_id = users.id)";
}

#[derive(sqlx::FromRow)]
struct Named {
    name: String,
}

#[derive(sqlx::FromRow)]
struct Counted {
    number: i64,
}

/// A user's passkeys, oldest first.
pub async fn list(tx: &mut ReadTx, user_id: i64) -> Result<Vec<Passkey>> {
    Ok(tx.query(LIST).bind(user_id).all().await?)
}

/// The passkey of a credential, whoever's it is.
pub async fn find_known(tx: &mut ReadTx, credential: &[u8]) -> Result<Option<Known>> {
    Ok(tx.query(FIND_KNOWN).bind(credential.to_vec()).maybe().await?)
}

/// Whether one was left: see [`TAKE_PLACE`].
pub(super) async fn take_place(tx: &mut WriteTx, user_id: i64, limit: i64) -> Result<bool> {
    Ok(tx.change(TAKE_PLACE).bind(user_id).bind(limit).count().await? == 1)
}

pub(super) async fn give_back_place(tx: &mut WriteTx, user_id: i64) -> Result<()> {
    tx.change(GIVE_BACK_PLACE).bind(user_id).count().await?;
    Ok(())
}

/// Whether it is new: see [`CREATE`].
pub(super) async fn create(
    tx: &mut WriteTx,
    user_id: i64,
    made: &Credential,
    name: &str,
    now: Time,
) -> Result<bool> {
    let change = tx
        .change(CREATE)
        .bind(id::uuid())
        .bind(user_id)
        .bind(made.id.clone())
        .bind(made.public_key.clone())
        .bind(made.sign_count)
        .bind(name.to_owned())
        .bind(now);
    Ok(change.count().await? == 1)
}

/// Whether the count went forward: see [`ADVANCE`].
pub(super) async fn advance(tx: &mut WriteTx, proved: &Proved, now: Time) -> Result<bool> {
    let change = tx.change(ADVANCE).bind(proved.passkey).bind(proved.user_id);
    Ok(change.bind(proved.sign_count).bind(now).count().await? == 1)
}

/// Whether it is there: see [`SET_NAME`].
pub async fn set_name(tx: &mut WriteTx, user_id: i64, uuid: Uuid, name: &str) -> Result<bool> {
    Ok(tx.change(SET_NAME).bind(user_id).bind(uuid).bind(name.to_owned()).count().await? == 1)
}

/// The name of the one that was removed: see [`DELETE`].
pub(super) async fn delete(tx: &mut WriteTx, user_id: i64, uuid: Uuid) -> Result<Option<String>> {
    let change = tx.change(DELETE).bind(user_id).bind(uuid);
    Ok(change.maybe::<Named>().await?.map(|row| row.name))
}

pub(super) async fn create_challenge(
    tx: &mut WriteTx,
    digest: Vec<u8>,
    browser: &[u8],
    user_id: Option<i64>,
    expires_at: Time,
) -> Result<()> {
    let change = tx.change(CREATE_CHALLENGE).bind(digest).bind(browser.to_vec());
    change.bind(user_id).bind(expires_at).count().await?;
    Ok(())
}

/// Whether it is the first answer: see [`REDEEM_CHALLENGE`].
pub(super) async fn redeem_challenge(
    tx: &mut WriteTx,
    asked: &Asked<'_>,
    user_id: Option<i64>,
    now: Time,
) -> Result<bool> {
    let change = tx.change(REDEEM_CHALLENGE).bind(id::digest(asked.challenge)).bind(asked.browser.to_vec());
    Ok(change.bind(user_id).bind(now).count().await? == 1)
}

/// Forgets what the user was asked for.
pub async fn drop_challenges(tx: &mut WriteTx, user_id: i64) -> Result<()> {
    tx.change(DROP_CHALLENGES).bind(user_id).count().await?;
    Ok(())
}

/// Forgets challenges that are too old.
pub async fn prune(tx: &mut WriteTx, now: Time) -> Result<()> {
    tx.change(PRUNE_CHALLENGES).bind(now).count().await?;
    Ok(())
}

/// How many users count other passkeys than they have.
pub async fn count_mismatches(tx: &mut ReadTx) -> Result<i64> {
    Ok(tx.query(COUNT_PASSKEY_MISMATCHES).maybe::<Counted>().await?.map_or(0, |row| row.number))
}
