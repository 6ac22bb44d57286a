//! Commits to SQLite's file: counted, so that whoever remembers something of it can find out whether it is still so, and
//! told, so that they are carried over from its log.

use std::sync::atomic::{AtomicU64, Ordering};

use sqlx::SqliteConnection;
use tokio::sync::Notify;

use super::writer::Writing;
use super::{Conn, Db, Engine, WriteTx};

/// The commits of this process, and whatever else takes away what is known of the file.
#[derive(Default)]
pub(super) struct Commits {
    number: AtomicU64,
    made: Notify,
}

/// A state of the whole database, as told apart from others by one that holds the right to write; equal ones are the same
/// state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Commits of this process.
    own: u64,
    /// Moves with those of others.
    others: i64,
}

/// The states that a write transaction leads from and to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    pub before: Version,
    /// Equal to the other where nothing was changed.
    pub after: Version,
}

impl Commits {
    pub(super) fn count(&self) {
        self.number.fetch_add(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    pub(super) fn tell(&self) {
        self.made.notify_one();
    }

    pub(super) async fn made(&self) {
        self.made.notified().await;
    }

    /// The state that the only connection that writes sees; while it is in use, nobody counts a commit.
    async fn version(&self, writer: &mut SqliteConnection) -> sqlx::Result<Version> {
        let others = sqlx::query_scalar("PRAGMA data_version").fetch_one(writer).await?;
        Ok(Version { own: self.number.load(Ordering::Relaxed), others })
    }
}

/// The right to write, in hand: nobody else in this process does so meanwhile.
pub struct Held(#[expect(dead_code, reason = "it is held, not used")] Writing);

impl Db {
    /// Waits until nobody in this process writes, and tells the state of the database; `None` on PostgreSQL, where
    /// others write at any time.
    ///
    /// # Errors
    /// The engine's.
    pub async fn hold(&self) -> sqlx::Result<Option<(Held, Version)>> {
        let Engine::Sqlite { writer, commits, .. } = &self.engine else { return Ok(None) };
        let mut connection = writer.acquire().await?;
        let version = commits.version(&mut connection).await?;
        Ok(Some((Held(connection), version)))
    }
}

impl WriteTx {
    /// The states before and after this transaction, were it committed now; `None` on PostgreSQL, where others write
    /// meanwhile.
    ///
    /// # Errors
    /// The engine's.
    pub async fn versions(&mut self) -> sqlx::Result<Option<Versions>> {
        let (Some(commits), Conn::Sqlite(tx)) = (&self.commits, &mut self.tx.0) else { return Ok(None) };
        let before = commits.version(tx).await?;
        let own = before.own + u64::from(self.is_changed);
        Ok(Some(Versions { before, after: Version { own, ..before } }))
    }
}
