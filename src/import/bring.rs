//! Writing what a plan found: a project with its keys, channels and badges in one transaction, each check in one.

use super::plan::Plan;
use super::{OldCheck, store};
use crate::accounts::projects::{self, KEYS_MAX};
use crate::accounts::{self, Project, origins};
use crate::alerts::{self, NewChannel};
use crate::checks::flips::NewFlip;
use crate::checks::{self, Check, Created, State};
use crate::config::Plans;
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::time::Time;

/// What keys that came from elsewhere are called.
const KEY_NAME: &str = "from Healthchecks";
const KEY_NAME_READONLY: &str = "from Healthchecks, read-only";

/// How bringing one check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    Now,
    /// Now, and it was overdue by then: it is expected anew, for nobody here was there to hear it.
    ExpectedAnew,
    /// Somebody brought it before.
    Already,
    /// Another account here has it.
    Taken,
    /// The plan's number of checks is used up.
    NoRoom,
}

/// Makes the project, if there is none, and gives it what the plan found for it besides checks.
///
/// # Errors
/// The database's, also where somebody took a uuid or a key since the plan was made; then nothing was written.
pub async fn project(tx: &mut WriteTx, plan: &Plan<'_>, now: Time) -> Result<Project> {
    accounts::store::lock_account(tx, plan.target.account.id).await?.ok_or(Error::NotFound)?;
    let project = match &plan.target.project {
        Some(project) => project.clone(),
        None => create(tx, plan, now).await?,
    };
    for key in &plan.keys.to_bring {
        if let Some(secret) = &key.origin {
            origins::remember(tx, secret, now).await?;
        }
        let name = if key.readonly { KEY_NAME_READONLY } else { KEY_NAME };
        let known = (key.digest.clone(), key.hint.clone());
        if !projects::create_key_digest(tx, project.id, name, key.readonly, known, now).await? {
            return Err(Error::invalid(format!("A project has at most {KEYS_MAX} keys.")));
        }
    }
    for channel in &plan.channels.to_bring {
        let new = NewChannel {
            uuid: channel.uuid,
            project_id: project.id,
            kind: channel.kind,
            name: channel.name.clone(),
            config: channel.config.clone(),
            on_down: channel.on_down,
            on_up: channel.on_up,
            verified_at: Some(now),
        };
        let made = alerts::store::create_channel(tx, new, now).await?;
        if channel.is_disabled {
            alerts::store::disable_channel(tx, made.id, "It was off before the move.", now).await?;
        }
    }
    for badge in &plan.badges.to_bring {
        store::create_badge(tx, badge, project.id).await?;
    }
    Ok(project)
}

async fn create(tx: &mut WriteTx, plan: &Plan<'_>, now: Time) -> Result<Project> {
    let name = if plan.old.name.is_empty() { "My project" } else { &plan.old.name };
    let fresh = projects::fresh(plan.target.account.id, name);
    let project = Project {
        uuid: plan.old.uuid.unwrap_or(fresh.uuid),
        ping_key: plan.old.ping_key.clone().or_else(|| fresh.ping_key.clone()),
        ..fresh
    };
    projects::add(tx, project, plan.target.user_id, now).await
}

