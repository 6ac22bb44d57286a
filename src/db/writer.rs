//! The one connection of this process that writes to SQLite's file: whoever has it is the only writer here, and all get it in
//! the order in which they asked.
//!
//! A pool would ask the engine at both ends of each use whether its connection still works, and everybody in a group of
//! pings would wait for the answers. This one is handed on as it is. A transaction that is not committed is rolled back
//! before anybody else gets it, however its owner went away; a connection that cannot do so is replaced.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::commits::Commits;

pub(super) struct Writer {
    options: SqliteConnectOptions,
    patience: Duration,
    commits: Arc<Commits>,
    /// `None` while somebody has it, and until the next one is opened in its place.
    connection: Arc<Mutex<Option<SqliteConnection>>>,
    is_closed: AtomicBool,
}

/// The right to write, in hand.
pub(super) struct Writing {
    /// `None` only once it was given up.
    held: Option<Held>,
    /// Whether the engine may have a transaction open.
    is_open: bool,
}

struct Held {
    connection: SqliteConnection,
    place: OwnedMutexGuard<Option<SqliteConnection>>,
}

impl Writer {
    /// Opens the connection; whoever wants it waits for at most `patience`.
    pub(super) async fn open(
        options: SqliteConnectOptions,
        patience: Duration,
        commits: Arc<Commits>,
    ) -> sqlx::Result<Self> {
        let connection = Arc::new(Mutex::new(Some(options.connect().await?)));
        Ok(Self { options, patience, commits, connection, is_closed: AtomicBool::new(false) })
    }

    /// Waits until nobody else here writes.
    pub(super) async fn acquire(&self) -> sqlx::Result<Writing> {
        let place = Arc::clone(&self.connection).lock_owned();
        let mut place =
            tokio::time::timeout(self.patience, place).await.map_err(|_| sqlx::Error::PoolTimedOut)?;
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(sqlx::Error::PoolClosed);
        }
        let connection = match place.take() {
            Some(connection) => connection,
            None => {
                // It knows nothing of what others committed before it was opened.
                self.commits.count();
                self.options.connect().await?
            }
        };
        Ok(Writing { held: Some(Held { connection, place }), is_open: false })
    }

    /// The same, with a transaction begun.
    pub(super) async fn begin(&self) -> sqlx::Result<Writing> {
        let mut writing = self.acquire().await?;
        // Before it is asked for, since whoever waits for the answer may go away.
        writing.is_open = true;
        let begun = sqlx::query("BEGIN IMMEDIATE").execute(&mut *writing).await;
        writing.is_open = begun.is_ok();
        begun.map(|_| writing)
    }

    /// Ends the connection; work under way finishes first.
    pub(super) async fn close(&self) {
        let mut place = self.connection.lock().await;
        self.is_closed.store(true, Ordering::Relaxed);
        let Some(connection) = place.take() else { return };
        if let Err(error) = connection.close().await {
            tracing::warn!(%error, "the connection that writes was not closed properly");
        }
    }
}

impl Writing {
    /// Makes its transaction durable.
    pub(super) async fn commit(mut self) -> sqlx::Result<()> {
        sqlx::query("COMMIT").execute(&mut *self).await?;
        self.is_open = false;
        Ok(())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        let Some(mut held) = self.held.take() else { return };
        if !self.is_open {
            *held.place = Some(held.connection);
        } else if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(held.roll_back());
        }
    }
}

impl Held {
    async fn roll_back(mut self) {
        match sqlx::query("ROLLBACK").execute(&mut self.connection).await {
            Ok(_) => *self.place = Some(self.connection),
            // The engine did it already, as it does when the disk is full, or cannot; the next connection is a new one.
            Err(error) => tracing::debug!(%error, "nothing was rolled back"),
        }
    }
}

impl Deref for Writing {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.held.as_ref().expect(HELD).connection
    }
}

impl DerefMut for Writing {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.held.as_mut().expect(HELD).connection
    }
}

const HELD: &str = "only what drops it gives it up";

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    async fn writer(folder: &tempfile::TempDir) -> Writer {
        let options = SqliteConnectOptions::new()
            .filename(folder.path().join("file"))
            .create_if_missing(true)
            .journal_mode(sqlx::sqlite::SqliteJournalMode::Wal);
        let writer = Writer::open(options, Duration::from_secs(5), Arc::default()).await.unwrap();
        let mut writing = writer.begin().await.unwrap();
        sqlx::query("CREATE TABLE numbers (n BIGINT)").execute(&mut *writing).await.unwrap();
        writing.commit().await.unwrap();
        writer
    }

    async fn add(writing: &mut Writing, n: i64) {
        sqlx::query("INSERT INTO numbers VALUES ($1)").bind(n).execute(&mut **writing).await.unwrap();
    }

    async fn numbers(writer: &Writer) -> Vec<i64> {
        let mut writing = writer.acquire().await.unwrap();
        sqlx::query_scalar("SELECT n FROM numbers ORDER BY n").fetch_all(&mut *writing).await.unwrap()
    }

    #[tokio::test]
    async fn only_what_is_committed_stays() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        let mut kept = writer.begin().await.unwrap();
        add(&mut kept, 1).await;
        kept.commit().await.unwrap();
        let mut dropped = writer.begin().await.unwrap();
        add(&mut dropped, 2).await;
        drop(dropped);
        assert_eq!(numbers(&writer).await, [1]);
        assert_eq!(writer.commits.number(), 0, "the connection is the first one still");
    }

    #[tokio::test]
    async fn whoever_goes_away_while_it_begins_or_writes_leaves_nothing_open() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        for polls in 0..30 {
            let mut work = Box::pin(async {
                let mut writing = writer.begin().await.unwrap();
                for n in 0..10 {
                    add(&mut writing, n).await;
                }
                std::future::pending::<()>().await;
            });
            for _ in 0..polls {
                let _ = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            drop(work);
            let mut next = writer.begin().await.unwrap();
            add(&mut next, 1000 + polls).await;
            next.commit().await.unwrap();
        }
        assert_eq!(numbers(&writer).await, (1000..1030).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_transaction_that_the_engine_ended_by_itself_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        let mut ended = writer.begin().await.unwrap();
        sqlx::query("ROLLBACK").execute(&mut *ended).await.unwrap();
        assert!(ended.commit().await.is_err());
        let mut next = writer.begin().await.unwrap();
        add(&mut next, 1).await;
        next.commit().await.unwrap();
        assert_eq!(numbers(&writer).await, [1]);
        assert_eq!(writer.commits.number(), 1, "the connection is another one, which knows nothing");
    }

    #[tokio::test]
    async fn nobody_gets_it_once_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let writer = writer(&folder).await;
        writer.close().await;
        assert!(matches!(writer.begin().await.err(), Some(sqlx::Error::PoolClosed)));
    }
}
