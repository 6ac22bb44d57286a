//! What a database that is busy, locked, full or in a deadlock means for a caller: patience first, then 503 with
//! `Retry-After: 2`, and work again as soon as the database works, without a restart.

use std::sync::Arc;

use flatline::db::{Db, Statement, WriteTx};
use flatline::serve;
use flatline::time::{Clock, Span};
use serde_json::json;
use tokio::process::Command;

use super::ground::{Ground, Setting, count, race, until};
use super::rows::{self, change};
use crate::support::{Answer, Engine, Place, Process, World, is_long, on_both, program, sign_up};

const OWN_PID: &Statement =
    &Statement { name: "OWN_PID", text: "SELECT CAST(pg_backend_pid() AS BIGINT) AS number" };
const COUNT_BLOCKED: &Statement = &Statement {
    name: "COUNT_BLOCKED",
    text: "SELECT COUNT(*) AS number FROM pg_stat_activity \
           WHERE CAST($1 AS INTEGER) = ANY(pg_blocking_pids(pid))",
};
const TOUCH_CHECK: &Statement =
    &Statement { name: "TOUCH_CHECK", text: "UPDATE checks SET tags = tags WHERE id = $1" };
const TOUCH_ACCOUNTS: &Statement =
    &Statement { name: "TOUCH_ACCOUNTS", text: "UPDATE accounts SET plan = plan" };
const LOCK_CHECKS: &Statement =
    &Statement { name: "LOCK_CHECKS", text: "LOCK TABLE checks IN ACCESS EXCLUSIVE MODE" };
const CREATE_FULL: &Statement = &Statement {
    name: "CREATE_FULL",
    text: "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN \
           RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; \
           END $$ LANGUAGE plpgsql",
};
const FILL: &Statement = &Statement {
    name: "FILL",
    text: "CREATE TRIGGER full_disk BEFORE INSERT ON pings FOR EACH ROW EXECUTE FUNCTION full_disk()",
};
const EMPTY: &Statement = &Statement { name: "EMPTY", text: "DROP TRIGGER full_disk ON pings" };

#[derive(sqlx::FromRow)]
struct Number {
    number: i64,
}

async fn await_blocked(db: &Db, tx: &mut WriteTx) {
    let pid = tx.query(OWN_PID).maybe::<Number>().await.unwrap().unwrap().number;
    until("somebody waits for this transaction", async || {
        // A transaction sees one picture of who waits for whom, so each look is a new one.
        let mut look = db.begin_read().await.unwrap();
        look.query(COUNT_BLOCKED).bind(pid).maybe::<Number>().await.unwrap().unwrap().number > 0
    })
    .await;
}

/// The same program, which gets an error when a file may not grow, and not a signal.
fn unkilled(program: &Command) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program.as_std().get_program());
    for (name, value) in program.as_std().get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.kill_on_drop(true);
    command
}

/// Fills the disk or empties it: no file of the process may grow, or PostgreSQL says that its own may not.
async fn disk(db: &Db, process: &Process, is_full: bool) {
    if !db.is_embedded() {
        change(db, if is_full { FILL } else { EMPTY }, &[]).await;
        return;
    }
    let limit = if is_full { "--fsize=4096:" } else { "--fsize=unlimited:" };
    let set = Command::new("prlimit").args(["--pid", &process.id().to_string(), limit]).status().await;
    assert!(set.unwrap().success());
}

fn assert_unavailable(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert!(!answer.text().contains('<'), "{}", answer.text());
}

