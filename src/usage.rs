//! What an account uses of its plan, what is left, and when that begins anew: the figures of the usage page.
//!
//! It only looks; every limit shown here is enforced by the guard or the limiter that owns its counter. What was
//! refused of a check the recorder knows.

use uuid::Uuid;

use crate::accounts::{self, Account};
use crate::alerts;
use crate::db::ReadTx;
use crate::error::{Error, Result};
use crate::rate::{Limit, Rates};
use crate::time::Time;

/// One count against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub used: i64,
    /// `None` is no limit.
    pub limit: Option<i64>,
    /// When the count is at zero again if nothing is added; `None` for what is given back instead.
    pub resets_at: Option<Time>,
}

/// The figures of one account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub checks: Line,
    /// Of this calendar month in UTC.
    pub alerts: Line,
    /// Messages that wait for another month or a larger plan.
    pub alerts_held: i64,
    pub projects: Vec<ProjectUsage>,
}

/// The figures of one project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectUsage {
    pub uuid: Uuid,
    pub name: String,
    pub members: Line,
    pub keys: Vec<KeyUsage>,
}

/// API calls of one key; without a limit they are not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUsage {
    pub name: String,
    /// The key's first characters.
    pub hint: String,
    pub minute: Option<Line>,
    pub day: Option<Line>,
}

impl Line {
    /// What is left; `None` without a limit.
    pub fn left(&self) -> Option<i64> {
        self.limit.map(|limit| (limit - self.used).max(0))
    }
}

/// Gathers the figures of an account.
///
/// # Errors
/// The account is gone, or the database's.
pub async fn usage(tx: &mut ReadTx, rates: &Rates, account: &Account, now: Time) -> Result<Usage> {
    let plan = &account.plan;
    let row = accounts::store::find_account(tx, account.id).await?.ok_or(Error::NotFound)?;
    let mut projects = Vec::new();
    for project in accounts::store::list_member_counts(tx, account.id).await? {
        let mut keys = Vec::new();
        for key in accounts::store::list_keys(tx, project.id).await? {
            let [minute, day] = rates.api_key(key.id, plan);
            keys.push(KeyUsage {
                name: key.name,
                hint: key.hint,
                minute: line(tx, minute, now).await?,
                day: line(tx, day, now).await?,
            });
        }
        let members = Line { used: project.members, limit: plan.members, resets_at: None };
        projects.push(ProjectUsage { uuid: project.uuid, name: project.name, members, keys });
    }
    Ok(Usage {
        checks: Line { used: row.checks_used, limit: plan.checks, resets_at: None },
        alerts: Line {
            used: row.alerts_used_at(now),
            limit: plan.alerts_per_month,
            resets_at: Some(accounts::month_start(accounts::month(now) + 1)),
        },
        alerts_held: alerts::store::count_held(tx, account.id).await?,
        projects,
    })
}

async fn line(tx: &mut ReadTx, limit: Option<Limit>, now: Time) -> Result<Option<Line>> {
    let Some(limit) = limit else { return Ok(None) };
    let standing = limit.look(tx, now).await?;
    let used = standing.limit - standing.remaining;
    Ok(Some(Line { used, limit: Some(standing.limit), resets_at: Some(now + standing.reset) }))
}
