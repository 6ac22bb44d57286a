//! SQL of the column `checks.unique_key`; a new check gets it with its row.

use uuid::Uuid;

use super::super::store::columns;
use super::UniqueKey;
use crate::checks::Check;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;

statements! {
    /// More than one only where uuids share their first half.
    LIST_BY_UNIQUE_KEY = concat!(
        "SELECT ", columns!(), " FROM checks WHERE unique_key = $1 AND deleted_at IS NULL ORDER BY id");
    /// Checks that were made before keys were stored, deleted ones too.
    LIST_WITHOUT_UNIQUE_KEY = "SELECT id, uuid FROM checks WHERE unique_key IS NULL ORDER BY id LIMIT $1";
    SET_UNIQUE_KEY = "UPDATE checks SET unique_key = $2 WHERE id = $1 AND unique_key IS NULL";
}

#[derive(sqlx::FromRow)]
struct Unnamed {
    id: i64,
    uuid: Uuid,
}

/// The checks with that key, of all projects, oldest first.
pub async fn list(tx: &mut ReadTx, key: UniqueKey) -> Result<Vec<Check>> {
    Ok(tx.query(LIST_BY_UNIQUE_KEY).bind(key.as_bytes().to_vec()).all().await?)
}

/// Ids and uuids of checks without a key, at most `limit`.
pub async fn list_unnamed(tx: &mut ReadTx, limit: i64) -> Result<Vec<(i64, Uuid)>> {
    let rows: Vec<Unnamed> = tx.query(LIST_WITHOUT_UNIQUE_KEY).bind(limit).all().await?;
    Ok(rows.into_iter().map(|row| (row.id, row.uuid)).collect())
}

pub async fn set(tx: &mut WriteTx, id: i64, key: UniqueKey) -> Result<()> {
    tx.change(SET_UNIQUE_KEY).bind(id).bind(key.as_bytes().to_vec()).count().await?;
    Ok(())
}
