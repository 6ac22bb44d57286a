//! From a flip to its message, on a clock that the test moves: attempts and their waits, quota, order, leases, and
//! channels that fail.

use flatline::alerts::{self, Channel};
use flatline::db::Statement;
use flatline::plans;
use flatline::time::{Span, Time};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::races::ground::until;
use crate::support::{Engine, Process, Receiver, World, on_both};

const LIST: &Statement = &Statement {
    name: "LIST",
    text: "SELECT d.uuid AS uuid, d.tells AS tells, d.state AS state, d.attempts AS attempts, d.outcome AS outcome, \
           d.due_at AS due_at FROM deliveries AS d JOIN channels AS c ON c.id = d.channel_id \
           WHERE c.uuid = $1 ORDER BY d.id",
};

#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Delivery {
    pub uuid: Uuid,
    pub tells: String,
    pub state: String,
    attempts: i64,
    pub outcome: String,
    due_at: Time,
}

/// What a channel was sent or is owed, oldest first.
pub async fn deliveries(world: &World, channel: &Channel) -> Vec<Delivery> {
    let mut tx = world.app.db.begin_read().await.unwrap();
    tx.query(LIST).bind(channel.uuid).all::<Delivery>().await.unwrap()
}

/// The same in short: what it tells and where it stands.
async fn states(world: &World, channel: &Channel) -> Vec<String> {
    let all = deliveries(world, channel).await;
    all.into_iter().map(|delivery| format!("{} {}", delivery.tells, delivery.state)).collect()
}

pub async fn reread(world: &World, channel: &Channel) -> Channel {
    let mut tx = world.app.db.begin_read().await.unwrap();
    alerts::store::find_channel(&mut tx, channel.id).await.unwrap().unwrap()
}

pub async fn hook(world: &World, url: &str) -> Channel {
    let request = |says: &str| json!({"method": "POST", "url": url, "body": format!("$NAME {says}")});
    world.channel("webhook", &json!({"down": request("down"), "up": request("up")})).await
}

/// A check that tells these channels alone.
pub async fn check(world: &World, name: &str, channels: &[&Channel]) -> String {
    let channels: Vec<String> = channels.iter().map(|channel| channel.uuid.to_string()).collect();
    // A month of period, so that silence plays no part.
    world.client.check(&json!({"name": name, "timeout": 2_592_000, "channels": channels.join(",")})).await
}

pub async fn ping(world: &World, check: &str, suffix: &str) {
    assert_eq!(world.client.ping(check, suffix).await.status, 200);
}

/// Messages about different checks are sent side by side and may arrive in any order.
fn sorted_bodies(receiver: &Receiver) -> Vec<String> {
    let mut bodies = bodies(receiver);
    bodies.sort();
    bodies
}

fn bodies(receiver: &Receiver) -> Vec<String> {
    receiver.received().into_iter().map(|received| received.body).collect()
}

/// How many mails lie in the outbox.
fn letters(world: &World) -> usize {
    std::fs::read_dir(world.place.folder.path().join("outbox")).map_or(0, Iterator::count)
}

/// A world whose first plan gives one alert a month, and a larger one.
async fn tight_world(engine: Engine) -> (World, tempfile::NamedTempFile) {
    let plans = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tight = "checks = 20\nmin_interval_seconds = 0\nalerts_per_month = 1\n";
    std::fs::write(plans.path(), format!("[tight]\n{tight}[roomy]\n{}", tight.replace("= 1\n", "= 9\n")))
        .unwrap();
    let world = World::with(engine, "tight", &[("PLANS_FILE", plans.path().to_str().unwrap())]).await;
    (world, plans)
}

