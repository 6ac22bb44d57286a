//! Webhook calls: how many one account makes to one host, and what becomes of the others.

use flatline::time::Span;
use serde_json::{Value, json};

use super::plans_file;
use crate::support::{Engine, Receiver, World, on_both};

/// Three calls a minute to a host, five to all.
const LIMITS: &str = "[limits]\nwebhook_calls_target_per_minute = 3\nwebhook_calls_per_minute = 5\n[free]\nmin_interval_seconds = 0\n";

fn config(url: &str) -> Value {
    json!({"down": {"method": "POST", "url": url, "body": "$NAME"}})
}

/// Makes checks that go down at once, and sends what can be sent.
async fn go_down(world: &World, channels: &str, names: &[&str]) -> Vec<String> {
    let mut checks = Vec::new();
    for name in names {
        let check = world.client.check(&json!({"name": name, "channels": channels})).await;
        assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
        checks.push(check);
    }
    world.tick().await;
    checks
}

fn bodies(receiver: &Receiver) -> Vec<String> {
    let mut bodies: Vec<String> = receiver.received().into_iter().map(|call| call.body).collect();
    bodies.sort();
    bodies
}

on_both! {
    async fn a_call_too_many_waits_for_its_turn_and_is_not_lost(engine: Engine) {
        let file = plans_file(LIMITS);
        let path = file.path().display().to_string();
        let world = World::with(engine, "free", &[("PLANS_FILE", &path)]).await;
        let receiver = Receiver::new().await;
        world.channel("webhook", &config(&receiver.url)).await;
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let checks = go_down(&world, "*", &names).await;
        assert_eq!(receiver.received().len(), 3);
        let waiting = async || {
            let mut waiting = Vec::new();
            for check in &checks {
                let deliveries = crate::races::rows::deliveries(&world.app.db, check).await;
                waiting.extend(deliveries.into_iter().filter(|one| one.state == "due"));
            }
            waiting
        };
        let four = waiting().await;
        assert_eq!(four.len(), 4);
        assert!(four.iter().all(|one| one.attempts == 0), "none was an attempt: {four:?}");
        let mut sent = vec![3];
        for _ in 0..12 {
            world.advance(Span::seconds(10));
            world.tick().await;
            sent.push(receiver.received().len());
        }
        // What waits comes back once the minute is over, within half a minute, and three a minute at most.
        assert_eq!(sent[..7], [3; 7], "{sent:?}");
        for (at, later) in sent.iter().zip(&sent[6..]) {
            assert!(later - at <= 3, "{sent:?}");
        }
        for _ in 0..12 {
            world.advance(Span::seconds(10));
            world.tick().await;
        }
        assert_eq!(bodies(&receiver), names, "each was told, once");
        assert!(waiting().await.is_empty());
    }

    async fn one_account_slows_neither_another_nor_its_own_other_hosts(engine: Engine) {
        let file = plans_file(LIMITS);
        let path = file.path().display().to_string();
        let world = World::with(engine, "free", &[("PLANS_FILE", &path)]).await;
        let receiver = Receiver::new().await;
        let first = world.channel("webhook", &config(&receiver.url)).await.uuid.to_string();
        go_down(&world, &first, &["a", "b", "c", "d"]).await;
        assert_eq!(receiver.received().len(), 3);

        // The same address under another name is another host, until the account's own limit.
        let named = receiver.url.replace("127.0.0.1", "localhost");
        let second = world.channel("webhook", &config(&named)).await.uuid.to_string();
        go_down(&world, &second, &["e", "f", "g"]).await;
        assert_eq!(receiver.received().len(), 5, "{:?}", bodies(&receiver));

        let other = world.sign_up("other@example.org", "free").await;
        crate::races::ground::webhook(&world.app, &other, &receiver).await;
        let client = world.client.with_key(&other.api_key);
        let check = client.check(&json!({"name": "z", "channels": "*"})).await;
        assert_eq!(client.ping(&check, "/fail").await.status, 200);
        world.tick().await;
        assert_eq!(bodies(&receiver).last().map(String::as_str), Some("z is down"));
    }
}
