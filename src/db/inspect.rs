//! For tests: what the engines really hold, and how much they are asked. Not used by the program.

use std::cell::Cell;
use std::future::Future;

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row};
use std::str::FromStr;

use super::{Db, Engine, Statement, rows};

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
                writer.acquire().await?.prepare(rows::text_of(statement, true)).await.map(drop)
            }
            Engine::Postgres(pool) => {
                pool.acquire().await?.prepare(rows::text_of(statement, false)).await.map(drop)
            }
        }
    }

    /// How the engine goes about a statement, a line each step. PostgreSQL is asked as if reading a whole table cost
    /// more than anything else: over the few rows of a test it would be right to do so, and what is asked is whether
    /// it could do otherwise.
    ///
    /// # Errors
    /// The engine cannot make sense of it.
    pub async fn explain(&self, statement: &Statement) -> sqlx::Result<Vec<String>> {
        match &self.engine {
            Engine::Sqlite { writer, .. } => {
                let text = rows::text_of(statement, true);
                let sql = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {}", text.as_str()));
                let steps: Vec<(i64, i64, i64, String)> =
                    sqlx::query_as(sql).fetch_all(&mut *writer.acquire().await?).await?;
                Ok(steps.into_iter().map(|(.., step)| step).collect())
            }
            Engine::Postgres(pool) => {
                let text = rows::text_of(statement, false);
                let parameters = (1..).take_while(|number| text.as_str().contains(&format!("${number}")));
                let nulls = vec!["NULL"; parameters.count()].join(", ");
                let execute = if nulls.is_empty() { "hot".to_owned() } else { format!("hot({nulls})") };
                let mut tx = pool.begin().await?;
                for sql in [
                    "SET LOCAL plan_cache_mode = force_generic_plan".to_owned(),
                    "SET LOCAL enable_seqscan = off".to_owned(),
                    format!("PREPARE hot AS {}", text.as_str()),
                ] {
                    sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *tx).await?;
                }
                let sql = AssertSqlSafe(format!("EXPLAIN (COSTS OFF) EXECUTE {execute}"));
                let steps = sqlx::raw_sql(sql).fetch_all(&mut *tx).await?;
                sqlx::raw_sql("DEALLOCATE hot").execute(&mut *tx).await?;
                steps.iter().map(|row| row.try_get(0)).collect()
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
    sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await?;
    connection.close().await
}

/// Marks a database as if a later program had migrated it.
///
/// # Errors
/// The engine's.
pub async fn pretend_newer(db: &Db) -> sqlx::Result<()> {
    let sql = "UPDATE _sqlx_migrations SET version = 99990101000000 WHERE version = 1";
    match &db.engine {
        Engine::Sqlite { writer, .. } => {
            sqlx::query(sql).execute(&mut *writer.acquire().await?).await.map(drop)
        }
        Engine::Postgres(pool) => sqlx::query(sql).execute(pool).await.map(drop),
    }
}
