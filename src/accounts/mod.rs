//! Accounts, their users, projects, members and keys, and the counts that a plan limits.
//!
//! The account row is the first lock of every transaction that takes or gives back something a plan counts:
//! its guards compare the plan they were asked for with the stored one, so that nobody counts by an old plan
//! while it changes. What a count allows is decided by the row it is kept in, never by counting rows.
//!
//! Paths that reach the count of checks: [`take_check`] from `checks::create` and `checks::find_or_create` (the
//! API's create, also with `unique`; `create=1`; the page's form and copy; `import`), from `removal` (undoing one) and
//! from `moving` (to another account); [`take_checks`] from `plans::transfer` and `removal` (bringing a project back);
//! [`give_back_checks`] from `checks::find_or_create`, `removal` (deleting), `moving` and
//! `plans::transfer`. `tests/it/limits/paths.rs` finds and races those that take one. The count of members is [`team`]'s.

pub mod emails;
pub mod origins;
pub mod passkeys;
pub mod password;
pub mod projects;
pub mod second_factor;
pub mod sessions;
pub mod store;
pub mod team;
pub mod walls;

use uuid::Uuid;

use crate::config::{Plan, Plans};
use crate::db::{ReadTx, WriteTx, text_enum};
use crate::error::{Error, Result};
use crate::id;
use crate::time::{CLOCK_SLACK, Span, Time};
use chrono::Datelike;

text_enum! {
    /// What a member may do (`CONTRACT` 10).
    pub enum Role { Owner = "owner", Manager = "manager", Member = "member", Readonly = "readonly" }
}

impl Role {
    /// Whether the role may change checks, channels, keys and the project's name, and see ping addresses.
    pub const fn may_change(self) -> bool {
        !matches!(self, Self::Readonly)
    }

    /// What people call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Manager => "manager",
            Self::Member => "member",
            Self::Readonly => "read-only",
        }
    }

    /// Whether the role may invite and remove members.
    pub const fn may_manage(self) -> bool {
        matches!(self, Self::Owner | Self::Manager)
    }
}

/// Who pays and whom the plan limits.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct AccountRow {
    pub id: i64,
    pub uuid: Uuid,
    pub plan: String,
    pub checks_used: i64,
    pub alerts_used: i64,
    pub alerts_month: i64,
}

impl AccountRow {
    /// The account with what its plan allows now.
    pub fn account(&self, plans: &Plans) -> Account {
        Account { id: self.id, plan: plans.of(&self.plan) }
    }
}

/// An account together with what its plan allows.
#[derive(Clone, Debug)]
pub struct Account {
    pub id: i64,
    pub plan: Plan,
}

/// Who signs in.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct User {
    pub id: i64,
    pub uuid: Uuid,
    pub account_id: i64,
    /// Lower-case.
    pub email: String,
    pub password_hash: Option<String>,
    /// The IANA zone in which this person reads times.
    pub zone: String,
}

/// A group of checks, channels and keys.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Project {
    pub id: i64,
    pub uuid: Uuid,
    pub account_id: i64,
    pub name: String,
    pub ping_key: Option<String>,
    pub badge_key: Uuid,
}

/// A project as one of its members sees it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Membership {
    #[sqlx(flatten)]
    pub project: Project,
    pub role: Role,
}

/// An API key as it is stored: what it opens, never the key.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct ApiKey {
    pub id: i64,
    pub project_id: i64,
    pub readonly: bool,
    pub digest: Vec<u8>,
}

/// The instance's own row.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Instance {
    /// Signs what leaves the server and comes back: links in mails, badges.
    pub secret: Vec<u8>,
    pub operator_id: Option<i64>,
}

/// How asking for one more alert ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    Taken,
    /// This month's alerts are used up.
    QuotaUsed,
    /// The account changed meanwhile; ask again.
    Outdated,
}

/// The calendar month of `now` in UTC, counted from year 0: what `alerts_month` holds.
pub fn month(now: Time) -> i64 {
    let date = now.utc();
    i64::from(date.year()) * 12 + i64::from(date.month0())
}

/// The first instant of a month as [`month`] counts it.
pub fn month_start(month: i64) -> Time {
    let year = i32::try_from(month.div_euclid(12)).unwrap_or(i32::MAX);
    let month0 = u32::try_from(month.rem_euclid(12)).unwrap_or(0);
    let first = chrono::NaiveDate::from_ymd_opt(year, month0 + 1, 1).unwrap_or_default();
    Time(first.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis())
}

impl AccountRow {
    /// Alerts charged in the month of `now`. A month that the clock has not reached counts as not set.
    pub fn alerts_used_at(&self, now: Time) -> i64 {
        let counted = month(now)..=month(now + CLOCK_SLACK);
        if counted.contains(&self.alerts_month) { self.alerts_used } else { 0 }
    }
}

/// Makes sure that the instance has its row, with a secret of its own, and returns it.
///
/// # Errors
/// The database's.
pub async fn instance(tx: &mut WriteTx, now: Time) -> Result<Instance> {
    store::create_instance(tx, &id::bytes::<32>(), now).await?;
    store::find_instance(tx).await?.ok_or_else(|| Error::internal("the instance has no row"))
}

