//! One statement over many rows: what a group of pings needs, at the price of one.
//!
//! The text says `{rows BIGINT, TEXT}` where a table expression is to stand, whose columns have these types and are
//! called `column1`, `column2` and so on. Each engine gets the form that it is fast with: SQLite a list of VALUES, whose
//! length is rounded up so that few texts are prepared (a row that fills it up is all NULL, and the text leaves it out),
//! PostgreSQL one array a column.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use futures_util::TryStreamExt;
use sqlx::postgres::PgArguments;
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, AssertSqlSafe, Either, Executor, SqlSafeStr, SqlStr, Sqlite, Transaction};
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
    Text(Option<Cow<'static, str>>),
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
    &'static str => |text| Self::Text(Some(Cow::Borrowed(text)));
    String => |text| Self::Text(Some(Cow::Owned(text)));
    Option<String> => |text| Self::Text(text.map(Cow::Owned));
    Uuid => |uuid| Self::Uuid(Some(uuid));
    Option<Uuid> => |uuid| Self::Uuid(uuid);
    Vec<u8> => |blob| Self::Blob(Some(blob));
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
        run(&mut self.tx.0, statement, rows, "").await
    }

    /// Changes rows, each named by the id that is its first value, and gives the ids of those that were changed. PostgreSQL
    /// runs `together` over all of them, which returns the ids; SQLite, which would join the rows to their table before it
    /// changes anything, runs `single` with each, on one errand.
    ///
    /// # Errors
    /// The engine's.
    pub async fn change_by_id<const N: usize>(
        &mut self,
        together: &'static Statement,
        single: &'static Statement,
        rows: &[[Value; N]],
    ) -> sqlx::Result<HashSet<i64>> {
        match &mut self.tx.0 {
            Conn::Sqlite(tx) => run_each(tx, single, rows).await,
            conn @ Conn::Postgres(_) => {
                let changed: Vec<Id> = run(conn, together, rows, "").await?;
                Ok(changed.into_iter().map(|row| row.id).collect())
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

#[derive(sqlx::FromRow)]
struct Id {
    id: i64,
}

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
    let text = Text::of(statement.text).filter(|text| text.types.len() == N);
    let text = text.expect("who calls a statement knows its rows");
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    inspect::note_statement();
    match conn {
        Conn::Sqlite(tx) => {
            let mut found = Vec::new();
            for some in rows.chunks(SQLITE_LARGEST) {
                let arguments = sqlite_arguments(some.iter().flatten(), some.len() * N);
                let size = size_for(some);
                let sql = made(statement, "", size, || text.for_sqlite(size));
                let query = sqlx::query_as_with(sql, arguments);
                found.extend(query.fetch_all(&mut **tx).await?);
            }
            Ok(found)
        }
        Conn::Postgres(tx) => {
            let arguments = postgres_arguments(&text, rows);
            let sql = made(statement, locking, 0, || text.for_postgres(locking));
            sqlx::query_as_with(sql, arguments).fetch_all(&mut **tx).await
        }
    }
}

/// Runs a statement once for each row, as one text of so many statements: the driver takes a message to the engine's thread
/// for each text. What fills the text up has NULL for an id, which no row has.
async fn run_each<const N: usize>(
    tx: &mut Transaction<'static, Sqlite>,
    statement: &'static Statement,
    rows: &[[Value; N]],
) -> sqlx::Result<HashSet<i64>> {
    let (text, places) = unnumbered(statement.text);
    let mut changed = HashSet::with_capacity(rows.len());
    if !rows.is_empty() {
        inspect::note_statement();
    }
    for some in rows.chunks(SQLITE_LARGEST) {
        let values = some.iter().flat_map(|row| places.iter().map(move |&place| &row[place]));
        let arguments = sqlite_arguments(values, some.len() * places.len());
        let size = size_for(some);
        let sql = made(statement, "", size, || text.repeat(size));
        let mut counts = (&mut **tx).fetch_many(sqlx::query_with(sql, arguments));
        let mut ids = some.iter().map(|row| &row[0]);
        while let Some(count) = counts.try_next().await? {
            if let (Either::Left(count), Some(Value::Long(Some(id)))) = (count, ids.next())
                && count.rows_affected() > 0
            {
                changed.insert(*id);
            }
        }
    }
    Ok(changed)
}

/// The text of one statement with parameters that have no numbers, and which of a row's values each stands for.
fn unnumbered(text: &str) -> (String, Vec<usize>) {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut places = Vec::new();
    for part in parts {
        let rest = part.trim_start_matches(|byte: char| byte.is_ascii_digit());
        let number: usize = part[..part.len() - rest.len()].parse().expect("parameters have numbers");
        places.push(number - 1);
        out.push('?');
        out.push_str(rest);
    }
    out.push(';');
    (out, places)
}

/// For how many rows a text is made that takes these.
fn size_for<T>(rows: &[T]) -> usize {
    SQLITE_SIZES.into_iter().find(|size| *size >= rows.len()).unwrap_or(SQLITE_LARGEST)
}

/// What is left over of the text's parameters is NULL.
fn sqlite_arguments<'a>(values: impl Iterator<Item = &'a Value>, count: usize) -> SqliteArguments {
    let mut arguments = SqliteArguments::default();
    arguments.reserve(count, 0);
    for value in values {
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
            "TEXT" => array!(Text),
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
