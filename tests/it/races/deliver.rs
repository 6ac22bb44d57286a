//! Deliveries: claimed by many workers, sent once each, a DOWN never after its UP.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flatline::db::Statement;
use flatline::time::Span;
use serde_json::json;

use super::ground::{Ground, Setting, jitter, on_all, race, rounds, until};
use super::rows::{self, Delivery};
use crate::support::{Engine, Receiver, World, is_long, on_both};

/// A retry need not be waited for.
const HASTEN: &Statement = &Statement {
    name: "HASTEN",
    text: "UPDATE deliveries SET due_at = 0 WHERE state = 'due' AND claim IS NULL AND due_at > 0",
};

const FORGET_PLAN: &Statement =
    &Statement { name: "FORGET_PLAN", text: "UPDATE accounts SET plan = 'gone' WHERE id = $1" };
/// A worker set the DOWN aside for want of quota while its UP was being written.
const HOLD_DOWN: &Statement = &Statement {
    name: "HOLD_DOWN",
    text: "UPDATE deliveries SET state = 'held', settled_at = NULL WHERE tells = 'down'",
};
const USE_UP_QUOTA: &Statement =
    &Statement { name: "USE_UP_QUOTA", text: "UPDATE accounts SET alerts_used = 1000000, alerts_month = $1" };
const PUT_OFF: &Statement = &Statement {
    name: "PUT_OFF",
    text: "UPDATE deliveries SET due_at = due_at + 3600000 WHERE state = 'due'",
};

/// All deliveries of the checks, once none of them waits to be sent any more.
async fn settled(ground: &Ground, checks: &[String]) -> Vec<Delivery> {
    until("all deliveries are settled", async || {
        ground.change(HASTEN, &[]).await;
        ground.app.deliver().await.unwrap();
        all(ground, checks).await.iter().all(|delivery| delivery.state != "due")
    })
    .await;
    all(ground, checks).await
}

async fn all(ground: &Ground, checks: &[String]) -> Vec<Delivery> {
    let mut all = Vec::new();
    for check in checks {
        all.extend(ground.deliveries(check).await);
    }
    all
}

/// The ids under which messages came in, in order, with the status that each was answered.
fn arrivals(receivers: &[Receiver]) -> Vec<(String, u16)> {
    let received = receivers.iter().flat_map(Receiver::received);
    let id = |headers: &reqwest::header::HeaderMap| {
        headers["idempotency-key"].to_str().expect("a uuid is ASCII").to_owned()
    };
    received.map(|received| (id(&received.headers), received.answered)).collect()
}

