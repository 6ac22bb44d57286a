//! Limits that three processes share, one of which may be killed.

use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use super::{PLANS, plans_file, world};
use crate::support::{Client, Engine, Place, Process, on_both, program, uuid_of};

/// Lets the doctor look at the counters of a place.
pub async fn examine(place: &Place) {
    let output = program(place, &[]).arg("doctor").output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

on_both! {
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

/// Makes checks and deletes them until nobody answers any more.
async fn come_and_go(client: Client, caller: usize) {
    let body = json!({"name": format!("job {caller}")}).to_string().into_bytes();
    while let Ok(made) = client.try_send("POST", "/api/v3/checks/", &[], body.clone()).await {
        let Some(uuid) = (made.status == 201).then(|| uuid_of(&made.json())) else { continue };
        let path = format!("/api/v3/checks/{uuid}");
        if client.try_send("DELETE", &path, &[], Vec::new()).await.is_err() {
            return;
        }
    }
}

async fn owner_of(place: &Place, changes: &[(&str, &str)], plan: &str) -> String {
    let mut command = program(place, changes);
    command.args(["account", "create", "--email", "owner@example.org", "--plan", plan, "--json"]);
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
    let key = owner_of(&place, &changes, "daily").await;
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
    async fn a_process_that_is_killed_while_checks_come_and_go_leaves_their_number_right(engine: Engine) {
        let file = plans_file(PLANS);
        let path = file.path().display().to_string();
        let changes = [("PLANS_FILE", path.as_str())];
        let place = Place::new(engine).await;
        let key = owner_of(&place, &changes, "roomy").await;
        for round in 0..5 {
            let mut process = Process::start(&place, &changes).await;
            let client = process.client.with_key(&key);
            let mut asking = JoinSet::new();
            for caller in 0..12 {
                asking.spawn(come_and_go(client.clone(), caller));
            }
            // After the first few answers the others stand between some two statements.
            let answered = tokio::time::timeout(Duration::from_millis(100 * round), asking.join_next()).await;
            assert!(answered.is_err(), "a caller ends when the process does");
            process.kill().await;
            asking.join_all().await;
            examine(&place).await;
        }
        let mut process = Process::start(&place, &changes).await;
        let client = process.client.with_key(&key);
        let there = client.get("checks/").await.json()["checks"].as_array().unwrap().len();
        let mut made = 0;
        for _ in 0..5 {
            made += usize::from(client.post("checks/", &json!({})).await.status == 201);
        }
        assert_eq!(there + made, 3, "the plan has room for three");
        assert!(process.terminate().await.success());
        examine(&place).await;
    }

    async fn a_process_that_is_killed_leaves_a_count_that_lets_no_more_through(engine: Engine) {
        let file = plans_file(DAILY);
        let path = file.path().display().to_string();
        let changes = [("PLANS_FILE", path.as_str())];
        let place = Place::new(engine).await;
        let key = owner_of(&place, &changes, "daily").await;
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
