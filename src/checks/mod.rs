//! Checks: what is watched, how it is expected, and the state machine that decides its status.
//!
//! Every change of a check goes through here. Pings decide with [`state::step`] and silence with
//! [`silence::judge`]; both are written under a guard by [`store`], so that whoever comes second finds zero rows
//! and looks again. A flip is written by `alerts::flipped`, in the same transaction as the state.

pub mod deadline;
pub mod flips;
pub mod group;
pub mod history;
pub mod holdings;
pub mod json;
pub mod log;
pub mod silence;
pub mod state;
pub mod store;
#[cfg(test)]
mod tests;
pub mod unique_key;

pub use crate::schedule::Kind;
pub use deadline::{Gap, Rules};
pub use flips::StoredFlip;
pub use state::{Change, Reason, Signal, State, Status};
pub use unique_key::UniqueKey;

use uuid::Uuid;

use crate::accounts::{self, Account};
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::schedule::Schedule;
use crate::time::{Span, Time};

/// What people set; the defaults are the contract's.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Settings {
    pub name: String,
    pub slug: String,
    /// Space-separated.
    pub tags: String,
    pub description: String,
    pub kind: Kind,
    pub period_ms: Span,
    pub grace_ms: Span,
    /// A cron or OnCalendar expression, kept even while the kind is simple.
    pub schedule: String,
    /// An IANA zone.
    pub zone: String,
    /// Empty, or `POST`.
    pub methods: String,
    pub manual_resume: bool,
    pub filter_subject: bool,
    pub filter_body: bool,
    pub filter_http_body: bool,
    pub filter_default_fail: bool,
    /// Comma-separated keywords.
    pub start_kw: String,
    pub success_kw: String,
    pub failure_kw: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            slug: String::new(),
            tags: String::new(),
            description: String::new(),
            kind: Kind::Simple,
            period_ms: Span::hours(24),
            grace_ms: Span::hours(1),
            schedule: "* * * * *".to_owned(),
            zone: "UTC".to_owned(),
            methods: String::new(),
            manual_resume: false,
            filter_subject: false,
            filter_body: false,
            filter_http_body: false,
            filter_default_fail: false,
            start_kw: String::new(),
            success_kw: String::new(),
            failure_kw: String::new(),
        }
    }
}

/// A check as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Check {
    pub id: i64,
    pub uuid: Uuid,
    pub project_id: i64,
    pub account_id: i64,
    pub badge_key: Uuid,
    pub created_at: Time,
    /// Moves with every edit.
    pub rev: i64,
    #[sqlx(flatten)]
    pub settings: Settings,
    /// The plan's floor.
    pub floor_ms: Span,
    #[sqlx(flatten)]
    pub state: State,
    /// Why the schedule could not be evaluated, where the sweep set the check aside.
    pub fault: Option<String>,
}

/// A check about to be stored.
pub struct NewCheck<'a> {
    pub uuid: Uuid,
    pub badge_key: Uuid,
    pub project_id: i64,
    pub account_id: i64,
    pub floor: Span,
    pub settings: &'a Settings,
    pub now: Time,
}

/// What a check is looked up by; `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Likeness {
    pub name: Option<String>,
    pub slug: Option<String>,
    pub tags: Option<String>,
    pub period: Option<Span>,
    pub grace: Option<Span>,
}

/// Whether a check could be added.
#[derive(Clone, Debug)]
pub enum Created {
    Check(Box<Check>),
    /// There was one already that is like it.
    Existing(Box<Check>),
    /// The plan's number of checks is used up.
    NoRoom,
}

impl Settings {
    /// The schedule, parsed.
    ///
    /// # Errors
    /// What is wrong with the stored expression or zone.
    pub fn schedule(&self) -> Result<Schedule, String> {
        match self.kind {
            Kind::Simple => Ok(Schedule::Simple { period: self.period_ms }),
            Kind::Cron => Schedule::cron(&self.schedule, &self.zone).map_err(|error| error.to_string()),
            Kind::OnCalendar => {
                Schedule::on_calendar(&self.schedule, &self.zone).map_err(|error| error.to_string())
            }
        }
    }
}

impl Check {
    /// What decides this check's transitions.
    pub fn rules(&self) -> Rules {
        self.rules_with(self.settings.schedule().ok())
    }

    fn rules_with(&self, schedule: Option<Schedule>) -> Rules {
        Rules {
            schedule,
            grace: self.settings.grace_ms,
            floor: self.floor_ms,
            manual_resume: self.settings.manual_resume,
        }
    }

    /// A check that exists nowhere, for trying things on.
    pub fn sample(name: &str, status: Status, now: Time) -> Self {
        Self {
            id: 0,
            uuid: Uuid::nil(),
            project_id: 0,
            account_id: 0,
            badge_key: Uuid::nil(),
            created_at: now,
            rev: 0,
            settings: Settings { name: name.to_owned(), ..Settings::default() },
            floor_ms: Span::ZERO,
            state: State { status, told_status: status, ..State::unpinged() },
            fault: None,
        }
    }

