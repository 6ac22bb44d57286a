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

/// Pages of the log from which on a commit carries them over itself.
pub(super) const WRITER_PAGES: u32 = 65_536;
/// Fewer pages than this are not worth the waits for the disk that a checkpoint costs.
const WORTH_PAGES: i64 = 4_096;
/// Pages of the log from which on it should begin anew.
const LONG_PAGES: i64 = 32_768;
/// The shortest time between two looks at the log.
const PACE: Duration = Duration::from_millis(250);

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
    pub(super) writer: Pool<Sqlite>,
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
        if let Err(error) = carry_over(&database).await
            && !reader.is_closed()
        {
            tracing::warn!(%error, "the log of the database was not carried over; a commit will do it");
        }
        tokio::time::sleep(PACE).await;
    }
    // The system takes a process's locks on a file away as soon as the process closes it once, whoever took them.
    reader.close().await;
    writer.close().await;
}

async fn carry_over(database: &Database) -> sqlx::Result<()> {
    let Database { reader, writer, file } = database;
    let log: Log = sqlx::query_as("PRAGMA wal_checkpoint(NOOP)").fetch_one(reader).await?;
    let is_long = log.log >= LONG_PAGES;
    if is_long || log.log - log.checkpointed >= WORTH_PAGES {
        sqlx::query(CARRY_OVER).execute(reader).await?;
        let file = Arc::clone(file);
        tokio::task::spawn_blocking(move || file.sync_data())
            .await
            .map_err(|_| sqlx::Error::WorkerCrashed)??;
    }
    if is_long {
        sqlx::query(CARRY_OVER).execute(writer).await?;
    }
    Ok(())
}
