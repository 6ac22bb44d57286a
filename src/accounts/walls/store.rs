//! SQL of `projects.wall_key`.

use super::Shown;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;

statements! {
    SET_KEY = "UPDATE projects SET wall_key = $2 WHERE id = $1";
    FIND_KEY = "SELECT wall_key FROM projects WHERE id = $1";
    FIND_BY_KEY =
        "SELECT projects.id AS id, projects.uuid AS uuid, projects.account_id AS account_id, projects.name AS name, \
         projects.ping_key AS ping_key, projects.badge_key AS badge_key, users.zone AS zone FROM projects \
         JOIN users ON users.account_id = projects.account_id \
         WHERE projects.wall_key = $1 AND projects.deleted_at IS NULL";
}

#[derive(sqlx::FromRow)]
struct Key {
    wall_key: Option<String>,
}

pub async fn set_key(tx: &mut WriteTx, project_id: i64, key: Option<&str>) -> Result<()> {
    tx.change(SET_KEY).bind(project_id).bind(key.map(str::to_owned)).count().await?;
    Ok(())
}

/// The secret of a project's wall, if it has one.
pub async fn find_key(tx: &mut ReadTx, project_id: i64) -> Result<Option<String>> {
    Ok(tx.query(FIND_KEY).bind(project_id).maybe::<Key>().await?.and_then(|row| row.wall_key))
}

pub async fn find(tx: &mut ReadTx, key: &str) -> Result<Option<Shown>> {
    Ok(tx.query(FIND_BY_KEY).bind(key.to_owned()).maybe().await?)
}
