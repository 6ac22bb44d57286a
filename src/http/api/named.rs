//! The check that a path names: by uuid, or by the key under which read-only access knows it (`CONTRACT` 3).

use uuid::Uuid;

use super::ApiFailure;
use super::access::Opened;
use crate::checks::json::unique_key;
use crate::checks::{self, Check};
use crate::db::ReadTx;

/// What the last segment of `checks/<..>` can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    Uuid(Uuid),
    /// 40 hex digits.
    UniqueKey,
    Nothing,
}

impl Named {
    pub fn of(path: &str) -> Self {
        let uuid = if path.len() == 36 { Uuid::try_parse(path).ok() } else { None };
        match uuid {
            Some(uuid) => Self::Uuid(uuid),
            None if path.len() == 40 && path.bytes().all(|byte| byte.is_ascii_hexdigit()) => Self::UniqueKey,
            None => Self::Nothing,
        }
    }
}

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
        Named::UniqueKey => {
            let checks = checks::store::list(tx, opened.project.id).await?;
            let named = |check: &Check| unique_key(check.uuid) == path;
            checks.into_iter().find(named).ok_or(ApiFailure::NotFound)
        }
        Named::Nothing => Err(ApiFailure::NotFound),
    }
}
