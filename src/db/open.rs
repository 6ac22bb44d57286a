//! Opening, migrating, copying: the steps in which the engines really differ.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};

use super::commits::Commits;
use super::writer::Writer;
use super::{Db, Engine, News, checkpoints};

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

/// How long a write waits for another process that holds SQLite's lock, and any work for a connection.
const PATIENCE: Duration = Duration::from_secs(5);
const SQLITE_READERS: u32 = 4;
/// SQLite's `cache_size` of the writer, in kilobytes: all pages that a group of pings changes, and the inner ones of
/// every tree. The rest is as near in the system's cache, and a commit after pages were split goes through the whole of
/// this one.
const SQLITE_WRITER_CACHE: &str = "-12288";
const SQLITE_READER_CACHE: &str = "-8192";
/// Bytes of a page of a new file. A ping changes a few hundred bytes on two pages anywhere in the file, and each is written
/// whole, twice; on smaller ones, most pings split one.
const SQLITE_PAGE: u32 = 2048;
const POSTGRES_CONNECTIONS: u32 = 16;
/// PostgreSQL ends a statement that takes longer: a stalled statement must not hold row locks for good.
const STATEMENT_TIMEOUT: &str = "20s";

/// Where a database is, parsed from `sqlite://<path>` or `postgres://..`.
#[derive(Clone)]
pub enum Url {
    Sqlite(PathBuf),
    Postgres(Box<url::Url>),
}

/// Why a database could not be opened; each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "FLATLINE_DATABASE_URL: '{0}' is no database address; write sqlite://<path> or postgres://<user>@<host>/<database>"
    )]
    Address(String),
    #[error("cannot use {path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot open the {engine} database: {source}")]
    Connect { engine: &'static str, source: sqlx::Error },
    #[error(
        "the {engine} database was written by a newer flatline (it has step {version}, which this one does not \
         know); start the newer program, or restore a backup made before the upgrade"
    )]
    Newer { engine: &'static str, version: i64 },
    #[error("cannot bring the {engine} database up to date: {source}")]
    Migrate { engine: &'static str, source: MigrateError },
    #[error("cannot write the backup: {0}")]
    Backup(String),
}

impl FromStr for Url {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        // The address may hold a password, so an error repeats no more of it than the scheme.
        let scheme = text.split("://").next().unwrap_or_default();
        match scheme {
            "sqlite" if text.len() > "sqlite://".len() => {
                Ok(Self::Sqlite(PathBuf::from(&text["sqlite://".len()..])))
            }
            "postgres" | "postgresql" => url::Url::parse(text)
                .map(|url| Self::Postgres(Box::new(url)))
                .map_err(|_| OpenError::Address(format!("{scheme}://…"))),
            _ => Err(OpenError::Address(format!("{scheme}…"))),
        }
    }
}

impl Db {
    /// Opens the database at `url`, creating SQLite's file (mode 0600) where there is none, and brings its
    /// schema up to date. Several processes may do so at once.
    ///
    /// # Errors
    /// It cannot be reached or created, or it is newer than this program.
    pub async fn open(url: &Url) -> Result<Self, OpenError> {
        match url {
            Url::Sqlite(path) => open_sqlite(path).await,
            Url::Postgres(url) => open_postgres(url).await,
        }
    }

    /// Writes a consistent copy of the database at `url` to `file`, while others go on reading and writing.
    ///
    /// # Errors
    /// `file` exists or cannot be written, or the database cannot be read; for PostgreSQL also that its
    /// `pg_dump` is not installed.
    pub async fn backup(url: &Url, file: &Path) -> Result<(), OpenError> {
        create_private(file, true)?;
        let outcome = match url {
            Url::Sqlite(path) => copy_sqlite(path, file).await,
            Url::Postgres(url) => dump_postgres(url, file).await,
        };
        if outcome.is_err() {
            // The empty file was made a moment ago by this call; a half backup must not look like one.
            drop(std::fs::remove_file(file));
        }
        outcome
    }
}

fn create_private(path: &Path, new: bool) -> Result<(), OpenError> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).mode(0o600);
    if new {
        options.create_new(true);
    } else {
        options.create(true).truncate(false);
    }
    options.open(path).map(drop).map_err(|source| OpenError::File { path: path.to_owned(), source })
}

fn sqlite_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .page_size(SQLITE_PAGE)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        // All checks of a group of pings fit in, so that the engine does not wait for whoever takes them out.
        .row_buffer_size(256)
        .statement_cache_capacity(256)
}

