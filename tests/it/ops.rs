//! What an operator relies on: probes, metrics, logs that tell no secret, a stop that loses nothing.

use std::collections::BTreeSet;

use flatline::sweep::store as sweep_store;
use flatline::time::{Clock, Span};
use serde_json::{Value, json};

use crate::races::ground::until;
use crate::support::{Client, Engine, Place, Process, Receiver, Wire, World, on_both, program};

/// As `Place::settings` has it.
const METRICS_KEY: &str = "metrics-key-of-the-tests";

async fn get(client: &Client, path: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let answer = client.without_key().send("GET", path, headers, Vec::new()).await;
    (answer.status, answer.text())
}

pub async fn metrics(world: &World) -> String {
    let bearer = format!("Bearer {METRICS_KEY}");
    let (status, text) = get(&world.client, "/metrics", &[("Authorization", &bearer)]).await;
    assert_eq!(status, 200);
    text
}

/// The value of one sample.
pub fn sample(metrics: &str, name: &str) -> f64 {
    let line =
        metrics.lines().find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')));
    line.unwrap_or_else(|| panic!("{name} is not in:\n{metrics}")).parse().unwrap()
}

async fn account(place: &Place) -> Value {
    let args = ["account", "create", "--email", "owner@example.org", "--json"];
    let made = program(place, &[]).args(args).output().await.unwrap();
    serde_json::from_slice(&made.stdout).unwrap()
}

