//! SQL of the table `attempts`.

use super::Attempt;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;

statements! {
    /// One row for each number. Zero rows: it is there, which must not undo what was sent.
    CREATE =
        "INSERT INTO attempts (delivery_id, number, attempted_at, state, outcome, next_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (delivery_id, number) DO NOTHING";
    /// The attempts of a check's newest deliveries.
    LIST_OF_CHECK =
        "SELECT delivery_id, number, attempted_at, state, outcome, next_at FROM attempts \
         WHERE delivery_id IN (SELECT id FROM deliveries WHERE check_id = $1 ORDER BY id DESC LIMIT $2) \
         ORDER BY delivery_id DESC, number";
}

pub async fn create(tx: &mut WriteTx, attempt: Attempt) -> Result<()> {
    let change = tx.change(CREATE).bind(attempt.delivery_id).bind(attempt.number).bind(attempt.attempted_at);
    change.bind(attempt.state).bind(attempt.outcome).bind(attempt.next_at).count().await?;
    Ok(())
}

/// The attempts of a check's newest deliveries, newest delivery first, each in the order in which they were made.
pub async fn list_of_check(tx: &mut ReadTx, check_id: i64, deliveries: i64) -> Result<Vec<Attempt>> {
    Ok(tx.query(LIST_OF_CHECK).bind(check_id).bind(deliveries).all().await?)
}
