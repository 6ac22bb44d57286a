//! Changing what an account may use: its plan, or the values of a plan; and handing a project over to another
//! account, whose plan its checks then follow ([`transfer`]).
//!
//! The account row comes first, which keeps creations and charges out; then the floor of all its checks and the
//! deadlines that contain it move in one statement. Slots of cron and OnCalendar checks are chosen by the floor,
//! so they follow one by one, in the same transaction, from the rows as that statement left and locked them.

pub mod transfer;

use crate::accounts;
use crate::checks::{self, Check, Kind};
use crate::config::{Plan, Plans};
use crate::db::{ReadTx, WriteTx};
use crate::error::{Error, Result};

/// Gives an account a plan; the same plan again applies the plan's values of today.
///
/// # Errors
/// The account is gone, or the database's.
pub async fn change(tx: &mut WriteTx, account_id: i64, plan: &Plan) -> Result<()> {
    if !accounts::store::set_plan(tx, account_id, &plan.name, &plan.digest()).await? {
        return Err(Error::NotFound);
    }
    move_checks(tx, account_id, plan).await
}

/// Applies today's values of a plan to an account that is on it; whether there was anything to do. An account that
/// got another plan meanwhile keeps that one.
///
/// # Errors
/// The database's.
pub async fn renew(tx: &mut WriteTx, account_id: i64, plan: &Plan) -> Result<bool> {
    if !accounts::store::renew_plan(tx, account_id, &plan.name, &plan.digest()).await? {
        return Ok(false);
    }
    move_checks(tx, account_id, plan).await?;
    Ok(true)
}

/// Moves floors and deadlines; the account row is locked.
async fn move_checks(tx: &mut WriteTx, account_id: i64, plan: &Plan) -> Result<()> {
    let moved = checks::holdings::store::move_floors(tx, account_id, plan.floor).await?;
    rearm(tx, moved).await
}

/// Moves the deadlines that follow from slots, of rows that are locked and have their new floor.
async fn rearm(tx: &mut WriteTx, moved: Vec<Check>) -> Result<()> {
    for check in moved {
        // What has no schedule that can be evaluated was set aside and waits for an edit.
        if check.settings.kind == Kind::Simple || check.settings.schedule().is_err() {
            continue;
        }
        let mut state = check.state.clone();
        state.rearm(&check.rules());
        if !checks::store::turn(tx, &check, &state).await? {
            return Err(Error::internal("a locked row changed"));
        }
    }
    Ok(())
}

/// The accounts whose rows were written under other values of their plan than today's, with that plan: what a
/// start has to put right after the plans file changed.
///
/// # Errors
/// The database's.
pub async fn outdated(tx: &mut WriteTx, plans: &Plans) -> Result<Vec<(i64, Plan)>> {
    let mut outdated = Vec::new();
    for plan in plans.iter() {
        for account in accounts::store::list_outdated(tx, &plan.name, &plan.digest()).await? {
            outdated.push((account.id, plan.clone()));
        }
    }
    Ok(outdated)
}

/// Plans that accounts are on although nothing names them any more, with the number of accounts.
///
/// # Errors
/// The database's.
pub async fn orphans(tx: &mut ReadTx, plans: &Plans) -> Result<Vec<(String, i64)>> {
    let counted = accounts::store::count_by_plan(tx).await?;
    Ok(counted.into_iter().filter(|(plan, _)| plans.get(plan).is_none()).collect())
}
