//! SQL on the table `deliveries` for checks that are moved.

use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    /// The flip of the newest DOWN of a check that is not settled.
    FIND_OPEN_DOWN =
        "SELECT MAX(flip_id) AS id FROM deliveries WHERE check_id = $1 AND settled_at IS NULL AND tells = 'down'";
    /// Ends what waits of a check, also for quota. What is being sent just now keeps its lease and is settled by its
    /// worker.
    LEAVE =
        "UPDATE deliveries SET state = 'superseded', outcome = $2, settled_at = $3 WHERE check_id = $1 \
         AND settled_at IS NULL AND (claim IS NULL OR claimed_until_at <= $3)";
}

#[derive(sqlx::FromRow)]
struct MaybeId {
    id: Option<i64>,
}

/// See [`FIND_OPEN_DOWN`].
pub async fn find_open_down(tx: &mut ReadTx, check_id: i64) -> Result<Option<i64>> {
    Ok(tx.query(FIND_OPEN_DOWN).bind(check_id).maybe::<MaybeId>().await?.and_then(|row| row.id))
}

/// See [`LEAVE`].
pub async fn leave(tx: &mut WriteTx, check_id: i64, why: &str, now: Time) -> Result<()> {
    tx.change(LEAVE).bind(check_id).bind(why.to_owned()).bind(now).count().await?;
    Ok(())
}
