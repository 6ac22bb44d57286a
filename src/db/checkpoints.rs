//! SQLite's checkpoints, beside the writer: what its log holds is carried over to the database's file by a reader, so that
//! a ping that waits to be durable does not wait for that too.
//!
//! The engine would do it in the middle of a commit as soon as its log is [`WRITER_PAGES`] long, and still does where
//! this could not keep up. Nothing depends on it but time and the length of the log.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Pool, Sqlite};

use super::commits::Commits;

/// Pages of the log from which on a commit carries them over itself.
pub(super) const WRITER_PAGES: u32 = 65_536;
/// Fewer pages than this are not worth the waits for the disk that a checkpoint costs.
const WORTH_PAGES: i64 = 4_096;
/// The shortest time between two looks at the log.
const PACE: Duration = Duration::from_millis(250);

/// Pages in the log, and those of them that are carried over.
#[derive(sqlx::FromRow)]
struct Log {
    log: i64,
    checkpointed: i64,
}

/// Carries over what is committed, until the pool of readers is closed.
pub(super) async fn run(reader: Pool<Sqlite>, commits: Arc<Commits>) {
    loop {
        tokio::select! {
            () = commits.made() => {}
            () = reader.close_event() => return,
        }
        if let Err(error) = carry_over(&reader).await
            && !reader.is_closed()
        {
            tracing::warn!(%error, "the log of the database was not carried over; a commit will do it");
        }
        tokio::time::sleep(PACE).await;
    }
}

async fn carry_over(reader: &Pool<Sqlite>) -> sqlx::Result<()> {
    let mut connection = reader.acquire().await?;
    let log: Log = sqlx::query_as("PRAGMA wal_checkpoint(NOOP)").fetch_one(&mut *connection).await?;
    if log.log - log.checkpointed >= WORTH_PAGES {
        sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut *connection).await?;
    }
    Ok(())
}
