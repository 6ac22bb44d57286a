//! SQL that reads `deliveries` for pages.

use super::Told;
use crate::db::{ReadTx, statements};
use crate::error::Result;

statements! {
    LIST_TOLD =
        "SELECT deliveries.id AS id, deliveries.tells AS tells, flips.flipped_at AS flipped_at, channels.name AS channel_name, \
         channels.kind AS channel_kind, deliveries.state AS state, deliveries.attempts AS attempts, \
         deliveries.outcome AS outcome, deliveries.due_at AS due_at, deliveries.settled_at AS settled_at \
         FROM deliveries JOIN channels ON channels.id = deliveries.channel_id \
         JOIN flips ON flips.id = deliveries.flip_id WHERE deliveries.check_id = $1 \
         ORDER BY deliveries.id DESC LIMIT $2";
}

/// The newest deliveries about a check, newest first.
pub async fn list_told(tx: &mut ReadTx, check_id: i64, limit: i64) -> Result<Vec<Told>> {
    Ok(tx.query(LIST_TOLD).bind(check_id).bind(limit).all().await?)
}
