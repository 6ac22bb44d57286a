//! SQLite's checkpoints, beside the writer: what its log holds is carried over to the database's file by a reader, so that
//! a ping that waits to be durable does not wait for that too.
//!
//! While pings come without a pause, something is always left over, and only a log of which nothing is left begins anew.
//! Before it is long, the little that came meanwhile is carried over while nobody here writes. That waits for the disk to
//! have the whole of the file, of which it has most by then, since each round here waits for it too. The engine would do
//! all of it in the middle of a commit as soon as its log is [`WRITER_PAGES`] long, and still does where this could not
//! keep up. Nothing depends on it but time and the length of the log.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use sqlx::{Pool, Sqlite};

use super::commits::Commits;
use super::writer::Writer;

/// Pages of the log from which on a commit carries them over itself.
pub(super) const WRITER_PAGES: u32 = 65_536;
/// Fewer pages than this are not worth the waits for the disk that a checkpoint costs.
const WORTH_PAGES: i64 = 64;
/// Pages of the log from which on it should begin anew.
const LONG_PAGES: i64 = 32_768;
/// How long nothing is carried over afterwards, for each page, within limits. A ping that comes while pages are carried over
/// waits until the disk has them all. So they are few, and often, for as long as the disk keeps up with that; beyond, pages
/// that change again and again are better carried over once.
const REST: Duration = Duration::from_micros(80);
const SHORTEST_REST: Duration = Duration::from_millis(10);
const LONGEST_REST: Duration = Duration::from_millis(250);

/// Waits for nobody: what somebody still reads stays where it is.
const CARRY_OVER: &str = "PRAGMA wal_checkpoint(PASSIVE)";

/// Pages in the log, and those of them that are carried over.
#[derive(sqlx::FromRow)]
struct Log {
    log: i64,
    checkpointed: i64,
}

/// The file's two ways in, and the file.
pub(super) struct Database {
    pub(super) reader: Pool<Sqlite>,
    pub(super) writer: Arc<Writer>,
    pub(super) file: Arc<File>,
}

/// Carries over what is committed, until the pool of readers is closed.
pub(super) async fn run(database: Database, commits: Arc<Commits>) {
    let Database { reader, writer, .. } = &database;
    loop {
        tokio::select! {
            () = commits.made() => {}
            () = reader.close_event() => break,
        }
        let pages = carry_over(&database).await.unwrap_or_else(|error| {
            if !reader.is_closed() {
                tracing::warn!(%error, "the log of the database was not carried over; a commit will do it");
            }
            0
        });
        tokio::time::sleep((REST * pages).clamp(SHORTEST_REST, LONGEST_REST)).await;
    }
    // The system takes a process's locks on a file away as soon as the process closes it once, whoever took them.
    reader.close().await;
    writer.close().await;
}

/// Carries over what is worth it; gives how many pages of the log that were.
async fn carry_over(database: &Database) -> sqlx::Result<u32> {
    let Database { reader, writer, file } = database;
    let log: Log = sqlx::query_as("PRAGMA wal_checkpoint(NOOP)").fetch_one(reader).await?;
    let left = log.log - log.checkpointed;
    let is_long = log.log >= LONG_PAGES;
    if !is_long && left < WORTH_PAGES {
        return Ok(0);
    }
    // What comes during the first round, the second leaves less of for the one that everybody here waits for.
    for _ in 0..if is_long { 2 } else { 1 } {
        sqlx::query(CARRY_OVER).execute(reader).await?;
        let file = Arc::clone(file);
        match tokio::task::spawn_blocking(move || file.sync_data()).await {
            Ok(synced) => synced?,
            // The program ends; whoever opens the file next carries over what is left.
            Err(ended) if ended.is_cancelled() => return Ok(0),
            Err(_) => return Err(sqlx::Error::WorkerCrashed),
        }
    }
    if is_long {
        sqlx::query(CARRY_OVER).execute(&mut *writer.acquire().await?).await?;
    }
    Ok(u32::try_from(left).unwrap_or(0))
}
