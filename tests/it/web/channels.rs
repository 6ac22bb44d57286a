//! The pages of channels: where alerts go, and whether they arrive.

use flatline::accounts::Role;
use flatline::alerts::{self, Channel};
use flatline::time::Span;
use serde_json::json;

use super::browser::{Browser, value_in};
use crate::support::{Engine, Receiver, World, on_both};

const OWNER: &str = "owner@example.org";
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";

/// The fields of a form, the one that has to be mended, and words of why.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, &'a str);

fn list(world: &World) -> String {
    format!("/projects/{}/channels", world.owner.project)
}

async fn channels(world: &World) -> Vec<Channel> {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let project =
        flatline::accounts::store::find_project_by_uuid(&mut tx, world.owner.project).await.unwrap().unwrap();
    alerts::store::list_channels(&mut tx, project.id).await.unwrap()
}

async fn named(world: &World, name: &str) -> Channel {
    channels(world).await.into_iter().find(|channel| channel.name == name).expect("there is such a channel")
}

/// Makes a channel by its form, and returns its page's address.
async fn make(browser: &Browser, world: &World, kind: &str, fields: &[(&str, &str)]) -> String {
    let path = format!("/projects/{}/new-channel/{kind}", world.owner.project);
    let answer = browser.submit(&path, fields).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    let page = answer.header("location").unwrap();
    page.split('?').next().unwrap().to_owned()
}

