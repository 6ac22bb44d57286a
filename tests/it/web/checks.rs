//! The list of a project's checks.

use flatline::time::Span;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World, key_of, on_both};

const OWNER: &str = "owner@example.org";

fn list(world: &World) -> String {
    format!("/projects/{}", world.owner.project)
}

on_both! {
    async fn trouble_comes_first_with_its_reason(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let up = world.client.check(&json!({"name": "aaa", "timeout": 86400})).await;
        let silent = world.client.check(&json!({"name": "zzz", "timeout": 60, "grace": 60, "tags": "backup"})).await;
        let failed = world.client.check(&json!({"name": "mmm", "timeout": 86400})).await;
        world.client.check(&json!({"name": "nnn"})).await;
        for uuid in [&up, &silent] {
            assert_eq!(world.client.ping(uuid, "").await.status, 200);
        }
        assert_eq!(world.client.ping(&failed, "/3").await.status, 200);
        let browser = Browser::signed_in(&world, OWNER).await;
        world.pass(Span::seconds(90)).await;
        let page = browser.open(&list(&world)).await;
        assert!(page.contains("1 check is down, 1 is late"), "{page}");

        world.pass(Span::seconds(60)).await;
        world.tick().await;
        let page = browser.open(&list(&world)).await;
        assert!(page.contains("2 checks are down") && page.contains("<title>(2 down) My project"), "{page}");
        assert!(page.contains("Silent. Expected at 03:13, allowed until 03:14."), "{page}");
        assert!(page.contains("Ended with exit status 3."), "{page}");
        let order: Vec<usize> = ["mmm", "zzz", "nnn", "aaa"]
            .iter()
            .map(|name| page.find(&format!("<bdi>{name}</bdi>")).expect("it is there"))
            .collect();
        assert!(order.is_sorted(), "{order:?}");
        assert!(page.contains("title=\"Thursday 26 March 2026 03:12:00, UTC\">2 min ago</time>"), "{page}");
        assert!(page.contains("Last 30 days: 1 with a failure, 29 without a ping"), "{page}");

        let narrowed = browser.open(&format!("{}?tag=backup&status=down", list(&world))).await;
        assert!(narrowed.contains("<bdi>zzz</bdi>") && !narrowed.contains("<bdi>mmm</bdi>"));
        let none = browser.open(&format!("{}?q=nothing+like+it", list(&world))).await;
        assert!(none.contains("No check says “nothing like it”."), "{none}");
    }

    async fn several_are_paused_tagged_deleted_and_brought_back_at_once(engine: Engine) {
        let world = World::new(engine, "free").await;
        let mut uuids = Vec::new();
        for name in ["one", "two", "three"] {
            uuids.push(world.client.check(&json!({"name": name})).await);
        }
        let browser = Browser::signed_in(&world, OWNER).await;
        let bulk = format!("{}/bulk", list(&world));
        let ticked = |extra: &[(&'static str, &'static str)]| {
            let mut fields = vec![("check", key_of(&uuids[0])), ("check", key_of(&uuids[2]))];
            fields.extend(extra.iter().map(|(name, value)| (*name, (*value).to_owned())));
            fields
        };
        let send = async |extra: &[(&'static str, &'static str)]| {
            let fields = ticked(extra);
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            browser.post_from("/account", &bulk, &fields).await
        };
        send(&[("do", "pause")]).await;
        assert_eq!(world.client.status(&uuids[0]).await, "paused");
        assert_eq!(world.client.status(&uuids[1]).await, "new");
        send(&[("do", "resume")]).await;
        assert_eq!(world.client.status(&uuids[2]).await, "new");
        send(&[("do", "tag"), ("tag", "night home")]).await;
        send(&[("do", "tag"), ("tag", "night")]).await;
        assert_eq!(world.client.read(&uuids[0]).await["tags"], "night home");
        send(&[("do", "untag"), ("tag", "night")]).await;
        assert_eq!(world.client.read(&uuids[2]).await["tags"], "home");

        let deleted = send(&[("do", "delete")]).await;
        let back = deleted.header("location").expect("a page").to_owned();
        assert_eq!(world.client.get(&format!("checks/{}", uuids[0])).await.status, 404);
        assert_eq!(world.client.ping(&uuids[0], "").await.status, 404);
        let page = browser.open(&back).await;
        assert!(page.contains("Deleted.") && !page.contains("<bdi>one</bdi>"), "{page}");
        let at = back.split("deleted=").nth(1).expect("an instant").to_owned();
        let restore = format!("{}/restore", list(&world));
        assert_eq!(browser.post_from("/account", &restore, &[("at", &at)]).await.status, 303);
        assert_eq!(world.client.read(&uuids[0]).await["tags"], "home");
        assert_eq!(browser.post_from("/account", &restore, &[("at", &at)]).await.status, 404, "once");
    }

    async fn a_deletion_is_for_good_after_an_hour_and_needs_room(engine: Engine) {
        let world = World::new(engine, "free").await;
        let first = world.client.check(&json!({"name": "first"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let bulk = format!("{}/bulk", list(&world));
        let answer = browser.post_from("/account", &bulk, &[("check", &key_of(&first)), ("do", "delete")]).await;
        let at = answer.header("location").expect("a page").split("deleted=").nth(1).expect("an instant").to_owned();
        for number in 0..20 {
            world.client.check(&json!({"name": format!("other {number}")})).await;
        }
        let restore = format!("{}/restore", list(&world));
        let refused = browser.post_from("/account", &restore, &[("at", &at)]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("The plan free has room for 20 checks"), "{}", refused.text());
        assert!(browser.open(&list(&world)).await.contains("All <b>20</b>"), "nothing was brought back");
        world.pass(Span::minutes(60)).await;
        world.tick().await;
        assert_eq!(browser.post_from("/account", &restore, &[("at", &at)]).await.status, 404);
    }

    async fn what_people_wrote_is_never_markup(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>";
        let name = format!("{evil} \u{202e}سلام 🔥");
        let spec = json!({"name": name, "tags": "<b>x</b> \"y", "desc": evil, "success_kw": evil});
        let uuid = world.client.check(&spec).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let pages = [
            list(&world),
            format!("{}?q=%3Cscript%3Ealert(1)%3C/script%3E&tag=%22%3E%3Cscript%3E&sort=%22%3E", list(&world)),
            format!("/checks/{uuid}/edit"),
            "/sign-up?claim=%22%3E%3Cscript%3E".to_owned(),
        ];
        for path in pages {
            let html = browser.open(&path).await;
            assert!(!html.contains("<script>") && !html.contains("<img") && !html.contains("<b>x"), "{path}");
        }
        let guest = Browser::new(&world);
        let html = guest.open("/sign-in?next=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").await;
        assert!(!html.contains("<script>"));
        let html = guest.submit("/sign-in", &[("email", "\"><script>alert(1)</script>")]).await.text();
        assert!(!html.contains("<script>"));
    }
}

#[tokio::test]
async fn an_empty_project_shows_the_line_that_makes_its_first_check() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let browser = Browser::signed_in(&world, OWNER).await;
    let page = browser.open(&list(&world)).await;
    let line = format!("/ping/{}/my-first-check?create=1", world.owner.ping_key);
    assert!(page.contains(&line), "{page}");
    let path = line.replace("/ping/", "/");
    let (slug, query) = path.split_once('?').expect("a query");
    assert_eq!(world.client.ping(slug.trim_start_matches('/'), &format!("?{query}")).await.status, 201);
    assert!(browser.open(&list(&world)).await.contains("The one check is up"));
}