/// Takes one check from what the account's plan allows; returns the plan's floor, or `None` if nothing is left.
///
/// # Errors
/// [`Error::Outdated`] if the plan is no longer the given one; the database's.
pub async fn take_check(tx: &mut WriteTx, account: &Account) -> Result<Option<Span>> {
    Ok(take_checks(tx, account, 1).await?.then_some(account.plan.floor))
}

/// Gives checks back; the account row is locked from here on.
///
/// # Errors
/// The database's.
pub async fn give_back_checks(tx: &mut WriteTx, account_id: i64, number: i64) -> Result<()> {
    store::give_back_checks(tx, account_id, number).await
}

/// Takes several checks at once, all or none; whether there was room.
///
/// # Errors
/// As for [`take_check`].
pub async fn take_checks(tx: &mut WriteTx, account: &Account, number: i64) -> Result<bool> {
    let limit = account.plan.checks.unwrap_or(i64::MAX);
    if store::take_checks(tx, account.id, &account.plan.name, limit, number).await? {
        return Ok(true);
    }
    let row = store::find_account(tx, account.id).await?.ok_or(Error::NotFound)?;
    let is_full = row.plan == account.plan.name && row.checks_used.saturating_add(number) > limit;
    if is_full { Ok(false) } else { Err(Error::Outdated) }
}

/// Locks the project of an account, whose row this transaction locked before.
///
/// # Errors
/// [`Error::Outdated`] if it is gone or another account's by now.
pub async fn lock_project_of(tx: &mut WriteTx, account_id: i64, project_id: i64) -> Result<()> {
    let owner = store::lock_project(tx, project_id).await?;
    if owner == Some(account_id) { Ok(()) } else { Err(Error::Outdated) }
}

/// The e-mail address of an account's owner, or an empty text while nobody owns it.
///
/// # Errors
/// The database's.
pub async fn owner_email(tx: &mut ReadTx, account_id: i64) -> Result<String> {
    let owner = store::find_user_of_account(tx, account_id).await?;
    Ok(owner.map(|owner| owner.email).unwrap_or_default())
}

/// Charges one alert of the month of `now`.
///
/// # Errors
/// The database's.
pub async fn charge_alert(tx: &mut WriteTx, account: &Account, now: Time) -> Result<Charge> {
    let limit = account.plan.alerts_per_month.unwrap_or(i64::MAX);
    if store::charge_alert(tx, account.id, &account.plan.name, limit, now).await? {
        return Ok(Charge::Taken);
    }
    let row = store::find_account(tx, account.id).await?.ok_or(Error::NotFound)?;
    let is_used = row.plan == account.plan.name && row.alerts_used_at(now) >= limit;
    Ok(if is_used { Charge::QuotaUsed } else { Charge::Outdated })
}

/// The key's project, if the key is known, by our own digest or that of the server it was brought from.
///
/// # Errors
/// The database's.
pub async fn find_key(tx: &mut ReadTx, key: &str) -> Result<Option<ApiKey>> {
    if let Some(found) = find_digest(tx, &id::digest(key)).await? {
        return Ok(Some(found));
    }
    for digest in origins::digests(tx, key).await? {
        if let Some(found) = find_digest(tx, &digest).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The comparison of digests takes the same time for every key.
async fn find_digest(tx: &mut ReadTx, digest: &[u8]) -> Result<Option<ApiKey>> {
    use subtle::ConstantTimeEq;
    let found = store::find_key(tx, digest).await?;
    Ok(found.filter(|found| bool::from(found.digest.ct_eq(digest))))
}

/// The key and the plan that limits it, if the key is known: see [`find_key`].
///
/// # Errors
/// The database's.
pub async fn find_key_plan(tx: &mut ReadTx, key: &str) -> Result<Option<store::KeyPlan>> {
    if let Some(found) = store::find_key_plan(tx, &id::digest(key)).await? {
        return Ok(Some(found));
    }
    for digest in origins::digests(tx, key).await? {
        if let Some(found) = store::find_key_plan(tx, &digest).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_ends_where_the_next_begins() {
        let at = |text: &str| Time::parse(text).unwrap();
        let next = |text: &str| month_start(month(at(text)) + 1);
        assert_eq!(next("2026-03-26T03:12:00Z"), at("2026-04-01T00:00:00Z"));
        assert_eq!(next("2026-12-31T23:59:59.999Z"), at("2027-01-01T00:00:00Z"));
    }

    #[test]
    fn alerts_of_another_month_do_not_count() {
        let now = Time::parse("2026-03-31T23:59:30Z").unwrap();
        let row = |alerts_month| AccountRow {
            id: 1,
            uuid: Uuid::nil(),
            plan: "free".to_owned(),
            checks_used: 0,
            alerts_used: 7,
            alerts_month,
        };
        let march = month(now);
        assert_eq!(row(march).alerts_used_at(now), 7);
        assert_eq!(row(march - 1).alerts_used_at(now), 0);
        assert_eq!(row(march + 1).alerts_used_at(now), 7, "another process is in April already");
        assert_eq!(row(march + 1).alerts_used_at(now - Span::seconds(31)), 0, "the clock was set back");
        assert_eq!(row(march + 12).alerts_used_at(now), 0);
    }
}
