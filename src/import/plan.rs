//! What of a project is here already, what can be brought, and what stands in the way. It only reads; whatever is
//! refused here is refused again by the write itself, for the rows may change in between.

use super::{OldBadge, OldChannel, OldCheck, OldKey, OldProject, store};
use crate::accounts::{self, Account, Project};
use crate::alerts;
use crate::checks::{self, Check};
use crate::db::ReadTx;
use crate::error::Result;

/// Where a project goes.
#[derive(Clone, Debug)]
pub struct Target {
    pub account: Account,
    /// Checks of the account that its plan counts.
    pub checks_used: i64,
    /// Mail address of the account's owner.
    pub email: String,
    pub user_id: i64,
    /// The project here; `None` if it is to be made.
    pub project: Option<Project>,
}

/// What is to be done with one project.
#[derive(Debug)]
pub struct Plan<'a> {
    pub old: &'a OldProject,
    pub target: Target,
    pub checks: Part<'a, OldCheck>,
    pub channels: Part<'a, OldChannel>,
    pub keys: Part<'a, OldKey>,
    pub badges: Part<'a, OldBadge>,
    /// Whether the project here gets the ping key.
    pub brings_ping_key: bool,
    /// What cannot be brought, and why.
    pub left: Vec<String>,
    /// What stands in the way: while there is any, nothing is to be brought.
    pub refused: Vec<String>,
}

/// Things of one sort.
#[derive(Debug)]
pub struct Part<'a, T> {
    pub to_bring: Vec<&'a T>,
    /// How many are here already; they are left as they are.
    pub here: usize,
}

impl<T> Default for Part<'_, T> {
    fn default() -> Self {
        Self { to_bring: Vec::new(), here: 0 }
    }
}

impl Plan<'_> {
    /// Whether there is nothing to do.
    pub fn is_done(&self) -> bool {
        self.target.project.is_some()
            && !self.brings_ping_key
            && self.checks.to_bring.is_empty()
            && self.channels.to_bring.is_empty()
            && self.keys.to_bring.is_empty()
            && self.badges.to_bring.is_empty()
    }
}

/// Looks at a project that is to go to `target`.
///
/// # Errors
/// The database's.
pub async fn look<'a>(tx: &mut ReadTx, old: &'a OldProject, target: Target) -> Result<Plan<'a>> {
    let mut plan = Plan {
        old,
        target,
        checks: Part::default(),
        channels: Part::default(),
        keys: Part::default(),
        badges: Part::default(),
        brings_ping_key: false,
        left: old.left.clone(),
        refused: Vec::new(),
    };
    look_at_project(tx, &mut plan).await?;
    look_at_keys(tx, &mut plan).await?;
    look_at_channels(tx, &mut plan).await?;
    for check in &old.checks {
        match holder(tx, check).await? {
            None => plan.checks.to_bring.push(check),
            Some(found) if found.uuid == check.uuid && found.account_id == plan.target.account.id => {
                plan.checks.here += 1;
            }
            Some(found) if found.uuid == check.uuid => {
                plan.refused.push(format!("check {}: it belongs to another account here", check.title()));
            }
            Some(_) => {
                plan.refused.push(format!("check {}: another check here has its badge key", check.title()));
            }
        }
    }
    for badge in &old.badges {
        match store::find_badge(tx, &badge.badge_key, &badge.tag).await? {
            None => plan.badges.to_bring.push(badge),
            Some(_) => plan.badges.here += 1,
        }
    }
    Ok(plan)
}

async fn look_at_project(tx: &mut ReadTx, plan: &mut Plan<'_>) -> Result<()> {
    let account_id = plan.target.account.id;
    if let Some(project) = plan.target.project.as_ref().filter(|project| project.account_id != account_id) {
        let refused =
            format!("project '{}' ({}): it belongs to another account here", project.name, project.uuid);
        plan.refused.push(refused);
    }
    let Some(key) = &plan.old.ping_key else { return Ok(()) };
    let holder = accounts::store::find_project_by_ping_key(tx, key).await?;
    match (holder, &plan.target.project) {
        (Some(holder), Some(project)) if holder.id == project.id => {}
        (Some(holder), _) => {
            plan.refused
                .push(format!("the ping key is that of project '{}' ({}) here", holder.name, holder.uuid));
        }
        (None, None) => plan.brings_ping_key = true,
        (None, Some(project)) => plan.left.push(format!(
            "the ping key: project '{}' here has one of its own, so URLs with slugs change their key",
            project.name
        )),
    }
    Ok(())
}

async fn look_at_keys(tx: &mut ReadTx, plan: &mut Plan<'_>) -> Result<()> {
    let project_id = plan.target.project.as_ref().map(|project| project.id);
    for key in &plan.old.keys {
        match accounts::store::find_key(tx, &key.digest).await? {
            None => plan.keys.to_bring.push(key),
            Some(found) if Some(found.project_id) == project_id => plan.keys.here += 1,
            Some(_) => plan.refused.push(format!("API key {}…: another project here has it", key.hint)),
        }
    }
    Ok(())
}

async fn look_at_channels(tx: &mut ReadTx, plan: &mut Plan<'_>) -> Result<()> {
    let project_id = plan.target.project.as_ref().map(|project| project.id);
    for channel in &plan.old.channels {
        match alerts::store::find_channel_by_uuid(tx, channel.uuid).await? {
            None => plan.channels.to_bring.push(channel),
            Some(found) if Some(found.project_id) == project_id => plan.channels.here += 1,
            Some(_) => plan
                .refused
                .push(format!("channel '{}' ({}): another project here has it", channel.name, channel.uuid)),
        }
    }
    Ok(())
}

/// The check here that has the uuid, or else the badge key.
async fn holder(tx: &mut ReadTx, check: &OldCheck) -> Result<Option<Check>> {
    match checks::store::find(tx, check.uuid).await? {
        Some(found) => Ok(Some(found)),
        None => checks::store::find_by_badge_key(tx, check.badge_key).await,
    }
}

/// Why the plans of one account cannot be carried out, if they bring more checks than its plan has room for.
pub fn crowding(target: &Target, to_bring: usize) -> Option<String> {
    let limit = target.account.plan.checks?;
    let wanted = i64::try_from(to_bring).unwrap_or(i64::MAX);
    let left = (limit - target.checks_used).max(0);
    (wanted > left).then(|| {
        let (email, plan) = (&target.email, &target.account.plan.name);
        format!(
            "{email}: {wanted} checks are to be brought, and plan {plan} has room for {left} more of its {limit}; \
             `flatline account plan {email} NAME` gives the account a larger plan"
        )
    })
}
