//! Checks that go to another project, alone and together, within an account and between two.

use flatline::accounts::{self, Role};
use flatline::checks::Status;
use flatline::time::Span;
use serde_json::json;

use super::browser::Browser;
use crate::races::rows;
use crate::support::{Client, Engine, World, key_of, on_both};

const OWNER: &str = "owner@example.org";
const OTHER: &str = "other@example.org";

/// Another account, in whose project the owner has a role.
struct Target {
    project: String,
    client: Client,
}

async fn target(world: &World, plan: &str, role: Role) -> Target {
    let new = world.sign_up(OTHER, plan).await;
    let mut tx = world.app.db.begin_write().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, OWNER).await.unwrap().unwrap();
    let project = accounts::store::find_project_by_uuid(&mut tx, new.project).await.unwrap().unwrap();
    accounts::store::create_member(&mut tx, project.id, user.id, role, world.clock.now()).await.unwrap();
    tx.commit().await.unwrap();
    Target { project: new.project.to_string(), client: world.client.with_key(&new.api_key) }
}

async fn used(world: &World, email: &str) -> i64 {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, email).await.unwrap().unwrap();
    accounts::store::find_account(&mut tx, user.account_id).await.unwrap().unwrap().checks_used
}

async fn move_one(browser: &Browser, check: &str, project: &str) -> (u16, String) {
    let answer = browser.submit(&format!("/checks/{check}/move"), &[("project", project)]).await;
    (answer.status, answer.text())
}

on_both! {
    async fn a_check_keeps_what_it_is_and_gets_channels_floor_and_place_of_where_it_goes(engine: Engine) {
        let world = World::new(engine, "pro").await;
        let target = target(&world, "free", Role::Member).await;
        let spec = json!({"name": "Dump", "slug": "dump", "timeout": 3600, "grace": 600});
        let check = world.client.check(&spec).await;
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        let before = rows::row(&world.app.db, &check).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        assert!(owner.open(&format!("/checks/{check}")).await.contains(&format!("/checks/{}/move", key_of(&check))));
        assert!(owner.open(&format!("/checks/{check}/move")).await.contains(&target.project));
        assert_eq!(move_one(&owner, &check, &target.project).await.0, 303);

        let after = rows::row(&world.app.db, &check).await;
        assert_eq!((after.uuid, after.badge_key, after.settings.slug.as_str()), (before.uuid, before.badge_key, "dump"));
        assert_eq!((before.floor_ms, after.floor_ms), (Span::minutes(1), Span::minutes(5)));
        let moved = after.state.deadline_at.unwrap() - before.state.deadline_at.unwrap();
        assert_eq!(moved, Span::minutes(4), "as on a change of plan");
        assert_eq!(world.client.get(&format!("checks/{check}")).await.status, 403);
        assert_ne!(target.client.read(&check).await["channels"], "", "all channels of the target");
        assert_eq!((used(&world, OWNER).await, used(&world, OTHER).await), (0, 1));
        assert_eq!(rows::log(&world.app.db, &check).await.len(), 1);

        let second = world.client.check(&spec).await;
        assert_eq!(move_one(&owner, &second, &target.project).await.0, 303);
        assert_eq!(target.client.read(&second).await["slug"], "", "it is taken there");
        assert_eq!(flatline::cli::examine(&world.app.db).await.unwrap(), Vec::<String>::new());
    }

    async fn several_go_together_or_none_where_there_is_no_room(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let target = target(&world, "free", Role::Manager).await;
        for number in 0..18 {
            target.client.check(&json!({"name": format!("theirs {number}")})).await;
        }
        let mut checks = Vec::new();
        for number in 0..3 {
            checks.push(world.client.check(&json!({"name": format!("ours {number}")})).await);
        }
        let owner = Browser::signed_in(&world, OWNER).await;
        let list = format!("/projects/{}", world.owner.project);
        assert!(owner.open(&list).await.contains(&format!("<option value=\"{}\">", target.project)));
        let bulk = async |checks: &[String]| {
            let mut fields = vec![("do", "move"), ("project", target.project.as_str())];
            let keys: Vec<String> = checks.iter().rev().map(|check| key_of(check)).collect();
            fields.extend(keys.iter().map(|key| ("check", key.as_str())));
            owner.post_from(&list, &format!("{list}/bulk"), &fields).await
        };
        let full = bulk(&checks).await;
        assert_eq!(full.status, 400);
        assert!(full.text().contains("The plan free, which that project is on, has no room"), "{}", full.text());
        assert_eq!((used(&world, OWNER).await, used(&world, OTHER).await), (3, 18));
        let moved = bulk(&checks[..2]).await;
        assert_eq!(moved.header("location"), Some(format!("/projects/{}", target.project).as_str()));
        assert_eq!((used(&world, OWNER).await, used(&world, OTHER).await), (1, 20));
        assert_eq!(flatline::cli::examine(&world.app.db).await.unwrap(), Vec::<String>::new());
    }

    async fn it_takes_a_say_in_both_projects(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let target = target(&world, "free", Role::Readonly).await;
        let check = world.client.check(&json!({"name": "job"})).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let path = format!("/checks/{check}/move");
        assert!(owner.open(&path).await.contains("There is no other project"));
        let answer = owner.post_from("/account", &path, &[("project", &target.project)]).await;
        assert_eq!(answer.status, 403, "reading there is not enough");
        let nowhere = [("project", "00000000-0000-4000-8000-000000000000")];
        assert_eq!(owner.post_from("/account", &path, &nowhere).await.status, 404);
        assert_eq!(Browser::signed_in(&world, OTHER).await.get(&path).await.status, 404);
        assert_eq!(rows::row(&world.app.db, &check).await.state.status, Status::New);
    }

    async fn a_down_that_nobody_was_told_goes_on_to_the_new_channels(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let target = target(&world, "unlimited", Role::Member).await;
        let check = world.client.check(&json!({"name": "job", "channels": "*"})).await;
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
        let open = rows::deliveries(&world.app.db, &check).await;
        assert_eq!(open.len(), 1);
        let owner = Browser::signed_in(&world, OWNER).await;
        assert_eq!(move_one(&owner, &check, &target.project).await.0, 303);
        let deliveries = rows::deliveries(&world.app.db, &check).await;
        let states: Vec<(&str, &str)> =
            deliveries.iter().map(|one| (one.tells.as_str(), one.state.as_str())).collect();
        assert_eq!(states, [("down", "superseded"), ("down", "due")]);
        assert!(owner.open(&format!("/checks/{check}")).await.contains("The check was moved to another project."));
        world.tick().await;
        let letters = world.outbox().await;
        let told = |who: &str| letters.iter().filter(|letter| letter.contains(&format!("To: {who}"))).count();
        assert_eq!((told(OWNER), told(OTHER)), (0, 1), "{letters:?}");
        world.pass(Span::minutes(1)).await;
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        world.tick().await;
        assert_eq!(rows::deliveries(&world.app.db, &check).await.len(), 3);
    }
}
