//! One SQL text, two engines. This folder is the only code that names an engine.
//!
//! The edge owns the transaction: `db::read!(db, |tx| ..)` sees one consistent snapshot and cannot write (a
//! [`ReadTx`] has no `change`); `db::write!(db, |tx| ..)` commits when its work returns `Ok` and rolls back
//! otherwise. Work handed to `write!` may run again after a deadlock, so it does nothing but speak to its
//! transaction: no hashing, rendering, sending. SQLite has one writer, and every write transaction begins
//! `IMMEDIATE`; PostgreSQL writes at READ COMMITTED, so guards must hold against commits that happen meanwhile.

mod checkpoints;
mod classify;
mod commits;
mod foreign;
mod inspect;
mod news;
mod open;
mod rows;
mod scope;
mod statement;
mod text;
mod writer;

pub use classify::{Fault, fault, is_taken};
pub use commits::{Held, Version, Versions};
pub use foreign::{Foreign, ForeignError, ForeignRow};
pub use inspect::{count_statements, create_schema, pretend_newer};
pub use news::{Changed, News, Watch};
pub use open::{OpenError, Url};
pub use rows::{Nothing, Value};
pub use scope::WRITE_ATTEMPTS;
pub(crate) use scope::{read, write};
pub(crate) use statement::statements;
pub use statement::{Bind, Change, FromSql, Query, Statement};
pub(crate) use text::text_enum;

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use sqlx::{Pool, Postgres, Sqlite, SqliteConnection, Transaction};
use uuid::Uuid;

use commits::Commits;
use writer::{Writer, Writing};

/// A database of either engine; clones share its connections.
#[derive(Clone)]
pub struct Db {
    engine: Engine,
    news: News,
}

#[derive(Clone)]
enum Engine {
    Sqlite { reader: Pool<Sqlite>, writer: Arc<Writer>, commits: Arc<Commits> },
    Postgres(Pool<Postgres>),
}

enum Conn {
    Sqlite(SqliteTx),
    Postgres(Transaction<'static, Postgres>),
}

/// A transaction on SQLite's file.
enum SqliteTx {
    Reading(Transaction<'static, Sqlite>),
    Writing(Writing),
}

impl Deref for SqliteTx {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        match self {
            Self::Reading(tx) => tx,
            Self::Writing(writing) => writing,
        }
    }
}

impl DerefMut for SqliteTx {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        match self {
            Self::Reading(tx) => tx,
            Self::Writing(writing) => writing,
        }
    }
}

/// A snapshot to read from.
pub struct ReadTx(Conn);

/// A transaction that may write; it reads too.
pub struct WriteTx {
    tx: ReadTx,
    news: News,
    commits: Option<Arc<Commits>>,
    /// Whether anything was asked for that changes rows.
    is_changed: bool,
    /// Projects, each with the check that changes, which are news once this is durable.
    changed: Vec<(i64, Option<Uuid>)>,
}

impl Deref for WriteTx {
    type Target = ReadTx;
    fn deref(&self) -> &ReadTx {
        &self.tx
    }
}

impl DerefMut for WriteTx {
    fn deref_mut(&mut self) -> &mut ReadTx {
        &mut self.tx
    }
}