    /// Makes sure that the live row is in the project in which it was `seen`: whoever was let in there may have no
    /// say in another.
    ///
    /// # Errors
    /// [`Error::Outdated`] if it was moved since; the transaction is to begin anew.
    pub fn stayed(&self, seen: &Self) -> Result<()> {
        if self.project_id == seen.project_id { Ok(()) } else { Err(Error::Outdated) }
    }

    /// The name, or what stands in for it where there is none.
    pub fn display_name(&self) -> String {
        if self.settings.name.is_empty() {
            unique_key::stand_in(self.uuid)
        } else {
            self.settings.name.clone()
        }
    }

    /// Whether a success is overdue but within the grace.
    pub fn is_late(&self, now: Time) -> bool {
        self.state.status == Status::Up && self.state.expected_at.is_some_and(|expected| expected <= now)
    }

    /// Whether a run is supervised and may still go on.
    pub fn is_within_run(&self, now: Time) -> bool {
        let allowed = self.settings.grace_ms + self.floor_ms;
        self.state.last_start_at.is_some_and(|started| now < started + allowed)
    }

    /// Whether a run is supervised.
    pub fn is_running(&self) -> bool {
        self.state.last_start_at.is_some()
    }
}

/// Adds a check to a project, if the account's plan has room for it: the count is taken by a guarded write of
/// the account row, which also keeps plan changes out until this transaction ends. The project is locked after it:
/// while it changes hands or is deleted nothing is added to it.
///
/// # Errors
/// [`Error::Outdated`] if the project is gone or another account's by now; the database's.
pub async fn create(
    tx: &mut WriteTx,
    account: &Account,
    project_id: i64,
    settings: &Settings,
    ids: (Uuid, Uuid),
    now: Time,
) -> Result<Created> {
    let Some(floor) = accounts::take_check(tx, account).await? else { return Ok(Created::NoRoom) };
    accounts::lock_project_of(tx, account.id, project_id).await?;
    let (uuid, badge_key) = ids;
    let new = NewCheck { uuid, badge_key, project_id, account_id: account.id, floor, settings, now };
    Ok(Created::Check(Box::new(store::create(tx, &new).await?)))
}

/// Adds a check unless the project has one that is `like` it: two that ask at once get the same one. The account
/// row comes first, then the project row; the look-up after them sees what was made before.
///
/// # Errors
/// As for [`create`].
pub async fn find_or_create(
    tx: &mut WriteTx,
    account: &Account,
    project_id: i64,
    like: &Likeness,
    settings: &Settings,
    ids: (Uuid, Uuid),
    now: Time,
) -> Result<Created> {
    if let Some(found) = store::find_match(tx, project_id, like).await? {
        return Ok(Created::Existing(Box::new(found)));
    }
    let taken = accounts::take_check(tx, account).await?;
    accounts::lock_project_of(tx, account.id, project_id).await?;
    let found = store::find_match(tx, project_id, like).await?;
    let Some(floor) = taken else {
        // The last place may have gone to the very check that is looked for.
        return Ok(found.map_or(Created::NoRoom, |found| Created::Existing(Box::new(found))));
    };
    if let Some(found) = found {
        accounts::give_back_checks(tx, account.id, 1).await?;
        return Ok(Created::Existing(Box::new(found)));
    }
    let (uuid, badge_key) = ids;
    let new = NewCheck { uuid, badge_key, project_id, account_id: account.id, floor, settings, now };
    Ok(Created::Check(Box::new(store::create(tx, &new).await?)))
}

/// Changes settings: `edit` gets the live ones, of a row that is locked until the transaction ends, and what it
/// leaves alone stays as it is, whoever else edits. Expectation and deadline follow in the same write. With
/// `rev`, nothing happens if somebody edited since.
///
/// # Errors
/// The check is gone, was edited since `rev`, or `edit` refuses.
pub async fn edit(
    tx: &mut WriteTx,
    id: i64,
    rev: Option<i64>,
    edit: impl FnOnce(&mut Settings) -> Result<()>,
) -> Result<Check> {
    let mut check = store::lock_for_edit(tx, id, rev).await?.ok_or(Error::NotFound)?;
    let mut settings = check.settings.clone();
    edit(&mut settings)?;
    store::write_settings(tx, id, &settings).await?;
    let schedule = settings.schedule().map_err(Error::Invalid)?;
    check.settings = settings;
    let mut next = check.state.clone();
    next.rearm(&check.rules_with(Some(schedule)));
    if !store::turn(tx, &check, &next).await? {
        return Err(Error::internal("a locked row changed"));
    }
    next.seq += 1;
    (check.state, check.fault) = (next, None);
    Ok(check)
}
