//! SQL on the table `deliveries` for messages that failed after they were taken.

use uuid::Uuid;

use crate::alerts::DeliveryState;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    FIND =
        "SELECT deliveries.id AS id, deliveries.settled_at AS settled_at, channels.id AS channel_id, \
         channels.config AS config, checks.uuid AS check_uuid, \
         checks.project_id AS project_id FROM deliveries JOIN channels ON channels.id = deliveries.channel_id \
         JOIN checks ON checks.id = deliveries.check_id WHERE deliveries.uuid = $1 AND deliveries.state IN ('sent', 'given_up')";
    /// What was sent was not, or not yet. Zero rows: it counts as given up already, or this was told before.
    TAKE_BACK =
        "UPDATE deliveries SET state = $2, outcome = $3 WHERE id = $1 AND state = 'sent' AND (state <> $2 OR outcome <> $3)";
}

/// A delivery that was sent, or seemed to be, and its channel as it is now.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct SentDelivery {
    pub id: i64,
    pub settled_at: Option<Time>,
    pub channel_id: i64,
    /// The channel's, as JSON.
    pub config: String,
    pub check_uuid: Uuid,
    pub project_id: i64,
}

/// The delivery of that uuid, if it is settled and was not superseded.
pub async fn find(tx: &mut ReadTx, uuid: Uuid) -> Result<Option<SentDelivery>> {
    Ok(tx.query(FIND).bind(uuid).maybe().await?)
}

/// Whether this is news: see [`TAKE_BACK`].
pub async fn take_back(tx: &mut WriteTx, id: i64, state: DeliveryState, outcome: &str) -> Result<bool> {
    Ok(tx.change(TAKE_BACK).bind(id).bind(state).bind(outcome.to_owned()).count().await? == 1)
}