impl ReadTx {
    /// Starts a query; bind its parameters in order, then ask for `all` or `maybe`.
    pub fn query(&mut self, statement: &'static Statement) -> Query<'_> {
        Query::new(&mut self.0, statement)
    }
}

impl WriteTx {
    /// Starts a change; bind its parameters in order, then ask for the `count` of rows or what it returns.
    pub fn change(&mut self, statement: &'static Statement) -> Change<'_> {
        self.is_changed = true;
        Change::new(&mut self.tx.0, statement)
    }

    /// Starts a query whose rows nobody else can write until this transaction ends; they are locked in the
    /// query's order, which a change of many rows does not keep to.
    pub fn lock(&mut self, statement: &'static Statement) -> Query<'_> {
        Query::locking(&mut self.tx.0, statement)
    }

    /// Notes that a check of a project changes; whoever watches the project is told once that is durable.
    pub fn changes_check(&mut self, project_id: i64, check: Uuid) {
        self.changed.push((project_id, Some(check)));
    }

    /// The same for which checks a project has, and whatever else its pages show.
    pub fn changes_project(&mut self, project_id: i64) {
        self.changed.push((project_id, None));
    }

    /// Makes the transaction durable; its locks are free afterwards.
    ///
    /// # Errors
    /// The engine could not make it so; nothing of it happened.
    pub async fn commit(self) -> sqlx::Result<()> {
        let commits = self.commits.filter(|_| self.is_changed);
        if let Some(commits) = &commits {
            // Before anybody else can write, and where it fails for nothing, which costs no more than another look.
            commits.count();
        }
        match self.tx.0 {
            Conn::Sqlite(SqliteTx::Writing(writing)) => writing.commit().await,
            Conn::Sqlite(SqliteTx::Reading(tx)) => tx.commit().await,
            Conn::Postgres(tx) => tx.commit().await,
        }?;
        if let Some(commits) = commits {
            commits.tell();
        }
        self.news.tell(self.changed);
        Ok(())
    }
}

impl Db {
    /// Opens a snapshot; for work that does not fit a closure, prefer `read!`.
    ///
    /// # Errors
    /// No connection could be had in time.
    pub async fn begin_read(&self) -> sqlx::Result<ReadTx> {
        Ok(ReadTx(match &self.engine {
            Engine::Sqlite { reader, .. } => Conn::Sqlite(SqliteTx::Reading(reader.begin().await?)),
            Engine::Postgres(pool) => {
                Conn::Postgres(begin(pool, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?)
            }
        }))
    }

    /// Opens a write transaction; for work that does not fit a closure, prefer `write!`.
    ///
    /// # Errors
    /// No connection could be had in time, or (SQLite) another process holds the write lock.
    pub async fn begin_write(&self) -> sqlx::Result<WriteTx> {
        let (conn, commits) = match &self.engine {
            Engine::Sqlite { writer, commits, .. } => {
                (Conn::Sqlite(SqliteTx::Writing(writer.begin().await?)), Some(Arc::clone(commits)))
            }
            Engine::Postgres(pool) => (Conn::Postgres(begin(pool, "BEGIN").await?), None),
        };
        let (news, changed) = (self.news.clone(), Vec::new());
        Ok(WriteTx { tx: ReadTx(conn), news, commits, is_changed: false, changed })
    }

    /// Whether this process is the only one that can write: true for SQLite's embedded file as a rule, never
    /// for PostgreSQL.
    pub fn is_embedded(&self) -> bool {
        matches!(self.engine, Engine::Sqlite { .. })
    }

    /// The engine's name for logs and status pages.
    pub fn engine(&self) -> &'static str {
        match self.engine {
            Engine::Sqlite { .. } => "SQLite",
            Engine::Postgres(_) => "PostgreSQL",
        }
    }

    /// What is news here.
    pub fn news(&self) -> &News {
        &self.news
    }

    /// Closes every connection; work under way finishes first.
    pub async fn close(&self) {
        self.news.close();
        match &self.engine {
            Engine::Sqlite { reader, writer, .. } => {
                reader.close().await;
                writer.close().await;
            }
            Engine::Postgres(pool) => pool.close().await,
        }
    }
}

/// Begins on a task of its own. Where a caller goes away before the answer came (a request that its client gave
/// up), the driver would hand the connection to the next one with a transaction open that it does not know of,
/// perhaps a read-only one.
async fn begin(
    pool: &Pool<Postgres>,
    statement: &'static str,
) -> sqlx::Result<Transaction<'static, Postgres>> {
    let pool = pool.clone();
    let begun = tokio::spawn(async move { pool.begin_with(statement).await });
    begun.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}

/// An error that may hold one of the database's.
pub trait AsDatabase {
    fn as_database(&self) -> Option<&sqlx::Error>;

    /// Whether the transaction failed only because another was in its way, and may run again at once.
    fn asks_to_retry(&self) -> bool {
        self.as_database().is_some_and(|error| fault(error) == Fault::Conflict)
    }
}

impl AsDatabase for sqlx::Error {
    fn as_database(&self) -> Option<&sqlx::Error> {
        Some(self)
    }
}

impl AsDatabase for crate::error::Error {
    fn as_database(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Database(error) => Some(error),
            _ => None,
        }
    }

    fn asks_to_retry(&self) -> bool {
        matches!(self, Self::Outdated)
            || self.as_database().is_some_and(|error| fault(error) == Fault::Conflict)
    }
}
