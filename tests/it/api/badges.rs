//! Badges as strangers see them: every state in every form, and that nothing in them can attack.

use flatline::time::Span;
use serde_json::{Value, json};

use crate::support::{Answer, Engine, World, on_both};

/// A check's badge in a form and number of states.
async fn badge(world: &World, check: &Value, states: u8, form: &str) -> Answer {
    let url = check["badge_url"].as_str().unwrap().replace("http://flatline.test", "");
    let path = url.replace("/b/2/", &format!("/b/{states}/")).replace(".svg", &format!(".{form}"));
    world.client.without_key().send("GET", &path, &[], Vec::new()).await
}

on_both! {
    async fn each_state_has_its_word_and_colour_and_late_is_told_where_three_are_asked_for(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.create(&json!({"name": "job", "timeout": 60, "grace": 60})).await;
        let uuid = check["uuid"].as_str().unwrap().to_owned();
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        for (passed, two, three, late, down) in [
            (Span::ZERO, ("up", "success", "#4c1"), ("up", "success", "#4c1"), 0, 0),
            (Span::seconds(60), ("up", "success", "#4c1"), ("late", "important", "#fe7d37"), 1, 0),
            (Span::seconds(61), ("down", "critical", "#e05d44"), ("down", "critical", "#e05d44"), 0, 1),
        ] {
            world.pass(passed).await;
            world.app.sweep().await.unwrap();
            for (states, (word, colour, fill)) in [(2, two), (3, three)] {
                let shown = badge(&world, &check, states, "json").await.json();
                assert_eq!(shown, json!({"status": word, "total": 1, "grace": late, "down": down}));
                let shown = badge(&world, &check, states, "shields").await.json();
                let expected = json!({"schemaVersion": 1, "label": "job", "message": word, "color": colour});
                assert_eq!(shown, expected);
                let picture = badge(&world, &check, states, "svg").await.text();
                assert!(picture.contains(&format!(">{word}<")) && picture.contains(fill), "{picture}");
            }
        }
    }

    async fn a_badge_runs_and_loads_nothing_and_is_never_kept(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let name = format!("<script>alert(1)</script>{}", "\"&'".repeat(25));
        let check = world.client.create(&json!({"name": name})).await;
        for form in ["svg", "json", "shields"] {
            let answer = badge(&world, &check, 2, form).await;
            let headers = [
                ("x-content-type-options", "nosniff"),
                ("cache-control", "max-age=0, no-cache, no-store, must-revalidate, private"),
                ("access-control-allow-origin", "*"),
                ("access-control-allow-methods", "GET, OPTIONS"),
            ];
            for (header, value) in headers {
                assert_eq!(answer.header(header), Some(value), "{form}: {header}");
            }
            let policy = (form == "svg").then_some("default-src 'none'; sandbox");
            assert_eq!(answer.header("content-security-policy"), policy, "{form}");
        }
        let picture = badge(&world, &check, 2, "svg").await.text();
        assert!(!picture.contains("<script"), "{picture}");
        assert!(picture.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&amp;&#39;"), "{picture}");
    }

    async fn a_badge_can_be_read_and_nothing_else(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.create(&json!({})).await;
        let path = check["badge_url"].as_str().unwrap().replace("http://flatline.test", "");
        for (method, status) in [("GET", 200), ("HEAD", 200), ("OPTIONS", 204), ("POST", 405), ("DELETE", 405)] {
            let answer = world.client.without_key().send(method, &path, &[], Vec::new()).await;
            assert_eq!((answer.status, answer.header("access-control-allow-origin")), (status, Some("*")), "{method}");
        }
        for gone in [path.replace("/b/2/", "/b/4/"), path.replace(".svg", ".png"), path.replace(".svg", "")] {
            assert_eq!(world.client.without_key().send("GET", &gone, &[], Vec::new()).await.status, 404, "{gone}");
        }
    }
}
