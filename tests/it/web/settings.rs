//! A project's settings: its name, ping key and API keys, and who sees them.

use flatline::accounts::Role;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";

fn settings(world: &World) -> String {
    format!("/projects/{}/settings", world.owner.project)
}

/// The text of the first element that is one line of code.
fn line_in(page: &str) -> String {
    let rest = page.split("<code class=\"line\">").nth(1).expect("a line");
    rest.split("</code>").next().expect("its end").to_owned()
}

on_both! {
    async fn a_project_is_renamed_and_no_name_is_markup(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let (page, form) = (settings(&world), format!("{}/name", settings(&world)));
        let evil = "<script>alert(1)</script>\"'><img src=x onerror=a()>";
        assert_eq!(browser.post_from(&page, &form, &[("name", evil)]).await.status, 303);
        for path in [&page, "/projects", &format!("/projects/{}/team", world.owner.project), "/usage"] {
            let html = browser.open(path).await;
            assert!(!html.contains("<script>alert") && !html.contains("<img"), "{path}: {html}");
        }
        let refused = browser.post_from(&page, &form, &[("name", "")]).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text().contains("A project needs a name."), "{}", refused.text());
        assert!(browser.open(&page).await.contains("<h1><bdi>&#60;script&#62;"), "nothing was saved");
    }

    async fn a_replaced_ping_key_ends_the_addresses_that_hold_it(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.client.check(&json!({"name": "job", "slug": "job"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let (page, form) = (settings(&world), format!("{}/ping-key", settings(&world)));
        let ping = async |key: &str| {
            world.client.without_key().send("GET", &format!("/ping/{key}/job"), &[], Vec::new()).await.status
        };
        assert_eq!(ping(&world.owner.ping_key).await, 200);
        assert_eq!(browser.post_from(&page, &form, &[]).await.status, 303);
        let shown = browser.open(&page).await;
        let line = line_in(&shown);
        let key = line.strip_prefix("http://flatline.test/ping/").and_then(|rest| rest.split('/').next());
        let key = key.expect("the new key").to_owned();
        assert_eq!((ping(&world.owner.ping_key).await, ping(&key).await), (404, 200));
        assert_eq!(browser.post_from(&page, &format!("{form}/remove"), &[]).await.status, 303);
        assert_eq!(ping(&key).await, 404);
        assert!(browser.open(&page).await.contains("Make a ping key"));
    }

    async fn an_api_key_is_shown_once_and_works_until_it_is_revoked(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let (page, form) = (settings(&world), format!("{}/keys", settings(&world)));
        let made = browser.post_from(&page, &form, &[("key_name", "Deploy <i>")]).await;
        assert_eq!((made.status, made.header("cache-control")), (200, Some("no-store")));
        let key = line_in(&made.text());
        assert!(key.starts_with("hcw_") && key.len() == 32, "{key}");
        let reading = browser.post_from(&page, &form, &[("key_name", "Wall"), ("readonly", "on")]).await;
        let reading = line_in(&reading.text());
        assert!(reading.starts_with("hcr_"), "{reading}");
        let (client, reader) = (world.client.with_key(&key), world.client.with_key(&reading));
        assert_eq!(client.post("checks/", &json!({"name": "job"})).await.status, 201);
        assert_eq!(reader.post("checks/", &json!({"name": "job"})).await.status, 401);
        assert_eq!(reader.get("checks/").await.status, 200);

        let shown = browser.open(&page).await;
        assert!(!shown.contains(&key) && shown.contains(&format!("<code>{}…</code>", &key[..8])), "{shown}");
        assert!(shown.contains("<bdi>Deploy &#60;i&#62;</bdi>"), "{shown}");
        let row = shown.split("Deploy &#60;i&#62;</bdi>").nth(1).expect("its row");
        let revoke = row.split("action=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a form");
        assert_eq!(browser.post_from(&page, revoke, &[]).await.status, 303);
        assert_eq!(client.get("checks/").await.status, 401);
        assert_eq!(browser.post_from(&page, revoke, &[]).await.status, 404, "once");
        assert_eq!(flatline::cli::examine(&world.app.db).await.expect("it can look"), Vec::<String>::new());
    }

    async fn a_project_has_at_most_fifty_keys(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let (page, form) = (settings(&world), format!("{}/keys", settings(&world)));
        let mut making = tokio::task::JoinSet::new();
        for number in 0..60 {
            let (browser, page, form) = (browser.clone(), page.clone(), form.clone());
            let name = format!("key {number}");
            making.spawn(async move { browser.post_from(&page, &form, &[("key_name", &name)]).await.status });
        }
        let statuses = making.join_all().await;
        let of = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        // Two were there.
        assert_eq!((of(200), of(422)), (48, 12), "{statuses:?}");
        assert_eq!(flatline::cli::examine(&world.app.db).await.expect("it can look"), Vec::<String>::new());
    }

    async fn a_read_only_member_sees_neither_ping_addresses_nor_keys(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.sign_up("readonly@example.org", "free").await;
        world.add_member("readonly@example.org", Role::Readonly).await;
        let check = world.client.check(&json!({"name": "job", "slug": "job"})).await;
        assert_eq!(world.client.ping_with(&check, "", b"said something").await.status, 200);
        let browser = Browser::signed_in(&world, "readonly@example.org").await;
        let project = format!("/projects/{}", world.owner.project);
        let secrets = [
            world.owner.ping_key.as_str(),
            &world.owner.api_key[..8],
            &world.owner.api_key_readonly[..8],
            "flatline.test/ping/",
            "create=1",
        ];
        let team = format!("{project}/team");
        let (page, entry) = (format!("/checks/{check}"), format!("/checks/{check}/log/1"));
        for path in ["/projects", &project, &team, &page, &entry, "/usage", "/account"] {
            let html = browser.open(path).await;
            for secret in secrets {
                assert!(!html.contains(secret), "{path} shows {secret}");
            }
            assert!(!html.contains("/settings"), "{path} leads to what is closed to them");
        }
        for path in [settings(&world), format!("/checks/{check}/edit"), format!("{project}/new-check")] {
            let answer = browser.get(&path).await;
            assert_eq!(answer.status, 403);
            assert!(!secrets.iter().any(|secret| answer.text().contains(secret)), "{path}");
        }
    }
}
