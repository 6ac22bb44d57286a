//! One statement over many rows: what a group of pings needs, at the price of one.
//!
//! The text says `{rows BIGINT, TEXT}` where a table expression is to stand, whose columns have these types and are
//! called `column1`, `column2` and so on. Each engine gets the form that it is fast with: SQLite a list of VALUES, whose
//! length is rounded up so that few texts are prepared (a row that fills it up is all NULL, and the text leaves it out),
//! PostgreSQL one array a column.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, SqlSafeStr, SqlStr};
use uuid::Uuid;

use super::{Conn, FromSql, ReadTx, Statement, WriteTx, inspect};
use crate::time::{Span, Time};

/// Rows that SQLite is given at once; a multiple of them has no more to gain.
const SQLITE_SIZES: [usize; 4] = [1, 8, 32, SQLITE_LARGEST];
const SQLITE_LARGEST: usize = 128;

/// One value of a row; what is absent is NULL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Long(Option<i64>),
    Text(Option<Arc<str>>),
    Uuid(Option<Uuid>),
    Blob(Option<Vec<u8>>),
}

macro_rules! value_of {
    ($($type:ty => |$given:ident| $value:expr;)+) => {
        $(impl From<$type> for Value {
            fn from($given: $type) -> Self {
                $value
            }
        })+
    };
}

value_of! {
    i64 => |long| Self::Long(Some(long));
    Option<i64> => |long| Self::Long(long);
    Time => |at| Self::Long(Some(at.0));
    Option<Time> => |at| Self::Long(at.map(|at| at.0));
    Option<Span> => |span| Self::Long(span.map(|span| span.0));
    &'static str => |word| Self::Text(Some(shared(word)));
    String => |text| Self::Text(Some(text.into()));
    Arc<str> => |text| Self::Text(Some(text));
    Option<Arc<str>> => |text| Self::Text(text);
    Uuid => |uuid| Self::Uuid(Some(uuid));
    Option<Uuid> => |uuid| Self::Uuid(uuid);
    Vec<u8> => |blob| Self::Blob(Some(blob));
}

/// A word of the program as the engine's driver takes it, made once in each thread: every row of a group has some.
fn shared(word: &'static str) -> Arc<str> {
    thread_local! {
        static SHARED: RefCell<HashMap<&'static str, Arc<str>>> = RefCell::default();
    }
    SHARED.with_borrow_mut(|all| Arc::clone(all.entry(word).or_insert_with(|| word.into())))
}

impl ReadTx {
    /// Runs a query about all of `rows` and gives what it finds.
    ///
    /// # Errors
    /// The engine's, or a row that does not fit `R`.
    pub async fn query_rows<R: FromSql, const N: usize>(
        &mut self,
        statement: &'static Statement,
        rows: &[[Value; N]],
    ) -> sqlx::Result<Vec<R>> {
        run(&mut self.0, statement, rows, "").await
    }
}

impl WriteTx {
    /// Runs a change with all of `rows` and gives what it returns.
    ///
    /// # Errors
    /// The engine's, or a row that does not fit `R`.
    pub async fn change_rows<R: FromSql, const N: usize>(
        &mut self,
        statement: &'static Statement,
        rows: &[[Value; N]],
    ) -> sqlx::Result<Vec<R>> {
        self.is_changed = true;
        run(&mut self.tx.0, statement, rows, "").await
    }

    /// The same for a change that returns nothing; gives how many rows were changed.
    ///
    /// # Errors
    /// The engine's.
    pub async fn count_rows<const N: usize>(
        &mut self,
        statement: &'static Statement,
        rows: &[[Value; N]],
    ) -> sqlx::Result<u64> {
        if rows.is_empty() {
            return Ok(0);
        }
        self.is_changed = true;
        inspect::note_statement();
        match &mut self.tx.0 {
            Conn::Sqlite(tx) => {
                let mut count = 0;
                for (sql, arguments) in for_sqlite(statement, rows) {
                    count += sqlx::query_with(sql, arguments).execute(&mut **tx).await?.rows_affected();
                }
                Ok(count)
            }
            Conn::Postgres(tx) => {
                let (sql, arguments) = for_postgres(statement, rows, "");
                Ok(sqlx::query_with(sql, arguments).execute(&mut **tx).await?.rows_affected())
            }
        }
    }

    /// A query whose rows nobody else can write until this transaction ends, locked in the order of their first
    /// column. They come in no order: SQLite, which locks nothing, would only sort them for it.
    ///
    /// # Errors
    /// The engine's, or a row that does not fit `R`.
    pub async fn lock_rows<R: FromSql, const N: usize>(
        &mut self,
        statement: &'static Statement,
        rows: &[[Value; N]],
    ) -> sqlx::Result<Vec<R>> {
        run(&mut self.tx.0, statement, rows, LOCKING).await
    }
}

/// What a statement returns that returns no rows.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub struct Nothing {}

/// A text about many rows: what stands before and after them, and the types of their columns.
struct Text<'a> {
    before: &'a str,
    types: Vec<&'a str>,
    after: &'a str,
}

