//! What pages weigh on the wire.

use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World};

const GZIP: (&str, &str) = ("Accept-Encoding", "gzip");

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_of_a_thousand_checks_is_under_100_kb() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let jobs =
        ["Dump of the main database", "Offsite copy", "Certificate renewal", "Search index", "Invoices"];
    let make = async |number: usize| {
        let name = format!("{} {number}", jobs[number % jobs.len()]);
        let tags = format!("team-{} {}", number % 7, ["backup", "web", "mail"][number % 3]);
        let check =
            world.client.check(&json!({"name": name, "tags": tags, "timeout": 60 * (number + 1)})).await;
        if number.is_multiple_of(2) {
            let signal = if number.is_multiple_of(50) { "/1" } else { "" };
            assert_eq!(world.client.ping(&check, signal).await.status, 200);
        }
    };
    stream::iter(0..1000).map(make).buffer_unordered(16).collect::<Vec<()>>().await;
    let browser = Browser::signed_in(&world, "owner@example.org").await;
    let page = format!("/projects/{}", world.owner.project);
    let html = browser.open(&page).await;
    assert_eq!(html.matches("<tr role=\"row\" id=").count(), 1000);
    let packed = browser.get_with(&page, &[GZIP]).await;
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < 100_000, "{} bytes", packed.body.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn style_and_script_together_are_under_40_kb() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let browser = Browser::signed_in(&world, "owner@example.org").await;
    let html = browser.open(&format!("/projects/{}", world.owner.project)).await;
    let loaded: Vec<&str> = html
        .split("\"/static/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|file| file.ends_with(".css") || file.ends_with(".js"))
        .collect();
    assert_eq!(loaded.len(), 2, "{loaded:?}");
    let mut bytes = 0;
    for file in loaded {
        let packed = browser.get_with(&format!("/static/{file}"), &[GZIP]).await;
        assert_eq!((packed.status, packed.header("content-encoding")), (200, Some("gzip")));
        bytes += packed.body.len();
    }
    assert!(bytes < 40_000, "{bytes} bytes");
}
