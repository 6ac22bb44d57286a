//! Moving here from Healthchecks: what its file and its API hold works here as it did there, on both engines.

mod commands;
mod file;
mod server;

use flatline::accounts;
use flatline::db;
use flatline::import::bring::{self, Brought};
use flatline::import::plan::{self, Plan, Target};
use flatline::import::{OldProject, Source};
use flatline::time::Time;

use crate::support::World;

pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/import/healthchecks-4.4.sqlite");
const SECRET: &str = "oracle-secret-key";
const KEY: &str = "hcw_MIoaJOLhLxrZC6Bqq6VYbSeF5tgp";
const KEY_READONLY: &str = "hcr_GOb5pBh79VeXqidaasoXYp3nQkwk";
const PING_KEY: &str = "di4umpfxqpqz0el08leaqa";
const PROJECT: &str = "b881a543-aff0-4787-8772-bcec6f0db0e0";

/// Two minutes after the file was written, before anything in it is overdue but one check that says so.
fn just_after() -> Time {
    Time::parse("2026-11-30T03:38:30Z").unwrap()
}

const FORGET_GAPS: &db::Statement = &db::Statement { name: "FORGET_GAPS", text: "DELETE FROM gaps" };

/// A world at the moment of the move, which it spent no time away from.
async fn world(engine: crate::support::Engine, now: Time) -> World {
    let world = World::new(engine, "unlimited").await;
    world.advance(now - world.clock.now());
    world.app.stamp().await.unwrap();
    crate::races::rows::change(&world.app.db, FORGET_GAPS, &[]).await;
    world
}

/// The account of a mail address as a target; `project` is what is there already.
async fn target(world: &World, email: &str, old: &OldProject) -> Target {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, email).await.unwrap().unwrap();
    let row = accounts::store::find_account(&mut tx, user.account_id).await.unwrap().unwrap();
    let mut project = match old.uuid {
        Some(uuid) => accounts::store::find_project_by_uuid(&mut tx, uuid).await.unwrap(),
        None => None,
    };
    if let (None, Some(key)) = (&project, old.keys.first())
        && let Some(found) = accounts::store::find_key(&mut tx, &key.digest).await.unwrap()
    {
        project = accounts::store::find_project(&mut tx, found.project_id).await.unwrap();
    }
    let account = row.account(&world.app.settings.plans);
    Target { account, checks_used: row.checks_used, email: user.email, user_id: user.id, project }
}

async fn plan<'a>(world: &World, email: &str, old: &'a OldProject) -> Plan<'a> {
    let target = target(world, email, old).await;
    let mut tx = world.app.db.begin_read().await.unwrap();
    plan::look(&mut tx, old, target).await.unwrap()
}

/// Brings the project of that name, check by check as the command does.
async fn bring_all(world: &World, email: &str, source: &Source, name: &str) -> Vec<Brought> {
    let old = source.projects.iter().find(|project| project.name == name).unwrap();
    let plan = plan(world, email, old).await;
    assert_eq!(plan.refused, Vec::<String>::new());
    let now = world.clock.now();
    let mut tx = world.app.db.begin_write().await.unwrap();
    let project = bring::project(&mut tx, &plan, now).await.unwrap();
    tx.commit().await.unwrap();
    let mut brought = Vec::new();
    for check in &plan.checks.to_bring {
        let mut tx = world.app.db.begin_write().await.unwrap();
        let plans = &world.app.settings.plans;
        brought.push(bring::check(&mut tx, plans, &project, check, now).await.unwrap());
        tx.commit().await.unwrap();
    }
    brought
}

/// One row's number.
async fn count(world: &World, statement: &'static db::Statement) -> i64 {
    #[derive(sqlx::FromRow)]
    struct Number {
        number: i64,
    }
    let mut tx = world.app.db.begin_read().await.unwrap();
    tx.query(statement).maybe::<Number>().await.unwrap().unwrap().number
}
