//! Statements as named constants, and the two ways to run one. Those over many rows are run by `rows`.

use sqlx::postgres::{PgArguments, PgRow};
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{
    Arguments, AssertSqlSafe, Encode, FromRow, Postgres, SqlSafeStr, SqlStr, Sqlite, Transaction, Type,
};

use super::{Conn, SqliteTx, inspect};

/// One SQL text with its name; made only by [`statements!`], so that the test that prepares them all on both
/// engines cannot miss one.
#[derive(Debug)]
pub struct Statement {
    pub name: &'static str,
    /// One that is about many rows says where they stand and what they consist of: see `rows`.
    pub text: &'static str,
}

/// Defines a store's statements and the list `STATEMENTS` of all of them.
macro_rules! statements {
    ($($(#[$meta:meta])* $name:ident = $text:expr;)+) => {
        $($(#[$meta])* pub(crate) const $name: &$crate::db::Statement =
            &$crate::db::Statement { name: stringify!($name), text: $text };)+
        /// Every statement of this store, for the test that prepares them on both engines.
        pub const STATEMENTS: &[&$crate::db::Statement] = &[$($name),+];
    };
}
pub(crate) use statements;

/// A value that both engines take as a parameter.
pub trait Bind:
    for<'q> Encode<'q, Sqlite> + Type<Sqlite> + for<'q> Encode<'q, Postgres> + Type<Postgres>
{
}
impl<T> Bind for T where
    T: for<'q> Encode<'q, Sqlite> + Type<Sqlite> + for<'q> Encode<'q, Postgres> + Type<Postgres>
{
}

/// A row that both engines can fill.
pub trait FromSql: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}
impl<T> FromSql for T where T: for<'r> FromRow<'r, SqliteRow> + for<'r> FromRow<'r, PgRow> + Send + Unpin {}

enum Bound<'c> {
    Sqlite(&'c mut SqliteTx, SqliteArguments),
    Postgres(&'c mut Transaction<'static, Postgres>, PgArguments),
}

impl<'c> Bound<'c> {
    fn on(conn: &'c mut Conn) -> Self {
        inspect::note_statement();
        match conn {
            Conn::Sqlite(tx) => Self::Sqlite(tx, SqliteArguments::default()),
            Conn::Postgres(tx) => Self::Postgres(tx, PgArguments::default()),
        }
    }

    fn bind(&mut self, value: impl Bind) {
        match self {
            Self::Sqlite(_, arguments) => arguments.add(value),
            Self::Postgres(_, arguments) => arguments.add(value),
        }
        .expect("the values bound here encode without fail");
    }

    async fn all<R: FromSql>(self, sql: SqlStr) -> sqlx::Result<Vec<R>> {
        match self {
            Self::Sqlite(tx, arguments) => sqlx::query_as_with(sql, arguments).fetch_all(&mut **tx).await,
            Self::Postgres(tx, arguments) => sqlx::query_as_with(sql, arguments).fetch_all(&mut **tx).await,
        }
    }

    async fn maybe<R: FromSql>(self, sql: SqlStr) -> sqlx::Result<Option<R>> {
        match self {
            Self::Sqlite(tx, arguments) => {
                sqlx::query_as_with(sql, arguments).fetch_optional(&mut **tx).await
            }
            Self::Postgres(tx, arguments) => {
                sqlx::query_as_with(sql, arguments).fetch_optional(&mut **tx).await
            }
        }
    }

    async fn count(self, sql: SqlStr) -> sqlx::Result<u64> {
        Ok(match self {
            Self::Sqlite(tx, arguments) => {
                sqlx::query_with(sql, arguments).execute(&mut **tx).await?.rows_affected()
            }
            Self::Postgres(tx, arguments) => {
                sqlx::query_with(sql, arguments).execute(&mut **tx).await?.rows_affected()
            }
        })
    }
}

macro_rules! bound_statement {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[must_use = "a statement does nothing until it is asked for its rows"]
        pub struct $name<'c> {
            text: SqlStr,
            bound: Bound<'c>,
        }

        impl<'c> $name<'c> {
            pub(super) fn new(conn: &'c mut Conn, statement: &'static Statement) -> Self {
                Self { text: statement.text.into_sql_str(), bound: Bound::on(conn) }
            }

            /// Gives the next parameter its value: the first call fills `$1`.
            pub fn bind(mut self, value: impl Bind) -> Self {
                self.bound.bind(value);
                self
            }

            /// All rows.
            ///
            /// # Errors
            /// The engine's, or a row that does not fit `R`.
            pub async fn all<R: FromSql>(self) -> sqlx::Result<Vec<R>> {
                self.bound.all(self.text).await
            }

            /// The first row, if there is one.
            ///
            /// # Errors
            /// The engine's, or a row that does not fit `R`.
            pub async fn maybe<R: FromSql>(self) -> sqlx::Result<Option<R>> {
                self.bound.maybe(self.text).await
            }
        }
    };
}

bound_statement!(
    /// A statement that reads.
    Query
);
bound_statement!(
    /// A statement that writes; its row count is the guard's verdict.
    Change
);

impl<'c> Query<'c> {
    /// A query that keeps others from writing the rows it gives, one after the other in its order. SQLite has one
    /// writer, which nobody gets in the way of.
    pub(super) fn locking(conn: &'c mut Conn, statement: &'static Statement) -> Self {
        let text = match conn {
            Conn::Sqlite(_) => statement.text.into_sql_str(),
            Conn::Postgres(_) => {
                AssertSqlSafe(format!("{} FOR NO KEY UPDATE", statement.text)).into_sql_str()
            }
        };
        Self { text, bound: Bound::on(conn) }
    }
}

impl Change<'_> {
    /// Runs it and says how many rows it changed.
    ///
    /// # Errors
    /// The engine's.
    pub async fn count(self) -> sqlx::Result<u64> {
        self.bound.count(self.text).await
    }
}
