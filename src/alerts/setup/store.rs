//! SQL of `channels`, `check_channels` and `deliveries` that the pages of channels need.

use uuid::Uuid;

use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    NOTE_ASKED = "UPDATE channels SET asked_at = $2 WHERE uuid = $1";
    /// How many checks of a project each of its channels hears of.
    LIST_USES =
        "SELECT check_channels.channel_id AS channel_id, COUNT(*) AS checks FROM check_channels \
         JOIN checks ON checks.id = check_channels.check_id \
         WHERE checks.project_id = $1 AND checks.deleted_at IS NULL GROUP BY check_channels.channel_id";
    /// What waits to be sent by each channel of a project.
    LIST_WAITING =
        "SELECT deliveries.channel_id AS channel_id, COUNT(*) AS alerts, MIN(deliveries.due_at) AS next_at \
         FROM deliveries JOIN channels ON channels.id = deliveries.channel_id \
         WHERE deliveries.state = 'due' AND channels.project_id = $1 GROUP BY deliveries.channel_id";
    /// The checks of a project as a channel's form lists them, and whether the channel hears of them.
    LIST_CHOICES =
        "SELECT checks.id AS id, checks.uuid AS uuid, checks.name AS name, \
         check_channels.channel_id IS NOT NULL AS is_told FROM checks LEFT JOIN check_channels \
         ON check_channels.check_id = checks.id AND check_channels.channel_id = $2 \
         WHERE checks.project_id = $1 AND checks.deleted_at IS NULL ORDER BY checks.name, checks.id";
}

/// Of how many checks a channel hears.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Uses {
    pub channel_id: i64,
    pub checks: i64,
}

/// What waits to be sent by a channel.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Waiting {
    pub channel_id: i64,
    pub alerts: i64,
    pub next_at: Time,
}

/// A check that a channel may hear of.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Choice {
    pub id: i64,
    pub uuid: Uuid,
    pub name: String,
    pub is_told: bool,
}

pub async fn note_asked(tx: &mut WriteTx, channel: Uuid, now: Time) -> Result<()> {
    tx.change(NOTE_ASKED).bind(channel).bind(now).count().await?;
    Ok(())
}

pub async fn list_uses(tx: &mut ReadTx, project_id: i64) -> Result<Vec<Uses>> {
    Ok(tx.query(LIST_USES).bind(project_id).all().await?)
}

pub async fn list_waiting(tx: &mut ReadTx, project_id: i64) -> Result<Vec<Waiting>> {
    Ok(tx.query(LIST_WAITING).bind(project_id).all().await?)
}

/// All checks of a project by name; `channel_id` 0 hears of none.
pub async fn list_choices(tx: &mut ReadTx, project_id: i64, channel_id: i64) -> Result<Vec<Choice>> {
    Ok(tx.query(LIST_CHOICES).bind(project_id).bind(channel_id).all().await?)
}
