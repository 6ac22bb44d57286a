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

    async fn a_whole_number_of_any_size_is_too_large_or_too_small(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let digits = "1".repeat(400);
        for (number, what) in [
            ("100000000000000000000".to_owned(), "is too large"),
            (digits.clone(), "is too large"),
            (format!("-{digits}"), "is too small"),
            ("-0".to_owned(), "is too small"),
            ("6e1".to_owned(), "is not a number"),
            ("60.0".to_owned(), "is not a number"),
        ] {
            let body = format!("{{\"timeout\": {number}}}").into_bytes();
            let answer = world.client.send("POST", "/api/v3/checks/", &[], body).await;
            let says = format!("json validation error: timeout {what}");
            assert_eq!((answer.status, answer.json()), (400, json!({"error": says})), "{number}");
        }
        let body = format!("{{\"nothing\": {digits}}}").into_bytes();
        assert_eq!(world.client.send("POST", "/api/v3/checks/", &[], body).await.status, 201);
    }

    async fn the_last_of_a_repeated_parameter_counts(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({})).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        for (query, status) in [
            ("seconds=x&seconds=60", 200),
            ("seconds=60&seconds=x", 400),
            ("start=x&start=", 200),
            ("end=9&end=10000000000", 200),
        ] {
            let answer = world.client.get(&format!("checks/{uuid}/flips/?{query}")).await;
            assert_eq!(answer.status, status, "{query}");
            if status == 200 {
                assert_eq!(answer.json()["flips"].as_array().unwrap().len(), 1, "{query}");
            }
        }
    }

    async fn a_start_shows_when_the_grace_begins_unless_the_check_is_down(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let started = "2026-03-26T03:12:00+00:00";
        for (deed, next) in [("", json!(started)), ("pause", json!(started)), ("fail", json!(null))] {
            let uuid = world.client.check(&json!({})).await;
            match deed {
                "pause" => assert_eq!(world.client.post(&format!("checks/{uuid}/pause"), &json!({})).await.status, 200),
                "fail" => assert_eq!(world.client.ping(&uuid, "/fail").await.status, 200),
                _ => {}
            }
            assert_eq!(world.client.ping(&uuid, "/start").await.status, 200);
            let shown = world.client.read(&uuid).await;
            assert_eq!((&shown["started"], &shown["next_ping"]), (&json!(true), &next), "{deed}");
        }
    }

    async fn browsers_may_read_whatever_stands_under_api(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({})).await;
        let send = async |method: &str, path: String| world.client.send(method, &path, &[], Vec::new()).await;
        for (method, path, status) in [
            ("GET", "/api/v3/nothing".to_owned(), 404),
            ("GET", "/api/v4/checks/".to_owned(), 404),
            ("GET", format!("/api/v9/checks/{uuid}"), 404),
            ("GET", format!("/api/v3/checks/{uuid}/"), 404),
            ("GET", format!("/api/v3/checks/{uuid}/pings/+1/body"), 404),
            ("POST", "/api/v3/checks".to_owned(), 301),
            ("PUT", "/api/v3/checks/".to_owned(), 405),
        ] {
            let answer = send(method, path.clone()).await;
            let told = (answer.status, answer.header("access-control-allow-origin"), answer.text());
            assert_eq!(told, (status, Some("*"), String::new()), "{method} {path}");
        }
        // What is refused is said to be, HEAD among it.
        for method in ["HEAD", "PUT", "FROB"] {
            let answer = send(method, format!("/api/v3/checks/{uuid}")).await;
            assert_eq!((answer.status, answer.header("allow")), (405, Some("DELETE, GET, POST, OPTIONS")), "{method}");
        }
    }

    async fn a_browser_that_asks_first_may_ping_in_any_way(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({})).await;
        let answer = world.client.without_key().send("OPTIONS", &format!("/ping/{uuid}"), &[], Vec::new()).await;
        let told = ["origin", "methods", "headers"].map(|what| answer.header(&format!("access-control-allow-{what}")));
        let methods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
        assert_eq!((answer.status, told), (204, [Some("*"), Some(methods), Some("*")]));
        assert_eq!(world.client.read(&uuid).await["n_pings"], 0);
    }
}