on_both! {
    async fn attempts_wait_twice_as_long_each_time_and_end_after_a_day(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        receiver.answer(500);
        let channel = hook(&world, &receiver.url).await;
        let uuid = check(&world, "backup", &[&channel]).await;
        let begun = world.clock.now();
        ping(&world, &uuid, "/fail").await;
        let mut attempts = 0;
        loop {
            world.app.deliver().await.unwrap();
            attempts += 1;
            let delivery = deliveries(&world, &channel).await.remove(0);
            assert_eq!((delivery.attempts, receiver.received().len()), (attempts, attempts as usize));
            if delivery.state == "given_up" {
                let why = "The target answered 500. Given up after 24 hours.";
                assert_eq!(delivery.outcome, why);
                break;
            }
            let doubled = Span::seconds((15 << (attempts - 1).min(8)).min(3600));
            let wait = delivery.due_at - world.clock.now();
            assert!(wait.0 * 4 >= doubled.0 * 3 && wait.0 * 4 <= doubled.0 * 5, "{wait:?} of {doubled:?}");
            world.clock.set(delivery.due_at - Span::millis(1));
            world.app.deliver().await.unwrap();
            assert_eq!(receiver.received().len(), attempts as usize, "no attempt comes before its time");
            world.clock.set(delivery.due_at);
        }
        let lasted = world.clock.now() - begun;
        assert!(lasted <= Span::hours(24) && lasted > Span::hours(22), "{lasted:?}");
        assert!(reread(&world, &channel).await.last_error.starts_with("The target answered 500"));

        receiver.answer(200);
        world.advance(Span::hours(48));
        world.app.deliver().await.unwrap();
        assert_eq!(receiver.received().len(), attempts as usize);
        ping(&world, &uuid, "").await;
        world.app.deliver().await.unwrap();
        assert_eq!(states(&world, &channel).await, ["down given_up", "up sent"]);
        assert_eq!(reread(&world, &channel).await.last_error, "");
    }

    async fn a_target_that_asks_for_time_gets_it_within_reason(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        receiver.answer(429);
        for (asked, least, most) in [("600", 600, 600), ("1", 11, 19), ("999999", 21_600, 21_600), ("soon", 11, 19)] {
            receiver.ask_to_retry_after(asked);
            let channel = hook(&world, &receiver.url).await;
            let uuid = check(&world, asked, &[&channel]).await;
            ping(&world, &uuid, "/fail").await;
            world.app.deliver().await.unwrap();
            let wait = (deliveries(&world, &channel).await[0].due_at - world.clock.now()).as_seconds();
            assert!((least..=most).contains(&wait), "{asked}: {wait}");
        }
    }

    async fn an_up_overtakes_the_down_that_was_never_sent_and_tells_both(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        receiver.answer(503);
        let tried = check(&world, "tried", &[&channel]).await;
        let untried = check(&world, "untried", &[&channel]).await;
        ping(&world, &tried, "/fail").await;
        world.app.deliver().await.unwrap();
        ping(&world, &untried, "/fail").await;
        receiver.answer(200);
        for uuid in [&tried, &untried] {
            ping(&world, uuid, "").await;
        }
        world.app.deliver().await.unwrap();
        let at_once = ["tried down", "tried up", "untried up"];
        assert_eq!(sorted_bodies(&receiver), at_once, "not at the next attempt of the DOWN");
        let superseded = ["down superseded", "down superseded", "up sent", "up sent"];
        assert_eq!(states(&world, &channel).await, superseded);
    }

    async fn messages_about_one_check_keep_their_order_and_wait_for_no_other_check(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let (first, second) = (check(&world, "a", &[&channel]).await, check(&world, "b", &[&channel]).await);
        ping(&world, &first, "/fail").await;
        world.app.deliver().await.unwrap();
        receiver.answer(500);
        ping(&world, &first, "").await;
        world.app.deliver().await.unwrap();
        receiver.answer(200);
        ping(&world, &first, "/fail").await;
        ping(&world, &second, "/fail").await;
        world.app.deliver().await.unwrap();
        assert_eq!(bodies(&receiver), ["a down", "a up", "b down"], "the second DOWN of a waits behind its UP");
        world.clock.set(deliveries(&world, &channel).await[1].due_at);
        world.app.deliver().await.unwrap();
        assert_eq!(bodies(&receiver)[3..], ["a up", "a down"]);
        assert_eq!(states(&world, &channel).await, ["down sent", "up sent", "down sent", "down sent"]);
        let keys: Vec<_> = receiver.received().iter().map(|one| one.headers["idempotency-key"].clone()).collect();
        assert_eq!(keys[1], keys[3], "a repeated message carries its id");
        assert_ne!(keys[0], keys[4]);
    }

    async fn a_broken_channel_holds_up_no_other_and_pauses_nothing(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        let mut broken = Vec::new();
        for url in ["http://127.0.0.1:9/", "http://10.0.0.1/", "http://no-such-host.invalid/"] {
            broken.push(hook(&world, url).await);
        }
        broken.push(world.channel("webhook", &json!({"down": null})).await);
        broken.push(world.channel("carrier pigeon", &json!({})).await);
        let sound = hook(&world, &receiver.url).await;
        let uuid = world.client.check(&json!({"name": "backup", "channels": "*"})).await;
        ping(&world, &uuid, "/fail").await;
        world.app.deliver().await.unwrap();
        assert_eq!((bodies(&receiver), letters(&world)), (vec!["backup down".to_owned()], 1));
        for channel in &broken {
            let read = reread(&world, channel).await;
            assert_ne!(read.last_error, "", "{}", channel.config);
        }
        assert!(reread(&world, &broken[1]).await.last_error.contains("FLATLINE_PRIVATE_TARGETS"));
        assert_eq!(reread(&world, &sound).await.last_error, "");
        assert_eq!(world.client.status(&uuid).await, "down");
        ping(&world, &uuid, "").await;
        world.app.deliver().await.unwrap();
        assert_eq!((bodies(&receiver).len(), letters(&world)), (2, 2));
    }

    async fn a_lease_keeps_others_away_until_it_ends(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let uuid = check(&world, "backup", &[&channel]).await;
        ping(&world, &uuid, "/fail").await;
        // A worker that claims and dies.
        let (now, token) = (world.clock.now(), flatline::id::uuid());
        let mut tx = world.app.db.begin_write().await.unwrap();
        let due = alerts::store::list_claimable(&mut tx, now, 10).await.unwrap().remove(0);
        let claimed = alerts::store::claim(&mut tx, &due, token, now + alerts::deliver::LEASE, now).await.unwrap();
        assert!(claimed.is_some());
        tx.commit().await.unwrap();

        world.advance(alerts::deliver::LEASE - Span::millis(1));
        world.app.deliver().await.unwrap();
        assert_eq!(bodies(&receiver), [""; 0]);
        world.advance(Span::millis(1));
        world.app.deliver().await.unwrap();
        let delivery = deliveries(&world, &channel).await.remove(0);
        assert_eq!((delivery.state.as_str(), delivery.attempts), ("sent", 2));
        let key = receiver.received()[0].headers["idempotency-key"].clone();
        assert_eq!(key, delivery.uuid.to_string().as_str());

        let late = alerts::store::Settlement {
            state: alerts::DeliveryState::Due,
            outcome: "too late".to_owned(),
            due_at: now,
            settled_at: None,
        };
        let mut tx = world.app.db.begin_write().await.unwrap();
        assert!(!alerts::store::settle(&mut tx, due.id, token, &late).await.unwrap());
    }

    async fn a_channel_that_is_turned_off_is_told_nothing_more(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let uuid = check(&world, "backup", &[&channel]).await;
        ping(&world, &uuid, "/fail").await;
        let mut tx = world.app.db.begin_write().await.unwrap();
        let now = world.clock.now();
        assert!(alerts::store::disable_channel(&mut tx, channel.id, "unsubscribed", now).await.unwrap());
        tx.commit().await.unwrap();
        world.app.deliver().await.unwrap();
        ping(&world, &uuid, "").await;
        world.app.deliver().await.unwrap();
        assert_eq!(bodies(&receiver), [""; 0]);
        let all = deliveries(&world, &channel).await;
        assert_eq!(all.len(), 1, "the UP was never addressed to it");
        assert_eq!((all[0].state.as_str(), all[0].outcome.as_str()), ("given_up", "The channel was turned off."));
    }

    async fn when_the_months_alerts_are_used_up_the_owner_is_told_once_and_an_owed_up_still_comes(engine: Engine) {
        let (world, _plans) = tight_world(engine).await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let (told, other, third) = (
            check(&world, "told", &[&channel]).await,
            check(&world, "other", &[&channel]).await,
            check(&world, "third", &[&channel]).await,
        );
        ping(&world, &told, "/fail").await;
        world.tick().await;
        for uuid in [&other, &third] {
            ping(&world, uuid, "/fail").await;
        }
        world.tick().await;
        ping(&world, &told, "").await;
        world.tick().await;
        assert_eq!(bodies(&receiver), ["told down", "told up"]);
        let states = states(&world, &channel).await;
        assert_eq!(states, ["down sent", "down held", "down held", "up sent"]);
        assert_eq!(letters(&world), 1);
    }

    async fn a_new_month_releases_what_is_still_true_and_the_owner_is_told_again(engine: Engine) {
        let (world, _plans) = tight_world(engine).await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let mut checks = Vec::new();
        for name in ["used", "back", "still", "more"] {
            let uuid = check(&world, name, &[&channel]).await;
            ping(&world, &uuid, "/fail").await;
            world.tick().await;
            checks.push(uuid);
        }
        ping(&world, &checks[1], "").await;
        world.tick().await;
        assert_eq!(bodies(&receiver), ["used down"]);
        assert_eq!(letters(&world), 1);

        world.clock.set(Time::parse("2026-03-31T23:59:59Z").unwrap());
        world.tick().await;
        assert_eq!(bodies(&receiver).len(), 1);
        world.clock.set(Time::parse("2026-04-01T00:00:00Z").unwrap());
        world.tick().await;
        assert_eq!(bodies(&receiver), ["used down", "still down"]);
        let states = states(&world, &channel).await;
        assert_eq!(states, ["down sent", "down superseded", "down sent", "down held", "up held"]);
        assert_eq!(letters(&world), 2, "it is another month");
    }

    async fn a_larger_plan_releases_what_is_still_true(engine: Engine) {
        let (world, _plans) = tight_world(engine).await;
        let receiver = Receiver::new().await;
        let channel = hook(&world, &receiver.url).await;
        let mut checks = Vec::new();
        for name in ["used", "back", "still"] {
            let uuid = check(&world, name, &[&channel]).await;
            ping(&world, &uuid, "/fail").await;
            world.tick().await;
            checks.push(uuid);
        }
        let mut tx = world.app.db.begin_write().await.unwrap();
        let key = flatline::accounts::find_key(&mut tx, &world.owner.api_key).await.unwrap().unwrap();
        let project = flatline::accounts::store::find_project(&mut tx, key.project_id).await.unwrap().unwrap();
        let roomy = world.app.settings.plans.get("roomy").unwrap();
        plans::change(&mut tx, project.account_id, roomy).await.unwrap();
        tx.commit().await.unwrap();
        ping(&world, &checks[1], "").await;
        world.tick().await;
        assert_eq!(sorted_bodies(&receiver), ["back up", "still down", "used down"]);
        assert_eq!(states(&world, &channel).await, ["down sent", "down superseded", "down sent", "up sent"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn targets_that_keep_silent_hold_up_no_other() {
    const SILENT: usize = 25;
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut channels = Vec::new();
    for _ in 0..SILENT {
        channels.push(hook(&world, &format!("http://{}", silent.local_addr().unwrap())).await);
    }
    let receiver = Receiver::new().await;
    channels.push(hook(&world, &receiver.url).await);
    let uuid = check(&world, "backup", &channels.iter().collect::<Vec<_>>()).await;
    // The jobs of a real process, on their schedule.
    let process = Process::start(&world.place, &[]).await;
    assert_eq!(process.client.ping(&uuid, "/fail").await.status, 200);
    until("the sound target was told", async || !receiver.received().is_empty()).await;
    for channel in &channels[..SILENT] {
        let delivery = deliveries(&world, channel).await.remove(0);
        assert_eq!((delivery.state.as_str(), delivery.attempts), ("due", 1), "it is still being tried");
    }
}

#[tokio::test]
async fn a_webhook_without_a_url_for_up_hears_of_down_alone() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let receiver = Receiver::new().await;
    let config =
        json!({"down": {"method": "PUT", "url": format!("{}/$CODE", receiver.url), "body": "$JSON"}});
    let channel = world.channel("webhook", &config).await;
    let uuid = check(&world, "backup", &[&channel]).await;
    for suffix in ["/3", ""] {
        ping(&world, &uuid, suffix).await;
        world.app.deliver().await.unwrap();
    }
    let received = receiver.received();
    assert_eq!((received.len(), received[0].method.as_str()), (1, "PUT"));
    assert_eq!(received[0].path, format!("/{uuid}"));
    let told: Value = serde_json::from_str(&received[0].body).unwrap();
    assert_eq!((&told["uuid"], &told["status"]), (&json!(uuid), &json!("down")));
}
