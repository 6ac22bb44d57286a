//! What a read-only member gets to see: everything but what pings a check, and no key.
//!
//! Every route of the pages is asked, as the table of access has them, and every address that a page of theirs holds.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use flatline::db::Statement;
use flatline::time::Span;
use serde_json::json;
use uuid::Uuid;

use super::access::{CAST, STREAM, TABLE, path, world};
use super::browser::Browser;
use super::live::Events;
use super::walk::walk;
use crate::support::{Answer, Client, Engine, Receiver, World, key_of, on_both};

const OWNER: &str = CAST[0];
const READER: &str = CAST[3];
const DELIVERIES: &Statement = &Statement { name: "DELIVERIES", text: "SELECT uuid FROM deliveries" };

/// A project with something on every page of it.
struct Scene {
    world: World,
    /// Uuids of its checks, one without a name.
    checks: [String; 2],
    channel: String,
    /// The wall's secret address.
    wall: String,
    /// Uuids of what was sent, with which receivers report on it.
    deliveries: Vec<Uuid>,
}

async fn scene() -> Scene {
    let world = world().await;
    let receiver = Receiver::new().await;
    receiver.answer(503);
    let request = json!({"method": "POST", "url": receiver.url, "body": "$JSON"});
    let channel = world.channel("webhook", &json!({"down": request, "up": request})).await.uuid.to_string();
    let spec =
        json!({"name": "watched", "slug": "watched", "tags": "night", "timeout": 3600, "channels": "*"});
    let checks = [world.client.check(&spec).await, world.client.check(&json!({"channels": "*"})).await];
    for check in &checks {
        for suffix in ["", "/start", "/7"] {
            assert_eq!(world.client.ping_with(check, suffix, b"output").await.status, 200);
        }
    }
    world.tick().await;
    world.advance(Span::hours(2));
    world.tick().await;
    let mut tx = world.app.db.begin_read().await.unwrap();
    let deliveries: Vec<(Uuid,)> = tx.query(DELIVERIES).all().await.unwrap();
    drop(tx);
    assert!(deliveries.len() >= 2);
    let deliveries = deliveries.into_iter().map(|(uuid,)| uuid).collect();
    let owner = Browser::signed_in(&world, OWNER).await;
    let address = format!("/projects/{}/wall", world.owner.project);
    assert_eq!(owner.post_from(&address, &format!("{address}/address"), &[]).await.status, 303);
    let wall = owner
        .open(&address)
        .await
        .split("/wall/")
        .find(|rest| rest[..40].bytes().all(|one| one.is_ascii_alphanumeric()))
        .unwrap()[..40]
        .to_owned();
    Scene { world, checks, channel, deliveries, wall: format!("/wall/{wall}") }
}

impl Scene {
    /// What pings a check, opens the API, or says that a message failed.
    fn secrets(&self) -> Vec<String> {
        let owner = &self.world.owner;
        let mut secrets = vec![owner.ping_key.clone(), owner.api_key.clone(), owner.api_key_readonly.clone()];
        let deliveries = self.deliveries.iter().map(Uuid::to_string);
        for uuid in self.checks.iter().cloned().chain(deliveries) {
            secrets.extend([uuid.replace('-', ""), uuid]);
        }
        secrets
    }

