//! SQL of the table `old_badges`.

use super::OldBadge;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;

statements! {
    /// Keeps an address of a badge once. Zero rows: it is there.
    CREATE_OLD_BADGE =
        "INSERT INTO old_badges (badge_key, tag, signature, project_id) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (badge_key, tag) DO NOTHING";
    FIND_OLD_BADGE = "SELECT project_id, signature FROM old_badges WHERE badge_key = $1 AND tag = $2";
}

/// Whose badge it is, and how its address was signed.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Kept {
    pub project_id: i64,
    pub signature: String,
}

/// Whether it was not there before: see [`CREATE_OLD_BADGE`].
pub async fn create_badge(tx: &mut WriteTx, badge: &OldBadge, project_id: i64) -> Result<bool> {
    let change = tx.change(CREATE_OLD_BADGE).bind(badge.badge_key.clone()).bind(badge.tag.clone());
    Ok(change.bind(badge.signature.clone()).bind(project_id).count().await? == 1)
}

pub async fn find_badge(tx: &mut ReadTx, badge_key: &str, tag: &str) -> Result<Option<Kept>> {
    Ok(tx.query(FIND_OLD_BADGE).bind(badge_key.to_owned()).bind(tag.to_owned()).maybe().await?)
}
