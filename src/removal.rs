//! Removing things, giving back what the plan counted, and bringing them back.
//!
//! A deleted check is gone for everybody at once, with its log, flips and deliveries kept aside for [`UNDO_LIFE`];
//! until then it can be brought back as it was, if the plan still has room for it. Then it is deleted for good. A
//! project goes the same way with all its checks: its keys open nothing and its pages are not there meanwhile.
//!
//! A closed account is gone for everybody at once too, and nothing brings it back. Logs may have millions of rows: for
//! good they go in small pieces, so that pings need not wait for it.

use uuid::Uuid;

use crate::accounts::{self, Account, User};
use crate::checks;
use crate::config::Plan;
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::time::{Span, Time};

/// When what nobody may bring back was deleted.
const LONG_AGO: Time = Time(0);
/// Checks, with logs of thousands of rows, that one transaction deletes for good.
const PURGE_BATCH: i64 = 5;
/// How long a deletion can be undone.
pub const UNDO_LIFE: Span = Span::hours(1);

/// Deletes a check and gives its place back. The account row is taken first.
///
/// # Errors
/// [`Error::Outdated`] if it is no longer in that project; then nothing is given back.
pub async fn delete_check(tx: &mut WriteTx, check: &checks::Check, now: Time) -> Result<()> {
    accounts::give_back_checks(tx, check.account_id, 1).await?;
    let deleted = checks::store::delete(tx, check, now).await?;
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
    lock(tx, account).await?;
    let ids = checks::store::list_deleted(tx, project_id, deleted_at).await?;
    if ids.is_empty() || deleted_at + UNDO_LIFE <= now {
        return Err(Error::NotFound);
    }
    take_room(tx, account, ids.len()).await?;
    accounts::lock_project_of(tx, account.id, project_id).await?;
    bring_back(tx, account, &ids, deleted_at).await?;
    Ok(ids.len())
}

/// Locks the account while it has that plan: what is looked at next, nobody else brings back or deletes meanwhile.
async fn lock(tx: &mut WriteTx, account: &Account) -> Result<()> {
    let is_same = accounts::store::pin_plan(tx, account.id, &account.plan.name).await?;
    if is_same { Ok(()) } else { Err(Error::Outdated) }
}

/// Takes the places of checks that are to come back.
async fn take_room(tx: &mut WriteTx, account: &Account, checks: usize) -> Result<()> {
    if accounts::take_checks(tx, account, i64::try_from(checks).unwrap_or(i64::MAX)).await? {
        return Ok(());
    }
    let Plan { name, checks, .. } = &account.plan;
    let limit = checks.unwrap_or(i64::MAX);
    Err(Error::invalid(format!(
        "The plan {name} has room for {limit} checks, and they are used. Nothing was brought back."
    )))
}

async fn bring_back(tx: &mut WriteTx, account: &Account, ids: &[i64], deleted_at: Time) -> Result<()> {
    for id in ids {
        let check =
            checks::store::restore(tx, *id, deleted_at, account.plan.floor).await?.ok_or(Error::NotFound)?;
        let mut state = check.state.clone();
        state.rearm(&check.rules());
        if !checks::store::turn(tx, &check, &state).await? {
            return Err(Error::internal("a locked row changed"));
        }
    }
    Ok(())
}

/// Deletes a project of an account with its checks, and gives their places back; returns how many. The account row is
/// taken first, then the project's, then its checks'.
///
/// # Errors
/// [`Error::Outdated`] if the project is gone or another account's by now; then nothing is given back.
pub async fn delete_project(tx: &mut WriteTx, account_id: i64, project_id: i64, now: Time) -> Result<u64> {
    accounts::store::lock_account(tx, account_id).await?.ok_or(Error::NotFound)?;
    if !accounts::projects::store::delete(tx, project_id, account_id, now).await? {
        return Err(Error::Outdated);
    }
    let deleted = checks::holdings::store::delete_all(tx, project_id, now).await?;
    accounts::give_back_checks(tx, account_id, deleted.cast_signed()).await?;
    Ok(deleted)
}

/// Brings a project of an account back, with the checks that were deleted with it.
///
/// # Errors
/// As for [`restore_checks`].
pub async fn restore_project(tx: &mut WriteTx, account: &Account, project: Uuid, now: Time) -> Result<()> {
    lock(tx, account).await?;
    let found = accounts::projects::store::find_deleted(tx, project, account.id).await?;
    let deleted = found.filter(|deleted| now < deleted.deleted_at + UNDO_LIFE).ok_or(Error::NotFound)?;
    let ids = checks::store::list_deleted(tx, deleted.id, deleted.deleted_at).await?;
    take_room(tx, account, ids.len()).await?;
    if !accounts::projects::store::restore(tx, deleted.id, account.id, deleted.deleted_at).await? {
        return Err(Error::NotFound);
    }
    bring_back(tx, account, &ids, deleted.deleted_at).await
}

/// Closes the account of a user whose row is locked, with its projects and checks, and ends the user's memberships
/// elsewhere. Nobody can bring them back, so they are deleted as if it had been long ago.
///
/// # Errors
/// [`Error::Invalid`] if the account runs the instance, [`Error::NotFound`] if it is closed.
pub async fn close_account(tx: &mut WriteTx, user: &User, now: Time) -> Result<()> {
    let account_id = user.account_id;
    accounts::store::lock_account(tx, account_id).await?.ok_or(Error::NotFound)?;
    let instance = accounts::store::lock_instance(tx).await?;
    if instance.is_some_and(|instance| instance.operator_id == Some(account_id)) {
        return Err(Error::invalid("This account runs the instance, so it cannot be deleted."));
    }
    accounts::team::leave_all(tx, user.id).await?;
    for project in accounts::store::list_member_counts(tx, account_id).await? {
        delete_project(tx, account_id, project.id, LONG_AGO).await?;
    }
    accounts::store::close_account(tx, account_id, now).await?;
    accounts::store::delete_user(tx, user.id).await
}

/// Deletes for good a few of the checks that can no longer be brought back, or else the projects and closed accounts
/// that are empty by then; returns how much it was. To be asked again until it is nothing.
///
/// # Errors
/// The database's.
pub async fn purge(tx: &mut WriteTx, now: Time) -> Result<u64> {
    let until = now - UNDO_LIFE;
    let purged = checks::store::purge(tx, until, PURGE_BATCH).await?;
    if purged > 0 {
        return Ok(purged);
    }
    // None of their checks is left by now.
    Ok(accounts::projects::store::purge(tx, until).await? + accounts::store::clear_closed(tx).await?)
}
