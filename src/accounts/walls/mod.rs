//! The address by which a project's wall is seen without signing in.
//!
//! Its secret opens the wall and nothing else: no key of the API stands in an address. Like a badge's it is kept in
//! clear, to be shown to members again; making another one ends the old.

pub mod store;

use super::Project;
use crate::db::{ReadTx, WriteTx};
use crate::error::Result;

/// A project that shows its wall, and the zone of its account's owner, in which the wall tells times.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Shown {
    #[sqlx(flatten)]
    pub project: Project,
    pub zone: String,
}

/// Lets a secret open a project's wall; the one before opens nothing any more.
///
/// # Errors
/// The database's.
pub async fn open(tx: &mut WriteTx, project_id: i64, key: &str) -> Result<()> {
    tx.changes_project(project_id);
    store::set_key(tx, project_id, Some(key)).await
}

/// Shows the wall to nobody without signing in.
///
/// # Errors
/// The database's.
pub async fn close(tx: &mut WriteTx, project_id: i64) -> Result<()> {
    tx.changes_project(project_id);
    store::set_key(tx, project_id, None).await
}

/// The project whose wall a secret opens.
///
/// # Errors
/// The database's.
pub async fn find(tx: &mut ReadTx, key: &str) -> Result<Option<Shown>> {
    store::find(tx, key).await
}