/// Brings one check, counted by the account's plan, with its state, its status changes and its channels. The account
/// row is locked before anything is looked at, so that of two who bring the same check one finds it there.
///
/// # Errors
/// The account is gone; the database's, also where a check that was deleted within the hour still has the uuid.
pub async fn check(
    tx: &mut WriteTx,
    plans: &Plans,
    project: &Project,
    old: &OldCheck,
    now: Time,
) -> Result<Brought> {
    let row = accounts::store::lock_account(tx, project.account_id).await?.ok_or(Error::NotFound)?;
    let account = row.account(plans);
    if let Some(found) = checks::store::find(tx, old.uuid).await? {
        return Ok(if found.account_id == account.id { Brought::Already } else { Brought::Taken });
    }
    let created_at = old.created_at.unwrap_or(now).min(now);
    let ids = (old.uuid, old.badge_key);
    let made = match checks::create(tx, &account, project.id, &old.settings, ids, created_at).await? {
        Created::Check(made) | Created::Existing(made) => made,
        Created::NoRoom => return Ok(Brought::NoRoom),
    };
    let (state, expected_anew) = state(old, &made, now);
    if !checks::store::turn(tx, &made, &state).await? {
        return Err(Error::internal("a row of this transaction changed"));
    }
    if let Some(started) = old.state.last_start_at {
        checks::store::open_run(tx, made.id, old.state.last_start_rid, started.min(now)).await?;
    }
    for flip in &old.flips {
        let flip = NewFlip { check: &made, change: flip, ping_n: None };
        checks::flips::store::create(tx, &[flip]).await?;
    }
    for channel in alerts::store::list_channels(tx, project.id).await? {
        if old.channels.contains(&channel.uuid) {
            alerts::store::assign(tx, made.id, channel.id).await?;
        }
    }
    Ok(if expected_anew { Brought::ExpectedAnew } else { Brought::Now })
}

/// The state as it is from now on, and whether silence until now had to be forgiven. What was due before the move was
/// due elsewhere.
fn state(old: &OldCheck, made: &Check, now: Time) -> (State, bool) {
    let rules = made.rules();
    let mut state = State { seq: made.state.seq, ..old.state.clone() };
    state.clamp(&rules, now);
    let is_overdue = |state: &State| state.deadline_at.is_some_and(|deadline| deadline <= now);
    let forgiven = is_overdue(&state);
    if forgiven {
        state.unseen_at = Some(now);
        state.rearm(&rules);
    }
    if is_overdue(&state) {
        // A run that should have ended: its end, if it comes, still closes it.
        (state.last_start_at, state.last_start_rid) = (None, None);
        state.rearm(&rules);
    }
    (state, forgiven)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Status;
    use crate::time::Span;
    use uuid::Uuid;

    fn brought(
        last_ping: Option<Time>,
        last_start: Option<Time>,
        status: Status,
        now: Time,
    ) -> (State, bool) {
        let made = Check::sample("job", Status::New, now);
        let state = State { status, last_ping_at: last_ping, last_start_at: last_start, ..State::unpinged() };
        let old = OldCheck {
            uuid: Uuid::nil(),
            badge_key: Uuid::nil(),
            created_at: None,
            settings: made.settings.clone(),
            state,
            flips: Vec::new(),
            channels: Vec::new(),
        };
        super::state(&old, &made, now)
    }

    #[test]
    fn what_is_not_overdue_keeps_its_expectation() {
        let now = Time(0) + Span::hours(1000);
        let (state, forgiven) = brought(Some(now - Span::hours(20)), None, Status::Up, now);
        assert!(!forgiven);
        assert_eq!(state.expected_at, Some(now + Span::hours(4)));
        assert_eq!(state.deadline_at, Some(now + Span::hours(5)));
    }

    #[test]
    fn silence_before_the_move_proves_nothing() {
        let now = Time(0) + Span::hours(1000);
        let (state, forgiven) = brought(Some(now - Span::hours(100)), None, Status::Up, now);
        assert!(forgiven);
        assert_eq!((state.status, state.expected_at), (Status::Up, Some(now + Span::hours(24))));
        let (state, forgiven) = brought(None, Some(now - Span::hours(2)), Status::New, now);
        assert!(forgiven);
        assert_eq!((state.last_start_at, state.deadline_at), (None, None));
    }

    #[test]
    fn an_instant_that_the_clock_has_not_reached_becomes_now() {
        let now = Time(0) + Span::hours(1000);
        let (state, _) = brought(Some(now + Span::hours(3)), None, Status::Up, now);
        assert_eq!((state.last_ping_at, state.expected_at), (Some(now), Some(now + Span::hours(24))));
    }
}