on_both! {
    async fn what_fails_stands_first_with_its_reason(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        receiver.answer(500);
        let hook = world.channel("webhook", &json!({"down": {"method": "POST", "url": format!("{}/hook", receiver.url)}, "up": null})).await;
        let check = world.client.check(&json!({"name": "a job", "channels": "*"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = browser.open(&list(&world)).await;
        assert!(page.contains("All 2 channels are ready"), "{page}");
        assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
        world.tick().await;
        let page = browser.open(&list(&world)).await;
        assert!(page.contains("One of 2 channels is failing"), "{page}");
        assert!(page.contains("Failing since 03:12"), "{page}");
        assert!(page.contains("The target answered 500"), "{page}");
        assert!(page.contains("1 alert waits, next attempt at 03:12."), "{page}");
        assert!(page.find("Webhook").unwrap() < page.find("E-mail").unwrap());
        assert!(page.contains(">the one check</a>"), "{page}");
        world.advance(Span::minutes(20));
        let page = browser.open(&list(&world)).await;
        assert!(page.contains("Sent 20 min ago") && page.contains("written to the outbox as"), "{page}");
        assert!(page.contains(&format!("/channels/{}/test", hook.uuid)));
    }

    async fn an_address_that_is_not_the_owner_s_has_to_agree_first(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = make(&browser, &world, "email", &[("name", "Desk"), ("address", " Desk@Example.ORG "), ("down", "on"), ("up", "on")]).await;
        let channel = named(&world, "Desk").await;
        assert_eq!((channel.verified_at, channel.config.as_str()), (None, r#"{"address":"Desk@example.org"}"#));
        let html = browser.open(&page).await;
        assert!(html.contains("Not confirmed") && html.contains("Asked 03:12. Nothing is sent before the answer."), "{html}");
        assert!(browser.open(&list(&world)).await.contains("One of 2 channels is not confirmed"));
        let tested = browser.post_from(&page, &format!("{page}/test"), &[]).await;
        assert_eq!(tested.status, 400);
        world.tick().await;
        assert_eq!(world.outbox().await.len(), 1);

        assert_eq!(browser.post_from(&page, &format!("{page}/ask"), &[]).await.status, 303);
        let third = browser.post_from(&page, &format!("{page}/ask"), &[]).await;
        assert_eq!(third.status, 429, "one letter for the page and one for asking again");
        let body = json!({"kind": "email", "config": {"address": "desk@example.org"}}).to_string();
        let path = format!("/api/v3/channels/{}", flatline::id::uuid());
        let by_key = world.client.send("PUT", &path, &[], body.into_bytes()).await;
        assert_eq!((by_key.status, by_key.json()["scope"].as_str()), (429, Some("verification_mails_per_minute")));
        assert_eq!(channels(&world).await.len(), 2, "a refused channel is not made");
        world.tick().await;
        let letters = world.outbox().await;
        assert_eq!(letters.len(), 2);
        let link = letters[1].split("/mail/confirm/").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        assert_eq!(Browser::new(&world).post(&format!("/mail/confirm/{link}"), &[]).await.status, 200);
        assert!(named(&world, "Desk").await.verified_at.is_some());
        assert!(browser.open(&page).await.contains("Nothing sent yet"));
    }

    async fn a_test_is_sent_at_once_and_its_result_kept(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        receiver.answer(204);
        let browser = Browser::signed_in(&world, OWNER).await;
        let url = format!("{}/hook", receiver.url);
        let page = make(&browser, &world, "webhook", &[("name", "Hook"), ("down.url", &url), ("down.method", "POST"), ("down.headers", "X-One: 1"), ("down.body", "$NAME"), ("up.method", "POST")]).await;
        let channel = named(&world, "Hook").await;
        assert_eq!((channel.on_down, channel.on_up), (true, false));
        let tested = browser.post_from(&page, &format!("{page}/test"), &[]).await;
        assert_eq!(tested.header("location"), Some(format!("{page}?tested=1").as_str()));
        let html = browser.open(&format!("{page}?tested=1")).await;
        assert!(html.contains("The test was sent. The target answered 204."), "{html}");
        let calls = receiver.received();
        assert_eq!(calls.len(), 1);
        for _ in 0..5 {
            assert_eq!(browser.post_from(&page, &format!("{page}/test"), &[]).await.status, 303);
        }
        let seventh = browser.post_from(&page, &format!("{page}/test"), &[]).await;
        assert_eq!(seventh.status, 429);
        let by_key = world.client.post(&format!("channels/{}/test", channel.uuid), &json!({})).await;
        assert_eq!((by_key.status, by_key.json()["scope"].as_str()), (429, Some("test_messages_per_minute")));
        assert_eq!(receiver.received().len(), 6);
    }

    async fn a_form_in_two_hands_loses_neither(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = make(&browser, &world, "email", &[("name", "Mine"), ("address", OWNER), ("down", "on")]).await;
        let rev = value_in(&browser.open(&page).await, "rev").unwrap();
        let save = async |name: &'static str| {
            browser.submit(&page, &[("name", name), ("address", OWNER), ("down", "on"), ("rev", &rev)]).await
        };
        assert_eq!(save("First").await.status, 303);
        let second = save("Second").await;
        assert_eq!(second.status, 409);
        let html = second.text();
        assert!(html.contains("Somebody saved this channel while you were editing"), "{html}");
        assert!(html.contains("<bdi>First</bdi>") && html.contains("<bdi>Second</bdi>"), "{html}");
        assert_eq!(named(&world, "First").await.name, "First");
        let rev = value_in(&html, "rev").unwrap();
        let again = browser.submit(&page, &[("name", "Second"), ("address", OWNER), ("down", "on"), ("rev", &rev)]).await;
        assert_eq!(again.status, 303);
    }

    async fn what_was_ticked_here_is_merged_with_what_others_ticked(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let checks = [world.client.check(&json!({"name": "one"})).await, world.client.check(&json!({"name": "two"})).await, world.client.check(&json!({"name": "three"})).await];
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = make(&browser, &world, "email", &[("name", "Mine"), ("address", OWNER), ("down", "on"), ("check", &checks[0]), ("check", &checks[1])]).await;
        let channel = named(&world, "Mine").await.uuid.to_string();
        let told = async |check: &str| world.client.read(check).await["channels"] == channel;
        assert!(told(&checks[0]).await && told(&checks[1]).await && !told(&checks[2]).await);
        // The form was served with the first two ticked; meanwhile the third is added by key.
        assert_eq!(world.client.post(&format!("checks/{}", checks[2]), &json!({"channels": channel})).await.status, 200);
        let rev = value_in(&browser.open(&page).await, "rev").unwrap();
        let fields = [("name", "Mine"), ("address", OWNER), ("down", "on"), ("rev", &rev), ("check", &checks[0]), ("checked", &checks[0]), ("checked", &checks[1])];
        assert_eq!(browser.submit(&page, &fields).await.status, 303);
        assert!(told(&checks[0]).await && !told(&checks[1]).await && told(&checks[2]).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_to_be_mended_is_said_at_its_field_and_what_was_typed_is_kept() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let browser = Browser::signed_in(&world, OWNER).await;
    let path = format!("/projects/{}/new-channel/webhook", world.owner.project);
    let cases: [Case<'_>; 4] = [
        (
            &[("down.url", "example.org"), ("down.method", "POST")],
            "down.url",
            "must be an address that begins with",
        ),
        (
            &[("down.url", "http://x.example"), ("down.method", "GET"), ("down.body", "kept")],
            "down.body",
            "a GET request has none",
        ),
        (
            &[("up.url", "http://x.example"), ("up.method", "POST"), ("up.headers", "no pair")],
            "up.headers",
            "as Name: value",
        ),
        (&[("down.url", "")], "down.url", "without one the webhook is never called"),
    ];
    for (fields, at, words) in cases {
        let answer = browser.submit(&path, fields).await;
        let html = answer.text();
        assert_eq!(answer.status, 422, "{html}");
        assert!(
            html.contains(&format!("id=\"e-{at}\"")) && html.contains(&format!("href=\"#f-{at}\"")),
            "{at}: {html}"
        );
        assert!(html.contains(words), "{words}: {html}");
    }
    let answer = browser.submit(&path, cases[1].0).await;
    assert!(answer.text().contains(">kept</textarea>"));
    assert_eq!(channels(&world).await.len(), 1);
    let nothing = browser.submit(&path.replace("webhook", "email"), &[("address", OWNER)]).await;
    assert!(nothing.text().contains("Tick at least one"), "{}", nothing.text());
    assert_eq!(browser.get(&path.replace("webhook", "pigeon")).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_addresses_stay_text_and_secrets_are_for_those_who_may_change() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let browser = Browser::signed_in(&world, OWNER).await;
    let url = "http://127.0.0.1:1/hook?secret=<script>&x=\"'>";
    let page = make(
        &browser,
        &world,
        "webhook",
        &[
            ("name", HOSTILE),
            ("down.url", url),
            ("down.method", "POST"),
            ("down.headers", "X-A: \"><script>"),
            ("down.body", "</textarea><script>"),
        ],
    )
    .await;
    browser.post_from(&page, &format!("{page}/test"), &[]).await;
    let check = world.client.check(&json!({"name": "watched", "channels": "*"})).await;
    for path in [
        list(&world),
        page.clone(),
        format!("{page}?tested=1"),
        format!("/checks/{check}"),
        format!("/checks/{check}/edit"),
    ] {
        let html = browser.open(&path).await;
        assert!(!html.contains("<script>") && !html.contains("<img"), "{path}: {html}");
    }
    assert!(browser.open(&list(&world)).await.contains("secret="));
    world.sign_up("readonly@example.org", "free").await;
    world.add_member("readonly@example.org", Role::Readonly).await;
    let reader = Browser::signed_in(&world, "readonly@example.org").await;
    let html = reader.open(&list(&world)).await;
    assert!(
        !html.contains("secret=") && !html.contains("/test") && html.contains("&#60;script&#62;"),
        "{html}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_channel_is_told_nothing_more() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let browser = Browser::signed_in(&world, OWNER).await;
    let page = format!("/channels/{}", channels(&world).await[0].uuid);
    let answer = browser.post_from(&page, &format!("{page}/delete"), &[]).await;
    assert_eq!(answer.status, 303);
    let html = browser.open(answer.header("location").unwrap()).await;
    assert!(html.contains("Nobody is told yet") && html.contains("Deleted."), "{html}");
    assert_eq!(browser.get(&page).await.status, 404);
}
