//! SQL of the tables `witness`, `gaps` and `unseen`.

use crate::checks::{Check, Gap};
use crate::db::{ReadTx, Value, WriteTx, statements};
use crate::error::Result;
use crate::time::Time;

statements! {
    FIND_STAMP = "SELECT stamped_at FROM witness WHERE id = 1";
    /// The first stamp of a database. Zero rows: there is one.
    CREATE_STAMP = "INSERT INTO witness (id, stamped_at) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    /// Moves the stamp on. Zero rows: another process did, and notes the gap if there was one.
    MOVE_STAMP = "UPDATE witness SET stamped_at = $1 WHERE id = 1 AND stamped_at = $2";
    CREATE_GAP = "INSERT INTO gaps (started_at, ended_at) VALUES ($1, $2)";
    /// Lengthens the gap that began at an instant. Zero rows: none did.
    EXTEND_GAP = "UPDATE gaps SET ended_at = $2 WHERE started_at = $1";
    /// Takes back what a clock set back left in the future; a gap wholly there never was.
    CUT_GAPS = "UPDATE gaps SET ended_at = $1 WHERE ended_at > $1";
    DROP_GAPS_AHEAD = "DELETE FROM gaps WHERE started_at >= $1";
    /// Gaps that end at or after an instant, oldest first.
    LIST_GAPS = "SELECT started_at, ended_at FROM gaps WHERE ended_at >= $1 ORDER BY ended_at";
    PRUNE_GAPS = "DELETE FROM gaps WHERE ended_at < $1";
    CREATE_UNSEEN =
        "INSERT INTO unseen (account_id, check_id, slot_at, gap_started_at, gap_ended_at, marked_at) \
         SELECT column1, column2, column3, column4, column5, column6 \
         FROM {rows BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT} AS new WHERE column1 IS NOT NULL";
    /// When an account was last told of slots in gaps that end after an instant.
    FIND_LAST_TOLD = "SELECT MAX(told_at) AS told_at FROM unseen WHERE account_id = $1 AND gap_ended_at >= $2";
    /// The gaps of which accounts were not told yet.
    LIST_UNTOLD_ACCOUNTS =
        "SELECT account_id, MIN(gap_started_at) AS gap_started_at, MAX(gap_ended_at) AS gap_ended_at FROM unseen \
         WHERE told_at IS NULL GROUP BY account_id ORDER BY account_id";
    LIST_UNTOLD =
        "SELECT unseen.id AS id, checks.name AS name, checks.uuid AS uuid, unseen.slot_at AS slot_at, \
         unseen.gap_started_at AS gap_started_at, unseen.gap_ended_at AS gap_ended_at FROM unseen \
         JOIN checks ON checks.id = unseen.check_id WHERE unseen.account_id = $1 AND unseen.told_at IS NULL \
         ORDER BY unseen.id";
    /// Slots of a check that was moved are told to its new account.
    MOVE_UNTOLD = "UPDATE unseen SET account_id = $2 WHERE check_id = $1 AND told_at IS NULL";
    /// Marks one slot as told. Zero rows: another process told it.
    TELL_UNSEEN = "UPDATE unseen SET told_at = $2 WHERE id = $1 AND told_at IS NULL";
    LIST_UNSEEN_OF_PROJECT =
        "SELECT unseen.check_id AS check_id, unseen.slot_at AS slot_at, unseen.gap_started_at AS gap_started_at, \
         unseen.gap_ended_at AS gap_ended_at FROM unseen JOIN checks ON checks.id = unseen.check_id \
         WHERE checks.project_id = $1 AND checks.deleted_at IS NULL AND unseen.slot_at >= $2 \
         ORDER BY unseen.slot_at, unseen.id";
    LIST_UNSEEN_OF_CHECK =
        "SELECT slot_at, gap_started_at, gap_ended_at FROM unseen WHERE check_id = $1 AND slot_at >= $2 ORDER BY slot_at";
}

/// A slot of a check that cannot be judged, about to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewUnseen<'a> {
    pub check: &'a Check,
    pub slot_at: Time,
    pub gap: Gap,
}

/// Slots of one account that it was not told about.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct UntoldAccount {
    pub account_id: i64,
    pub gap_started_at: Time,
    pub gap_ended_at: Time,
}

/// One slot that could not be judged, with its check.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Untold {
    pub id: i64,
    pub name: String,
    pub uuid: uuid::Uuid,
    pub slot_at: Time,
    pub gap_started_at: Time,
    pub gap_ended_at: Time,
}

/// A slot of one of a project's checks that could not be judged.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ProjectUnseen {
    pub check_id: i64,
    pub slot_at: Time,
    pub gap_started_at: Time,
    pub gap_ended_at: Time,
}

