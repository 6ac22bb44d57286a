//! What an engine's error means for the caller: try again at once, come back later, or a fault of ours.

/// The three meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The transaction lost against another one and may run again at once.
    Conflict,
    /// The database cannot take work now: locked, full, gone, overloaded. Nothing was stored.
    Unavailable,
    /// The statement or its values are at fault; trying again changes nothing.
    Statement,
}

/// Primary result codes of SQLite (<https://sqlite.org/rescode.html>) that pass when the machine's state does:
/// BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, FULL, CANTOPEN.
const SQLITE_PASSING: [i32; 8] = [5, 6, 7, 8, 9, 10, 13, 14];

/// Classes of PostgreSQL's SQLSTATE (appendix A of its manual) that pass: connection, resources, operator
/// intervention, system error; and 25006, a standby that is read-only.
const POSTGRES_PASSING: [&str; 5] = ["08", "53", "57", "58", "25006"];

/// Whether a value that only one row may have is another row's.
pub fn is_taken(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

/// Says what `error` means.
pub fn fault(error: &sqlx::Error) -> Fault {
    let sqlx::Error::Database(database) = error else {
        return match error {
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::BeginFailed => Fault::Unavailable,
            _ => Fault::Statement,
        };
    };
    let code = database.code().unwrap_or_default();
    if database.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        let primary = code.parse::<i32>().unwrap_or(0) & 0xff;
        return if SQLITE_PASSING.contains(&primary) { Fault::Unavailable } else { Fault::Statement };
    }
    if code == "40P01" || code == "40001" {
        Fault::Conflict
    } else if POSTGRES_PASSING.iter().any(|passing| code.starts_with(passing)) {
        Fault::Unavailable
    } else {
        Fault::Statement
    }
}
