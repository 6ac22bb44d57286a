//! Handing a project over: what moves with it, and who must agree.

use flatline::accounts::{self, Role};
use flatline::time::Span;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";
const HEIR: &str = "heir@example.org";

fn team(world: &World) -> String {
    format!("/projects/{}/team", world.owner.project)
}

/// A world in which the owner has offered the project to the heir; their browsers.
async fn offered(engine: Engine, owner_plan: &str, heir_plan: &str) -> (World, Browser, Browser) {
    let world = World::new(engine, owner_plan).await;
    world.sign_up(HEIR, heir_plan).await;
    world.add_member(HEIR, Role::Member).await;
    let owner = Browser::signed_in(&world, OWNER).await;
    let page = owner.open(&team(&world)).await;
    let option = page.split("<select id=\"f-member\"").nth(1).expect("a choice of members");
    let member = option.split("value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("one");
    let answer =
        owner.post_from(&team(&world), &format!("{}/offer", team(&world)), &[("member", member)]).await;
    assert_eq!(answer.status, 303);
    let heir = Browser::signed_in(&world, HEIR).await;
    (world, owner, heir)
}

async fn checks_used(world: &World, email: &str) -> i64 {
    let mut tx = world.app.db.begin_read().await.expect("a read");
    let user = accounts::store::find_user_by_email(&mut tx, email).await.expect("read").expect("a user");
    accounts::store::find_account(&mut tx, user.account_id)
        .await
        .expect("read")
        .expect("an account")
        .checks_used
}

async fn act(world: &World, browser: &Browser, verb: &str) -> crate::support::Answer {
    browser.post_from(&team(world), &format!("{}/{verb}", team(world)), &[]).await
}

async fn doctor(world: &World) {
    assert_eq!(flatline::cli::examine(&world.app.db).await.expect("it can look"), Vec::<String>::new());
}

on_both! {
    async fn checks_floors_deadlines_and_alerts_go_with_the_project(engine: Engine) {
        let (world, owner, heir) = offered(engine, "unlimited", "free").await;
        let simple = world.client.check(&json!({"name": "simple", "timeout": 600, "grace": 60})).await;
        let gone = world.client.check(&json!({"name": "deleted"})).await;
        assert_eq!(world.client.ping(&simple, "").await.status, 200);
        assert_eq!(world.client.delete(&format!("checks/{gone}")).await.status, 200);
        let deleted_at = world.clock.now().0.to_string();
        assert_eq!((checks_used(&world, OWNER).await, checks_used(&world, HEIR).await), (1, 0));
        assert!(owner.open(&team(&world)).await.contains("The project is offered to heir@example.org"));
        assert!(heir.open(&team(&world)).await.contains("owner@example.org offers you this project."));
        assert_eq!(act(&world, &owner, "accept").await.status, 404, "it is not offered to the owner");

        assert_eq!(act(&world, &heir, "accept").await.status, 303);
        assert_eq!((checks_used(&world, OWNER).await, checks_used(&world, HEIR).await), (0, 1));
        let row = crate::races::rows::row(&world.app.db, &simple).await;
        assert_eq!(row.floor_ms, Span::minutes(5));
        crate::races::rows::assert_consistent(&world.app.db, &simple).await;
        assert_eq!(row.state.deadline_at, Some(world.clock.now() + Span::seconds(600 + 60 + 300)));
        assert_eq!(world.client.ping(&simple, "").await.status, 429, "the new plan's floor");
        let page = heir.open(&team(&world)).await;
        assert!(page.contains("Hand the project over") && !page.contains("offers you"), "{page}");
        assert!(owner.open(&team(&world)).await.contains("Leave this project"));
        assert_eq!(act(&world, &heir, "accept").await.status, 404, "once");

        // What was deleted before comes back on the new owner's account, and its key goes on under that plan.
        let project = format!("/projects/{}", world.owner.project);
        let restored = heir.post_from(&team(&world), &format!("{project}/restore"), &[("at", &deleted_at)]).await;
        assert_eq!(restored.status, 303);
        assert_eq!((checks_used(&world, OWNER).await, checks_used(&world, HEIR).await), (0, 2));
        assert_eq!(world.client.get("checks/").await.header("ratelimit-limit"), Some("60"));
        world.pass(Span::minutes(17)).await;
        world.tick().await;
        let mut tx = world.app.db.begin_read().await.expect("a read");
        let user = accounts::store::find_user_by_email(&mut tx, HEIR).await.expect("read").expect("a user");
        let charged = accounts::store::find_account(&mut tx, user.account_id).await.expect("read").expect("one");
        assert_eq!(charged.alerts_used, 0, "no channel was told of these checks");
        drop(tx);
        doctor(&world).await;
    }

    async fn what_is_still_to_be_sent_is_charged_to_the_new_owner(engine: Engine) {
        let (world, _owner, heir) = offered(engine, "unlimited", "free").await;
        let check = world.client.check(&json!({"name": "job", "channels": "*"})).await;
        assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
        assert_eq!(act(&world, &heir, "accept").await.status, 303);
        world.tick().await;
        let used = async |email: &str| {
            let mut tx = world.app.db.begin_read().await.expect("a read");
            let user = accounts::store::find_user_by_email(&mut tx, email).await.expect("read").expect("a user");
            accounts::store::find_account(&mut tx, user.account_id).await.expect("read").expect("one").alerts_used
        };
        assert_eq!((used(OWNER).await, used(HEIR).await), (0, 1));
    }

    async fn a_plan_without_room_for_the_checks_refuses_and_nothing_happens(engine: Engine) {
        let (world, owner, heir) = offered(engine, "unlimited", "free").await;
        for number in 0..21 {
            world.client.check(&json!({"name": format!("job {number}")})).await;
        }
        let refused = act(&world, &heir, "accept").await;
        assert_eq!(refused.status, 400);
        let words = "Your plan free has room for 20 checks. With the 21 of this project you would have more.";
        assert!(refused.text().contains(words), "{}", refused.text());
        assert_eq!((checks_used(&world, OWNER).await, checks_used(&world, HEIR).await), (21, 0));
        assert!(owner.open(&team(&world)).await.contains("offered to heir@example.org"), "it still is");
        let check = world.client.get("checks/").await.json()["checks"][0]["uuid"].as_str().map(str::to_owned);
        assert_eq!(world.client.delete(&format!("checks/{}", check.expect("one"))).await.status, 200);
        assert_eq!(act(&world, &heir, "accept").await.status, 303);
        doctor(&world).await;
    }

    async fn a_plan_without_room_for_the_members_refuses(engine: Engine) {
        let (world, _owner, heir) = offered(engine, "unlimited", "free").await;
        for email in ["a@example.org", "b@example.org"] {
            world.sign_up(email, "free").await;
            world.add_member(email, Role::Readonly).await;
        }
        let refused = act(&world, &heir, "accept").await;
        assert_eq!(refused.status, 400);
        assert!(refused.text().contains("Your plan free has room for 3 members"), "{}", refused.text());
        assert_eq!(act(&world, &Browser::signed_in(&world, "a@example.org").await, "leave").await.status, 303);
        assert_eq!(act(&world, &heir, "accept").await.status, 303);
        doctor(&world).await;
    }

    async fn an_offer_ends_when_it_is_withdrawn_turned_down_or_its_member_leaves(engine: Engine) {
        for (end, by_owner) in [("withdraw", true), ("withdraw", false), ("leave", false)] {
            let (world, owner, heir) = offered(engine, "free", "free").await;
            let ended = act(&world, if by_owner { &owner } else { &heir }, end).await;
            assert_eq!(ended.status, 303);
            let accept = format!("{}/accept", team(&world));
            assert_eq!(heir.post_from("/account", &accept, &[]).await.status, 404, "{end}");
            assert!(!owner.open(&team(&world)).await.contains("is offered to"), "{end}");
            doctor(&world).await;
        }
    }
}