    /// The secrets that an answer to `asked` holds, each with where it was found.
    fn leaks(&self, asked: &str, answer: &Answer) -> Vec<String> {
        let mut text = answer.text().to_lowercase();
        for (name, value) in &answer.headers {
            text.push_str(&format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes()).to_lowercase()));
        }
        let found = self.secrets().into_iter().filter(|secret| text.contains(&secret.to_lowercase()));
        found.map(|secret| format!("{asked} ({}) holds {secret}", answer.status)).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_route_shows_a_read_only_member_what_pings_a_check() {
    let scene = scene().await;
    let reader = Browser::signed_in(&scene.world, READER).await;
    let mut leaks = Vec::new();
    for (method, route, fields, statuses) in
        TABLE.iter().filter(|line| line.1 != "/sign-out" && line.1 != "/account/delete")
    {
        for check in &scene.checks {
            let asked = path(&scene.world, route, check, &scene.channel);
            assert!(!scene.secrets().iter().any(|secret| asked.contains(secret)), "{asked}");
            match *method {
                "GET" if statuses[3] != STREAM => {
                    let key = key_of(check);
                    let parts = [Vec::new(), vec![("X-Part", "all")], vec![("X-Part", key.as_str())]];
                    for part in &parts {
                        leaks.extend(scene.leaks(&asked, &reader.get_with(&asked, part).await));
                    }
                }
                "POST" if *route != "/projects/{project}/team/leave" => {
                    leaks.extend(scene.leaks(&asked, &reader.post_from("/account", &asked, fields).await));
                }
                _ => {}
            }
        }
    }
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_address_on_a_read_only_member_s_pages_leads_to_what_pings_a_check() {
    let scene = scene().await;
    let reader = Browser::signed_in(&scene.world, READER).await;
    let project = format!("/projects/{}", scene.world.owner.project);
    let seen = walk(&reader, &["/", &project, &scene.wall]).await;
    let leaks: Vec<String> = seen.iter().flat_map(|(asked, answer)| scene.leaks(asked, answer)).collect();
    assert!(leaks.is_empty(), "{}", leaks.join("\n"));
    for check in &scene.checks {
        for page in ["", "/log/3"] {
            let page = format!("/checks/{}{page}", key_of(check));
            assert_eq!(seen.get(&page).map(|answer| answer.status), Some(200), "{page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_names_checks_as_pages_do_to_members_and_to_a_wall() {
    let Scene { world, checks, wall, .. } = scene().await;
    let reader = Browser::signed_in(&world, READER).await;
    let project = format!("/projects/{}/events", world.owner.project);
    for (path, cookies) in [(project, reader.cookies()), (format!("{wall}/events"), String::new())] {
        let mut stream = Events::open(&world.client, &path, &cookies).await.unwrap();
        let (name, version) = stream.next().await.unwrap();
        assert_eq!(name, "version");
        assert!(!checks.iter().any(|check| version.contains(check.as_str())), "{version}");
        assert_eq!(world.client.ping(&checks[0], "").await.status, 200);
        assert_eq!(stream.next().await, Some(("changed".to_owned(), key_of(&checks[0]))), "{path}");
    }
}

/// How a client that follows nothing is answered.
async fn moved(client: &Client, path: &str, cookies: &str) -> (u16, Option<String>) {
    let answer = client.without_key().send("GET", path, &[("Cookie", cookies)], Vec::new()).await;
    (answer.status, answer.header("location").map(str::to_owned))
}

on_both! {
    async fn a_page_that_is_asked_for_by_uuid_has_moved_for_its_members_alone(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "one"})).await;
        world.sign_up("stranger@example.org", "free").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let stranger = Browser::signed_in(&world, "stranger@example.org").await;
        let page = format!("/checks/{}", key_of(&check));
        let upper = check.to_uppercase();
        for (asked, to) in [
            (format!("/checks/{check}"), page.clone()),
            (format!("/checks/{upper}?days=30&kind=runs"), format!("{page}?days=30&kind=runs")),
            (format!("/checks/{check}/edit"), format!("{page}/edit")),
            (format!("/checks/{check}/log/1"), format!("{page}/log/1")),
        ] {
            assert_eq!(moved(&world.client, &asked, &owner.cookies()).await, (308, Some(to)), "{asked}");
            assert_eq!(moved(&world.client, &asked, &stranger.cookies()).await.0, 404);
            assert_eq!(moved(&world.client, &asked, "").await.0, 303);
        }
        // A form that was open before the addresses changed is still taken.
        let paused = owner.post_from("/account", &format!("/checks/{check}/pause"), &[]).await;
        assert_eq!((paused.status, paused.header("location")), (303, Some(page.as_str())));
        assert_eq!(world.client.status(&check).await, "paused");
        for nothing in ["/checks/nothing".to_owned(), format!("/checks/{}", "0".repeat(40)), format!("/checks/{{{check}}}")] {
            assert_eq!(moved(&world.client, &nothing, &owner.cookies()).await.0, 404, "{nothing}");
        }
    }

    async fn checks_that_were_made_before_keys_were_stored_get_theirs_at_a_start(engine: Engine) {
        const FORGET: &Statement = &Statement { name: "FORGET", text: "UPDATE checks SET unique_key = NULL WHERE uuid = $1" };
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "old"})).await;
        let mut tx = world.app.db.begin_write().await.unwrap();
        let uuid: Uuid = check.parse().unwrap();
        assert_eq!(tx.change(FORGET).bind(uuid).count().await.unwrap(), 1);
        tx.commit().await.unwrap();
        let owner = Browser::signed_in(&world, OWNER).await;
        let page = format!("/checks/{}", key_of(&check));
        assert_eq!(owner.get(&page).await.status, 404);
        world.app.prepare().await.unwrap();
        assert!(owner.open(&page).await.contains("<bdi>old</bdi>"));
        assert_eq!(world.client.get(&format!("checks/{}", key_of(&check))).await.json()["uuid"], check);
    }

    async fn letters_name_a_check_by_what_does_not_ping_it(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"channels": "*"})).await;
        assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
        world.tick().await;
        let letters = world.outbox().await;
        let letter = letters.iter().find(|letter| letter.contains("Subject: DOWN")).expect("an alert");
        let key = key_of(&check);
        assert!(letter.contains(&format!("Subject: DOWN | unnamed {} | reported failure", &key[..8])), "{letter}");
        assert!(letter.contains(&format!("Open   http://flatline.test/checks/{key}")), "{letter}");
        assert!(!letter.contains(&check), "{letter}");
        let uuid: Uuid = check.parse().unwrap();
        for verb in ["pause", "mute", "stop"] {
            let rest = letter.split(&format!("/mail/{verb}/")).nth(1).expect(verb);
            let token = rest.split(|one: char| !one.is_ascii_alphanumeric() && one != '-' && one != '_').next().unwrap();
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).unwrap();
            assert!(!bytes.windows(16).any(|part| part == uuid.as_bytes()), "{verb}");
            let page = Browser::new(&world).open(&format!("/mail/{verb}/{token}")).await;
            assert!(!page.contains(&check), "{page}");
        }
    }
}
