//! What people write is text, on every page: stored or sent back at once, in every field that a form or an address has.
//!
//! Fields are read from the templates and routes from the source, so none is missed by being new.

use std::collections::BTreeSet;

use flatline::accounts::sessions::{self, Origin};
use serde_json::json;

use super::access::{CAST, STREAM, TABLE, path, world};
use super::browser::Browser;
use super::walk::walk;
use crate::source::files;
use crate::support::{Answer, World, key_of};

const OWNER: &str = CAST[0];
const HOSTILE: &str = "x\"'><script>alert(1)</script><img src=x onerror=alert(2)>";
/// How it must never stand in a page.
const ALIVE: [&str; 2] = ["<script>alert(1)", "<img src=x"];
/// How it may.
const ESCAPED: [&str; 2] = ["&#60;script&#62;alert(1)", "&lt;script&gt;alert(1)"];

/// Whether the answer is a page in which the words are markup.
fn is_alive(answer: &Answer) -> bool {
    let is_page = answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
    is_page && ALIVE.iter().any(|words| answer.text().contains(words))
}

fn is_shown(answer: &Answer) -> bool {
    ESCAPED.iter().any(|words| answer.text().contains(words))
}

/// Names of the fields of all forms, and of what stands behind `?` in an address, but for the form's token.
fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for template in files("templates/web", &[".html"]) {
        for mark in ["name=\"", "?", "&amp;"] {
            for rest in template.text.split(mark).skip(1) {
                let name: String =
                    rest.chars().take_while(|one| one.is_ascii_lowercase() || *one == '_').collect();
                let ends = if mark == "name=\"" { '"' } else { '=' };
                if rest[name.len()..].starts_with(ends) && !name.is_empty() && name != "token" {
                    names.insert(name);
                }
            }
        }
    }
    names
}

#[test]
fn the_fields_of_the_forms_are_found() {
    let names = names();
    for name in ["description", "key_name", "email", "tag", "q", "days", "before", "zone", "refresh"] {
        assert!(names.contains(name), "{name}: {names:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_form_and_no_address_sends_markup_back() {
    let world = world().await;
    let check = world.client.check(&json!({"name": "watched"})).await;
    let channel = world.channel("email", &json!({"address": "ops@example.org"})).await.uuid.to_string();
    let (owner, nobody) = (Browser::signed_in(&world, OWNER).await, Browser::new(&world));
    let names = names();
    let hostile: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), HOSTILE)).collect();
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&hostile).finish();
    let in_path: String = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    let (mut alive, mut shown) = (Vec::new(), 0);
    let endings = ["/sign-out", "/account/delete"];
    for (method, route, ..) in TABLE.iter().filter(|line| line.3[0] != STREAM && !endings.contains(&line.1)) {
        let plain = path(&world, route, &check, &channel);
        let bent: String = route
            .split('/')
            .map(|part| if part.starts_with('{') { format!("/{in_path}") } else { format!("/{part}") })
            .collect();
        for (who, browser, from) in [("owner", &owner, "/account"), ("nobody", &nobody, "/sign-in")] {
            for asked in [&plain, &bent[1..].to_owned()] {
                let answer = match *method {
                    "GET" => browser.get(&format!("{asked}?{query}")).await,
                    _ => browser.post_from(from, asked, &hostile).await,
                };
                assert!(answer.status < 500, "{method} {asked} as {who}: {}", answer.status);
                shown += usize::from(is_shown(&answer));
                if is_alive(&answer) {
                    alive.push(format!("{method} {asked} as {who}"));
                }
            }
        }
    }
    assert!(alive.is_empty(), "{}", alive.join("\n"));
    assert!(shown >= 8, "what was typed is shown again by {shown} forms");
}

/// A project in which every text is hostile.
async fn fill(world: &World) -> String {
    let request = json!({"method": "POST", "url": format!("http://127.0.0.1:9/{HOSTILE}"), "headers": {"X-One": HOSTILE}, "body": HOSTILE});
    let channel = world.channel("webhook", &json!({"down": request, "up": request})).await;
    let spec = json!({
        "name": HOSTILE, "tags": HOSTILE, "desc": HOSTILE, "channels": "*", "slug": "hostile",
        "success_kw": HOSTILE, "failure_kw": "never", "start_kw": HOSTILE, "filter_body": true,
    });
    let check = world.client.check(&spec).await;
    let agent = [("User-Agent", HOSTILE)];
    for suffix in ["", "/log", "/7"] {
        let ping = format!("/ping/{check}{suffix}");
        let answer = world.client.without_key().send("POST", &ping, &agent, HOSTILE.into()).await;
        assert_eq!(answer.status, 200);
    }
    world.tick().await;
    let owner = Browser::signed_in(world, OWNER).await;
    let project = format!("/projects/{}", world.owner.project);
    let saved = [("name", HOSTILE), ("down", "on"), ("up", "on")];
    owner.post_from("/account", &format!("/channels/{}", channel.uuid), &saved).await;
    let renamed = [("name", HOSTILE)];
    assert_eq!(owner.post_from("/account", &format!("{project}/settings/name"), &renamed).await.status, 303);
    let key = [("key_name", HOSTILE)];
    assert_eq!(owner.post_from("/account", &format!("{project}/settings/keys"), &key).await.status, 200);
    let mut tx = world.app.db.begin_write().await.unwrap();
    let user = flatline::accounts::store::find_user_by_email(&mut tx, OWNER).await.unwrap().unwrap();
    let origin = Origin { user_agent: HOSTILE.to_owned(), address: String::new() };
    sessions::begin(&mut tx, user.id, &origin, world.clock.now()).await.unwrap();
    tx.commit().await.unwrap();
    check
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_stored_is_markup_on_any_page() {
    let world = world().await;
    let check = fill(&world).await;
    let owner = Browser::signed_in(&world, OWNER).await;
    let project = format!("/projects/{}", world.owner.project);
    let seen = walk(&owner, &["/", &project]).await;
    let alive: Vec<&String> =
        seen.iter().filter(|(_, answer)| is_alive(answer)).map(|(asked, _)| asked).collect();
    assert_eq!(alive, Vec::<&String>::new());
    let page = format!("/checks/{}", key_of(&check));
    let pages = [
        project.clone(),
        format!("{project}/wall"),
        format!("{project}/settings"),
        format!("{project}/badges"),
        format!("{project}/channels"),
        format!("{page}/edit"),
        format!("{page}/log/1"),
        format!("{page}/log/3"),
        "/projects".to_owned(),
        "/account".to_owned(),
        page,
    ];
    for page in pages {
        assert!(seen.get(&page).is_some_and(is_shown), "{page} shows what was written");
    }
}
