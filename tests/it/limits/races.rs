//! Every path that reaches a count, raced; and limits that three processes share, one of which may be killed.

use std::pin::Pin;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{PLANS, plans_file, world};
use crate::support::{Answer, Client, Engine, Place, Process, World, on_both, program};
use crate::web::browser::Browser;

type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// Whoever makes a check: by key, by ping, or in a browser.
#[derive(Clone)]
struct Maker {
    client: Client,
    browser: Browser,
    ping_key: String,
    project: Uuid,
    /// A check that is there and can be copied.
    template: String,
}

/// A way to make a check, with a number that no other caller has.
type Path = fn(Maker, usize) -> Asking;

/// Every path that takes one from the plan's count of checks, with the statuses of one that was made and one that
/// was refused. The head of `accounts` lists the functions behind them; a new path belongs into both. What brings
/// checks back has a test of its own below; handing a project over is raced in `races::people`.
const TAKING: &[(&str, Path, u16, u16)] = &[
    ("the API's create", by_api, 201, 403),
    ("the API's create with unique", by_unique, 201, 403),
    ("create=1", by_ping, 201, 404),
    ("the form", by_form, 303, 422),
    ("the copy of another", by_copy, 303, 400),
];

fn by_api(maker: Maker, number: usize) -> Asking {
    Box::pin(async move { maker.client.post("checks/", &json!({"name": format!("job {number}")})).await })
}

fn by_unique(maker: Maker, number: usize) -> Asking {
    let spec = json!({"name": format!("job {number}"), "unique": ["name"]});
    Box::pin(async move { maker.client.post("checks/", &spec).await })
}

fn by_ping(maker: Maker, number: usize) -> Asking {
    Box::pin(async move { maker.client.ping(&maker.ping_key, &format!("/job-{number}?create=1")).await })
}

fn by_form(maker: Maker, number: usize) -> Asking {
    Box::pin(async move {
        let (path, name) = (format!("/projects/{}/new-check", maker.project), format!("job {number}"));
        let fields = [
            ("name", name.as_str()),
            ("kind", "simple"),
            ("every", "1"),
            ("every_unit", "days"),
            ("grace", "1"),
            ("grace_unit", "hours"),
        ];
        maker.browser.submit(&path, &fields).await
    })
}

fn by_copy(maker: Maker, _: usize) -> Asking {
    Box::pin(async move {
        let path = format!("/checks/{}", maker.template);
        maker.browser.post_from(&path, &format!("{path}/copy"), &[]).await
    })
}

/// Lets the doctor look at the counters of a place.
async fn examine(place: &Place) {
    let output = program(place, &[]).arg("doctor").output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

async fn delete_all_but(maker: &Maker) {
    for check in maker.client.get("checks/").await.json()["checks"].as_array().unwrap() {
        let uuid = check["uuid"].as_str().unwrap();
        if uuid != maker.template {
            assert_eq!(maker.client.delete(&format!("checks/{uuid}")).await.status, 200);
        }
    }
}

/// What several take back at once: all or nothing each time, for the one who comes first.
async fn bring_back(maker: &Maker, path: &str, fields: &[(&str, &str)]) -> Vec<u16> {
    let mut asking = JoinSet::new();
    for _ in 0..8 {
        let (browser, path) = (maker.browser.clone(), path.to_owned());
        let fields: Vec<(String, String)> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        asking.spawn(async move {
            let fields: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            browser.post_from("/account", &path, &fields).await.status
        });
    }
    asking.join_all().await
}

on_both! {
    async fn what_was_deleted_comes_back_once_and_only_into_room(engine: Engine) {
        let file = plans_file(PLANS);
        let path = file.path().display().to_string();
        let world = World::with(engine, "roomy", &[("PLANS_FILE", &path)]).await;
        let maker = Maker {
            client: world.client.clone(),
            browser: Browser::signed_in(&world, &world.owner.email).await,
            ping_key: world.owner.ping_key.clone(),
            project: world.owner.project,
            template: world.client.check(&json!({"name": "template"})).await,
        };
        let of = |statuses: &[u16], wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        let list = format!("/projects/{}", maker.project);
        let delete = async || {
            let bulk = format!("{list}/bulk");
            let fields = [("check", maker.template.as_str()), ("do", "delete")];
            let answer = maker.browser.post_from("/account", &bulk, &fields).await;
            answer.header("location").unwrap().split("deleted=").nth(1).unwrap().to_owned()
        };
        let at = delete().await;
        let statuses = bring_back(&maker, &format!("{list}/restore"), &[("at", &at)]).await;
        assert_eq!((of(&statuses, 303), of(&statuses, 404)), (1, 7), "{statuses:?}");
        examine(&world.place).await;

        world.advance(flatline::time::Span::seconds(1));
        let at = delete().await;
        for number in 0..3 {
            assert_eq!(by_api(maker.clone(), number).await.status, 201);
        }
        let statuses = bring_back(&maker, &format!("{list}/restore"), &[("at", &at)]).await;
        assert_eq!(of(&statuses, 400), 8, "there is no room: {statuses:?}");
        examine(&world.place).await;

        // The project with its three checks: back once, and not where others took the room meanwhile.
        world.advance(flatline::time::Span::seconds(1));
        let uuid = maker.project.to_string();
        let other = maker.browser.submit("/projects", &[("name", "other")]).await;
        let other = other.header("location").unwrap().to_owned();
        let end = async || maker.browser.post_from("/account", &format!("{list}/settings/delete"), &[]).await.status;
        assert_eq!(end().await, 303);
        let statuses = bring_back(&maker, "/projects/restore", &[("project", &uuid)]).await;
        assert_eq!((of(&statuses, 303), of(&statuses, 404)), (1, 7), "{statuses:?}");
        examine(&world.place).await;
        assert_eq!(end().await, 303);
        let form = Maker { project: other.rsplit('/').next().unwrap().parse().unwrap(), ..maker.clone() };
        assert_eq!(by_form(form, 9).await.status, 303);
        let statuses = bring_back(&maker, "/projects/restore", &[("project", &uuid)]).await;
        assert_eq!(of(&statuses, 400), 8, "there is no room: {statuses:?}");
        examine(&world.place).await;
    }

    async fn on_every_path_exactly_as_many_checks_are_made_as_there_is_room_for(engine: Engine) {
        let file = plans_file(&PLANS.replace("creates_per_hour = 2", "creates_per_hour = \"none\"").replace(
            "unknown_pings_per_minute = 4",
            "unknown_pings_per_minute = \"none\"",
        ));
        let path = file.path().display().to_string();
        let world = World::with(engine, "roomy", &[("PLANS_FILE", &path)]).await;
        let maker = Maker {
            client: world.client.clone(),
            browser: Browser::signed_in(&world, &world.owner.email).await,
            ping_key: world.owner.ping_key.clone(),
            project: world.owner.project,
            template: world.client.check(&json!({"name": "template"})).await,
        };
        for (name, path, made, refused) in TAKING {
            let mut asking = JoinSet::new();
            for number in 0..12 {
                asking.spawn(path(maker.clone(), number));
            }
            let statuses: Vec<u16> = asking.join_all().await.iter().map(|answer| answer.status).collect();
            let of = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
            assert_eq!((of(*made), of(*refused)), (2, 10), "{name}: {statuses:?}");
            examine(&world.place).await;
            delete_all_but(&maker).await;
            examine(&world.place).await;
        }
    }

    async fn a_burst_of_two_hundred_calls_gets_the_limit_of_its_day(engine: Engine) {
        let (world, _file) = world(engine, "daily").await;
        let statuses = burst(std::slice::from_ref(&world.client), 200).await;
        // The address is limited too, to fewer; it refuses in the minute's place.
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 8);
        assert!(statuses.iter().all(|status| [200, 429].contains(status)));
    }
}

