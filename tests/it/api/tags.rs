//! `ETag`, `If-None-Match` and `If-Match` on single checks.

use serde_json::json;

use crate::support::{Answer, Client, Engine, World, on_both};

const CHANGES: [(&str, &str); 4] = [("POST", ""), ("POST", "/pause"), ("POST", "/resume"), ("DELETE", "")];

async fn tag(client: &Client, check: &str) -> String {
    client.get(&format!("checks/{check}")).await.header("etag").expect("a tag").to_owned()
}

async fn call(client: &Client, method: &str, path: &str, header: (&str, &str)) -> Answer {
    client.send(method, &format!("/api/v3/checks/{path}"), &[header], Vec::new()).await
}

on_both! {
    async fn an_answer_that_the_caller_has_is_not_sent_again_until_anything_in_it_changes(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "job"})).await;
        let known = tag(&world.client, &check).await;
        let readonly = world.client.with_key(&world.owner.api_key_readonly);
        for named in [known.clone(), format!("\"other\", W/{known}"), "*".to_owned()] {
            let answer = call(&world.client, "GET", &check, ("If-None-Match", &named)).await;
            assert_eq!((answer.status, answer.body.len()), (304, 0), "{named}");
            assert_eq!(answer.header("etag"), Some(known.as_str()), "{named}");
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{named}");
        }
        assert_eq!(call(&readonly, "GET", &check, ("If-None-Match", &known)).await.status, 200);
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        let answer = call(&world.client, "GET", &check, ("If-None-Match", &known)).await;
        assert_eq!((answer.status, answer.json()["n_pings"].as_i64()), (200, Some(1)));
        assert_ne!(tag(&world.client, &check).await, known);
    }

    async fn a_change_of_another_revision_than_the_named_one_is_refused(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "job"})).await;
        let old = tag(&world.client, &check).await;
        assert_eq!(world.client.post(&format!("checks/{check}"), &json!({"name": "edited"})).await.status, 200);
        for (method, action) in CHANGES {
            for named in [old.as_str(), "\"\"", "nonsense", "W/\"1-0123456789abcdef\""] {
                let answer = call(&world.client, method, &format!("{check}{action}"), ("If-Match", named)).await;
                assert_eq!(answer.status, 412, "{method} {action} {named}");
                assert_eq!(answer.json(), json!({"error": "the check was edited meanwhile"}));
            }
        }
        let shown = world.client.read(&check).await;
        assert_eq!((&shown["name"], &shown["status"]), (&json!("edited"), &json!("new")));
    }

    async fn a_change_of_the_named_revision_happens_whatever_was_pinged_meanwhile(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "job"})).await;
        for (method, action) in CHANGES {
            let named = format!("\"other\", {}", tag(&world.client, &check).await);
            if action != "/resume" {
                assert_eq!(world.client.ping(&check, "").await.status, 200);
            }
            let answer = call(&world.client, method, &format!("{check}{action}"), ("If-Match", &named)).await;
            assert_eq!(answer.status, 200, "{method} {action}: {}", answer.text());
        }
        let gone = call(&world.client, "POST", &check, ("If-Match", "*")).await;
        assert_eq!(gone.status, 404);
    }
}
