//! The one error of the domain: what a caller may be told, and what only the log may hear.
//!
//! Refusals by a guard are values of their own (`pings::Outcome`, `checks::Created`), never errors. The edges
//! give an error its face: a page for people (`http::web`), the contract's JSON for programs (`http::api`).

/// Why a piece of work did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The thing does not exist, or not for this caller.
    #[error("not found")]
    NotFound,
    /// The input cannot be taken; the sentence is for whoever sent it.
    #[error("{0}")]
    Invalid(String),
    /// What the work was decided from changed meanwhile; the transaction runs again from its beginning.
    #[error("it changed meanwhile, several times in a row")]
    Outdated,
    /// The database refused or failed; only the log hears why.
    #[error("database: {0}")]
    Database(#[from] sqlx::Error),
    /// Something that must not happen did; only the log hears what.
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub fn invalid(sentence: impl Into<String>) -> Self {
        Self::Invalid(sentence.into())
    }

    pub fn internal(what: impl Into<String>) -> Self {
        Self::Internal(what.into())
    }
}

pub type Result<T, E = Error> = std::result::Result<T, E>;
