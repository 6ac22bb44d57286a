//! From a running server over its API: a Flatline, which speaks the same, and servers that misbehave.

use flatline::import::{Source, server};
use flatline::time::Span;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use super::{bring_all, plan};
use crate::support::{Engine, Receiver, World, on_both};

async fn read(url: &str, key: &str, ping_key: Option<&str>, limit: Span) -> Result<Source, String> {
    let ask = server::Ask {
        url: url.parse().unwrap(),
        api_key: key.to_owned(),
        ping_key: ping_key.map(str::to_owned),
        name: "Moved".to_owned(),
        limit,
    };
    server::read(&ask, &|_| {}).await.map_err(|error| error.to_string())
}

/// A server with checks in every state.
async fn furnished(engine: Engine) -> World {
    let world = World::new(engine, "unlimited").await;
    let hook = json!({ "down": { "method": "POST", "url": "http://192.0.2.1/down", "body": "$NAME" } });
    world.channel("webhook", &hook).await;
    for (spec, pings) in [
        (json!({"name": "up", "slug": "up", "tags": "prod eu", "timeout": 600, "channels": "*"}), &[""][..]),
        (json!({"name": "down", "desc": "why", "grace": 300}), &["", "/3"]),
        (json!({"name": "paused", "manual_resume": true, "methods": "POST"}), &[""]),
        (json!({"name": "running", "schedule": "15 2 * * *", "tz": "Europe/Riga"}), &["", "/start"]),
        (json!({"name": "mail", "filter_subject": true, "success_kw": "OK", "tags": "a/b"}), &[]),
        (
            json!({"name": "calendar", "schedule": "Mon..Fri 06:30", "tz": "America/New_York"}),
            &["/start", ""],
        ),
    ] {
        let uuid = world.client.check(&spec).await;
        for suffix in pings {
            world.advance(Span::seconds(1));
            assert_eq!(world.client.ping(&uuid, suffix).await.status, 200);
        }
        if spec["name"] == "paused" {
            world.client.post(&format!("checks/{uuid}/pause"), &json!({})).await;
        }
    }
    world
}

/// What both servers should say alike: all but addresses.
async fn told(world: &World, key: &str) -> Vec<Value> {
    let mut checks = world.client.with_key(key).get("checks/").await.json()["checks"].take();
    let checks = checks.as_array_mut().unwrap();
    checks.sort_by_key(|check| check["name"].to_string());
    std::mem::take(checks)
}

on_both! {
    async fn a_project_of_a_running_server_comes_as_it_is(engine: Engine) {
        let there = furnished(engine).await;
        let key = &there.owner.api_key;
        let source = read(&there.client.base, key, Some(&there.owner.ping_key), Span::seconds(30)).await.unwrap();
        let here = World::new(engine, "unlimited").await;
        here.advance(there.clock.now() - here.clock.now());
        here.app.stamp().await.unwrap();
        assert_eq!(bring_all(&here, "owner@example.org", &source, "Moved").await.len(), 6);
        assert_eq!(told(&here, key).await, told(&there, key).await);
        let slug = format!("/ping/{}/up", there.owner.ping_key);
        assert_eq!(here.client.send("GET", &slug, &[], Vec::new()).await.status, 200);
        let badges = there.client.get("badges/").await.json();
        for (tag, urls) in badges["badges"].as_object().unwrap() {
            for form in ["svg", "json3"] {
                let path = urls[form].as_str().unwrap().strip_prefix("http://flatline.test").unwrap();
                assert_eq!(here.client.send("GET", path, &[], Vec::new()).await.status, 200, "{tag}: {path}");
            }
        }
        assert!(plan(&here, "owner@example.org", &source.projects[0]).await.is_done());
        let channels = here.client.with_key(key).get("channels/").await.json();
        assert_eq!(channels, there.client.get("channels/").await.json());
    }
}

#[tokio::test]
async fn a_key_that_the_server_does_not_know_may_only_read_or_is_none_is_named() {
    let there = furnished(Engine::Sqlite).await;
    for key in ["hcw_0123456789012345678901234567", &there.owner.api_key_readonly, "short"] {
        let why = read(&there.client.base, key, None, Span::seconds(30)).await.unwrap_err();
        assert!(
            why.ends_with("channels/: the server does not know this API key; it must be a read-write key"),
            "{why}"
        );
    }
    assert!(
        read(&there.client.base, "a\nb", None, Span::seconds(30)).await.unwrap_err().contains("characters")
    );
}

#[tokio::test]
async fn a_server_that_misbehaves_is_named_with_what_it_did() {
    let receiver = Receiver::new().await;
    receiver.ask_to_retry_after("0");
    for (status, why) in [
        (200, "the answer is not the Management API's"),
        (301, "the server points elsewhere"),
        (404, "there is no Management API"),
        (418, "the server answered 418"),
        (429, "the server answered 429, 4 times in a row"),
        (500, "the server answered 500, 4 times in a row"),
    ] {
        receiver.answer(status);
        let before = receiver.received().len();
        let said = read(&receiver.url, "hcw_0123456789012345678901234567", None, Span::seconds(30))
            .await
            .unwrap_err();
        assert!(said.contains(why), "{status}: {said}");
        assert!(said.starts_with(&receiver.url), "{said}");
        let asked = receiver.received().len() - before;
        assert_eq!(asked, if matches!(status, 429 | 500) { 4 } else { 1 });
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_not_waited_for_and_one_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        // It hears everything and says nothing.
        while connection.read(&mut [0; 1024]).await.is_ok_and(|bytes| bytes > 0) {}
        listener
    });
    let key = "hcw_0123456789012345678901234567";
    let why = read(&url, key, None, Span::millis(300)).await.unwrap_err();
    assert_eq!(why, format!("{url}/api/v3/channels/: timed out"));
    drop(silent.await.unwrap());
    let why = read(&url, key, None, Span::seconds(30)).await.unwrap_err();
    assert_eq!(why, format!("{url}/api/v3/channels/: the connection was refused"));
}
