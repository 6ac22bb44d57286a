//! SQL that reads `flips` for the pages of a whole project, and the log for one check's.

use crate::checks::StoredFlip;
use crate::db::{ReadTx, statements};
use crate::error::Result;
use crate::time::Time;

macro_rules! flip_columns {
    () => {
        "flips.id AS id, flips.check_id AS check_id, flips.flipped_at AS flipped_at, flips.old_status AS old_status, \
         flips.new_status AS new_status, flips.reason AS reason, flips.ping_n AS ping_n, \
         flips.exit_status AS exit_status, flips.expected_at AS expected_at, flips.started_at AS started_at, \
         flips.last_success_at AS last_success_at, flips.blind_ms AS blind_ms"
    };
}

statements! {
    /// Flips of a project's checks since an instant, per check in their order.
    LIST_PROJECT_FLIPS = concat!(
        "SELECT ", flip_columns!(), " FROM flips JOIN checks ON checks.id = flips.check_id \
         WHERE checks.project_id = $1 AND checks.deleted_at IS NULL AND flips.flipped_at >= $2 \
         ORDER BY flips.check_id, flips.id");
    /// The last flip of each check of a project that is down or paused, however long ago.
    LIST_STANDING_FLIPS = concat!(
        "SELECT ", flip_columns!(), " FROM flips JOIN checks ON checks.id = flips.check_id \
         WHERE checks.project_id = $1 AND checks.deleted_at IS NULL AND checks.told_status IN ('down', 'paused') \
         AND flips.id = (SELECT MAX(newer.id) FROM flips AS newer WHERE newer.check_id = checks.id)");
}

/// Flips since `since`; oldest first within each check.
pub async fn list_flips(tx: &mut ReadTx, project_id: i64, since: Time) -> Result<Vec<StoredFlip>> {
    Ok(tx.query(LIST_PROJECT_FLIPS).bind(project_id).bind(since).all().await?)
}

/// Since when, and why, each check that is down or paused is so.
pub async fn list_standing(tx: &mut ReadTx, project_id: i64) -> Result<Vec<StoredFlip>> {
    Ok(tx.query(LIST_STANDING_FLIPS).bind(project_id).all().await?)
}
