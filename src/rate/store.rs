//! SQL of the table `rates`: one row per limit and subject.

use super::window::Spent;
use super::{Limit, Window};
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::{Error, Result};
use crate::time::{CLOCK_SLACK, Time};

statements! {
    FIND = "SELECT rev, last_at, counts FROM rates WHERE scope = $1 AND subject = $2";
    /// Rate: makes the row or locks it, and returns it live, so that the judgement that follows in this
    /// transaction knows of every one before it. Never zero rows.
    LOCK =
        "INSERT INTO rates (scope, subject, rev, last_at, counts, expires_at) VALUES ($1, $2, 0, NULL, '', $3) \
         ON CONFLICT (scope, subject) DO UPDATE SET rev = rates.rev + 1 RETURNING rev, last_at, counts";
    /// Writes what was judged. Zero rows: the row is not the one that was locked, which cannot be.
    WRITE =
        "UPDATE rates SET last_at = $4, counts = $5, expires_at = $6 \
         WHERE scope = $1 AND subject = $2 AND rev = $3";
    /// Removes rows that no window reaches any more. A row that somebody spends from meanwhile stays: the
    /// condition is judged again on the live one.
    PRUNE =
        "DELETE FROM rates WHERE (scope, subject) IN \
         (SELECT scope, subject FROM rates WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2) AND expires_at <= $1";
    /// Removes what was written while the clock was ahead: it counts as not set.
    FORGET_AHEAD = "DELETE FROM rates WHERE last_at > $1";
}

#[derive(sqlx::FromRow)]
struct Row {
    rev: i64,
    last_at: Option<Time>,
    /// Comma-separated, latest bucket first.
    counts: String,
}

/// A row that this transaction has locked.
pub struct Locked {
    pub rev: i64,
    pub spent: Spent,
}

impl Row {
    fn spent(&self) -> Result<Spent> {
        let counts = self.counts.split(',').filter(|count| !count.is_empty()).map(str::parse);
        let counts = counts
            .collect::<Result<Vec<i64>, _>>()
            .map_err(|_| Error::internal(format!("'{}' is no list of counts", self.counts)))?;
        Ok(Spent { last_at: self.last_at, counts })
    }
}

/// What was accepted so far; nothing if there is no row.
pub async fn find(tx: &mut ReadTx, limit: &Limit) -> Result<Spent> {
    let row: Option<Row> =
        tx.query(FIND).bind(limit.scope.to_owned()).bind(limit.subject.clone()).maybe().await?;
    row.map_or_else(|| Ok(Spent::default()), |row| row.spent())
}

/// The row, locked until the transaction ends: see [`LOCK`].
pub async fn lock(tx: &mut WriteTx, limit: &Limit, now: Time) -> Result<Locked> {
    let expires_at = limit.window.expires_at(now);
    let change = tx.change(LOCK).bind(limit.scope.to_owned()).bind(limit.subject.clone()).bind(expires_at);
    let row: Row = change.maybe().await?.ok_or_else(|| Error::internal("an insert returned no row"))?;
    Ok(Locked { rev: row.rev, spent: row.spent()? })
}

/// Writes what a judgement on the locked row came to.
pub async fn write(tx: &mut WriteTx, limit: &Limit, rev: i64, spent: &Spent) -> Result<()> {
    let Limit { scope, subject, window } = limit;
    let counts: Vec<String> = spent.counts.iter().map(i64::to_string).collect();
    let expires_at = spent.last_at.map(|at| Window::expires_at(window, at));
    let change = tx.change(WRITE).bind((*scope).to_owned()).bind(subject.clone()).bind(rev);
    let change = change.bind(spent.last_at).bind(counts.join(",")).bind(expires_at);
    if change.count().await? == 1 { Ok(()) } else { Err(Error::internal("a locked row changed")) }
}

/// How many rows were removed: see [`PRUNE`].
pub async fn prune(tx: &mut WriteTx, now: Time, limit: i64) -> Result<u64> {
    Ok(tx.change(PRUNE).bind(now).bind(limit).count().await?)
}

/// Forgets what was counted at instants that the clock has not reached, after it was set back.
pub async fn forget_ahead(tx: &mut WriteTx, now: Time) -> Result<()> {
    tx.change(FORGET_AHEAD).bind(now + CLOCK_SLACK).count().await?;
    Ok(())
}
