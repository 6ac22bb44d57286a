//! From the SQLite file that Healthchecks itself wrote.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use flatline::checks::{self, Status};
use flatline::db::Statement;
use flatline::import::bring::{self, Brought};
use flatline::import::{Source, file, plan as plans};
use flatline::time::Span;
use serde_json::{Value, json};
use sqlx::{Connection, Row};
use uuid::Uuid;

use super::{FILE, KEY, KEY_READONLY, PING_KEY, PROJECT, SECRET, bring_all, count, just_after, plan, world};
use crate::support::{Engine, on_both};

const DELIVERIES: &Statement =
    &Statement { name: "DELIVERIES", text: "SELECT COUNT(*) AS number FROM deliveries" };
const FLIPS: &Statement = &Statement { name: "FLIPS", text: "SELECT COUNT(*) AS number FROM flips" };
const CHECKS: &Statement = &Statement { name: "CHECKS", text: "SELECT COUNT(*) AS number FROM checks" };
const USED: &Statement =
    &Statement { name: "USED", text: "SELECT CAST(SUM(checks_used) AS BIGINT) AS number FROM accounts" };

async fn source(secret: Option<&str>) -> Source {
    let known = file::Known { secret: secret.map(str::to_owned), api_key: None };
    file::read(Path::new(FILE), &known).await.unwrap()
}

/// The rows of the main project's checks as Healthchecks wrote them, read without our own reader.
async fn rows() -> Vec<HashMap<&'static str, String>> {
    let columns = [
        "code",
        "name",
        "slug",
        "tags",
        "desc",
        "status",
        "kind",
        "schedule",
        "tz",
        "methods",
        "start_kw",
        "success_kw",
        "failure_kw",
        "n_pings",
        "last_ping",
        "timeout",
        "grace",
        "manual_resume",
        "filter_subject",
        "filter_body",
        "filter_http_body",
        "filter_default_fail",
        "badge_key",
        "alert_after",
        "last_duration",
    ];
    let mut connection = sqlx::SqliteConnection::connect(&format!("sqlite://{FILE}?mode=ro")).await.unwrap();
    let casts: Vec<String> = columns.iter().map(|column| format!("CAST(\"{column}\" AS TEXT)")).collect();
    let sql = format!("SELECT {} FROM api_check WHERE project_id = 1 ORDER BY id", casts.join(", "));
    let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_all(&mut connection).await.unwrap();
    let text = |row: &sqlx::sqlite::SqliteRow, at| row.get::<Option<String>, _>(at).unwrap_or_default();
    rows.iter()
        .map(|row| columns.iter().enumerate().map(|(at, name)| (*name, text(row, at))).collect())
        .collect()
}

fn uuid(hex: &str) -> String {
    Uuid::parse_str(hex).unwrap().to_string()
}

/// What the API says of a check, next to what the old server's row says.
fn compare(found: &Value, row: &HashMap<&str, String>) {
    let name = &row["name"];
    for (field, column) in [
        ("name", "name"),
        ("slug", "slug"),
        ("tags", "tags"),
        ("desc", "desc"),
        ("methods", "methods"),
        ("start_kw", "start_kw"),
        ("success_kw", "success_kw"),
        ("failure_kw", "failure_kw"),
    ] {
        assert_eq!(found[field], row[column].as_str(), "{name}: {field}");
    }
    for field in ["manual_resume", "filter_subject", "filter_body", "filter_http_body", "filter_default_fail"]
    {
        assert_eq!(found[field], json!(row[field] == "1"), "{name}: {field}");
    }
    let seconds = |column: &str| json!(row[column].parse::<i64>().unwrap() / 1_000_000);
    assert_eq!(found["grace"], seconds("grace"), "{name}");
    if row["kind"] == "simple" {
        assert_eq!(found["timeout"], seconds("timeout"), "{name}");
    } else {
        assert_eq!(
            (&found["schedule"], &found["tz"]),
            (&json!(row["schedule"]), &json!(row["tz"])),
            "{name}"
        );
    }
    assert_eq!(found["n_pings"].to_string(), row["n_pings"], "{name}");
    let last = found["last_ping"].as_str().map(|at| at[..19].replace('T', " ")).unwrap_or_default();
    assert_eq!(last, row["last_ping"].get(..19).unwrap_or_default(), "{name}");
    assert_eq!(found["status"], row["status"].as_str(), "{name}");
    if !row["last_duration"].is_empty() {
        assert_eq!(found["last_duration"], seconds("last_duration"), "{name}");
    }
    assert!(found["badge_url"].as_str().unwrap().contains(&uuid(&row["badge_key"])), "{name}");
}