impl<'a> Text<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let (before, rest) = text.split_once("{rows ")?;
        let (types, after) = rest.split_once('}')?;
        Some(Self { before, types: types.split(", ").collect(), after })
    }

    fn for_sqlite(&self, size: usize) -> String {
        // Parameters without numbers: the driver looks numbered ones up one after the other, at each execution.
        let row = format!("({}?)", "?,".repeat(self.types.len() - 1));
        let rows = format!("{row},").repeat(size - 1);
        let Self { before, after, .. } = self;
        format!("{before}(VALUES {rows}{row}){after}")
    }

    fn for_postgres(&self, locking: &str) -> String {
        let numbered = || (1..).zip(&self.types);
        let arrays: Vec<String> = numbered().map(|(n, type_)| format!("CAST(${n} AS {type_}[])")).collect();
        let names: Vec<String> = numbered().map(|(n, _)| format!("column{n}")).collect();
        let rows = format!("(SELECT * FROM UNNEST({}) AS given ({}))", arrays.join(", "), names.join(", "));
        let Self { before, after, .. } = self;
        format!("{before}{rows}{after}{locking}")
    }
}

/// Texts that were made, by what they were made from and for; as many as there are statements and sizes of them.
type Made = HashMap<(&'static str, &'static str, usize), Arc<str>>;

/// The text for so many rows, made once: that takes longer than to run it.
fn made(
    statement: &'static Statement,
    ending: &'static str,
    size: usize,
    make: impl FnOnce() -> String,
) -> SqlStr {
    static MADE: LazyLock<RwLock<Made>> = LazyLock::new(RwLock::default);
    let key = (statement.text, ending, size);
    let known = MADE.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    let text = known.unwrap_or_else(|| {
        let mut all = MADE.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(key).or_insert_with(|| make().into()))
    });
    AssertSqlSafe(text).into_sql_str()
}

/// The text of a statement as SQLite, or PostgreSQL, prepares it.
pub(super) fn text_of(statement: &Statement, is_sqlite: bool) -> SqlStr {
    match Text::of(statement.text) {
        None => statement.text.into_sql_str(),
        Some(text) if is_sqlite => AssertSqlSafe(text.for_sqlite(SQLITE_SIZES[0])).into_sql_str(),
        Some(text) => AssertSqlSafe(text.for_postgres("")).into_sql_str(),
    }
}

async fn run<R: FromSql, const N: usize>(
    conn: &mut Conn,
    statement: &'static Statement,
    rows: &[[Value; N]],
    locking: &'static str,
) -> sqlx::Result<Vec<R>> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    inspect::note_statement();
    match conn {
        Conn::Sqlite(tx) => {
            let mut found = Vec::new();
            for (sql, arguments) in for_sqlite(statement, rows) {
                found.extend(sqlx::query_as_with(sql, arguments).fetch_all(&mut **tx).await?);
            }
            Ok(found)
        }
        Conn::Postgres(tx) => {
            let (sql, arguments) = for_postgres(statement, rows, locking);
            sqlx::query_as_with(sql, arguments).fetch_all(&mut **tx).await
        }
    }
}

/// A statement with its rows as SQLite takes them: some at a time.
fn for_sqlite<'a, const N: usize>(
    statement: &'static Statement,
    rows: &'a [[Value; N]],
) -> impl Iterator<Item = (SqlStr, SqliteArguments)> + use<'a, N> {
    let text = text_about::<N>(statement);
    rows.chunks(SQLITE_LARGEST).map(move |some| {
        let size = size_for(some);
        (made(statement, "", size, || text.for_sqlite(size)), sqlite_arguments(some))
    })
}

/// The same as PostgreSQL takes them: all at once.
fn for_postgres<const N: usize>(
    statement: &'static Statement,
    rows: &[[Value; N]],
    locking: &'static str,
) -> (SqlStr, PgArguments) {
    let text = text_about::<N>(statement);
    (made(statement, locking, 0, || text.for_postgres(locking)), postgres_arguments(&text, rows))
}

fn text_about<const N: usize>(statement: &'static Statement) -> Text<'static> {
    let text = Text::of(statement.text).filter(|text| text.types.len() == N);
    text.expect("who calls a statement knows its rows")
}

/// For how many rows a text is made that takes these.
fn size_for<T>(rows: &[T]) -> usize {
    SQLITE_SIZES.into_iter().find(|size| *size >= rows.len()).unwrap_or(SQLITE_LARGEST)
}

/// What is left over of the text's parameters is NULL.
fn sqlite_arguments<const N: usize>(rows: &[[Value; N]]) -> SqliteArguments {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(rows.len() * N, 0);
    for value in rows.iter().flatten() {
        match value.clone() {
            Value::Long(long) => arguments.add(long),
            Value::Text(text) => arguments.add(text),
            Value::Uuid(uuid) => arguments.add(uuid),
            Value::Blob(blob) => arguments.add(blob),
        }
        .expect(ENCODES);
    }
    arguments
}

/// One array a column; a value of another type than its column's is NULL there, which no hot column takes.
fn postgres_arguments<const N: usize>(text: &Text<'_>, rows: &[[Value; N]]) -> PgArguments {
    let mut arguments = PgArguments::default();
    for (index, type_) in text.types.iter().enumerate() {
        let values = rows.iter().map(|row| &row[index]);
        macro_rules! array {
            ($kind:ident) => {{
                let of_kind =
                    |value: &Value| if let Value::$kind(value) = value { value.clone() } else { None };
                arguments.add(values.map(of_kind).collect::<Vec<_>>())
            }};
        }
        match *type_ {
            "TEXT" => {
                let texts =
                    values.map(|value| if let Value::Text(text) = value { text.as_deref() } else { None });
                arguments.add(texts.collect::<Vec<_>>())
            }
            "UUID" => array!(Uuid),
            "BYTEA" => array!(Blob),
            _ => array!(Long),
        }
        .expect(ENCODES);
    }
    arguments
}

/// What makes PostgreSQL lock the rows that a query gives, one after the other.
const LOCKING: &str = " ORDER BY 1 FOR NO KEY UPDATE";
const ENCODES: &str = "the values bound here encode without fail";