on_all! {
    async fn each_of_120_deliveries_is_sent_once_by_six_workers(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let receivers = [Receiver::new().await, Receiver::new().await, Receiver::new().await];
        let mut channels = BTreeSet::new();
        for receiver in &receivers {
            channels.insert(ground.webhook(receiver).await.id);
        }
        let mut sent = 0;
        for round in 0..rounds().div_ceil(5) {
            let mut checks = Vec::new();
            for _ in 0..40 {
                checks.push(ground.check("job").await);
            }
            let (busy, failed) = (Arc::new(AtomicUsize::new(4)), checks.clone());
            race(10, |index| {
                let (client, app) = (ground.client(index), Arc::clone(&ground.app));
                let (checks, busy) = (failed.clone(), Arc::clone(&busy));
                async move {
                    if index < 4 {
                        for check in checks.iter().skip(index).step_by(4) {
                            assert_eq!(client.ping(check, "/fail").await.status, 200);
                        }
                        busy.fetch_sub(1, Ordering::SeqCst);
                        return;
                    }
                    while busy.load(Ordering::SeqCst) > 0 {
                        app.deliver().await.unwrap();
                        jitter().await;
                    }
                    app.deliver().await.unwrap();
                }
            })
            .await;
            let deliveries = settled(&ground, &checks).await;
            let hooks: Vec<&Delivery> =
                deliveries.iter().filter(|delivery| channels.contains(&delivery.channel_id)).collect();
            assert_eq!(hooks.len(), 120, "round {round}");
            for delivery in &hooks {
                assert_eq!((delivery.state.as_str(), delivery.attempts), ("sent", 1), "round {round}");
            }
            let arrived = arrivals(&receivers);
            sent += hooks.len();
            assert_eq!(arrived.len(), sent, "round {round}");
            let ids: BTreeSet<String> = arrived.into_iter().map(|(id, _)| id).collect();
            assert_eq!(ids.len(), sent, "round {round}");
            assert!(hooks.iter().all(|delivery| ids.contains(&delivery.uuid.to_string())), "round {round}");
        }
        ground.end().await;
    }

    async fn a_down_never_arrives_after_its_up(setting: Setting) {
        let ground = Ground::new(setting, "unlimited").await;
        let receiver = Receiver::new().await;
        let hook = ground.webhook(&receiver).await;
        let mut checks = Vec::new();
        for _ in 0..6 {
            checks.push(ground.check("job").await);
        }
        let flaps = if is_long() { 60 } else { 12 };
        let busy = Arc::new(AtomicUsize::new(checks.len()));
        race(checks.len() + 5, |index| {
            let (client, app, db) = (ground.client(index), Arc::clone(&ground.app), ground.db.clone());
            let (receiver, busy) = (receiver.clone(), Arc::clone(&busy));
            let check = checks.get(index).cloned();
            async move {
                if let Some(check) = check {
                    for turn in 0..flaps {
                        let suffix = if turn % 2 == 0 { "/fail" } else { "" };
                        assert_eq!(client.ping(&check, suffix).await.status, 200);
                        jitter().await;
                    }
                    busy.fetch_sub(1, Ordering::SeqCst);
                    return;
                }
                while busy.load(Ordering::SeqCst) > 0 {
                    // The receiver has bad moments, and what it refused is tried again at once.
                    receiver.answer(if flatline::id::fraction() < 0.5 { 503 } else { 200 });
                    rows::change(&db, HASTEN, &[]).await;
                    app.deliver().await.unwrap();
                    jitter().await;
                }
            }
        })
        .await;
        receiver.answer(200);
        let deliveries = settled(&ground, &checks).await;
        let ours = deliveries.iter().filter(|delivery| delivery.channel_id == hook.id);
        let by_id: BTreeMap<String, &Delivery> =
            ours.map(|delivery| (delivery.uuid.to_string(), delivery)).collect();
        assert_eq!(by_id.len(), checks.len() * flaps, "each flip has its delivery");
        let mut last: BTreeMap<i64, i64> = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for (id, answered) in arrivals(std::slice::from_ref(&receiver)) {
            let delivery = by_id[&id];
            let before = last.insert(delivery.check_id, delivery.flip_id).unwrap_or(0);
            assert!(before <= delivery.flip_id, "{delivery:?} came after flip {before}");
            if answered == 200 {
                assert!(taken.insert(id.clone()), "{delivery:?} came twice");
            }
        }
        for (id, delivery) in &by_id {
            let wanted = if taken.contains(id) { "sent" } else { "superseded" };
            assert_eq!(delivery.state, wanted, "{delivery:?}");
            assert!(delivery.tells == "down" || delivery.state == "sent", "{delivery:?}");
        }
        println!("{setting:?}: {} flips, {} messages taken", by_id.len(), taken.len());
        ground.end().await;
    }
}

on_both! {
    async fn an_account_whose_plan_is_gone_stalls_nobody_and_is_told_too(engine: Engine) {
        let world = World::new(engine, "free").await;
        let other = world.sign_up("other@example.org", "free").await;
        let theirs = world.client.with_key(&other.api_key);
        let spec = json!({"name": "job", "channels": "*"});
        let checks = [world.client.check(&spec).await, theirs.check(&spec).await];
        for check in &checks {
            assert_eq!(world.client.ping(check, "/fail").await.status, 200);
        }
        let account = rows::row(&world.app.db, &checks[0]).await.account_id;
        assert_eq!(rows::change(&world.app.db, FORGET_PLAN, &[account]).await, 1);
        world.tick().await;
        for check in &checks {
            let states: Vec<String> =
                rows::deliveries(&world.app.db, check).await.into_iter().map(|row| row.state).collect();
            assert_eq!(states, ["sent"]);
        }
    }

    async fn an_up_does_not_wait_behind_a_down_that_was_held_while_it_was_written(engine: Engine) {
        let world = World::new(engine, "free").await;
        let check = world.client.check(&json!({"name": "job", "channels": "*"})).await;
        for suffix in ["/fail", ""] {
            assert_eq!(world.client.ping(&check, suffix).await.status, 200);
        }
        assert_eq!(rows::change(&world.app.db, HOLD_DOWN, &[]).await, 1);
        let month = flatline::accounts::month(world.clock.now());
        rows::change(&world.app.db, USE_UP_QUOTA, &[month]).await;
        world.tick().await;
        let states: Vec<String> =
            rows::deliveries(&world.app.db, &check).await.into_iter().map(|row| row.state).collect();
        assert_eq!(states, ["superseded", "held"]);
    }

    async fn a_delivery_behind_one_that_is_tried_again_later_does_not_make_the_program_unready(engine: Engine) {
        let world = World::new(engine, "free").await;
        let check = world.client.check(&json!({"name": "job", "channels": "*"})).await;
        assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
        world.tick().await;
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        assert_eq!(rows::change(&world.app.db, PUT_OFF, &[]).await, 1);
        assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
        world.advance(Span::minutes(6));
        assert_eq!(world.app.unready().await.unwrap(), None);
    }
}
