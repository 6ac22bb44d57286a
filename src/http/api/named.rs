//! The check that a path names: by uuid, or by the key under which read-only access knows it (`CONTRACT` 3).

use super::ApiFailure;
use super::access::Opened;
use crate::checks::{self, Check, unique_key};
use crate::db::ReadTx;
use crate::http::named::Named;

/// The check that a path names. By uuid: unknown is 404, another project's 403. By key, only the project that the
/// API key opens is looked at.
///
/// # Errors
/// There is none, or it is another project's.
pub async fn find(tx: &mut ReadTx, opened: &Opened, path: &str) -> Result<Check, ApiFailure> {
    match Named::of(path) {
        Named::Uuid(uuid) => {
            let check = checks::store::find(tx, uuid).await?.ok_or(ApiFailure::NotFound)?;
            if check.project_id == opened.project.id { Ok(check) } else { Err(ApiFailure::Forbidden) }
        }
        Named::UniqueKey(key) => {
            let checks = unique_key::store::list(tx, key).await?;
            let ours = |check: &Check| check.project_id == opened.project.id;
            checks.into_iter().find(ours).ok_or(ApiFailure::NotFound)
        }
        Named::Nothing => Err(ApiFailure::NotFound),
    }
}