on_both! {
    async fn the_process_is_healthy_and_ready_until_work_is_late(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        assert_eq!(get(&world.client, "/healthz", &[]).await, (200, "OK".to_owned()));
        let (status, text) = get(&world.client, "/readyz", &[]).await;
        let database = if engine == Engine::Sqlite { "SQLite" } else { "PostgreSQL" };
        assert!(status == 200 && text.starts_with("OK\n") && text.contains(database), "{text}");

        let uuid = world.client.check(&json!({"timeout": 60, "grace": 60})).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        world.pass(Span::seconds(120 + 301)).await;
        let (status, text) = get(&world.client, "/readyz", &[]).await;
        assert_eq!((status, text.as_str()), (503, "the sweep is 301 s late\n"));
        world.tick().await;
        assert_eq!(get(&world.client, "/readyz", &[]).await.0, 200);

        let down = json!({"down": {"method": "POST", "url": receiver.url, "body": ""}});
        let channel = world.channel("webhook", &down).await;
        let other = world.client.check(&json!({"channels": channel.uuid.to_string()})).await;
        assert_eq!(world.client.ping(&other, "/fail").await.status, 200);
        world.pass(Span::seconds(301)).await;
        let (status, text) = get(&world.client, "/readyz", &[]).await;
        assert_eq!((status, text.as_str()), (503, "a delivery has waited for 301 s\n"));
        world.app.deliver().await.unwrap();
        assert_eq!(get(&world.client, "/readyz", &[]).await.0, 200);
    }

    async fn metrics_count_what_happens_and_open_to_their_key_alone(engine: Engine) {
        let world = World::new(engine, "pro").await;
        let receiver = Receiver::new().await;
        let down = json!({"down": {"method": "POST", "url": receiver.url, "body": ""}});
        let channel = world.channel("webhook", &down).await;
        let spec = json!({"timeout": 60, "grace": 60, "channels": channel.uuid.to_string()});
        let uuid = world.client.check(&spec).await;
        for (suffix, status) in [("", 200), ("", 429), ("/300", 400), ("?rid=x", 400), ("/start", 200)] {
            assert_eq!(world.client.ping(&uuid, suffix).await.status, status, "{suffix}");
        }
        let unknown = flatline::id::uuid().to_string();
        assert_eq!(world.client.ping(&unknown, "").await.status, 404);
        world.pass(Span::seconds(190)).await;
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "down");
        let text = metrics(&world).await;
        for (name, value) in [
            (r#"flatline_pings_accepted_total{signal="success"}"#, 1.0),
            (r#"flatline_pings_accepted_total{signal="start"}"#, 1.0),
            (r#"flatline_pings_refused_total{reason="too_fast"}"#, 1.0),
            (r#"flatline_pings_refused_total{reason="address"}"#, 2.0),
            (r#"flatline_pings_refused_total{reason="unknown"}"#, 1.0),
            (r#"flatline_flips_total{reason="success"}"#, 1.0),
            (r#"flatline_deliveries_total{channel="webhook",result="sent"}"#, 1.0),
            ("flatline_deadline_to_sent_seconds_count", 1.0),
            ("flatline_oldest_undelivered_seconds", 0.0),
            ("flatline_queue_length", 0.0),
        ] {
            assert!((sample(&text, name) - value).abs() < f64::EPSILON, "{name} is not {value}:\n{text}");
        }
        assert!(sample(&text, "flatline_group_size_count") >= 3.0);
        assert!(sample(&text, "flatline_sweep_lateness_seconds") >= 0.0);
        assert!(text.ends_with("# EOF\n"));
        // No name of a check or account is a label: metrics go to whoever watches the machine.
        assert!(!text.contains(&uuid) && !text.contains("example.org"));

        for headers in [
            &[][..],
            &[("Authorization", "Bearer wrong")],
            &[("Authorization", METRICS_KEY)],
            &[("Authorization", "Basic metrics-key-of-the-tests")],
        ] {
            assert_eq!(get(&world.client, "/metrics", headers).await, (401, String::new()));
        }
        let closed = World::with(engine, "pro", &[("METRICS_KEY", "")]).await;
        let bearer = [("Authorization", "Bearer ")];
        assert_eq!(get(&closed.client, "/metrics", &bearer).await.0, 404);
    }

    async fn a_stop_writes_its_second_and_waits_for_no_idle_client(engine: Engine) {
        let place = Place::new(engine).await;
        let owner = account(&place).await;
        let mut process = Process::start(&place, &[]).await;
        let client = process.client.with_key(owner["api_key"].as_str().unwrap());
        let uuid = client.check(&json!({})).await;
        let mut idle = Wire::to(&client.base).await;
        let ping = format!("GET /ping/{uuid} HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_eq!(idle.ask(ping).await.unwrap().status, 200);
        let two = client.speaking_http_2();
        assert_eq!(two.ping(&uuid, "").await.status, 200);
        let asked = Clock::System.now();
        assert!(process.terminate().await.success());
        assert!(idle.hear("GET").await.is_none());
        assert!(!process.said().iter().any(|line| line.contains("in time")), "{:?}", process.said());
        let db = place.open().await;
        let mut tx = db.begin_read().await.unwrap();
        let stamp = sweep_store::find_stamp(&mut tx).await.unwrap().unwrap();
        assert!(stamp >= asked, "{stamp:?} is before {asked:?}");
    }

    async fn logs_name_each_request_by_its_id_and_tell_no_secret(engine: Engine) {
        let place = Place::new(engine).await;
        let owner = account(&place).await;
        let receiver = Receiver::new().await;
        let changes = [("LOG", "debug"), ("METRICS_KEY", "a-metrics-key-nobody-may-see")];
        let mut process = Process::start(&place, &changes).await;
        let client = process.client.with_key(owner["api_key"].as_str().unwrap());
        let secret = "s3cr3t";
        let uuid = client.check(&json!({"name": format!("name-{secret}"), "tags": secret, "channels": "*"})).await;
        let hook = json!({"down": {"method": "POST", "url": format!("{}/{secret}?{secret}", receiver.url),
            "headers": {"Authorization": secret}, "body": "$NAME"}});
        add_webhook(&place, &owner, &uuid, &hook).await;
        let ping_key = owner["ping_key"].as_str().unwrap();
        let bearer = format!("Bearer {secret}");
        let mut ids = BTreeSet::new();
        for (method, path, headers) in [
            ("POST", format!("/ping/{uuid}/fail?token={secret}"), vec![("Cookie", secret)]),
            ("GET", format!("/ping/{ping_key}/{secret}?create=1"), vec![]),
            ("GET", format!("/ping/{secret}/{secret}"), vec![("X-Request-Id", secret)]),
            ("GET", format!("/{secret}?{secret}"), vec![("Referer", secret)]),
            ("GET", format!("/api/v3/checks/?tag={secret}"), vec![("X-Api-Key", secret)]),
            ("GET", format!("/api/v3/checks/{uuid}/pings/"), vec![]),
            ("POST", format!("/api/v3/checks/{uuid}"), vec![("Content-Type", secret)]),
            ("GET", "/metrics".to_owned(), vec![("Authorization", bearer.as_str())]),
            ("GET", format!("/sign-in/{secret}"), vec![]),
            ("GET", format!("/projects/{uuid}/metrics/{secret}"), vec![]),
        ] {
            let answer = client.send(method, &path, &headers, secret.into()).await;
            assert!(answer.status < 500, "{method} {path}: {}", answer.status);
            let id = answer.header("x-request-id").unwrap().to_owned();
            assert!(id.len() == 32 && ids.insert(id), "each request has an id of its own");
        }
        until("the alert was sent", async || !receiver.received().is_empty()).await;
        assert!(process.terminate().await.success());
        let said = process.said();
        for id in &ids {
            let lines: Vec<_> = said.iter().filter(|line| line.contains(id.as_str())).collect();
            assert!(!lines.is_empty(), "{id}");
        }
        assert!(said.iter().any(|line| line.contains("/ping/{*address}")), "the route's pattern is there");
        let private = ["s3cr3t", &uuid, "hcw_", "hcr_", ping_key, "a-metrics-key", "owner@example.org"];
        let told: Vec<_> =
            said.iter().filter(|line| private.iter().any(|secret| line.contains(secret))).collect();
        assert!(told.is_empty(), "{told:#?}");
    }
}

async fn add_webhook(place: &Place, owner: &Value, check: &str, config: &Value) {
    use flatline::{accounts, alerts, checks};
    let db = place.open().await;
    let mut tx = db.begin_write().await.unwrap();
    let key = accounts::find_key(&mut tx, owner["api_key"].as_str().unwrap()).await.unwrap().unwrap();
    let now = Clock::System.now();
    let new = alerts::NewChannel {
        uuid: flatline::id::uuid(),
        project_id: key.project_id,
        kind: "webhook",
        name: String::new(),
        config: config.to_string(),
        on_down: true,
        on_up: true,
        verified_at: Some(now),
    };
    let channel = alerts::store::create_channel(&mut tx, new, now).await.unwrap();
    let check = checks::store::find(&mut tx, check.parse().unwrap()).await.unwrap().unwrap();
    alerts::store::assign(&mut tx, check.id, channel.id).await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
}
