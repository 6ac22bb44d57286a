//! What strangers and scripts send in place of a ping or a call: the contract's answer or a clear refusal, never a
//! failure of ours, and nothing half recorded.

use std::time::Duration;

use flatline::checks;
use serde_json::{Value, json};

use crate::support::{Answer, Engine, Place, Process, Receiver, Wire, World, on_both, program};

async fn check(world: &World) -> String {
    world.client.check(&json!({"name": "backup"})).await
}

async fn pings(world: &World, uuid: &str) -> Vec<Value> {
    let list = world.client.get(&format!("checks/{uuid}/pings/")).await.json();
    list["pings"].as_array().unwrap().clone()
}

async fn get(world: &World, path: &str) -> Answer {
    world.client.without_key().send("GET", path, &[], Vec::new()).await
}

on_both! {
    async fn an_address_that_is_no_pings_gets_the_contracts_answer_and_records_nothing(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let (key, other) = (world.owner.ping_key.clone(), flatline::id::uuid());
        let long = "a".repeat(101);
        let table = [
            (format!("{uuid}/256"), 400, "invalid url format"),
            (format!("{uuid}/{}", "9".repeat(5000)), 400, "invalid url format"),
            (format!("{uuid}/-1"), 404, "not found"),
            (format!("{uuid}/1.0"), 404, "not found"),
            (format!("{uuid}/fail/"), 404, "not found"),
            (format!("{uuid}/FAIL"), 404, "not found"),
            (format!("{uuid}%0A"), 404, "not found"),
            (format!("{uuid}%00"), 404, "not found"),
            (format!("{uuid}%ff"), 404, "not found"),
            (format!("%7B{uuid}%7D"), 404, "not found"),
            (uuid.replace('-', ""), 404, "not found"),
            (other.to_string(), 404, "not found"),
            (format!("{other}/300"), 404, "not found"),
            (format!("{other}?rid=x"), 404, "not found"),
            (format!("{uuid}?rid="), 400, "invalid uuid format"),
            (format!("{uuid}?rid"), 400, "invalid uuid format"),
            (format!("{uuid}?rid=1"), 400, "invalid uuid format"),
            (format!("{uuid}?rid={}", uuid.replace('-', "")), 400, "invalid uuid format"),
            (format!("{uuid}?rid=%7B{uuid}%7D"), 400, "invalid uuid format"),
            (format!("{uuid}?rid={uuid}%0a"), 400, "invalid uuid format"),
            (format!("{uuid}?rid={uuid}&rid=x"), 400, "invalid uuid format"),
            (format!("{uuid}?rid=%00"), 400, "invalid uuid format"),
            (format!("{uuid}?rid=%ff"), 400, "invalid uuid format"),
            (format!("{key}/no-such-slug"), 404, "not found"),
            (format!("{key}/Upper?create=1"), 400, "invalid url format"),
            (format!("{key}/{long}?create=1"), 404, "not found"),
            (format!("{key}/a%00b?create=1"), 404, "not found"),
            (format!("{key}/caf%C3%A9?create=1"), 404, "not found"),
            (format!("{key}/a%2Fb/c?create=1"), 404, "not found"),
            (format!("{key}/new/300?create=1"), 400, "invalid url format"),
            (format!("{key}/new?create=1&rid=x"), 400, "invalid uuid format"),
            ("no-such-key/slug?create=1".to_owned(), 404, "not found"),
            ("%00/slug?create=1".to_owned(), 404, "not found"),
        ];
        for (path, status, text) in table {
            let answer = get(&world, &format!("/ping/{path}")).await;
            assert_eq!((answer.status, answer.text().as_str()), (status, text), "{path}");
            assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"), "{path}");
        }
        assert_eq!(get(&world, "/ping/").await.status, 404);
        assert_eq!(pings(&world, &uuid).await, Vec::<Value>::new());
        let checks = world.client.get("checks/").await.json();
        assert_eq!(checks["checks"].as_array().unwrap().len(), 1);
    }

    async fn what_a_ping_does_not_know_is_ignored(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let rid = flatline::id::uuid();
        for query in [
            "?ping=rainy".to_owned(),
            "?status=down&msg=%00&ping=".to_owned(),
            "?%ff=%ff&&&==".to_owned(),
            "?create=1".to_owned(),
            format!("?RID=x&rid=x&rid={}", rid.to_string().to_uppercase()),
        ] {
            assert_eq!(world.client.ping(&uuid, &query).await.status, 200, "{query}");
        }
        let pings = pings(&world, &uuid).await;
        assert_eq!(pings.len(), 5);
        assert_eq!(pings[0]["rid"], json!(rid));
        assert!(pings[1..].iter().all(|ping| ping["rid"].is_null() && ping["type"] == "success"));
    }

    async fn any_bytes_are_kept_as_they_came_and_no_more_than_the_limit(engine: Engine) {
        let world = World::with(engine, "unlimited", &[("PING_BODY_LIMIT", "1000")]).await;
        let uuid = check(&world).await;
        let every_byte: Vec<u8> = (0..=255).collect();
        let long: Vec<u8> = every_byte.iter().copied().cycle().take(150_000).collect();
        for sent in [b"panic: \0".to_vec(), b"Lib\x82r\x82".to_vec(), every_byte, long] {
            let answer = world.client.ping_with(&uuid, "/fail", &sent).await;
            assert_eq!((answer.status, answer.header("ping-body-limit")), (200, Some("1000")));
            let n = pings(&world, &uuid).await.len();
            let body = world.client.get(&format!("checks/{uuid}/pings/{n}/body")).await;
            assert_eq!(body.body, sent[..sent.len().min(1000)]);
            assert_eq!(body.header("x-content-type-options"), Some("nosniff"));
        }
        assert_eq!(world.client.status(&uuid).await, "down");
    }

    async fn a_ping_sent_again_is_logged_again_and_told_once(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        for _ in 0..2 {
            assert_eq!(world.client.ping_with(&uuid, "/fail", b"boom").await.status, 200);
            world.advance(flatline::time::Span::seconds(1));
        }
        assert_eq!(pings(&world, &uuid).await.len(), 2);
        let flips = world.client.get(&format!("checks/{uuid}/flips/")).await.json();
        assert_eq!(flips["flips"].as_array().unwrap().len(), 1);
    }

    async fn a_ping_that_comes_too_soon_is_told_why_and_for_how_long(engine: Engine) {
        let world = World::new(engine, "pro").await;
        let uuid = check(&world).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        world.advance(flatline::time::Span::millis(59_999));
        let refused = world.client.ping(&uuid, "").await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, None));
        assert_eq!(
            refused.json(),
            json!({"error": "ping rejected — too fast", "min_interval_seconds": 60, "retry_after": 1})
        );
        world.advance(flatline::time::Span::millis(1));
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        assert_eq!(pings(&world, &uuid).await.len(), 2);
    }

    async fn nul_characters_and_broken_text_are_refused_wherever_text_is_taken(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        for field in [
            "channels", "desc", "failure_kw", "name", "schedule", "slug", "start_kw", "subject", "subject_fail",
            "success_kw", "tags", "tz", "methods",
        ] {
            for path in ["checks/".to_owned(), format!("checks/{uuid}")] {
                let answer = world.client.post(&path, &json!({ field: "a\0b" })).await;
                assert_eq!(answer.status, 400, "{field}: {}", answer.text());
            }
        }
        for body in [
            &b"{\"name\": \"a\xff\"}"[..],
            b"{\"name\": \"\\ud800\"}",
            b"\0",
            b"[]",
            b"{",
            b"\xef\xbb\xbf{}",
            b"{\"a\": 1}{\"a\": 1}",
        ] {
            let answer = world.client.send("POST", "/api/v3/checks/", &[], body.to_vec()).await;
            assert_eq!(answer.status, 400, "{body:?}: {}", answer.text());
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(world.client.send("POST", "/api/v3/checks/", &[], deep.into_bytes()).await.status, 400);
        let huge = vec![b' '; 20 * 1024 * 1024];
        assert_eq!(world.client.send("POST", "/api/v3/checks/", &[], huge).await.status, 400);
        let keys = json!({"api_key": "\0".repeat(32)}).to_string().into_bytes();
        let answer = world.client.without_key().send("POST", "/api/v3/checks/", &[], keys).await;
        assert_eq!((answer.status, answer.text().as_str()), (401, r#"{"error":"wrong api key"}"#));
        let checks = world.client.get("checks/").await.json();
        assert_eq!(checks["checks"].as_array().unwrap().len(), 1);
    }

    async fn nul_and_broken_text_in_addresses_find_nothing_and_never_fail(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        for bad in ["%00", "a%00b", "%ff%fe", "%", "%zz", "..%2f..%2fetc%2fpasswd", "%3Cscript%3E", "%F0%9F%98%80"] {
            for path in [
                format!("/api/v3/checks/?tag={bad}"),
                format!("/api/v3/checks/?slug={bad}"),
                format!("/api/v3/checks/{bad}"),
                format!("/api/v3/checks/{uuid}/pings/{bad}/body"),
                format!("/api/v3/checks/{uuid}/flips/?seconds={bad}"),
                format!("/api/v3/checks/{uuid}/flips/?start={bad}&end={bad}"),
                format!("/api/{bad}/checks/"),
                format!("/badge/{bad}/{bad}/{bad}.svg"),
                format!("/badge/{bad}/{bad}.json"),
                format!("/b/2/{bad}.svg"),
                format!("/projects/{bad}/metrics/{bad}"),
                format!("/ping/{bad}"),
                format!("/ping/{bad}/{bad}/{bad}?create=1&rid={bad}"),
                format!("/checks?q={bad}"),
                format!("/{bad}"),
                format!("/static/{bad}"),
            ] {
                for method in ["GET", "POST"] {
                    let answer = world.client.send(method, &path, &[], Vec::new()).await;
                    assert!(answer.status < 500, "{method} {path}: {} {}", answer.status, answer.text());
                }
            }
        }
        assert_eq!(world.client.status(&uuid).await, "new");
    }

    async fn nothing_that_was_asked_for_is_echoed_where_a_browser_would_run_it(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let script = "%3Cscript%3Ealert(1)%3C/script%3E";
        for path in [
            format!("/ping/{script}"),
            format!("/ping/key/{script}"),
            format!("/{script}"),
            format!("/api/v3/checks/{script}"),
            format!("/badge/{script}/{script}.svg"),
            format!("/api/v3/checks?{script}"),
        ] {
            for method in ["GET", "POST", "BREW"] {
                let answer = world.client.send(method, &path, &[], Vec::new()).await;
                assert!(!answer.text().contains("<script>alert"), "{method} {path}: {}", answer.text());
                assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{method} {path}");
            }
        }
        let channels = json!({"channels": "<script>alert(1)</script>"});
        let refused = world.client.post("checks/", &channels).await;
        assert_eq!((refused.status, refused.header("content-type")), (400, Some("application/json")));
    }

    async fn hostile_words_reach_a_webhook_as_they_are(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        let name = "$STATUS $BODY \"quoted\" <b>&amp; ${jndi:ldap://x} {{7*7}}";
        let config = json!({"down": {"method": "POST", "url": receiver.url, "body": "{\"name\": $NAME_JSON}"}});
        world.channel("webhook", &config).await;
        let uuid = world.client.check(&json!({"name": name, "channels": "*"})).await;
        assert_eq!(world.client.ping_with(&uuid, "/fail", b"he said \"no\"\\ \n\t{\"a\":1}\n").await.status, 200);
        world.tick().await;
        let told: Value = serde_json::from_str(&receiver.received()[0].body).unwrap();
        assert_eq!(told, json!({ "name": name }));
    }
}

/// The peak of a process's resident memory in bytes, as the kernel keeps it.
fn peak_memory(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_of_200_megabytes_cost_no_more_memory_than_what_is_kept() {
    const MEGABYTE: usize = 1024 * 1024;
    let place = Place::new(Engine::Sqlite).await;
    let process = Process::start(&place, &[]).await;
    let mut create = program(&place, &[]);
    let made = create.args(["account", "create", "--email", "owner@example.org", "--json"]).output().await;
    let owner: Value = serde_json::from_slice(&made.unwrap().stdout).unwrap();
    let uuid = process.client.with_key(owner["api_key"].as_str().unwrap()).check(&json!({})).await;
    assert_eq!(process.client.ping_with(&uuid, "", b"warm").await.status, 200);
    let before = peak_memory(&process);
    let senders = (0..3).map(|_| async {
        let mut wire = Wire::to(&process.client.base).await;
        let length = 200 * MEGABYTE;
        wire.say(format!("POST /ping/{uuid}/fail HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n"))
            .await;
        let piece = vec![b'x'; MEGABYTE];
        for _ in 0..200 {
            assert!(wire.say(&piece).await);
        }
        wire.hear("POST").await.unwrap().status
    });
    assert_eq!(futures_util::future::join_all(senders).await, [200, 200, 200]);
    let grown = peak_memory(&process) - before;
    assert!(grown < 20 * MEGABYTE as u64, "{grown} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pings_wait_while_another_process_writes_and_none_is_lost() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let uuid = check(&world).await;
    let other = world.place.open().await;
    let mut writing = other.begin_write().await.unwrap();
    checks::store::lock(&mut writing, 1).await.unwrap();
    let sent = (0..50).map(|_| world.client.ping(&uuid, ""));
    let free = async {
        // Long enough for pings to meet the lock; the outcome is the same if none does.
        tokio::time::sleep(Duration::from_millis(300)).await;
        writing.commit().await.unwrap();
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(sent), free);
    assert!(answers.iter().all(|answer| answer.status == 200));
    assert_eq!(pings(&world, &uuid).await.len(), 50);
}
