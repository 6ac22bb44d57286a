//! Changing what an account may use: its plan, or the values of a plan.
//!
//! The account row comes first, which keeps creations and charges out; then the floor of all its checks and the
//! deadlines that contain it move in one statement. Slots of cron and OnCalendar checks are chosen by the floor,
//! so they follow one by one, in the same transaction, on rows that the statement before locked.

use crate::accounts;
use crate::checks::{self, Kind};
use crate::config::{Plan, Plans};
use crate::db::WriteTx;
use crate::error::{Error, Result};

/// Gives an account a plan; the same plan again applies the plan's values of today.
///
/// # Errors
/// The account is gone, or the database's.
pub async fn change(tx: &mut WriteTx, account_id: i64, plan: &Plan) -> Result<()> {
    if !accounts::store::set_plan(tx, account_id, &plan.name, &plan.digest()).await? {
        return Err(Error::NotFound);
    }
    if checks::store::move_floors(tx, account_id, plan.floor).await? == 0 {
        return Ok(());
    }
    for check in checks::store::list_of_account(tx, account_id).await? {
        if check.settings.kind == Kind::Simple {
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
