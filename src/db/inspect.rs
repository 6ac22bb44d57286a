//! For tests: what the engines really hold, and how much they are asked. Not used by the program.

use std::cell::Cell;
use std::future::Future;

use sqlx::{ConnectOptions, Connection, Executor, SqlSafeStr};
use std::str::FromStr;

use super::{Db, Engine, Statement};

tokio::task_local! {
    static STATEMENTS: Cell<u64>;
}

/// Runs `work` in this task and counts the statements that it asks any database.
pub async fn count_statements<T>(work: impl Future<Output = T>) -> (T, u64) {
    let counting = async {
        let out = work.await;
        (out, STATEMENTS.with(Cell::get))
    };
    STATEMENTS.scope(Cell::new(0), counting).await
}

/// Counts a statement where somebody wants to know.
pub(super) fn note_statement() {
    // Outside of a count there is nobody who does.
    let _ = STATEMENTS.try_with(|count| count.set(count.get() + 1));
}

#[derive(sqlx::FromRow)]
struct Column {
    name: String,
}

impl Db {
    /// Prepares a statement without running it.
    ///
    /// # Errors
    /// The engine cannot make sense of it.
    pub async fn prepare(&self, statement: &Statement) -> sqlx::Result<()> {
        match &self.engine {
            Engine::Sqlite { writer, .. } => {
                writer.acquire().await?.prepare(statement.text.into_sql_str()).await.map(drop)
            }
            Engine::Postgres(pool) => {
                pool.acquire().await?.prepare(statement.text.into_sql_str()).await.map(drop)
            }
        }
    }

    /// All columns as `table.column`, in order of name, without the migrator's own.
    ///
    /// # Errors
    /// The engine's.
    pub async fn columns(&self) -> sqlx::Result<Vec<String>> {
        let rows: Vec<Column> = match &self.engine {
            Engine::Sqlite { reader, .. } => {
                let sql = "SELECT m.name || '.' || c.name AS name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c \
                           WHERE m.type = 'table' AND m.name NOT LIKE '\\_%' ESCAPE '\\' AND m.name NOT LIKE 'sqlite%'";
                sqlx::query_as(sql).fetch_all(reader).await?
            }
            Engine::Postgres(pool) => {
                let sql = "SELECT table_name || '.' || column_name AS name FROM information_schema.columns \
                           WHERE table_schema = current_schema() AND table_name NOT LIKE '\\_%'";
                sqlx::query_as(sql).fetch_all(pool).await?
            }
        };
        let mut names: Vec<String> = rows.into_iter().map(|row| row.name).collect();
        names.sort();
        Ok(names)
    }
}

/// Makes a PostgreSQL schema on the server at `url`.
///
/// # Errors
/// The server's.
pub async fn create_schema(url: &str, schema: &str) -> sqlx::Result<()> {
    let mut connection = sqlx::postgres::PgConnectOptions::from_str(url)?.connect().await?;
    let sql = format!("CREATE SCHEMA \"{schema}\"");
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await?;
    connection.close().await
}

/// Marks a database as if a later program had migrated it.
///
/// # Errors
/// The engine's.
pub async fn pretend_newer(db: &Db) -> sqlx::Result<()> {
    let sql = "UPDATE _sqlx_migrations SET version = 99990101000000 WHERE version = 1";
    match &db.engine {
        Engine::Sqlite { writer, .. } => sqlx::query(sql).execute(writer).await.map(drop),
        Engine::Postgres(pool) => sqlx::query(sql).execute(pool).await.map(drop),
    }
}
