//! The list of projects: where one lands, making one, deleting one and bringing it back.

use flatline::accounts::Role;
use flatline::time::Span;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";

/// Makes a project and returns its path.
async fn make(browser: &Browser, name: &str) -> String {
    let answer = browser.submit("/projects", &[("name", name)]).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    answer.header("location").expect("its page").to_owned()
}

async fn doctor(world: &World) -> Vec<String> {
    flatline::cli::examine(&world.app.db).await.expect("it can look")
}

on_both! {
    async fn whoever_has_several_projects_chooses_one_after_signing_in(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let first = format!("/projects/{}", world.owner.project);
        assert_eq!(browser.get("/").await.header("location"), Some(first.as_str()));
        let second = make(&browser, " <b>Green</b> \u{202e}house ").await;
        assert_eq!(browser.get("/").await.header("location"), Some("/projects"));
        let down = world.client.check(&json!({"name": "down"})).await;
        assert_eq!(world.client.ping(&down, "/fail").await.status, 200);
        let list = browser.open("/projects").await;
        assert!(list.contains("1 check is down") && list.contains("1 down</span>"), "{list}");
        assert!(list.contains("<bdi>&#60;b&#62;Green&#60;/b&#62; \u{202e}house</bdi>") && !list.contains("<b>Green"));
        let order = [first.as_str(), second.as_str()].map(|path| list.rfind(path).expect("it is listed"));
        assert!(order.is_sorted(), "trouble first");

        let page = browser.open(&second).await;
        assert!(page.contains("?create=1"), "its first check is one ping away: {page}");
        let channels = world.app.db.begin_read().await.map(|mut tx| async move {
            let uuid = second.rsplit('/').next().expect("a uuid").parse().expect("a uuid");
            let project = flatline::accounts::store::find_project_by_uuid(&mut tx, uuid).await.expect("read");
            flatline::alerts::store::list_channels(&mut tx, project.expect("it is there").id).await.expect("read")
        });
        let channels = channels.expect("a read").await;
        assert_eq!(channels.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>(), [OWNER]);
        assert_eq!(doctor(&world).await, Vec::<String>::new());
    }

    async fn a_name_is_needed_and_what_was_typed_is_kept(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let long = "x".repeat(61);
        let answer = browser.submit("/projects", &[("name", &long)]).await;
        assert_eq!(answer.status, 422);
        assert!(answer.text().contains("A name has at most 60 characters.") && answer.text().contains(&long));
    }

    async fn as_many_projects_are_made_in_a_day_as_the_limit_says(engine: Engine) {
        let world = World::new(engine, "free").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        for number in 0..50 {
            make(&browser, &format!("Project {number}")).await;
        }
        let refused = browser.submit("/projects", &[("name", "One more")]).await;
        assert_eq!(refused.status, 429);
        assert!(refused.text().contains("At most 50 per day are taken of this: projects made."), "{}", refused.text());
    }

    async fn a_deleted_project_is_gone_for_everybody_and_comes_back_whole(engine: Engine) {
        let world = World::new(engine, "free").await;
        world.sign_up("member@example.org", "free").await;
        world.add_member("member@example.org", Role::Member).await;
        let kept = world.client.check(&json!({"name": "kept", "slug": "kept", "timeout": 3600})).await;
        let gone = world.client.check(&json!({"name": "deleted before"})).await;
        assert_eq!(world.client.ping(&kept, "").await.status, 200);
        assert_eq!(world.client.delete(&format!("checks/{gone}")).await.status, 200);
        world.advance(Span::seconds(1));
        let browser = Browser::signed_in(&world, OWNER).await;
        let member = Browser::signed_in(&world, "member@example.org").await;
        let project = format!("/projects/{}", world.owner.project);
        let answer = browser.submit(&format!("{project}/settings"), &[]).await;
        assert_eq!(answer.status, 405);
        let deleted = browser.post_from(&format!("{project}/settings"), &format!("{project}/settings/delete"), &[]).await;
        let list = deleted.header("location").expect("the list").to_owned();
        assert_eq!(list, format!("/projects?deleted={}", world.owner.project));

        let by_name = format!("/ping/{}/kept", world.owner.ping_key);
        let ping = async || world.client.without_key().send("GET", &by_name, &[], Vec::new()).await.status;
        assert_eq!((world.client.ping(&kept, "").await.status, ping().await), (404, 404));
        assert_eq!(world.client.get("checks/").await.status, 401);
        assert_eq!((browser.get(&project).await.status, member.get(&project).await.status), (404, 404));
        assert_eq!(browser.get(&format!("/checks/{kept}")).await.status, 404);
        assert_eq!(doctor(&world).await, Vec::<String>::new());

        let page = browser.open(&list).await;
        assert!(page.contains("“<bdi>My project</bdi>” is deleted."), "{page}");
        assert!(!member.open(&list).await.contains("is deleted"), "it is for its owner to undo");
        let undo = [("project", world.owner.project.to_string())];
        let undo: Vec<(&str, &str)> = undo.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(member.post_from("/projects", "/projects/restore", &undo).await.status, 404);
        let back = browser.post_from(&list, "/projects/restore", &undo).await;
        assert_eq!((back.status, back.header("location")), (303, Some(project.as_str())));
        assert_eq!(browser.post_from(&list, "/projects/restore", &undo).await.status, 404, "once");
        assert_eq!(world.client.get("checks/").await.json()["checks"].as_array().map(Vec::len), Some(1));
        assert_eq!(member.get(&project).await.status, 200);
        // The floor of the plan is judged as ever: it was pinged a moment ago.
        assert_eq!((ping().await, world.client.read(&kept).await["n_pings"].clone()), (429, json!(1)));
        assert_eq!(doctor(&world).await, Vec::<String>::new());
    }

    async fn a_deletion_is_for_good_after_an_hour_and_coming_back_needs_room(engine: Engine) {
        let world = World::new(engine, "free").await;
        world.client.check(&json!({"name": "one"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let other = make(&browser, "Other").await;
        let key = browser.post_from("/projects", &format!("{other}/settings/keys"), &[("key_name", "test")]).await;
        let key = key.text().split("<code class=\"line\">").nth(1).expect("a key")[..32].to_owned();
        let project = format!("/projects/{}", world.owner.project);
        let ended = browser.post_from("/projects", &format!("{project}/settings/delete"), &[]).await;
        assert_eq!(ended.status, 303);
        let others = world.client.with_key(&key);
        for number in 0..20 {
            others.check(&json!({"name": format!("other {number}")})).await;
        }
        let uuid = world.owner.project.to_string();
        let undo = [("project", uuid.as_str())];
        let refused = browser.post_from("/projects", "/projects/restore", &undo).await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("The plan free has room for 20 checks"), "{}", refused.text());
        assert_eq!(browser.get(&project).await.status, 404, "nothing was brought back");

        world.pass(Span::minutes(60)).await;
        world.tick().await;
        assert!(!browser.open(&format!("/projects?deleted={uuid}")).await.contains("is deleted"));
        assert_eq!(browser.post_from("/projects", "/projects/restore", &undo).await.status, 404);
        assert_eq!(doctor(&world).await, Vec::<String>::new());
    }

    async fn whoever_closes_an_account_leaves_projects_that_are_deleted_for_now_too(engine: Engine) {
        let world = World::new(engine, "free").await;
        world.sign_up("member@example.org", "free").await;
        world.add_member("member@example.org", Role::Member).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let project = format!("/projects/{}", world.owner.project);
        let ended = browser.post_from("/projects", &format!("{project}/settings/delete"), &[]).await;
        assert_eq!(ended.status, 303);
        let now = world.clock.now();
        let mut tx = world.app.db.begin_write().await.expect("a write");
        let user = flatline::accounts::store::find_user_by_email(&mut tx, "member@example.org").await;
        let user = user.expect("read").expect("a user");
        flatline::removal::close_account(&mut tx, &user, now).await.expect("it can be closed");
        tx.commit().await.expect("stored");
        assert_eq!(doctor(&world).await, Vec::<String>::new());
        let undo = [("project", world.owner.project.to_string())];
        let undo: Vec<(&str, &str)> = undo.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(browser.post_from("/projects", "/projects/restore", &undo).await.status, 303);
        assert_eq!(doctor(&world).await, Vec::<String>::new());
    }
}