async fn open_sqlite(path: &Path) -> Result<Db, OpenError> {
    let engine = "SQLite";
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|source| OpenError::File { path: folder.to_owned(), source })?;
    }
    create_private(path, false)?;
    let options = sqlite_options(path);
    let commits = Arc::new(Commits::default());
    let writing = options
        .clone()
        .pragma("cache_size", SQLITE_WRITER_CACHE)
        .pragma("wal_autocheckpoint", checkpoints::WRITER_PAGES.to_string());
    let connect = |source| OpenError::Connect { engine, source };
    let writer = Arc::new(Writer::open(writing, PATIENCE, Arc::clone(&commits)).await.map_err(connect)?);
    migrated(SQLITE.run(&mut *writer.acquire().await.map_err(connect)?).await, engine)?;
    // A list of a thousand checks fits in: the engine and whoever takes its rows would wake each other for each row.
    let options = options.row_buffer_size(4096);
    let reader = SqlitePoolOptions::new()
        .max_connections(SQLITE_READERS)
        // A file does not go away as a server does, and each look would wait for the answer.
        .test_before_acquire(false)
        .acquire_timeout(PATIENCE)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(options.pragma("cache_size", SQLITE_READER_CACHE).pragma("query_only", "on"))
        .await
        .map_err(connect)?;
    let file = File::open(path).map_err(|source| OpenError::File { path: path.to_owned(), source })?;
    let database =
        checkpoints::Database { reader: reader.clone(), writer: Arc::clone(&writer), file: Arc::new(file) };
    tokio::spawn(checkpoints::run(database, Arc::clone(&commits)));
    Ok(Db { engine: Engine::Sqlite { reader, writer, commits }, news: News::here() })
}

async fn open_postgres(url: &url::Url) -> Result<Db, OpenError> {
    let engine = "PostgreSQL";
    let options = PgConnectOptions::from_str(url.as_str())
        .map_err(|source| OpenError::Connect { engine, source })?
        .application_name("flatline")
        .options([
            ("statement_timeout", STATEMENT_TIMEOUT),
            ("idle_in_transaction_session_timeout", "60s"),
            // Two that migrate at once give each other notices, which are nobody's business.
            ("client_min_messages", "warning"),
        ])
        .statement_cache_capacity(256);
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(PATIENCE)
        .connect_with(options)
        .await
        .map_err(|source| OpenError::Connect { engine, source })?;
    migrated(POSTGRES.run(&pool).await, engine)?;
    let news = News::everywhere(pool.clone());
    Ok(Db { engine: Engine::Postgres(pool), news })
}

fn migrated(outcome: Result<(), MigrateError>, engine: &'static str) -> Result<(), OpenError> {
    outcome.map_err(|source| match source {
        MigrateError::VersionMissing(version) => OpenError::Newer { engine, version },
        source => OpenError::Migrate { engine, source },
    })
}

async fn copy_sqlite(path: &Path, file: &Path) -> Result<(), OpenError> {
    let failed = |error: sqlx::Error| OpenError::Backup(error.to_string());
    let target = file.to_str().ok_or_else(|| OpenError::Backup("the file's name is not UTF-8".into()))?;
    let mut source = sqlite_options(path).create_if_missing(false).connect().await.map_err(failed)?;
    sqlx::query("VACUUM INTO $1").bind(target).execute(&mut source).await.map_err(failed)?;
    source.close().await.map_err(failed)?;
    let copy = std::fs::File::open(file).map_err(|error| OpenError::Backup(error.to_string()))?;
    copy.sync_all().map_err(|error| OpenError::Backup(error.to_string()))
}

async fn dump_postgres(url: &url::Url, file: &Path) -> Result<(), OpenError> {
    let password = percent_encoding::percent_decode_str(url.password().unwrap_or_default());
    let mut address = url.clone();
    // In the environment, not the argument list: a password in an argument shows in every process list.
    let _: Result<(), ()> = address.set_password(None);
    let mut command = tokio::process::Command::new("pg_dump");
    command.args(["--format=custom", "--no-owner", "--file"]).arg(file).arg("--dbname").arg(address.as_str());
    if url.password().is_some() {
        command.env("PGPASSWORD", password.decode_utf8_lossy().as_ref());
    }
    let output = command.output().await.map_err(|error| {
        OpenError::Backup(format!(
            "pg_dump could not be started ({error}); install PostgreSQL's client programs"
        ))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(OpenError::Backup(format!("pg_dump: {}", reason.lines().next().unwrap_or("it gave no reason"))))
}
