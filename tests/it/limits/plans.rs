//! Plans that change, vanish or are changed under an account, and what the usage page is told.

use std::sync::Arc;

use flatline::accounts;
use flatline::plans;
use flatline::time::{Span, Time};
use flatline::usage::{Line, Usage, usage};
use serde_json::json;

use super::{plans_file, world};
use crate::support::{Engine, START, World, on_both};

async fn account_id(world: &World) -> i64 {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, &world.owner.email).await.unwrap();
    user.unwrap().account_id
}

async fn figures(world: &World) -> Usage {
    let id = account_id(world).await;
    let mut tx = world.app.db.begin_read().await.unwrap();
    let account = world.app.account(&mut tx, id).await.unwrap();
    usage(&mut tx, &world.app.rates, &account, world.clock.now()).await.unwrap()
}

fn line(used: i64, limit: i64, resets_at: Option<Time>) -> Line {
    Line { used, limit: Some(limit), resets_at }
}

on_both! {
    async fn the_usage_page_knows_what_is_used_what_is_left_and_when_it_begins_anew(engine: Engine) {
        let (world, _file) = world(engine, "tight").await;
        world.client.check(&json!({"name": "one"})).await;
        world.client.check(&json!({"name": "two"})).await;
        let usage = figures(&world).await;
        assert_eq!(usage.checks, line(2, 3, None));
        assert_eq!(usage.checks.left(), Some(1));
        assert_eq!(usage.alerts, line(0, 500, Time::parse("2026-04-01T00:00:00Z")));
        assert_eq!(usage.alerts_held, 0);
        let [project] = usage.projects.as_slice() else { panic!("{usage:?}") };
        assert_eq!((project.uuid, project.members), (world.owner.project, line(1, 3, None)));
        let [key, readonly] = project.keys.as_slice() else { panic!("{usage:?}") };
        assert!(world.owner.api_key.starts_with(&key.hint));
        assert_eq!(key.minute, Some(line(2, 5, Some(START + Span::seconds(61)))));
        let day = START + Span::minutes(61 * 24);
        assert_eq!(key.day, Some(line(2, 12, Some(day))));
        assert_eq!(readonly.minute, Some(line(0, 5, Some(START))));
    }

    async fn an_account_whose_plan_is_gone_goes_on_within_the_limits_of_free(engine: Engine) {
        let (mut world, file) = world(engine, "roomy").await;
        world.client.check(&json!({"name": "one"})).await;
        std::fs::write(file.path(), "[free]\nchecks = 2\n").unwrap();
        world.crash_and_restart().await;
        assert_eq!(world.client.post("checks/", &json!({"name": "two"})).await.status, 201);
        assert_eq!(world.client.post("checks/", &json!({"name": "three"})).await.status, 403);
        world.tick().await;
    }

    async fn a_start_applies_new_values_and_leaves_a_plan_that_was_changed_meanwhile(engine: Engine) {
        let (world, _file) = world(engine, "roomy").await;
        let id = account_id(&world).await;
        let mut changed = world.app.settings.plans.get("roomy").unwrap().clone();
        changed.floor = Span::seconds(90);
        let uuid = world.client.check(&json!({"name": "one"})).await.parse().unwrap();
        let floor = async || {
            let mut tx = world.app.db.begin_read().await.unwrap();
            flatline::checks::store::find(&mut tx, uuid).await.unwrap().unwrap().floor_ms
        };
        let renew = async || {
            let mut tx = world.app.db.begin_write().await.unwrap();
            let renewed = plans::renew(&mut tx, id, &changed).await.unwrap();
            tx.commit().await.unwrap();
            renewed
        };
        assert_eq!((renew().await, floor().await), (true, Span::seconds(90)));
        assert_eq!((renew().await, floor().await), (false, Span::seconds(90)));

        let mut tx = world.app.db.begin_write().await.unwrap();
        plans::change(&mut tx, id, world.app.settings.plans.get("pro").unwrap()).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((renew().await, floor().await), (false, Span::seconds(60)));
    }

    async fn a_creation_that_was_decided_by_an_old_plan_is_decided_again(engine: Engine) {
        let (world, _file) = world(engine, "roomy").await;
        let id = account_id(&world).await;
        let plan = |name: &str| world.app.settings.plans.get(name).unwrap().clone();
        let old = accounts::Account { id, plan: plan("roomy") };
        let mut tx = world.app.db.begin_write().await.unwrap();
        plans::change(&mut tx, id, &plan("pro")).await.unwrap();
        let outdated = accounts::take_check(&mut tx, &old).await;
        assert!(matches!(outdated, Err(flatline::error::Error::Outdated)), "{outdated:?}");
        let new = accounts::Account { id, plan: plan("pro") };
        assert_eq!(accounts::take_check(&mut tx, &new).await.unwrap(), Some(Span::seconds(60)));
    }

    async fn the_alerts_of_a_month_that_the_clock_has_not_reached_do_not_count(engine: Engine) {
        let (world, _file) = world(engine, "free").await;
        let account = accounts::Account {
            id: account_id(&world).await,
            plan: flatline::config::Plan {
                alerts_per_month: Some(1),
                ..world.app.settings.plans.get("free").unwrap().clone()
            },
        };
        let charge = async |now: Time| {
            let mut tx = world.app.db.begin_write().await.unwrap();
            let charge = accounts::charge_alert(&mut tx, &account, now).await.unwrap();
            tx.commit().await.unwrap();
            charge
        };
        let year = Span::hours(24 * 365);
        assert_eq!(charge(START + year).await, accounts::Charge::Taken);
        assert_eq!(charge(START + year).await, accounts::Charge::QuotaUsed);
        assert_eq!(charge(START).await, accounts::Charge::Taken, "the clock was set back");
        assert_eq!(charge(START).await, accounts::Charge::QuotaUsed);
        assert_eq!(charge(START + Span::hours(24 * 6)).await, accounts::Charge::Taken, "April");
    }
}

#[tokio::test]
async fn a_plans_file_with_a_mistake_stops_the_start_and_names_it() {
    let file = plans_file("[free]\nchecks = 5\n[limits]\nsign_ups_per_dya = 3\n");
    let path = file.path().display().to_string();
    let place = Arc::new(crate::support::Place::new(Engine::Sqlite).await);
    let mut command = crate::support::program(&place, &[("PLANS_FILE", &path)]);
    let output = command.arg("serve").output().await.unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    let wanted = format!(
        "FLATLINE_PLANS_FILE: {path}: line 4: sign_ups_per_dya: there is no limit 'sign_ups_per_dya'"
    );
    assert!(said.contains(&wanted), "{said}");
}
