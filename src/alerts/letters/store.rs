//! SQL of the table `letters`.

use uuid::Uuid;

use crate::alerts::store::Settlement;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

/// What makes a letter free to be claimed at `$1`; stands in the look-up and again in the write.
macro_rules! claimable {
    () => {
        "state = 'due' AND due_at <= $1 AND (claim IS NULL OR claimed_until_at <= $1)"
    };
}

statements! {
    CREATE =
        "INSERT INTO letters (uuid, account_id, recipient, facts, due_at, created_at) VALUES ($1, $2, $3, $4, $5, $5)";
    LIST_CLAIMABLE = concat!(
        "SELECT id, uuid, account_id, recipient, facts, attempts, created_at FROM letters WHERE ",
        claimable!(), " ORDER BY due_at, id LIMIT $2");
    /// Claim: leases one letter. Zero rows: another worker has it, or it is settled.
    CLAIM = concat!(
        "UPDATE letters SET claim = $2, claimed_until_at = $3, attempts = attempts + 1 WHERE id = $4 AND ", claimable!());
    /// Settles an attempt; a letter that is done with keeps no facts, which may hold a link that signs in. Zero
    /// rows: the lease ran out and another worker has the letter now.
    SETTLE =
        "UPDATE letters SET facts = CASE WHEN $3 = 'due' THEN facts ELSE '' END, state = $3, outcome = $4, due_at = $5, settled_at = $6, claim = NULL, \
         claimed_until_at = NULL WHERE id = $1 AND claim = $2";
    /// Takes back what a clock set back left in the future.
    CLAMP = "UPDATE letters SET due_at = $1, claimed_until_at = $1 WHERE state = 'due' AND due_at > $1";
}

/// A letter to be sent.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct StoredLetter {
    pub id: i64,
    pub uuid: Uuid,
    pub account_id: Option<i64>,
    pub recipient: String,
    /// What it tells, as JSON.
    pub facts: String,
    pub attempts: i64,
    pub created_at: Time,
}

/// A letter about to be stored.
#[derive(Clone, Debug)]
pub struct NewLetter {
    pub account_id: Option<i64>,
    pub recipient: String,
    pub facts: String,
}

pub async fn create(tx: &mut WriteTx, new: NewLetter, now: Time) -> Result<()> {
    let change = tx.change(CREATE).bind(crate::id::uuid()).bind(new.account_id).bind(new.recipient);
    change.bind(new.facts).bind(now).count().await?;
    Ok(())
}

pub async fn list_claimable(tx: &mut ReadTx, now: Time, limit: i64) -> Result<Vec<StoredLetter>> {
    Ok(tx.query(LIST_CLAIMABLE).bind(now).bind(limit).all().await?)
}

/// Whether the letter was still free: see [`CLAIM`].
pub async fn claim(tx: &mut WriteTx, id: i64, token: Uuid, until: Time, now: Time) -> Result<bool> {
    Ok(tx.change(CLAIM).bind(now).bind(token).bind(until).bind(id).count().await? == 1)
}

/// Whether the lease was still held: see [`SETTLE`].
pub async fn settle(tx: &mut WriteTx, id: i64, token: Uuid, settlement: &Settlement) -> Result<bool> {
    let change =
        tx.change(SETTLE).bind(id).bind(token).bind(settlement.state).bind(settlement.outcome.clone());
    Ok(change.bind(settlement.due_at).bind(settlement.settled_at).count().await? == 1)
}

/// Takes back every instant of letters that the clock has not reached, after it was set back.
pub async fn clamp(tx: &mut WriteTx, now: Time) -> Result<()> {
    tx.change(CLAMP).bind(now).count().await?;
    Ok(())
}
