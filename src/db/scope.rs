//! Transactions as scopes.
//!
//! These are macros and not functions that take an async closure, because the futures of such functions cannot
//! be shown to be `Send` while the closure borrows (rust-lang/rust#110338), and every handler and job must be.

/// How often a write is tried when another was in its way (deadlock, serialisation failure, outdated).
pub const WRITE_ATTEMPTS: u32 = 5;

/// `read!(db, |tx| work)`: runs `work`, an expression that gives a `Result`, on one consistent snapshot. Inside
/// it, `?` ends the work. The error type takes up `sqlx::Error`.
macro_rules! read {
    ($db:expr, |$tx:ident| $work:expr) => {
        match $db.begin_read().await {
            Ok(mut transaction) => {
                let $tx = &mut transaction;
                async { $work }.await
            }
            Err(error) => Err(error.into()),
        }
    };
}

/// `write!(db, |tx| work)`: runs `work`, an expression that gives a `Result`, in one write transaction: durable
/// when the whole is `Ok`, undone otherwise, run again where it failed only because another was in its way.
macro_rules! write {
    ($db:expr, |$tx:ident| $work:expr) => {{
        let mut attempt = 1;
        loop {
            let outcome = match $db.begin_write().await {
                Ok(mut transaction) => {
                    let worked = {
                        let $tx = &mut transaction;
                        async { $work }.await
                    };
                    match worked {
                        Ok(out) => transaction.commit().await.map(|()| out).map_err(Into::into),
                        Err(error) => Err(error),
                    }
                }
                Err(error) => Err(error.into()),
            };
            match outcome {
                Err(error)
                    if attempt < $crate::db::WRITE_ATTEMPTS
                        && $crate::db::AsDatabase::asks_to_retry(&error) =>
                {
                    attempt += 1;
                }
                outcome => break outcome,
            }
        }
    }};
}

pub(crate) use {read, write};
