//! `/docs`: readable by everybody, with the addresses that belong to whoever reads.

use flatline::accounts::Role;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World};

#[tokio::test]
async fn the_snippets_hold_the_addresses_of_their_reader() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let first = world.client.check(&json!({"name": "First"})).await;
    let second = world.client.check(&json!({"name": "<Second>"})).await;
    world.sign_up("looks@example.org", "free").await;
    world.add_member("looks@example.org", Role::Readonly).await;
    let owner = Browser::signed_in(&world, "owner@example.org").await;
    let pings = |uuid: &str| format!("-o /dev/null http://flatline.test/ping/{uuid}\n");

    let html = owner.open("/docs/shell").await;
    assert!(html.contains(&pings(&first)), "{html}");
    let html = owner.open(&format!("/docs/shell?check={second}")).await;
    assert!(html.contains(&pings(&second)) && html.contains("&#60;Second&#62;"), "{html}");
    for browser in [Browser::signed_in(&world, "looks@example.org").await, Browser::new(&world)] {
        let html = browser.open(&format!("/docs/shell?check={second}")).await;
        assert!(!html.contains(&first) && !html.contains(&second), "{html}");
        assert!(html.contains("http://flatline.test/ping/your-check"), "{html}");
    }
    assert_eq!(owner.get("/docs/nothing").await.status, 404);
}

#[tokio::test]
async fn every_page_in_the_list_is_there_and_links_lead_somewhere() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let browser = Browser::new(&world);
    let list = browser.open("/docs").await;
    let pages = links(&list);
    assert_eq!(pages.len(), 15);
    for page in &pages {
        let html = browser.open(page).await;
        assert!(html.contains("<h1>"), "{page}");
        for (at, _) in html.match_indices("_URL").chain(html.match_indices("_BASE")) {
            let word = html[..at].rsplit(|c: char| !c.is_ascii_uppercase() && c != '_').next();
            assert!(
                word.is_some_and(|word| word.starts_with("FLATLINE")),
                "{page}: a word was not filled in"
            );
        }
        for link in links(&html).iter().filter(|link| !link.starts_with("/docs/api")) {
            assert!(pages.contains(link), "{page} links to {link}");
        }
    }
}

/// The addresses under `/docs/` that a page links to.
fn links(html: &str) -> Vec<String> {
    let targets = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    targets.filter(|target| target.starts_with("/docs/")).map(str::to_owned).collect()
}
