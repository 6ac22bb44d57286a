//! SQL of the table `checks` that concerns all checks of an account or a project.

use std::collections::HashSet;

use super::super::store::columns;
use super::{Glance, Named, Standing};
use crate::checks::Check;
use crate::db::{ReadTx, WriteTx, statements};
use crate::error::Result;
use crate::time::{Span, Time};

/// Puts the floor `$2` in place, and moves the deadlines that contain it. Slots are chosen by the floor and follow
/// one by one in the same transaction.
macro_rules! floor_set {
    () => {
        "floor_ms = $2, seq = seq + 1, \
         deadline_at = CASE WHEN kind = 'simple' OR last_start_at IS NOT NULL \
             THEN deadline_at - floor_ms + $2 ELSE deadline_at END, \
         wake_at = CASE WHEN kind = 'simple' OR last_start_at IS NOT NULL THEN \
             CASE WHEN deadline_at - floor_ms + $2 < wake_at THEN deadline_at - floor_ms + $2 ELSE wake_at END \
             ELSE wake_at END"
    };
}

statements! {
    /// Ids of all checks of an account, to be locked in the order that everybody keeps to.
    LIST_IDS_OF_ACCOUNT = "SELECT id, deleted_at FROM checks WHERE account_id = $1 AND deleted_at IS NULL ORDER BY id";
    /// Plan change: the floor of all checks of an account, in one statement.
    MOVE_FLOORS = concat!(
        "UPDATE checks SET ", floor_set!(), " WHERE account_id = $1 AND floor_ms <> $2 AND deleted_at IS NULL \
         RETURNING ", columns!());
    /// Ids of all checks of a project, those that can be brought back among them, to be locked in that order.
    LIST_IDS_OF_PROJECT = "SELECT id, deleted_at FROM checks WHERE project_id = $1 ORDER BY id";
    /// Transfer: all checks of a project go to another account, under the floor of its plan, in one statement.
    HAND_OVER = concat!(
        "UPDATE checks SET account_id = $3, ", floor_set!(), " WHERE project_id = $1 RETURNING ", columns!());
    /// Deletes all checks of a project so that they can be brought back with it.
    DELETE_ALL =
        "UPDATE checks SET deleted_at = $2, rev = rev + 1, wake_at = NULL \
         WHERE project_id = $1 AND deleted_at IS NULL";
    LIST_STANDINGS =
        "SELECT checks.project_id AS project_id, COUNT(*) AS checks, \
         COUNT(*) FILTER (WHERE checks.status = 'down') AS down, \
         COUNT(*) FILTER (WHERE checks.status = 'up' AND checks.expected_at <= $2) AS late \
         FROM checks JOIN members ON members.project_id = checks.project_id \
         WHERE members.user_id = $1 AND checks.deleted_at IS NULL GROUP BY checks.project_id";
    LIST_GLANCES =
        "SELECT id, uuid, name, tags, kind, period_ms, grace_ms, schedule, zone, manual_resume, status, last_ping_at, \
         last_start_at, last_duration_ms, expected_at, deadline_at, fault FROM checks \
         WHERE project_id = $1 AND deleted_at IS NULL ORDER BY id";
    LIST_NAMED =
        "SELECT checks.uuid AS uuid, checks.name AS name, projects.uuid AS project, checks.n_pings AS n_pings \
         FROM checks JOIN projects ON projects.id = checks.project_id \
         WHERE checks.account_id = $1 AND checks.deleted_at IS NULL ORDER BY checks.id";
}

#[derive(sqlx::FromRow)]
struct Held {
    id: i64,
    deleted_at: Option<Time>,
}

/// Moves floors and deadlines; returns the checks whose floor was another one as they now are, by id. Their rows
/// are locked in that order first.
pub async fn move_floors(tx: &mut WriteTx, account_id: i64, floor: Span) -> Result<Vec<Check>> {
    tx.lock(LIST_IDS_OF_ACCOUNT).bind(account_id).all::<Held>().await?;
    let mut moved: Vec<Check> = tx.change(MOVE_FLOORS).bind(account_id).bind(floor).all().await?;
    moved.sort_by_key(|check| check.id);
    Ok(moved)
}

/// Gives all checks of a project to another account; returns those that were not deleted as they now are, by id.
pub async fn hand_over(
    tx: &mut WriteTx,
    project_id: i64,
    account_id: i64,
    floor: Span,
) -> Result<Vec<Check>> {
    let held = tx.lock(LIST_IDS_OF_PROJECT).bind(project_id).all::<Held>().await?;
    let live: HashSet<i64> =
        held.into_iter().filter(|check| check.deleted_at.is_none()).map(|check| check.id).collect();
    let change = tx.change(HAND_OVER).bind(project_id).bind(floor).bind(account_id);
    let mut moved: Vec<Check> = change.all().await?;
    moved.retain(|check| live.contains(&check.id));
    moved.sort_by_key(|check| check.id);
    Ok(moved)
}

/// How many checks were deleted with their project.
pub async fn delete_all(tx: &mut WriteTx, project_id: i64, now: Time) -> Result<u64> {
    tx.lock(LIST_IDS_OF_PROJECT).bind(project_id).all::<Held>().await?;
    Ok(tx.change(DELETE_ALL).bind(project_id).bind(now).count().await?)
}

/// How the checks of each project of a user stand; a project without checks is left out.
pub async fn list_standings(tx: &mut ReadTx, user_id: i64, now: Time) -> Result<Vec<Standing>> {
    Ok(tx.query(LIST_STANDINGS).bind(user_id).bind(now).all().await?)
}

/// All checks of a project, oldest first, as far as a list shows them.
pub async fn list_glances(tx: &mut ReadTx, project_id: i64) -> Result<Vec<Check>> {
    let glances: Vec<Glance> = tx.query(LIST_GLANCES).bind(project_id).all().await?;
    Ok(glances.into_iter().map(Glance::check).collect())
}

/// All checks of an account, oldest first.
pub async fn list_named(tx: &mut ReadTx, account_id: i64) -> Result<Vec<Named>> {
    Ok(tx.query(LIST_NAMED).bind(account_id).all().await?)
}
