//! Reading another program's SQLite file, which is never written, locked for long or migrated.
//!
//! Tables are read whole, each column by its name, so that a file of an older or newer version of that program can
//! be read as far as it goes: a column that is not there is `None`, like one that is NULL.

use std::collections::HashMap;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, Column, ConnectOptions, Row, Sqlite, SqliteConnection, TypeInfo, ValueRef};

/// An open file of another program, seen at one moment.
pub struct Foreign {
    connection: SqliteConnection,
}

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    #[error("it cannot be opened: {0}")]
    File(#[from] std::io::Error),
    #[error("it cannot be read as a SQLite database: {0}")]
    Engine(#[from] sqlx::Error),
}

/// One row; values by the names of their columns.
#[derive(Clone, Debug, Default)]
pub struct ForeignRow(HashMap<String, Value>);

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Integer(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl Foreign {
    /// Opens a file for reading; all that is read from it is of one moment.
    ///
    /// # Errors
    /// It does not exist, may not be read, or is no SQLite database.
    pub async fn open(path: &Path) -> Result<Self, ForeignError> {
        drop(std::fs::File::open(path)?);
        let options = SqliteConnectOptions::new().filename(path).read_only(true);
        let mut connection = options.connect().await?;
        sqlx::query("BEGIN").execute(&mut connection).await?;
        // The engine opens a file only when it is asked about it.
        sqlx::query("SELECT name FROM sqlite_schema LIMIT 1").fetch_optional(&mut connection).await?;
        Ok(Self { connection })
    }

    /// The names of all tables.
    ///
    /// # Errors
    /// The file is damaged.
    pub async fn tables(&mut self) -> Result<Vec<String>, ForeignError> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name";
        let rows = sqlx::query_scalar(sql).fetch_all(&mut self.connection).await?;
        Ok(rows)
    }

    /// All rows of a table, in the order in which they were made.
    ///
    /// # Errors
    /// There is no such table, or the file is damaged.
    pub async fn rows(&mut self, table: &'static str) -> Result<Vec<ForeignRow>, ForeignError> {
        let sql = AssertSqlSafe(format!("SELECT * FROM \"{table}\" ORDER BY rowid"));
        let rows = sqlx::query::<Sqlite>(sql).fetch_all(&mut self.connection).await?;
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }

    /// The latest `at` for each combination of `columns` that a table has; rows hold those columns and `at`.
    ///
    /// # Errors
    /// There is no such table or column, or the file is damaged.
    pub async fn latest(
        &mut self,
        table: &'static str,
        columns: &'static str,
        at: &'static str,
    ) -> Result<Vec<ForeignRow>, ForeignError> {
        let sql = format!("SELECT {columns}, MAX({at}) AS {at} FROM {table} GROUP BY {columns}");
        let rows = sqlx::query::<Sqlite>(AssertSqlSafe(sql)).fetch_all(&mut self.connection).await?;
        Ok(rows.iter().map(read).collect::<Result<_, sqlx::Error>>()?)
    }
}

/// The engine types each value, not the column; a value is read as what it is.
fn read(row: &SqliteRow) -> Result<ForeignRow, sqlx::Error> {
    let mut values = HashMap::new();
    for (at, column) in row.columns().iter().enumerate() {
        let raw = row.try_get_raw(at)?;
        if raw.is_null() {
            continue;
        }
        let kind = raw.type_info().name().to_owned();
        let value = match kind.as_str() {
            "INTEGER" => Value::Integer(row.try_get_unchecked(at)?),
            "BLOB" => Value::Blob(row.try_get_unchecked(at)?),
            _ => Value::Text(String::from_utf8_lossy(row.try_get_unchecked::<&[u8], _>(at)?).into_owned()),
        };
        values.insert(column.name().to_owned(), value);
    }
    Ok(ForeignRow(values))
}

impl ForeignRow {
    /// A text, without NUL characters, which PostgreSQL does not store.
    pub fn text(&self, column: &str) -> Option<String> {
        match self.0.get(column)? {
            Value::Text(text) => Some(text.replace('\0', "")),
            Value::Integer(number) => Some(number.to_string()),
            Value::Blob(_) => None,
        }
    }

    pub fn integer(&self, column: &str) -> Option<i64> {
        match self.0.get(column)? {
            Value::Integer(number) => Some(*number),
            Value::Text(text) => text.parse().ok(),
            Value::Blob(_) => None,
        }
    }

    /// A flag; what is not there is off.
    pub fn flag(&self, column: &str) -> bool {
        self.integer(column).is_some_and(|number| number != 0)
    }
}
