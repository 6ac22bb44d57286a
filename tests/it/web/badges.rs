//! The page of badges.

use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";

on_both! {
    async fn every_tag_has_its_badge_in_every_form(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.client.check(&json!({"name": "one", "tags": "web backup"})).await;
        world.client.check(&json!({"name": "two", "tags": "web a/b]<x>"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = format!("/projects/{}/badges", world.owner.project);
        let listed = world.client.get("badges/").await.json()["badges"].clone();
        assert_eq!(listed.as_object().unwrap().len(), 4);
        for (format, states, name) in [("svg", "3", "svg3"), ("svg", "2", "svg"), ("json", "3", "json3"), ("shields", "2", "shields")] {
            let html = browser.open(&format!("{page}?format={format}&states={states}")).await;
            assert!(html.contains("Badges for the project and 3 tags"), "{html}");
            for (tag, urls) in listed.as_object().unwrap() {
                let url = urls[name].as_str().unwrap();
                assert!(html.contains(&format!("<code class=\"line\">{url}</code>")), "{tag}: {url}: {html}");
                let path = url.strip_prefix("http://flatline.test").unwrap();
                assert_eq!(Browser::new(&world).get(path).await.status, 200, "{path}");
            }
            assert!(!html.contains("<x>"), "{html}");
        }
        let html = browser.open(&page).await;
        assert!(html.contains("![a\\/b\\]\\&#60;x\\&#62;](http://flatline.test/badge/"), "{html}");
        assert!(html.contains("&#38;lt;x&#38;gt;&#34;&#62;"), "escaped for the snippet and once more for the page: {html}");
    }
}
