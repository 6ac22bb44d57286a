//! SQL of the tables `second_factors` and `recovery_codes`.

use super::SecondFactor;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    /// One factor for each user. Zero rows: it is on already.
    CREATE =
        "INSERT INTO second_factors (user_id, secret, totp_step, created_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (user_id) DO NOTHING";
    FIND =
        "SELECT created_at, (SELECT COUNT(*) FROM recovery_codes WHERE recovery_codes.user_id = second_factors.user_id) \
         AS codes_left FROM second_factors WHERE user_id = $1";
    FIND_SECRET = "SELECT secret FROM second_factors WHERE user_id = $1";
    /// Redeem: a code works once, and none of an earlier step after it. Zero rows: it was used, or the factor is
    /// another one by now. A step beyond `$4` was written under a wrong clock.
    ADVANCE =
        "UPDATE second_factors SET totp_step = $3 WHERE user_id = $1 AND secret = $2 \
         AND (totp_step < $3 OR totp_step > $4)";
    /// Turns the factor off; its recovery codes go with it. Zero rows: it is off.
    DELETE = "DELETE FROM second_factors WHERE user_id = $1";
    CREATE_CODE = "INSERT INTO recovery_codes (user_id, digest) VALUES ($1, $2)";
    /// Redeem: a recovery code works once. Zero rows: used, or never one.
    REDEEM_CODE = "DELETE FROM recovery_codes WHERE user_id = $1 AND digest = $2";
    DROP_CODES = "DELETE FROM recovery_codes WHERE user_id = $1";
}

#[derive(sqlx::FromRow)]
struct SecretRow {
    secret: Vec<u8>,
}

/// Whether it was off: see [`CREATE`].
pub async fn create(tx: &mut WriteTx, user_id: i64, secret: &[u8], step: i64, now: Time) -> Result<bool> {
    let change = tx.change(CREATE).bind(user_id).bind(secret.to_vec()).bind(step).bind(now);
    Ok(change.count().await? == 1)
}

/// The user's factor, if it is on.
pub async fn find(tx: &mut ReadTx, user_id: i64) -> Result<Option<SecondFactor>> {
    Ok(tx.query(FIND).bind(user_id).maybe().await?)
}

pub async fn find_secret(tx: &mut ReadTx, user_id: i64) -> Result<Option<Vec<u8>>> {
    Ok(tx.query(FIND_SECRET).bind(user_id).maybe::<SecretRow>().await?.map(|row| row.secret))
}

/// Whether the step was not used before: see [`ADVANCE`].
pub async fn advance(tx: &mut WriteTx, user_id: i64, secret: &[u8], step: i64, ahead: i64) -> Result<bool> {
    let change = tx.change(ADVANCE).bind(user_id).bind(secret.to_vec()).bind(step).bind(ahead);
    Ok(change.count().await? == 1)
}

/// Whether it was on.
pub async fn delete(tx: &mut WriteTx, user_id: i64) -> Result<bool> {
    Ok(tx.change(DELETE).bind(user_id).count().await? == 1)
}

pub async fn create_code(tx: &mut WriteTx, user_id: i64, digest: &[u8]) -> Result<()> {
    tx.change(CREATE_CODE).bind(user_id).bind(digest.to_vec()).count().await?;
    Ok(())
}

/// Whether the code was there to be used: see [`REDEEM_CODE`].
pub async fn redeem_code(tx: &mut WriteTx, user_id: i64, digest: &[u8]) -> Result<bool> {
    Ok(tx.change(REDEEM_CODE).bind(user_id).bind(digest.to_vec()).count().await? == 1)
}

pub async fn drop_codes(tx: &mut WriteTx, user_id: i64) -> Result<()> {
    tx.change(DROP_CODES).bind(user_id).count().await?;
    Ok(())
}
