//! SQL of the table `origins`.

use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    /// Keeps a secret once. Zero rows: it is there.
    CREATE_ORIGIN = "INSERT INTO origins (secret, created_at) VALUES ($1, $2) ON CONFLICT (secret) DO NOTHING";
    LIST_SECRETS = "SELECT secret FROM origins ORDER BY id";
}

#[derive(sqlx::FromRow)]
struct Secret {
    secret: Vec<u8>,
}

pub async fn create(tx: &mut WriteTx, secret: &[u8], now: Time) -> Result<()> {
    tx.change(CREATE_ORIGIN).bind(secret.to_vec()).bind(now).count().await?;
    Ok(())
}

pub async fn list_secrets(tx: &mut ReadTx) -> Result<Vec<Vec<u8>>> {
    let rows = tx.query(LIST_SECRETS).all::<Secret>().await?;
    Ok(rows.into_iter().map(|row| row.secret).collect())
}