/// One takes A then B, the other B then A. The engine ends the one that waited first, which is the program's; that
/// the other one gets its second row at all proves it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_sweep_that_the_engine_ends_for_a_deadlock_is_run_again() {
    let ground = Ground::new(Setting::Postgres, "calm").await;
    let (first, second) = (
        ground.pinged_check("a", Span::seconds(181)).await,
        ground.pinged_check("b", Span::seconds(181)).await,
    );
    let mut tx = ground.db.begin_write().await.unwrap();
    tx.change(TOUCH_CHECK).bind(ground.row(&second).await.id).count().await.unwrap();
    let app = Arc::clone(&ground.app);
    let sweep = tokio::spawn(async move { app.sweep().await.unwrap() });
    await_blocked(&ground.db, &mut tx).await;
    tx.change(TOUCH_CHECK).bind(ground.row(&first).await.id).count().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(sweep.await.unwrap(), 2);
    for check in [&first, &second] {
        assert_eq!(ground.flips(check).await.len(), 2);
        ground.assert_consistent(check).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_that_the_engine_ends_for_a_deadlock_is_answered_as_if_nothing_had_been() {
    let ground = Ground::new(Setting::Postgres, "calm").await;
    let check = ground.check("a").await;
    let mut tx = ground.db.begin_write().await.unwrap();
    tx.change(TOUCH_CHECK).bind(ground.row(&check).await.id).count().await.unwrap();
    let (client, path) = (ground.client(0), format!("checks/{check}"));
    let deletion = tokio::spawn(async move { client.delete(&path).await });
    await_blocked(&ground.db, &mut tx).await;
    tx.change(TOUCH_ACCOUNTS).count().await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(deletion.await.unwrap().status, 200);
    ground.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pings_wait_while_another_process_writes_and_none_is_refused() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let check = world.client.check(&json!({"name": "job"})).await;
    let other = world.place.open().await;
    for _ in 0..if is_long() { 20 } else { 3 } {
        let statuses = race(52, |index| {
            let (client, check, other) = (world.client.clone(), check.clone(), other.clone());
            let app = Arc::clone(&world.app);
            async move {
                match index {
                    0 => {
                        let mut tx = other.begin_write().await.unwrap();
                        tx.change(TOUCH_ACCOUNTS).count().await.unwrap();
                        tokio::time::sleep(Span::millis(500).to_std()).await;
                        tx.commit().await.map(|()| 200).unwrap()
                    }
                    1 => app.sweep().await.map(|_| 200).unwrap(),
                    _ => client.ping(&check, "").await.status,
                }
            }
        })
        .await;
        assert_eq!(count(&statuses, 200), 52, "{statuses:?}");
    }
    assert_eq!(world.client.read(&check).await["n_pings"], if is_long() { 1000 } else { 150 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_that_stays_locked_is_answered_503_and_then_work_goes_on() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let check = world.client.check(&json!({"name": "job"})).await;
    let other = world.place.open().await;
    let tx = other.begin_write().await.unwrap();
    let second = json!({"name": "two"});
    let (ping, creation) = tokio::join!(world.client.ping(&check, ""), world.client.post("checks/", &second));
    assert_unavailable(&ping);
    assert_unavailable(&creation);
    assert_eq!(world.client.read(&check).await["n_pings"], 0, "readers are not held up");
    drop(tx);
    assert_eq!(world.client.ping(&check, "").await.status, 200);
    assert_eq!(world.client.post("checks/", &second).await.status, 201);
    assert_eq!(world.client.read(&check).await["n_pings"], 1);
    assert_eq!(flatline::cli::examine(&world.app.db).await.unwrap(), Vec::<String>::new());
}

/// PostgreSQL gives a statement 20 s.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_table_that_stays_locked_is_answered_503_and_then_work_goes_on() {
    if !is_long() {
        return;
    }
    let world = World::new(Engine::Postgres, "unlimited").await;
    let check = world.client.check(&json!({"name": "job"})).await;
    let mut tx = world.app.db.begin_write().await.unwrap();
    tx.change(LOCK_CHECKS).count().await.unwrap();
    assert_unavailable(&world.client.ping(&check, "").await);
    drop(tx);
    assert_eq!(world.client.ping(&check, "").await.status, 200);
}

on_both! {
    async fn a_full_disk_is_answered_503_and_then_work_goes_on(engine: Engine) {
        let place = Place::new(engine).await;
        let (app, _) = serve::build(place.open().await, place.settings(&[]), Clock::System).await.unwrap();
        let owner = sign_up(&app, "owner@example.org", Some("unlimited")).await;
        let process = Process::of(unkilled(&program(&place, &[]))).await;
        let client = process.client.with_key(&owner.api_key);
        let check = client.check(&json!({"name": "job", "channels": "*"})).await;
        if engine == Engine::Postgres {
            change(&app.db, CREATE_FULL, &[]).await;
        }
        let mut accepted = 0;
        for _ in 0..if is_long() { 20 } else { 3 } {
            disk(&app.db, &process, true).await;
            for turn in 0..20 {
                let suffix = if turn % 2 == 0 { "/fail" } else { "" };
                assert_unavailable(&client.ping_with(&check, suffix, &[b'x'; 90_000]).await);
            }
            assert_eq!(client.read(&check).await["n_pings"], accepted);
            disk(&app.db, &process, false).await;
            assert_eq!(client.ping_with(&check, "/fail", &[b'x'; 90_000]).await.status, 200);
            assert_eq!(client.post(&format!("checks/{check}"), &json!({"tags": "a"})).await.status, 200);
            assert_eq!(client.ping(&check, "").await.status, 200);
            accepted += 2;
        }
        assert_eq!(client.read(&check).await["n_pings"], accepted);
        rows::assert_consistent(&app.db, &check).await;
        assert_eq!(flatline::cli::examine(&app.db).await.unwrap(), Vec::<String>::new());
    }

    async fn requests_that_are_given_up_in_the_middle_leave_no_lock_and_no_half(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "job"})).await;
        for _ in 0..if is_long() { 50 } else { 5 } {
            race(20, |index| {
                let (client, check) = (world.client.clone(), check.clone());
                async move {
                    let patience = Span::millis((flatline::id::fraction() * 12.0) as i64).to_std();
                    let work = async {
                        match index % 4 {
                            0 => client.post("checks/", &json!({"name": "new"})).await.status,
                            1 => client.post(&format!("checks/{check}"), &json!({"tags": "a"})).await.status,
                            2 => client.get(&format!("checks/{check}")).await.status,
                            _ => client.ping(&check, "").await.status,
                        }
                    };
                    drop(tokio::time::timeout(patience, work).await);
                }
            })
            .await;
            // More than there are connections: each of them is in order.
            let statuses = race(24, |index| {
                let (client, check) = (world.client.clone(), check.clone());
                async move {
                    match index % 2 {
                        0 => client.post(&format!("checks/{check}"), &json!({"tags": "a"})).await.status,
                        _ => client.ping(&check, "").await.status,
                    }
                }
            })
            .await;
            assert_eq!(count(&statuses, 200), 24, "{statuses:?}");
        }
        assert_eq!(world.client.post("checks/", &json!({"name": "new"})).await.status, 201);
        until("nothing is written any more", async || {
            flatline::cli::examine(&world.app.db).await.unwrap().is_empty()
        })
        .await;
    }
}
