//! What is stored, as the races look at it and move it.

use flatline::alerts;
use flatline::checks::log::Entry;
use flatline::checks::{self, Check, Status, StoredFlip};
use flatline::db::{Db, Fault, Statement, fault};
use flatline::time::Span;
use uuid::Uuid;

const AGE_CHECK: &Statement = &Statement {
    name: "AGE_CHECK",
    text: "UPDATE checks SET seq = seq + 1, last_ping_at = last_ping_at - $2, \
           last_success_at = last_success_at - $2, last_start_at = last_start_at - $2, \
           last_log_at = last_log_at - $2, last_ignored_at = last_ignored_at - $2, \
           starts_since_at = starts_since_at - $2, flips_since_at = flips_since_at - $2, \
           flapping_until_at = flapping_until_at - $2, expected_at = expected_at - $2, \
           deadline_at = deadline_at - $2, wake_at = wake_at - $2 WHERE id = $1",
};
const AGE_RUNS: &Statement =
    &Statement { name: "AGE_RUNS", text: "UPDATE runs SET started_at = started_at - $2 WHERE check_id = $1" };
const LIST_DELIVERIES: &Statement = &Statement {
    name: "LIST_DELIVERIES",
    text: "SELECT uuid, flip_id, channel_id, check_id, tells, state, attempts FROM deliveries \
           WHERE check_id = $1 ORDER BY id",
};

/// A delivery's row.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Delivery {
    pub uuid: Uuid,
    pub flip_id: i64,
    pub channel_id: i64,
    pub check_id: i64,
    pub tells: String,
    pub state: String,
    pub attempts: i64,
}

#[derive(sqlx::FromRow)]
struct Number {
    number: i64,
}

/// The `number` that a statement without parameters finds.
pub async fn number(db: &Db, statement: &'static Statement) -> i64 {
    let mut tx = db.begin_read().await.unwrap();
    tx.query(statement).maybe::<Number>().await.unwrap().unwrap().number
}

/// Runs one statement with numbers as parameters, in a transaction of its own; says how many rows it changed. One
/// that changes many rows takes them in any order, so it may have to give way to the program and is run again.
pub async fn change(db: &Db, statement: &'static Statement, numbers: &[i64]) -> u64 {
    for _ in 0..20 {
        match try_change(db, statement, numbers).await {
            Err(error) if fault(&error) == Fault::Conflict => {}
            changed => return changed.unwrap(),
        }
    }
    panic!("{} met a deadlock twenty times", statement.name);
}

async fn try_change(db: &Db, statement: &'static Statement, numbers: &[i64]) -> sqlx::Result<u64> {
    let mut tx = db.begin_write().await?;
    let mut change = tx.change(statement);
    for number in numbers {
        change = change.bind(*number);
    }
    let count = change.count().await?;
    tx.commit().await?;
    Ok(count)
}

/// Moves all that happened to a check into the past.
pub async fn age(db: &Db, check: &str, by: Span) {
    let id = row(db, check).await.id;
    change(db, AGE_CHECK, &[id, by.0]).await;
    change(db, AGE_RUNS, &[id, by.0]).await;
}

/// The check as it is stored.
pub async fn row(db: &Db, check: &str) -> Check {
    let mut tx = db.begin_read().await.unwrap();
    checks::store::find(&mut tx, check.parse().unwrap()).await.unwrap().unwrap()
}

/// The flips of a check, oldest first.
pub async fn flips(db: &Db, check: &str) -> Vec<StoredFlip> {
    let id = row(db, check).await.id;
    let mut tx = db.begin_read().await.unwrap();
    let mut flips = checks::flips::store::list(&mut tx, id, 100_000).await.unwrap();
    flips.reverse();
    flips
}

/// The log of a check, oldest first.
pub async fn log(db: &Db, check: &str) -> Vec<Entry> {
    let id = row(db, check).await.id;
    let mut tx = db.begin_read().await.unwrap();
    let mut entries = checks::log::store::list(&mut tx, id, 0, 100_000).await.unwrap();
    entries.reverse();
    entries
}

/// The deliveries of a check, oldest first.
pub async fn deliveries(db: &Db, check: &str) -> Vec<Delivery> {
    let id = row(db, check).await.id;
    let mut tx = db.begin_read().await.unwrap();
    tx.query(LIST_DELIVERIES).bind(id).all().await.unwrap()
}

/// What holds of every check, whatever came at once: flips follow on each other and the last is what was told,
/// each that is worth it has its deliveries, the log is numbered without holes, and the deadline is the one that
/// the rules give.
pub async fn assert_consistent(db: &Db, check: &str) {
    let (row, flips, deliveries) =
        (row(db, check).await, flips(db, check).await, deliveries(db, check).await);
    let mut tx = db.begin_read().await.unwrap();
    let channels = alerts::store::list_assigned_to_check(&mut tx, row.id).await.unwrap().len();
    drop(tx);
    let mut last = Status::New;
    for flip in &flips {
        assert_eq!(flip.old_status, last, "{flips:?}");
        last = flip.new_status;
        let told = alerts::is_told(flip.old_status, flip.new_status);
        let delivered = deliveries.iter().filter(|delivery| delivery.flip_id == flip.id).count();
        assert_eq!(delivered, if told { channels } else { 0 }, "{flip:?}");
    }
    assert_eq!(row.state.told_status, last, "{flips:?}");
    if row.state.flapping_until_at.is_none() {
        assert_eq!(row.state.status, last, "{flips:?}");
    }
    let numbers: Vec<i64> = log(db, check).await.iter().map(|entry| entry.n).collect();
    assert_eq!(numbers, (1..=row.state.n_pings).collect::<Vec<_>>());
    let mut computed = row.state.clone();
    checks::deadline::expect(&mut computed, &row.rules());
    let (stored, computed) =
        ((row.state.expected_at, row.state.deadline_at), (computed.expected_at, computed.deadline_at));
    assert_eq!(stored, computed, "{row:?}");
    if let Some(look) = row.state.next_look() {
        assert!(row.state.wake_at.is_some_and(|wake| wake <= look), "{row:?}");
    }
}
