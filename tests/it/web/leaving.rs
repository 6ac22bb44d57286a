//! Taking everything along, and leaving with all of it.

use flatline::accounts::Role;
use flatline::db::Statement;
use flatline::time::Span;
use serde_json::{Value, json};

use super::browser::Browser;
use super::sign_in::set_password;
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";
const LEAVER: &str = "leaver@example.org";

const COUNT_LEFT: &Statement = &Statement {
    name: "COUNT_LEFT",
    text: "SELECT (SELECT COUNT(*) FROM accounts) AS accounts, (SELECT COUNT(*) FROM users) AS users, \
           (SELECT COUNT(*) FROM projects) AS projects, (SELECT COUNT(*) FROM members) AS members, \
           (SELECT COUNT(*) FROM checks) AS checks, (SELECT COUNT(*) FROM pings) AS pings, \
           (SELECT COUNT(*) FROM channels) AS channels, (SELECT COUNT(*) FROM api_keys) AS api_keys",
};

#[derive(Debug, PartialEq, Eq, sqlx::FromRow)]
struct Left {
    accounts: i64,
    users: i64,
    projects: i64,
    members: i64,
    checks: i64,
    pings: i64,
    channels: i64,
    api_keys: i64,
}

async fn left(world: &World) -> Left {
    let mut tx = world.app.db.begin_read().await.unwrap();
    tx.query(COUNT_LEFT).maybe().await.unwrap().unwrap()
}

async fn export(browser: &Browser) -> Value {
    let answer = browser.post_from("/account", "/account/export", &[]).await;
    assert_eq!(answer.header("content-disposition"), Some("attachment; filename=\"flatline.json\""));
    answer.json()
}

on_both! {
    async fn a_deleted_account_is_gone_with_its_projects_and_leaves_others_whole(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let before = left(&world).await;
        let new = world.sign_up(LEAVER, "free").await;
        world.add_member(LEAVER, Role::Member).await;
        let client = world.client.with_key(&new.api_key);
        let check = client.check(&json!({"name": "job", "channels": "*"})).await;
        for _ in 0..3 {
            assert_eq!(client.ping(&check, "").await.status, 200);
            world.pass(Span::minutes(6)).await;
        }
        world.sign_up("member@example.org", "free").await;
        let browser = Browser::signed_in(&world, LEAVER).await;
        set_password(&world, LEAVER, "correct horse").await;
        let page = browser.open("/account/delete").await;
        assert!(page.contains("Delete the account of leaver@example.org?") && page.contains(": 1 check"), "{page}");
        assert_eq!(browser.submit("/account/delete", &[("proof", "wrong")]).await.status, 422);
        client.read(&check).await;
        let done = browser.submit("/account/delete", &[("proof", "correct horse")]).await;
        assert_eq!(done.status, 200);
        assert!(done.text().contains("The account is deleted"));

        assert_eq!(browser.cookies(), "");
        assert_eq!(client.ping(&check, "").await.status, 404);
        assert_eq!(client.ping(&new.ping_key, "/job?create=1").await.status, 404);
        assert_eq!(client.get("checks/").await.status, 401);
        let fields = [("email", LEAVER), ("password", "correct horse")];
        assert_eq!(Browser::new(&world).submit("/sign-in", &fields).await.status, 422);
        world.tick().await;
        let now = left(&world).await;
        let other = 1;
        let whole = Left { accounts: before.accounts + other, users: before.users + other, projects: before.projects + other,
            members: before.members + other, channels: before.channels + other, api_keys: before.api_keys + 2 * other, ..before };
        assert_eq!(now, whole, "what is left is as it was, with one other account");
        assert_eq!(flatline::cli::examine(&world.app.db).await.unwrap(), Vec::<String>::new());
        world.sign_up(LEAVER, "free").await;
    }

    async fn the_account_that_runs_the_instance_cannot_be_deleted(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        assert!(owner.open("/account/delete").await.contains("This account runs the instance"));
        let answer = owner.post_from("/account", "/account/delete", &[]).await;
        assert_eq!(answer.status, 400);
        owner.open("/account").await;
    }

    async fn everything_is_in_the_export_but_no_secret(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.sign_up("reader@example.org", "free").await;
        world.add_member("reader@example.org", Role::Readonly).await;
        set_password(&world, OWNER, "correct horse").await;
        let hook = json!({"down": {"method": "POST", "url": "http://127.0.0.1:9/hook?key=hidden", "body": "", "headers": {"Authorization": "Bearer hidden"}}});
        world.channel("webhook", &hook).await;
        let quiet = world.client.check(&json!({"name": "quiet"})).await;
        let check = world.client.check(&json!({"name": "Näch\"tly", "tags": "a b", "channels": "*"})).await;
        // Longer than a page of rows, and longer than a piece of text.
        for number in 0..6 {
            world.client.ping_with(&check, if number % 2 == 0 { "" } else { "/fail" }, &[b'x'; 90_000]).await;
        }
        for _ in 0..600 {
            assert_eq!(world.client.ping(&check, "").await.status, 200);
        }
        world.client.ping_with(&check, "/log", &[0, 255, 1]).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let json = export(&owner).await;
        assert_eq!(json["user"]["email"], OWNER);
        assert_eq!(json["account"]["plan"], "unlimited");
        let project = &json["projects"][0];
        assert_eq!(project["uuid"], world.owner.project.to_string());
        assert_eq!(project["members"][1], json!({"email": "reader@example.org", "role": "readonly"}));
        assert_eq!(project["api_keys"].as_array().unwrap().len(), 2);
        assert_eq!(project["channels"][0]["address"], OWNER);
        assert_eq!(project["channels"][1]["kind"], "webhook");
        let checks = project["checks"].as_array().unwrap();
        assert_eq!((checks.len(), &checks[0]["uuid"]), (2, &json!(quiet)));
        assert_eq!((&checks[0]["log"], &checks[0]["flips"]), (&json!([]), &json!([])));
        assert_eq!(checks[1]["name"], "Näch\"tly");
        let log = checks[1]["log"].as_array().unwrap();
        let numbers: Vec<i64> = log.iter().map(|entry| entry["n"].as_i64().unwrap()).collect();
        assert_eq!(numbers, (1..=607).collect::<Vec<_>>());
        assert!(log[..6].iter().all(|entry| entry["body"].as_str().unwrap().len() == 90_000));
        assert_eq!(log[606]["body_base64"], "AP8B");
        let told: Vec<&str> = checks[1]["flips"].as_array().unwrap().iter().map(|flip| flip["to"].as_str().unwrap()).collect();
        assert_eq!(told, ["up", "down", "up", "down", "up", "down", "up"]);
        let text = json.to_string();
        for secret in ["hidden", "argon2", &world.owner.api_key, &world.owner.ping_key] {
            assert!(!text.contains(secret), "{secret}");
        }

        let reader = export(&Browser::signed_in(&world, "reader@example.org").await).await;
        assert_eq!(reader["projects"].as_array().unwrap().len(), 1, "their own, not the one they read");
        assert_eq!(reader["member_of"].as_array().unwrap().len(), 2);
        assert!(!reader.to_string().contains(&check));
    }
}
