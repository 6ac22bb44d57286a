//! The page of one check.

use flatline::time::Span;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, Receiver, World, on_both};

const OWNER: &str = "owner@example.org";

/// What is read of a piece of a page, spaces made one.
fn text(html: &str) -> String {
    let plain: String =
        html.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| format!(" {text}")).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ").replace(" .", ".").replace(" :", ":")
}

on_both! {
    async fn the_verdict_says_why_it_is_down_and_what_the_run_printed(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "Dump", "timeout": 86400, "grace": 3600, "channels": "*"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let path = format!("/checks/{uuid}");
        let page = browser.open(&path).await;
        assert!(page.contains("Waiting for the first ping.") && page.contains(&format!("/ping/{uuid}")), "{page}");

        world.client.ping(&uuid, "").await;
        world.client.ping(&uuid, "/start").await;
        world.pass(Span::minutes(22)).await;
        let body = "\u{1b}[31merror: <b>No space</b> left\u{1b}[0m on device";
        world.client.ping_with(&uuid, "/1", body.as_bytes()).await;
        world.tick().await;
        world.pass(Span::minutes(20)).await;
        let page = browser.open(&path).await;
        assert!(page.contains("Down for 20 min. Ended with exit status 1."), "{page}");
        assert!(page.contains("It failed at 03:34 after 22 min. The last good run ended 03:12, 42 min ago."), "{page}");
        assert!(page.contains("error: &#60;b&#62;No space&#60;/b&#62; left on device"), "the tail in the verdict");
        assert!(page.contains("<span class=\"ink-1\">error: &lt;b&gt;No space&lt;/b&gt; left</span>"), "the log");
        assert!(page.contains("1 of 2") && page.contains("failed after 22 min"), "the plot");
        assert!(page.contains("Went down") && page.contains(">22 min</td>"), "the log");
        assert!(page.contains("<title>(down) Dump"), "the title");
        assert!(page.contains("Sent</span>"), "the delivery");
        assert!(page.contains("20 min<span class=\"sub\">once</span>"), "the downtime");

        let failures = browser.open(&format!("{path}?kind=failures")).await;
        assert!(failures.contains("exit status 1") && !failures.contains("success</span>"), "{failures}");
    }

    async fn a_read_only_member_sees_no_address_and_no_button(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "Dump", "slug": "dump"})).await;
        world.sign_up("reader@example.org", "free").await;
        world.add_member("reader@example.org", flatline::accounts::Role::Readonly).await;
        let reader = Browser::signed_in(&world, "reader@example.org").await;
        for path in [format!("/checks/{uuid}"), format!("/projects/{}", world.owner.project)] {
            let page = reader.open(&path).await;
            assert!(!page.contains("/ping/") && !page.contains(&world.owner.ping_key), "{page}");
            assert!(!page.contains("/pause") && !page.contains("/edit") && !page.contains("/new-check"), "{page}");
        }
    }

    async fn a_check_is_paused_copied_and_deleted_from_its_page(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "Dump", "slug": "dump", "tags": "a", "channels": "*"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let path = format!("/checks/{uuid}");
        assert_eq!(browser.post_from(&path, &format!("{path}/pause"), &[]).await.status, 303);
        assert!(browser.open(&path).await.contains("Paused since 03:12."));
        assert_eq!(browser.post_from(&path, &format!("{path}/resume"), &[]).await.status, 303);
        assert_eq!(world.client.status(&uuid).await, "new");

        let copied = browser.post_from(&path, &format!("{path}/copy"), &[]).await;
        let form = copied.header("location").expect("its form").to_owned();
        let copy = form.trim_start_matches("/checks/").trim_end_matches("/edit").to_owned();
        let (old, new) = (world.client.read(&uuid).await, world.client.read(&copy).await);
        assert_eq!((new["name"].as_str(), new["slug"].as_str()), (Some("Dump (copy)"), Some("")));
        assert_eq!((&new["tags"], &new["channels"]), (&old["tags"], &old["channels"]));

        let deleted = browser.post_from(&path, &format!("{path}/delete"), &[]).await;
        let back = deleted.header("location").expect("the list").to_owned();
        assert_eq!(browser.get(&path).await.status, 404);
        assert!(browser.open(&back).await.contains("Undo"));
    }

    async fn a_body_is_shown_whole_and_saved_as_it_came(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "Dump"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let long = format!("{}the end", "line\n".repeat(1000));
        world.client.ping_with(&uuid, "", long.as_bytes()).await;
        world.client.ping_with(&uuid, "/log", &[0, 159, 146, 150, 0]).await;
        let page = browser.open(&format!("/checks/{uuid}")).await;
        assert!(page.contains("Output, 5007 bytes") && !page.contains("the end"), "only its beginning");
        assert!(browser.open(&format!("/checks/{uuid}/log/1")).await.contains("the end</pre>"));
        let bytes = browser.open(&format!("/checks/{uuid}/log/2")).await;
        assert!(bytes.contains("000000  00 9f 92 96 00"), "{bytes}");
        let saved = browser.get(&format!("/checks/{uuid}/log/2/body")).await;
        assert_eq!(saved.body, [0, 159, 146, 150, 0]);
        assert_eq!(saved.header("content-type"), Some("application/octet-stream"));
        assert!(saved.header("content-disposition").is_some_and(|text| text.starts_with("attachment")));
        assert_eq!(browser.get(&format!("/checks/{uuid}/log/3")).await.status, 404);
    }

    async fn each_attempt_of_a_delivery_is_listed_with_its_answer_and_what_follows(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let receiver = Receiver::new().await;
        receiver.answer(503);
        let request = json!({"method": "POST", "url": receiver.url, "body": ""});
        let hook = world.channel("webhook", &json!({"down": request})).await;
        let uuid = world.client.check(&json!({"name": "Dump", "channels": hook.uuid.to_string()})).await;
        world.client.ping(&uuid, "/fail").await;
        world.app.deliver().await.unwrap();
        let browser = Browser::signed_in(&world, OWNER).await;
        let path = format!("/checks/{uuid}");
        let page = browser.open(&path).await;
        let tries = |page: &str| page.split("<ol class=\"tries\">").nth(1).map(|rest| text(rest.split("</ol>").next().unwrap()));
        assert!(page.contains("Trying again") && page.contains("<summary>1 attempt</summary>"), "{page}");
        let listed = tries(&page).expect("the first attempt");
        assert!(listed.starts_with("03:12:00: The target answered 503. Next attempt 03:12:1"), "{listed}");

        receiver.answer(200);
        world.advance(Span::seconds(19));
        world.app.deliver().await.unwrap();
        let page = browser.open(&path).await;
        assert!(page.contains("Sent</span>") && page.contains("<summary>2 attempts</summary>"), "{page}");
        let listed = tries(&page).expect("both attempts");
        assert!(listed.starts_with("03:12:00: The target answered 503. Next attempt 03:12:1"), "{listed}");
        assert!(listed.ends_with("03:12:19: The target answered 200."), "{listed}");

        world.client.ping(&uuid, "").await;
        world.client.ping(&uuid, "/fail").await;
        world.app.deliver().await.unwrap();
        let page = browser.open(&path).await;
        assert_eq!(page.matches("class=\"tries\"").count(), 1, "one attempt that was taken needs no list");
        assert!(page.contains("The target answered 200. 1 attempt."), "{page}");
    }

    async fn a_time_that_nobody_watched_stands_in_the_log_at_its_place(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "Dump", "timeout": 864_000, "grace": 3600})).await;
        world.client.ping(&uuid, "/log").await;
        world.app.stamp().await.unwrap();
        world.advance(Span::hours(3));
        world.app.stamp().await.unwrap();
        world.advance(Span::seconds(1));
        world.client.ping(&uuid, "").await;
        let young = world.client.check(&json!({"name": "young"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = browser.open(&format!("/checks/{uuid}")).await;
        let log = text(page.split("<section class=\"panel\" id=\"log\"").nth(1).unwrap());
        let at = |what: &str| log.find(what).unwrap_or_else(|| panic!("{what}: {log}"));
        let row = "06:12 not watched 3 h From 03:12 to 06:12 Flatline was not watching: pings could not be taken.";
        assert!(at("success") < at(row) && at(row) < at("03:12 log"), "{log}");
        assert!(page.contains("class=\"gap\"") && page.contains("03:12 to 06:12: Flatline was not watching"), "the plot");
        let changes = browser.open(&format!("/checks/{uuid}?kind=changes")).await;
        assert!(changes.contains("From 03:12 to 06:12 Flatline was not watching"), "{changes}");
        let runs = browser.open(&format!("/checks/{uuid}?kind=runs")).await;
        assert!(!runs.contains("From 03:12 to 06:12"), "{runs}");
        assert!(!browser.open(&format!("/checks/{young}")).await.contains("From 03:12 to 06:12"), "before its time");
    }

    async fn older_entries_are_a_page_further(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "Dump"})).await;
        for _ in 0..45 {
            world.client.ping(&uuid, "").await;
            world.advance(Span::seconds(1));
        }
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = browser.open(&format!("/checks/{uuid}")).await;
        assert_eq!(page.matches("success</span>").count(), 40);
        let older = browser.open(&format!("/checks/{uuid}?kind=&before=6")).await;
        assert_eq!(older.matches("success</span>").count(), 5);
        assert!(older.contains("Came up"), "{older}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_pings_are_told_with_the_rule_and_late_ones_with_their_hours() {
    let world = World::new(Engine::Sqlite, "pro").await;
    let spec = json!({"name": "nightly", "schedule": "12 * * * *", "tz": "Europe/Berlin", "grace": 3600});
    let check = world.client.check(&spec).await;
    let browser = Browser::signed_in(&world, OWNER).await;
    let page = format!("/checks/{check}");
    assert_eq!(world.client.ping(&check, "").await.status, 200);
    assert!(!browser.open(&page).await.contains("refused for coming too fast"));
    for _ in 0..2 {
        assert_eq!(world.client.ping(&check, "").await.status, 429);
    }
    let html = browser.open(&page).await;
    let words = "2 pings were refused for coming too fast, the last one (success) now. The plan takes one every 1 minute;";
    assert!(html.contains(words), "{html}");

    let daily = json!({"name": "daily", "schedule": "12 2 * * *", "tz": "UTC", "grace": 86400});
    let daily = world.client.check(&daily).await;
    for _ in 0..3 {
        assert_eq!(world.client.ping(&daily, "").await.status, 200);
        world.advance(Span::hours(24));
    }
    let html = browser.open(&format!("/checks/{daily}")).await;
    assert!(html.contains("The last 3 good pings came 1 hour after their time."), "{html}");
}
