//! Live pages: what is told over server-sent events, to whom, and when it ends.

use std::time::Duration;

use axum::http::HeaderMap;
use flatline::accounts::Role;
use flatline::db::Statement;
use flatline::signup::NewAccount;
use flatline::time::Span;
use serde_json::json;
use tokio::time::timeout;

use super::browser::Browser;
use crate::support::{Client, Engine, Place, Process, World, key_of, on_both, sign_up};

const OWNER: &str = "owner@example.org";
/// Longer than anything here takes; who waits for it has failed.
const LONG: Duration = Duration::from_secs(30);

/// A stream of events.
pub struct Events {
    response: reqwest::Response,
    heard: String,
}

impl Events {
    pub async fn open(client: &Client, path: &str, cookies: &str) -> Result<Self, (u16, HeaderMap)> {
        let response = client.stream(path, cookies).await;
        match response.status().as_u16() {
            200 => Ok(Self { response, heard: String::new() }),
            status => Err((status, response.headers().clone())),
        }
    }

    /// The next event's name and data; `None` when the stream is over.
    pub async fn next(&mut self) -> Option<(String, String)> {
        loop {
            while let Some((event, rest)) = self.heard.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.trim_start().to_owned())
                };
                let event = (field("event:"), field("data:"));
                self.heard = rest.to_owned();
                if let (Some(name), Some(data)) = event {
                    return Some((name, data));
                }
            }
            let piece = timeout(LONG, self.response.chunk()).await.expect("it says something or ends");
            self.heard.push_str(std::str::from_utf8(&piece.ok()??).unwrap());
        }
    }

    async fn changed(&mut self) -> String {
        let (name, data) = self.next().await.expect("an event");
        assert_eq!(name, "changed");
        data
    }
}

fn events(world: &World) -> String {
    format!("/projects/{}/events", world.owner.project)
}

/// A page of the owner's that listens, with the version it was told first.
async fn listen(world: &World, browser: &Browser) -> (Events, String) {
    let mut stream = Events::open(&world.client, &events(world), &browser.cookies()).await.unwrap();
    let (name, version) = stream.next().await.unwrap();
    assert_eq!(name, "version");
    (stream, version)
}

on_both! {
    async fn a_ping_an_edit_and_a_deletion_are_told(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "one"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let (mut stream, version) = listen(&world, &browser).await;
        let page = browser.open(&format!("/projects/{}", world.owner.project)).await;
        assert!(page.contains(&format!("data-version=\"{version}\"")), "{version}: {page}");
        assert!(page.contains(&format!("data-live=\"{}\"", events(&world))), "{page}");
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        assert_eq!(stream.changed().await, key_of(&check));
        assert_eq!(world.client.post(&format!("checks/{check}"), &json!({"name": "other"})).await.status, 200);
        assert_eq!(stream.changed().await, key_of(&check));
        let another = world.client.check(&json!({"name": "two"})).await;
        assert_eq!(stream.changed().await, "all");
        assert_eq!(world.client.delete(&format!("checks/{another}")).await.status, 200);
        assert_eq!(stream.changed().await, key_of(&another));
        let (_, now) = listen(&world, &browser).await;
        assert_ne!(now, version, "who comes back sees that something was missed");
    }

    async fn silence_and_deliveries_are_told_too(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "one", "timeout": 60, "grace": 60, "channels": "*"})).await;
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        let browser = Browser::signed_in(&world, OWNER).await;
        world.pass(Span::minutes(3)).await;
        let (mut stream, _) = listen(&world, &browser).await;
        world.app.sweep().await.unwrap();
        assert_eq!(stream.changed().await, key_of(&check));
        world.app.deliver().await.unwrap();
        assert_eq!(stream.changed().await, key_of(&check));
    }

    async fn another_project_hears_nothing(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let other = world.sign_up("other@example.org", "free").await;
        let browser = Browser::signed_in(&world, "other@example.org").await;
        let path = format!("/projects/{}/events", other.project);
        let mut stream = Events::open(&world.client, &path, &browser.cookies()).await.unwrap();
        assert_eq!(stream.next().await.unwrap().0, "version");
        let check = world.client.check(&json!({"name": "not theirs"})).await;
        assert_eq!(world.client.ping(&check, "").await.status, 200);
        let own = world.client.with_key(&other.api_key).check(&json!({"name": "theirs"})).await;
        assert_eq!(world.client.ping(&own, "").await.status, 200);
        assert!(["all", key_of(&own).as_str()].contains(&stream.changed().await.as_str()));
    }

    async fn it_ends_with_the_session_and_with_the_membership(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "one"})).await;
        world.sign_up("member@example.org", "free").await;
        world.add_member("member@example.org", Role::Member).await;
        for end in ["session", "membership"] {
            let browser = Browser::signed_in(&world, "member@example.org").await;
            let (mut stream, _) = listen(&world, &browser).await;
            if end == "session" {
                browser.post_from("/account", "/sign-out", &[]).await;
            } else {
                leave(&world, "member@example.org").await;
            }
            assert_eq!(world.client.ping(&check, "").await.status, 200);
            assert_eq!(stream.next().await, None, "{end}");
        }
    }

    async fn all_streams_end_when_the_program_stops(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let (mut stream, _) = listen(&world, &browser).await;
        world.app.db.news().close();
        assert_eq!(stream.next().await, None);
        let refused = Events::open(&world.client, &events(&world), &browser.cookies()).await;
        assert_eq!(refused.err().map(|(status, _)| status), Some(503));
    }
}

