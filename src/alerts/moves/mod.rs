//! What becomes of a check's messages when it is moved to another project, whose row and account are locked.
//!
//! The channels it leaves are told nothing more: what waits for them ends as superseded and says why, and an attempt
//! that is under way is the last ([`REASON`]). A DOWN that nobody may have heard and that is still true is not lost
//! with them: it goes to the channels that the check comes to.

pub mod store;

use crate::alerts;
use crate::checks::{Check, Status};
use crate::db::WriteTx;
use crate::error::Result;
use crate::time::Time;

/// Why a message was not sent.
pub const REASON: &str = "The check was moved to another project.";

/// Gives a check, as it is in its new project, that project's channels in the place of the old ones.
///
/// # Errors
/// The database's.
pub async fn moved(tx: &mut WriteTx, check: &Check, now: Time) -> Result<()> {
    let open = store::find_open_down(tx, check.id).await?;
    store::leave(tx, check.id, REASON, now).await?;
    alerts::store::unassign_all(tx, check.id).await?;
    for channel in alerts::store::list_channels(tx, check.project_id).await? {
        alerts::store::assign(tx, check.id, channel.id).await?;
    }
    let Some(flip_id) = open.filter(|_| check.state.told_status == Status::Down) else { return Ok(()) };
    alerts::flips::tell(tx, &[(flip_id, check)], Status::Down, now).await
}
