//! SQL of the tables `pings` and `bodies`.

use super::{Entry, NewEntry};
use crate::db::{ReadTx, Value, WriteTx, statements};
use crate::error::Result;

macro_rules! columns {
    () => {
        "check_id, n, received_at, kind, scheme, remote_addr, method, user_agent, rid, exit_status, duration_ms, \
         body_bytes"
    };
}

statements! {
    /// Adds an entry; its number was taken by the write of the check's row in the same transaction.
    CREATE_ENTRY = concat!(
        "INSERT INTO pings (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)");
    /// The same for the entries of a group of pings.
    CREATE_ENTRIES = concat!(
        "INSERT INTO pings (", columns!(), ") SELECT column1, column2, column3, column4, column5, column6, column7, \
         column8, column9, column10, column11, column12 \
         FROM {rows BIGINT, BIGINT, BIGINT, TEXT, TEXT, TEXT, TEXT, TEXT, UUID, BIGINT, BIGINT, BIGINT} AS new \
         WHERE column1 IS NOT NULL");
    CREATE_BODIES =
        "INSERT INTO bodies (check_id, n, body) SELECT column1, column2, column3 \
         FROM {rows BIGINT, BIGINT, BYTEA} AS new WHERE column1 IS NOT NULL";
    CREATE_BODY = "INSERT INTO bodies (check_id, n, body) VALUES ($1, $2, $3)";
    /// The newest entries of a check above a number, newest first.
    LIST_ENTRIES = concat!(
        "SELECT ", columns!(), " FROM pings WHERE check_id = $1 AND n > $2 ORDER BY n DESC LIMIT $3");
    FIND_BODY = "SELECT body FROM bodies WHERE check_id = $1 AND n = $2";
    FIND_ENTRY = concat!("SELECT ", columns!(), " FROM pings WHERE check_id = $1 AND n = $2");
    FIND_LAST_OUTCOME = concat!(
        "SELECT ", columns!(), " FROM pings WHERE check_id = $1 AND kind IN ('success', 'fail', 'log') \
         ORDER BY n DESC LIMIT 1");
    /// Pings recorded by all checks that exist; `NULL` if there is none. SUM of BIGINT is NUMERIC on PostgreSQL.
    COUNT_RECORDED = "SELECT CAST(SUM(n_pings) AS BIGINT) AS number FROM checks";
    PRUNE_ENTRIES = "DELETE FROM pings WHERE check_id = $1 AND n <= $2";
    PRUNE_BODIES = "DELETE FROM bodies WHERE check_id = $1 AND n <= $2";
}

#[derive(sqlx::FromRow)]
struct Body {
    body: Vec<u8>,
}

#[derive(sqlx::FromRow)]
struct Sum {
    number: Option<i64>,
}

pub async fn create(tx: &mut WriteTx, entry: &NewEntry, body: &[u8]) -> Result<()> {
    let change = tx
        .change(CREATE_ENTRY)
        .bind(entry.check_id)
        .bind(entry.n)
        .bind(entry.received_at)
        .bind(entry.kind)
        .bind(entry.scheme)
        .bind(entry.remote_addr.clone())
        .bind(entry.method.clone())
        .bind(entry.user_agent.clone())
        .bind(entry.rid)
        .bind(entry.exit_status)
        .bind(entry.duration_ms)
        .bind(entry.body_bytes);
    change.count().await?;
    if !body.is_empty() {
        tx.change(CREATE_BODY).bind(entry.check_id).bind(entry.n).bind(body.to_vec()).count().await?;
    }
    Ok(())
}

/// Adds entries of several checks, each with its body.
pub async fn create_all(tx: &mut WriteTx, entries: Vec<(NewEntry, &[u8])>) -> Result<()> {
    let with_body = entries.iter().filter(|(_, body)| !body.is_empty());
    let bodies: Vec<[Value; 3]> = with_body
        .map(|(entry, body)| [entry.check_id.into(), entry.n.into(), body.to_vec().into()])
        .collect();
    let rows: Vec<[Value; 12]> = entries.into_iter().map(|(entry, _)| row_of(entry)).collect();
    tx.count_rows(CREATE_ENTRIES, &rows).await?;
    tx.count_rows(CREATE_BODIES, &bodies).await?;
    Ok(())
}

/// The columns of [`CREATE_ENTRIES`].
fn row_of(entry: NewEntry) -> [Value; 12] {
    [
        entry.check_id.into(),
        entry.n.into(),
        entry.received_at.into(),
        entry.kind.word().into(),
        entry.scheme.into(),
        entry.remote_addr.into(),
        entry.method.into(),
        entry.user_agent.into(),
        entry.rid.into(),
        entry.exit_status.into(),
        entry.duration_ms.into(),
        entry.body_bytes.into(),
    ]
}

/// At most `limit` entries with numbers above `above`, newest first.
pub async fn list(tx: &mut ReadTx, check_id: i64, above: i64, limit: i64) -> Result<Vec<Entry>> {
    Ok(tx.query(LIST_ENTRIES).bind(check_id).bind(above).bind(limit).all().await?)
}

pub async fn find(tx: &mut ReadTx, check_id: i64, n: i64) -> Result<Option<Entry>> {
    Ok(tx.query(FIND_ENTRY).bind(check_id).bind(n).maybe().await?)
}

pub async fn find_body(tx: &mut ReadTx, check_id: i64, n: i64) -> Result<Option<Vec<u8>>> {
    Ok(tx.query(FIND_BODY).bind(check_id).bind(n).maybe::<Body>().await?.map(|row| row.body))
}

/// The newest success, fail or log.
pub async fn find_last_outcome(tx: &mut ReadTx, check_id: i64) -> Result<Option<Entry>> {
    Ok(tx.query(FIND_LAST_OUTCOME).bind(check_id).maybe().await?)
}

/// How many pings were recorded for the checks that exist; `None` if there is no check.
pub async fn count_recorded(tx: &mut ReadTx) -> Result<Option<i64>> {
    Ok(tx.query(COUNT_RECORDED).maybe::<Sum>().await?.and_then(|row| row.number))
}

/// Deletes entries with numbers up to `n`, and their bodies.
pub async fn prune(tx: &mut WriteTx, check_id: i64, n: i64) -> Result<()> {
    tx.change(PRUNE_BODIES).bind(check_id).bind(n).count().await?;
    tx.change(PRUNE_ENTRIES).bind(check_id).bind(n).count().await?;
    Ok(())
}
