//! Moving checks to another project, perhaps of another account.
//!
//! A check keeps its uuid, state, runs and log; the target project's channels tell about it from then on. Between
//! accounts the target's plan must have room for all of them, and its floor and the deadlines that contain it take the
//! place of the old ones, as when a plan changes. The rows of both accounts come first, by id, then the target
//! project's, then checks by id; `alerts::moves` says what becomes of messages under way.

use std::collections::BTreeSet;

use crate::accounts::{self, Account, Project};
use crate::alerts;
use crate::checks::{self, Check};
use crate::config::Plans;
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::sweep;
use crate::time::Time;

/// Moves checks, as they were `seen` by whoever may move them, all or none; returns how many. What was deleted or
/// moved elsewhere since is left alone. A slug that the target has already is dropped.
///
/// # Errors
/// [`Error::Invalid`] if the target's plan has no room for all of them; then nothing happened, provided that the
/// caller's transaction ends with the error.
pub async fn move_checks(
    tx: &mut WriteTx,
    plans: &Plans,
    seen: &[Check],
    target: &Project,
    now: Time,
) -> Result<usize> {
    let account = lock_accounts(tx, plans, seen, target).await?;
    accounts::lock_project_of(tx, account.id, target.id).await?;
    let mut seen: Vec<&Check> = seen.iter().filter(|check| check.project_id != target.id).collect();
    seen.sort_by_key(|check| check.id);
    let mut moved = 0;
    for check in seen {
        moved += usize::from(move_check(tx, check, target, &account, now).await?);
    }
    Ok(moved)
}

/// Locks the accounts that checks leave and the one they come to, by id; returns the latter.
async fn lock_accounts(tx: &mut WriteTx, plans: &Plans, seen: &[Check], target: &Project) -> Result<Account> {
    let mut ids: BTreeSet<i64> = seen.iter().map(|check| check.account_id).collect();
    ids.insert(target.account_id);
    let mut to = None;
    for id in ids {
        let row = accounts::store::lock_account(tx, id).await?.ok_or(Error::NotFound)?;
        if id == target.account_id {
            to = Some(row.account(plans));
        }
    }
    to.ok_or(Error::NotFound)
}

async fn move_check(
    tx: &mut WriteTx,
    seen: &Check,
    target: &Project,
    account: &Account,
    now: Time,
) -> Result<bool> {
    let Some(live) = checks::store::lock(tx, seen.id).await? else { return Ok(false) };
    if live.project_id != seen.project_id {
        return Ok(false);
    }
    if live.account_id != account.id {
        if accounts::take_check(tx, account).await?.is_none() {
            return Err(no_room(account));
        }
        accounts::give_back_checks(tx, live.account_id, 1).await?;
    }
    let slug = &live.settings.slug;
    let is_taken = !slug.is_empty() && !checks::store::list_by_slug(tx, target.id, slug).await?.is_empty();
    let slug = if is_taken { "" } else { slug.as_str() };
    let moved = checks::store::move_to(tx, &live, target, slug, account.plan.floor)
        .await?
        .ok_or_else(|| Error::internal("a locked row changed"))?;
    let mut state = moved.state.clone();
    state.rearm(&moved.rules());
    if !checks::store::turn(tx, &moved, &state).await? {
        return Err(Error::internal("a locked row changed"));
    }
    sweep::store::move_untold(tx, moved.id, account.id).await?;
    alerts::moves::moved(tx, &moved, now).await?;
    tx.changes_project(live.project_id);
    tx.changes_project(target.id);
    Ok(true)
}

fn no_room(account: &Account) -> Error {
    let limit = account.plan.checks.unwrap_or(i64::MAX);
    let plan = &account.plan.name;
    Error::invalid(format!(
        "The plan {plan}, which that project is on, has no room for that: it has {limit} checks. Nothing was moved."
    ))
}