async fn burst(clients: &[Client], calls: usize) -> Vec<u16> {
    let mut asking = JoinSet::new();
    for call in 0..calls {
        let client = clients[call % clients.len()].clone();
        asking.spawn(async move { client.get("checks/").await.status });
    }
    asking.join_all().await
}

/// Plans whose day is the limit, so that no slow machine can let a window pass meanwhile.
const DAILY: &str =
    "[daily]\napi_per_minute = \"none\"\napi_per_day = 40\n[limits]\napi_address_per_minute = \"none\"\n";

async fn owner_of(place: &Place, changes: &[(&str, &str)]) -> String {
    let mut command = program(place, changes);
    command.args(["account", "create", "--email", "owner@example.org", "--plan", "daily", "--json"]);
    let output = command.output().await.unwrap();
    let made: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    made["api_key"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_processes_accept_no_more_than_one_would() {
    let file = plans_file(DAILY);
    let path = file.path().display().to_string();
    let changes = [("PLANS_FILE", path.as_str())];
    let place = Place::new(Engine::Postgres).await;
    let key = owner_of(&place, &changes).await;
    let mut processes = Vec::new();
    for _ in 0..3 {
        processes.push(Process::start(&place, &changes).await);
    }
    let clients: Vec<Client> = processes.iter().map(|process| process.client.with_key(&key)).collect();
    let statuses = burst(&clients, 200).await;
    let of = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert_eq!((of(200), of(429)), (40, 160), "{statuses:?}");
    examine(&place).await;
}

on_both! {
    async fn a_process_that_is_killed_leaves_a_count_that_lets_no_more_through(engine: Engine) {
        let file = plans_file(DAILY);
        let path = file.path().display().to_string();
        let changes = [("PLANS_FILE", path.as_str())];
        let place = Place::new(engine).await;
        let key = owner_of(&place, &changes).await;
        let (mut accepted, mut cut_off) = (0, 0);
        for round in 0..4 {
            let mut process = Process::start(&place, &changes).await;
            let client = process.client.with_key(&key);
            let mut asking = JoinSet::new();
            for _ in 0..15 {
                let client = client.clone();
                asking.spawn(async move { client.try_send("GET", "/api/v3/checks/", &[], Vec::new()).await });
            }
            if round < 3 {
                // After the first few answers the others stand between some two statements.
                for _ in 0..=round {
                    let answer = asking.join_next().await.unwrap().unwrap();
                    accepted += usize::from(answer.is_ok_and(|answer| answer.status == 200));
                }
                process.kill().await;
            }
            for answer in asking.join_all().await {
                match answer {
                    Ok(answer) => accepted += usize::from(answer.status == 200),
                    Err(_) => cut_off += 1,
                }
            }
            examine(&place).await;
        }
        let mut process = Process::start(&place, &changes).await;
        for _ in 0..40 {
            accepted += usize::from(process.client.with_key(&key).get("checks/").await.status == 200);
        }
        assert!(accepted <= 40, "{accepted}");
        assert!(accepted + cut_off >= 40, "{accepted} and {cut_off}: only what was cut off may have been spent unseen");
        let ended = tokio::time::timeout(Duration::from_secs(60), process.terminate()).await;
        assert!(ended.unwrap().success());
        examine(&place).await;
    }
}
