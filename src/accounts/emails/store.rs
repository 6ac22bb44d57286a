//! SQL of the table `email_changes`.

use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    /// A user's wish; it takes the place of an earlier one, whose link is over.
    CREATE =
        "INSERT INTO email_changes (user_id, digest, email, expires_at) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (user_id) DO UPDATE SET digest = excluded.digest, email = excluded.email, \
         expires_at = excluded.expires_at";
    FIND = "SELECT email FROM email_changes WHERE user_id = $1 AND digest = $2 AND expires_at > $3";
    /// Redeem: a link works once. Zero rows: used, replaced, expired, or another user's.
    REDEEM = "DELETE FROM email_changes WHERE user_id = $1 AND digest = $2 AND expires_at > $3 RETURNING email";
    DROP = "DELETE FROM email_changes WHERE user_id = $1";
    PRUNE = "DELETE FROM email_changes WHERE expires_at <= $1";
}

#[derive(sqlx::FromRow)]
struct Email {
    email: String,
}

pub async fn create(
    tx: &mut WriteTx,
    user_id: i64,
    digest: Vec<u8>,
    email: &str,
    expires_at: Time,
) -> Result<()> {
    let change = tx.change(CREATE).bind(user_id).bind(digest).bind(email.to_owned()).bind(expires_at);
    change.count().await?;
    Ok(())
}

pub async fn find(tx: &mut ReadTx, user_id: i64, digest: &[u8], now: Time) -> Result<Option<String>> {
    let query = tx.query(FIND).bind(user_id).bind(digest.to_vec()).bind(now);
    Ok(query.maybe::<Email>().await?.map(|row| row.email))
}

/// The address, for the first who asks: see [`REDEEM`].
pub async fn redeem(tx: &mut WriteTx, user_id: i64, digest: &[u8], now: Time) -> Result<Option<String>> {
    let change = tx.change(REDEEM).bind(user_id).bind(digest.to_vec()).bind(now);
    Ok(change.maybe::<Email>().await?.map(|row| row.email))
}

/// Forgets what the user wished.
pub async fn drop(tx: &mut WriteTx, user_id: i64) -> Result<()> {
    tx.change(DROP).bind(user_id).count().await?;
    Ok(())
}

/// Forgets wishes that are too old.
pub async fn prune(tx: &mut WriteTx, now: Time) -> Result<()> {
    tx.change(PRUNE).bind(now).count().await?;
    Ok(())
}
