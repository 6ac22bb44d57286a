//! Handing a project over: its owner offered it to a member (`accounts::team::offer`), who takes it if their own
//! account's plan has room.
//!
//! Both accounts are locked, by id, then the project, then its checks, so nobody counts, pings or bills by the old
//! owner while it changes hands. With the project go the places of its checks, their floors and deadlines, and the
//! alerts that are still to be sent; the old owner stays as a member. API keys stay good, limited by the new plan.

use super::rearm;
use crate::accounts::{self, Account, Project, team};
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::{alerts, checks};

/// Takes a project over that was offered to the user of `heir`.
///
/// # Errors
/// [`Error::NotFound`] if it is not offered to the user any more, [`Error::Invalid`] with what the plan has no room
/// for; then nothing happened, provided that the caller's transaction ends with the error. [`Error::Outdated`] if
/// either account changed meanwhile.
pub async fn accept(tx: &mut WriteTx, heir: &Account, user_id: i64, project: &Project) -> Result<()> {
    let from = project.account_id;
    for account_id in [from.min(heir.id), from.max(heir.id)] {
        let row = accounts::store::lock_account(tx, account_id).await?.ok_or(Error::NotFound)?;
        if account_id == heir.id && row.plan != heir.plan.name {
            return Err(Error::Outdated);
        }
    }
    accounts::lock_project_of(tx, from, project.id).await?;
    if accounts::projects::store::find_offer(tx, project.id).await? != Some(user_id) {
        return Err(Error::NotFound);
    }
    let members = heir.plan.members.unwrap_or(i64::MAX);
    let hands = (from, heir.id);
    if !accounts::projects::store::hand_over(tx, project.id, hands, user_id, members).await? {
        let name = &heir.plan.name;
        return Err(Error::invalid(format!(
            "Your plan {name} has room for {members} members in a project, open invitations among them; this one has \
             more. Nothing was changed."
        )));
    }
    let moved = checks::holdings::store::hand_over(tx, project.id, heir.id, heir.plan.floor).await?;
    let number = i64::try_from(moved.len()).unwrap_or(i64::MAX);
    if !accounts::take_checks(tx, heir, number).await? {
        let limit = heir.plan.checks.unwrap_or(i64::MAX);
        return Err(Error::invalid(format!(
            "Your plan {} has room for {limit} checks. With the {number} of this project you would have more. Nothing \
             was changed.",
            heir.plan.name
        )));
    }
    accounts::give_back_checks(tx, from, number).await?;
    alerts::store::hand_over(tx, project.id, heir.id).await?;
    team::hand_over(tx, project.id, user_id).await?;
    rearm(tx, moved).await
}