/// A slot of one check that could not be judged.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Unseen {
    pub slot_at: Time,
    pub gap_started_at: Time,
    pub gap_ended_at: Time,
}

#[derive(sqlx::FromRow)]
struct Told {
    told_at: Option<Time>,
}

#[derive(sqlx::FromRow)]
struct Stamp {
    stamped_at: Time,
}

pub async fn find_stamp(tx: &mut ReadTx) -> Result<Option<Time>> {
    Ok(tx.query(FIND_STAMP).maybe::<Stamp>().await?.map(|row| row.stamped_at))
}

pub async fn create_stamp(tx: &mut WriteTx, now: Time) -> Result<()> {
    tx.change(CREATE_STAMP).bind(now).count().await?;
    Ok(())
}

/// Whether it was this call that moved the stamp from `seen`: see [`MOVE_STAMP`].
pub async fn move_stamp(tx: &mut WriteTx, seen: Time, now: Time) -> Result<bool> {
    Ok(tx.change(MOVE_STAMP).bind(now).bind(seen).count().await? == 1)
}

/// Notes a gap, or lengthens the one that began at the same instant.
pub async fn note_gap(tx: &mut WriteTx, gap: Gap) -> Result<()> {
    if tx.change(EXTEND_GAP).bind(gap.started_at).bind(gap.ended_at).count().await? == 0 {
        tx.change(CREATE_GAP).bind(gap.started_at).bind(gap.ended_at).count().await?;
    }
    Ok(())
}

/// Takes back the part of all gaps that the clock has not reached.
pub async fn cut_gaps(tx: &mut WriteTx, now: Time) -> Result<()> {
    tx.change(DROP_GAPS_AHEAD).bind(now).count().await?;
    tx.change(CUT_GAPS).bind(now).count().await?;
    Ok(())
}

pub async fn list_gaps(tx: &mut ReadTx, ending_from: Time) -> Result<Vec<Gap>> {
    Ok(tx.query(LIST_GAPS).bind(ending_from).all().await?)
}

pub async fn prune_gaps(tx: &mut WriteTx, before: Time) -> Result<u64> {
    Ok(tx.change(PRUNE_GAPS).bind(before).count().await?)
}

pub async fn create_unseen(tx: &mut WriteTx, unseen: &[NewUnseen<'_>], now: Time) -> Result<()> {
    let row = |new: &NewUnseen<'_>| {
        let NewUnseen { check, slot_at, gap } = *new;
        let (from, to) = (gap.started_at, gap.ended_at);
        [check.account_id.into(), check.id.into(), slot_at.into(), from.into(), to.into(), now.into()]
    };
    let rows: Vec<[Value; 6]> = unseen.iter().map(row).collect();
    tx.count_rows(CREATE_UNSEEN, &rows).await?;
    Ok(())
}

pub async fn find_last_told(tx: &mut ReadTx, account_id: i64, ending_from: Time) -> Result<Option<Time>> {
    let row = tx.query(FIND_LAST_TOLD).bind(account_id).bind(ending_from).maybe::<Told>().await?;
    Ok(row.and_then(|row| row.told_at))
}

pub async fn list_untold_accounts(tx: &mut ReadTx) -> Result<Vec<UntoldAccount>> {
    Ok(tx.query(LIST_UNTOLD_ACCOUNTS).all().await?)
}

pub async fn list_untold(tx: &mut ReadTx, account_id: i64) -> Result<Vec<Untold>> {
    Ok(tx.query(LIST_UNTOLD).bind(account_id).all().await?)
}

pub async fn move_untold(tx: &mut WriteTx, check_id: i64, account_id: i64) -> Result<()> {
    tx.change(MOVE_UNTOLD).bind(check_id).bind(account_id).count().await?;
    Ok(())
}

/// Whether it was this call that told it: see [`TELL_UNSEEN`].
pub async fn tell_unseen(tx: &mut WriteTx, id: i64, now: Time) -> Result<bool> {
    Ok(tx.change(TELL_UNSEEN).bind(id).bind(now).count().await? == 1)
}

pub async fn list_unseen_of_check(tx: &mut ReadTx, check_id: i64, since: Time) -> Result<Vec<Unseen>> {
    Ok(tx.query(LIST_UNSEEN_OF_CHECK).bind(check_id).bind(since).all().await?)
}

/// Slots of a project's checks since an instant, oldest first.
pub async fn list_unseen_of_project(
    tx: &mut ReadTx,
    project_id: i64,
    since: Time,
) -> Result<Vec<ProjectUnseen>> {
    Ok(tx.query(LIST_UNSEEN_OF_PROJECT).bind(project_id).bind(since).all().await?)
}