on_both! {
    async fn every_address_schedule_state_badge_and_key_works_afterwards(engine: Engine) {
        let world = world(engine, just_after()).await;
        let source = source(Some(SECRET)).await;
        assert_eq!(bring_all(&world, "owner@example.org", &source, "Main").await, [Brought::Now; 40]);
        let client = world.client.with_key(KEY);
        let rows = rows().await;
        assert_eq!(rows.len(), 40);
        for row in &rows {
            compare(&client.read(&uuid(&row["code"])).await, row);
            let badge = format!("/b/3/{}.json", uuid(&row["badge_key"]));
            assert_eq!(client.send("GET", &badge, &[], Vec::new()).await.status, 200);
        }
        let listed = world.client.with_key(KEY_READONLY).get("checks/").await;
        assert_eq!(listed.status, 200, "{}", listed.text());
        assert_eq!(listed.json()["checks"].as_array().unwrap().len(), 40);
        assert_eq!(world.client.with_key(KEY_READONLY).post("checks/", &json!({})).await.status, 401);
        for (path, status) in [
            (format!("/ping/{PING_KEY}/nightly-backup"), 200),
            (format!("/ping/{PING_KEY}/dup"), 409),
            (format!("/ping/{PING_KEY}/nothing"), 404),
            ("/badge/e3f62517-c945-40d6-b430-0fbe2d/L8cF_FoX.svg".to_owned(), 200),
            ("/badge/e3f62517-c945-40d6-b430-0fbe2d/WIboCxkR-2/prod.svg".to_owned(), 200),
            ("/badge/e3f62517-c945-40d6-b430-0fbe2d/RL9-fFTE/%25C3%25BCn%25C3%25AFcode.svg".to_owned(), 200),
            ("/badge/e3f62517-c945-40d6-b430-0fbe2d/WIboCxkS-2/prod.svg".to_owned(), 404),
            (format!("/projects/{PROJECT}/metrics/{KEY_READONLY}"), 200),
        ] {
            assert_eq!(world.client.send("GET", &path, &[], Vec::new()).await.status, status, "{path}");
        }
        let etl = "/badge/e3f62517-c945-40d6-b430-0fbe2d/kF9_db2m/etl.json";
        assert_eq!(world.client.send("GET", etl, &[], Vec::new()).await.json()["status"], "down");
        for row in &rows {
            assert_eq!(world.client.ping(&uuid(&row["code"]), "/log").await.status, 200, "{}", row["name"]);
        }
    }

    async fn what_is_expected_when_is_what_was_expected_there(engine: Engine) {
        let world = world(engine, just_after()).await;
        let source = source(None).await;
        bring_all(&world, "owner@example.org", &source, "Main").await;
        let mut tx = world.app.db.begin_read().await.unwrap();
        for row in rows().await {
            let check = checks::store::find(&mut tx, Uuid::parse_str(&row["code"]).unwrap()).await.unwrap().unwrap();
            let deadline = check.state.deadline_at.map(|at| at.iso_micros()[..23].replace('T', " "));
            let there = row["alert_after"].get(..23).map(str::to_owned);
            let whole = |at: Option<String>| at.map(|at| at[..19].to_owned());
            assert_eq!(whole(deadline), whole(there.or(row["alert_after"].get(..19).map(str::to_owned))), "{}", row["name"]);
        }
    }

    async fn nobody_is_alerted_by_the_move_and_everybody_by_what_comes_after(engine: Engine) {
        let world = world(engine, just_after()).await;
        let source = source(Some(SECRET)).await;
        bring_all(&world, "owner@example.org", &source, "Main").await;
        world.tick().await;
        assert_eq!(count(&world, DELIVERIES).await, 0);
        assert_eq!(count(&world, FLIPS).await, 46);
        let client = world.client.with_key(KEY);
        let flips = client.get("checks/0003fefd-a84b-4031-80eb-c4f84378e516/flips/").await.json();
        assert_eq!(flips["flips"].as_array().unwrap().len(), 3);
        client.ping("0003fefd-a84b-4031-80eb-c4f84378e516", "/fail").await;
        assert_eq!(count(&world, DELIVERIES).await, 4, "mail and three webhooks hear of it");
        // "Only started" began before the move and never ended.
        world.pass(Span::minutes(15)).await;
        world.tick().await;
        assert_eq!(client.status("b2b85535-e68e-4c43-9d7d-94d725b89909").await, "down");
    }

    async fn what_is_overdue_at_the_move_is_expected_anew(engine: Engine) {
        let world = world(engine, just_after() + Span::hours(24 * 30)).await;
        let source = source(Some(SECRET)).await;
        let brought = bring_all(&world, "owner@example.org", &source, "Main").await;
        let anew = brought.iter().filter(|one| **one == Brought::ExpectedAnew).count();
        // Of 33 that were up, one may be silent for two years; a run that was open is overdue, too.
        assert_eq!((anew, brought.len()), (33, 40));
        world.tick().await;
        let client = world.client.with_key(KEY);
        assert_eq!(client.status("0003fefd-a84b-4031-80eb-c4f84378e516").await, "up");
        assert_eq!(client.status("b2b85535-e68e-4c43-9d7d-94d725b89909").await, "new");
        world.pass(Span::minutes(3)).await;
        world.tick().await;
        assert_eq!(client.status("4c1016e0-3cc7-4f6f-ade3-eea659230f4a").await, "down", "a minute and its grace are over");
        assert_eq!(client.status("0003fefd-a84b-4031-80eb-c4f84378e516").await, "up");
    }

    async fn a_second_time_there_is_nothing_to_do(engine: Engine) {
        let world = world(engine, just_after()).await;
        let source = source(Some(SECRET)).await;
        bring_all(&world, "owner@example.org", &source, "Main").await;
        let before = world.client.with_key(KEY).get("checks/").await.text();
        let old = &source.projects[0];
        let again = plan(&world, "owner@example.org", old).await;
        assert!(again.is_done());
        assert_eq!((again.checks.here, again.channels.here, again.keys.here, again.badges.here), (40, 4, 2, 10));
        assert_eq!(bring_all(&world, "owner@example.org", &source, "Main").await, []);
        assert_eq!(world.client.with_key(KEY).get("checks/").await.text(), before);
    }

    async fn of_many_who_bring_the_same_check_one_does(engine: Engine) {
        let world = world(engine, just_after()).await;
        let source = source(None).await;
        let old = Arc::new(source.projects.into_iter().find(|project| project.name == "Other").unwrap());
        let made = plan(&world, "owner@example.org", &old).await;
        let now = world.clock.now();
        let mut tx = world.app.db.begin_write().await.unwrap();
        let project = bring::project(&mut tx, &made, now).await.unwrap();
        tx.commit().await.unwrap();
        let racers = (0..8).map(|_| {
            let (app, project, old) = (Arc::clone(&world.app), project.clone(), Arc::clone(&old));
            tokio::spawn(async move {
                let mut tx = app.db.begin_write().await.unwrap();
                let plans = &app.settings.plans;
                let brought = bring::check(&mut tx, plans, &project, &old.checks[0], now).await.unwrap();
                tx.commit().await.unwrap();
                brought
            })
        });
        let outcomes = futures_util::future::join_all(racers).await;
        let winners = outcomes.iter().filter(|one| *one.as_ref().unwrap() == Brought::Now).count();
        assert_eq!((winners, count(&world, CHECKS).await, count(&world, USED).await), (1, 1, 1));
    }

    async fn the_count_guard_and_other_accounts_are_obeyed_by_the_write_itself(engine: Engine) {
        let world = world(engine, just_after()).await;
        world.sign_up("small@example.org", "free").await;
        let source = source(None).await;
        let old = &source.projects[0];
        let crowded = plan(&world, "small@example.org", old).await;
        let why = plans::crowding(&crowded.target, crowded.checks.to_bring.len()).unwrap();
        assert!(why.starts_with("small@example.org: 40 checks are to be brought, and plan free has room for 20"), "{why}");
        let brought = bring_all(&world, "small@example.org", &source, "Main").await;
        assert_eq!(brought[..20], [Brought::Now; 20]);
        assert_eq!(brought[20..], [Brought::NoRoom; 20]);
        assert_eq!((count(&world, CHECKS).await, count(&world, USED).await), (20, 20));

        let theirs = plan(&world, "owner@example.org", old).await;
        let named = "check 'Nightly backup' (0003fefd-a84b-4031-80eb-c4f84378e516): it belongs to another account here";
        assert!(theirs.refused.iter().any(|why| why == named), "{:?}", theirs.refused);
        assert!(theirs.refused.iter().any(|why| why.starts_with("project 'Main'")), "{:?}", theirs.refused);
        let now = world.clock.now();
        let mut tx = world.app.db.begin_write().await.unwrap();
        let mut project = theirs.target.project.clone().unwrap();
        project.account_id = theirs.target.account.id;
        let taken = bring::check(&mut tx, &world.app.settings.plans, &project, &old.checks[0], now).await.unwrap();
        assert_eq!(taken, Brought::Taken);
    }
}

#[tokio::test]
async fn what_stays_behind_is_said_with_the_reason() {
    let left = source(None).await.projects.swap_remove(0).left;
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(left[0].starts_with("API key hcw_MIoaJOLh…: it is stored hashed; give --secret-key"), "{left:?}");
    assert_eq!(source(Some(SECRET)).await.projects[0].left, Vec::<String>::new());
}

#[tokio::test]
async fn the_states_are_those_of_the_rows() {
    let source = source(None).await;
    let states: Vec<Status> = source.projects[0].checks.iter().map(|check| check.state.status).collect();
    let number = |status| states.iter().filter(|one| **one == status).count();
    let numbers = [Status::Up, Status::Down, Status::New, Status::Paused].map(number);
    assert_eq!(numbers, [33, 4, 2, 1]);
}
