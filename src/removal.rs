//! Removing things, giving back what the plan counted, and bringing them back.
//!
//! A deleted check is gone for everybody at once, with its log, flips and deliveries kept aside for [`UNDO_LIFE`];
//! until then it can be brought back as it was, if the plan still has room for it. Then it is deleted for good.

use crate::accounts::{self, Account};
use crate::checks;
use crate::config::Plan;
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::time::{Span, Time};

/// How long a deletion can be undone.
pub const UNDO_LIFE: Span = Span::hours(1);

/// Deletes a check and gives its place back. The account row is taken first.
///
/// # Errors
/// [`Error::Outdated`] if it is no longer that account's; then nothing is given back.
pub async fn delete_check(tx: &mut WriteTx, check: &checks::Check, now: Time) -> Result<()> {
    accounts::give_back_check(tx, check.account_id).await?;
    let deleted = checks::store::delete(tx, check.id, check.account_id, now).await?;
    tx.changes_check(check.project_id, check.uuid);
    if deleted { Ok(()) } else { Err(Error::Outdated) }
}

/// Brings back the checks of a project that were deleted together at `deleted_at`, all or none. Their deadlines
/// count as if they had been there; what is overdue the next sweep judges.
///
/// # Errors
/// [`Error::NotFound`] if the deletion is too old or was undone, [`Error::Invalid`] if the plan has no room for all of
/// them; then nothing happened, provided that the caller's transaction ends with the error.
pub async fn restore_checks(
    tx: &mut WriteTx,
    account: &Account,
    project_id: i64,
    deleted_at: Time,
    now: Time,
) -> Result<usize> {
    let ids = checks::store::list_deleted(tx, project_id, deleted_at).await?;
    if ids.is_empty() || deleted_at + UNDO_LIFE <= now {
        return Err(Error::NotFound);
    }
    for _ in &ids {
        if accounts::take_check(tx, account).await?.is_none() {
            let Plan { name, checks, .. } = &account.plan;
            let limit = checks.unwrap_or(i64::MAX);
            return Err(Error::invalid(format!(
                "The plan {name} has room for {limit} checks, and they are used. Nothing was brought back."
            )));
        }
    }
    for id in &ids {
        let check =
            checks::store::restore(tx, *id, deleted_at, account.plan.floor).await?.ok_or(Error::NotFound)?;
        let mut state = check.state.clone();
        state.rearm(&check.rules());
        if !checks::store::turn(tx, &check, &state).await? {
            return Err(Error::internal("a locked row changed"));
        }
    }
    Ok(ids.len())
}

/// Deletes for good what can no longer be brought back; returns how many checks.
///
/// # Errors
/// The database's.
pub async fn purge(tx: &mut WriteTx, now: Time) -> Result<u64> {
    checks::store::purge(tx, now - UNDO_LIFE).await
}
