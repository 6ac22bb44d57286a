//! Making and changing a check by its form.

use serde_json::json;

use super::browser::{Browser, value_in};
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";
const FIELDS: [(&str, &str); 9] = [
    ("name", "Backup"),
    ("slug", "backup"),
    ("kind", "cron"),
    ("cron", "30 2 * * *"),
    ("zone", "Europe/Berlin"),
    ("grace", "10"),
    ("grace_unit", "minutes"),
    ("every", "1"),
    ("every_unit", "days"),
];

fn with<'a>(changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let kept = FIELDS.iter().filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    kept.copied().chain(changes.iter().copied()).collect()
}

on_both! {
    async fn a_check_is_made_by_the_form_and_told_to_the_chosen_channels(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let path = format!("/projects/{}/new-check", world.owner.project);
        let channel = value_in(&browser.open(&path).await, "channel").expect("the owner's address");
        let made = browser.submit(&path, &with(&[("channel", &channel)])).await;
        assert_eq!(made.status, 303, "{}", made.text());
        let uuid = made.header("location").expect("its page").trim_start_matches("/checks/").to_owned();
        let check = world.client.read(&uuid).await;
        assert_eq!(check["schedule"], "30 2 * * *");
        assert_eq!((check["tz"].as_str(), check["grace"].as_i64()), (Some("Europe/Berlin"), Some(600)));
        assert_eq!(check["channels"], channel);

        let again = browser.submit(&path, &FIELDS).await;
        assert_eq!(again.status, 422);
        assert!(again.text().contains("“Backup” has this slug already. Take another."), "{}", again.text());
    }

    async fn the_preview_saves_nothing_and_keeps_what_was_typed(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let path = format!("/projects/{}/new-check", world.owner.project);
        let shown = browser.submit(&path, &with(&[("preview", "1"), ("name", "Kept & shown")])).await;
        assert_eq!(shown.status, 200);
        let html = shown.text();
        assert!(html.contains("Every day at 02:30, Europe/Berlin") && html.contains("Kept &#38; shown"), "{html}");
        assert!(html.contains("Sun 29 March") && html.contains("+01:00 becomes +02:00"), "{html}");
        assert_eq!(world.client.get("checks/").await.json()["checks"], json!([]));
        let wrong = browser.submit(&path, &with(&[("cron", "61 * * * *"), ("grace", "ten")])).await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.text().contains("2 fields need mending. Nothing was saved yet."), "{}", wrong.text());
    }

    async fn of_two_who_edit_at_once_the_second_sees_both_versions(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "Backup", "timeout": 3600, "grace": 600})).await;
        let path = format!("/checks/{uuid}/edit");
        let (one, two) = (Browser::signed_in(&world, OWNER).await, Browser::signed_in(&world, OWNER).await);
        let rev = value_in(&one.open(&path).await, "rev").expect("a revision");
        let first = one.submit(&path, &with(&[("rev", &rev), ("name", "First")])).await;
        assert_eq!(first.status, 303, "{}", first.text());
        let second = two.submit(&path, &with(&[("rev", &rev), ("name", "Second"), ("grace", "11")])).await;
        assert_eq!(second.status, 409);
        let html = second.text();
        assert!(html.contains("Somebody saved this check while you were editing."), "{html}");
        assert!(html.contains("<bdi>First</bdi>") && html.contains("<bdi>Second</bdi>"), "{html}");
        assert!(html.contains("<bdi>10 minutes</bdi>") && html.contains("<bdi>11 minutes</bdi>"), "{html}");
        assert_eq!(world.client.read(&uuid).await["name"], "First");
        let rev = value_in(&html, "rev").expect("the revision of now");
        let third = two.submit(&path, &with(&[("rev", &rev), ("name", "Second"), ("grace", "11")])).await;
        assert_eq!(third.status, 303);
        assert_eq!(world.client.read(&uuid).await["name"], "Second");
    }

    async fn a_full_plan_is_named_with_its_limit(engine: Engine) {
        let world = World::new(engine, "free").await;
        for number in 0..20 {
            world.client.check(&json!({"name": format!("check {number}")})).await;
        }
        let browser = Browser::signed_in(&world, OWNER).await;
        let path = format!("/projects/{}/new-check", world.owner.project);
        let answer = browser.submit(&path, &FIELDS).await;
        assert_eq!(answer.status, 422);
        assert!(answer.text().contains("The plan free has room for 20 checks"), "{}", answer.text());
    }
}