/// Takes a member out of the owner's project.
async fn leave(world: &World, email: &str) {
    const LEAVE: &Statement =
        &Statement { name: "LEAVE", text: "DELETE FROM members WHERE user_id = $1 AND role = 'member'" };
    let mut tx = world.app.db.begin_write().await.unwrap();
    let user = flatline::accounts::store::find_user_by_email(&mut tx, email).await.unwrap().unwrap();
    assert_eq!(tx.change(LEAVE).bind(user.id).count().await.unwrap(), 1);
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_user_holds_so_many_pages_and_no_more() {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(file.path(), "[limits]\nlive_pages_at_once = 2\n").unwrap();
    let plans = file.path().display().to_string();
    let world = World::with(Engine::Sqlite, "unlimited", &[("PLANS_FILE", plans.as_str())]).await;
    let browser = Browser::signed_in(&world, OWNER).await;
    let first = listen(&world, &browser).await;
    let _second = listen(&world, &browser).await;
    let (status, headers) =
        Events::open(&world.client, &events(&world), &browser.cookies()).await.err().unwrap();
    assert_eq!((status, headers["retry-after"].to_str().unwrap()), (429, "60"));
    world.sign_up("member@example.org", "free").await;
    world.add_member("member@example.org", Role::Member).await;
    let other = Browser::signed_in(&world, "member@example.org").await;
    listen(&world, &other).await;
    drop(first);
    // That the page is gone shows when it is written to.
    let check = world.client.check(&json!({"name": "one"})).await;
    let freed = async {
        while Events::open(&world.client, &events(&world), &browser.cookies()).await.is_err() {
            assert_eq!(world.client.ping(&check, "").await.status, 200);
        }
    };
    timeout(LONG, freed).await.expect("a closed page gives its place back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_changed_is_rendered_for_a_page_that_is_open() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let checks = [
        world.client.check(&json!({"name": "first"})).await,
        world.client.check(&json!({"name": "second"})).await,
    ];
    let browser = Browser::signed_in(&world, OWNER).await;
    let page = format!("/projects/{}", world.owner.project);
    let part = async |value: &str| browser.get_with(&page, &[("X-Part", value)]).await.text();
    let row = part(&key_of(&checks[0])).await;
    assert!(row.contains(&format!("id=\"r-{}\"", key_of(&checks[0]))) && !row.contains("second"), "{row}");
    assert!(row.contains("data-title=\"My project") && !row.contains("<html"), "{row}");
    let all = part("all").await;
    assert!(all.contains("first") && all.contains("second") && !all.contains("<html"), "{all}");
    let check = browser.get_with(&format!("/checks/{}", checks[0]), &[("X-Part", "all")]).await.text();
    assert!(check.contains("id=\"verdict\" data-part") && !check.contains("<html"), "{check}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_ping_to_one_process_is_told_to_a_page_of_another() {
    let place = Place::new(Engine::Postgres).await;
    let (owner, cookies) = owner_of(&place).await;
    let changes = [("LOG", "warn,flatline::serve=info")];
    let [one, other] = [Process::start(&place, &changes).await, Process::start(&place, &changes).await];
    let client: Client = one.client.with_key(&owner.api_key);
    let check = client.check(&json!({"name": "one"})).await;
    let path = format!("/projects/{}/events", owner.project);
    let mut stream = Events::open(&other.client, &path, &cookies).await.unwrap();
    assert_eq!(stream.next().await.unwrap().0, "version");
    assert_eq!(client.ping(&check, "").await.status, 200);
    let told = stream.changed().await;
    assert!(told == key_of(&check) || told == "all", "{told}: the creation may come with it");
    let mut others = other;
    assert!(others.terminate().await.success());
    assert_eq!(stream.next().await, None, "a stop is not held up by open pages");
}

/// An account in a place, and the cookies of its owner's session.
async fn owner_of(place: &Place) -> (NewAccount, String) {
    let settings = place.settings(&[]);
    let built = flatline::serve::build(place.open().await, settings, flatline::time::Clock::System).await;
    let (app, _worker) = built.unwrap();
    let owner = sign_up(&app, OWNER, Some("unlimited")).await;
    let mut tx = app.db.begin_write().await.unwrap();
    let user = flatline::accounts::store::find_user_by_email(&mut tx, OWNER).await.unwrap().unwrap();
    let origin = flatline::accounts::sessions::Origin { user_agent: String::new(), address: String::new() };
    let now = app.clock.now();
    let secret = flatline::accounts::sessions::begin(&mut tx, user.id, &origin, now).await.unwrap();
    tx.commit().await.unwrap();
    app.db.close().await;
    (owner, format!("flatline_session={secret}"))
}
