//! Where `CONTRACT` 3 and 4 are exact and `tests/conformance` does not look.

use serde_json::json;

use crate::support::{Engine, World, on_both};

on_both! {
    async fn a_deleted_check_is_shown_as_it_was_but_with_no_channels(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.create(&json!({"name": "job", "channels": "*"})).await;
        assert_eq!(check["channels"].as_str().map(str::len), Some(36));
        let path = format!("checks/{}", check["uuid"].as_str().unwrap());
        let mut as_it_was = check.clone();
        as_it_was["channels"] = json!("");
        let answer = world.client.delete(&path).await;
        assert_eq!((answer.status, answer.json()), (200, as_it_was));
        assert_eq!(world.client.delete(&path).await.status, 404);
    }

    async fn a_projects_metrics_are_plain_text(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let path = format!("/projects/{}/metrics/{}", world.owner.project, world.owner.api_key_readonly);
        let answer = world.client.without_key().send("GET", &path, &[], Vec::new()).await;
        assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/plain")));
    }

    async fn the_last_of_a_repeated_field_counts_and_an_unknown_one_is_ignored(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let body = br#"{"name": "first", "name": "second", "nothing": null}"#.to_vec();
        let answer = world.client.send("POST", "/api/v3/checks/", &[], body).await;
        assert_eq!((answer.status, &answer.json()["name"]), (201, &json!("second")));
    }
}
