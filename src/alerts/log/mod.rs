//! What was sent about a check, to whom, and what came back: deliveries as people read them.

pub mod store;

use super::DeliveryState;
use crate::checks::Status;
use crate::time::Time;

/// A delivery with its channel's name.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Told {
    pub id: i64,
    /// The status it tells.
    pub tells: Status,
    pub flipped_at: Time,
    pub channel_name: String,
    pub channel_kind: String,
    pub state: DeliveryState,
    pub attempts: i64,
    /// What the channel answered last.
    pub outcome: String,
    /// When the next attempt is due, as long as it is not settled.
    pub due_at: Time,
    pub settled_at: Option<Time>,
}
