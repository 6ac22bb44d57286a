//! Crashes: the real program under load, killed at random moments and started again on the same data.
//!
//! Every ping that was answered 200 is in the log once, numbered in the order in which its caller sent it; every
//! flip worth telling has its deliveries; each of these arrives, under the same id where a crash repeats it; the
//! doctor finds nothing. Some rounds as a rule, 20 with `tests/run --long`; the counts are printed.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the steps of a test fail as a test does; the counts are for its reader"
)]

use std::collections::{BTreeMap, BTreeSet};

use flatline::checks::Status;
use flatline::db::{Db, Statement};
use flatline::time::{Clock, Span};
use flatline::{cli, serve};
use serde_json::json;

use crate::races::ground::{until, webhook};
use crate::races::rows;
use crate::support::{Client, Engine, Place, Process, Receiver, is_long, on_both, sign_up};

const CALLERS: usize = 10;
const BUSY_CHECKS: usize = 24;
const SILENT_CHECKS: usize = 3;

const LIST_BODIES: &Statement =
    &Statement { name: "LIST_BODIES", text: "SELECT n, body FROM bodies WHERE check_id = $1 ORDER BY n" };
/// As if the two minutes of a lease had passed since the crash.
const END_LEASES: &Statement = &Statement {
    name: "END_LEASES",
    text: "UPDATE deliveries SET claimed_until_at = 0 WHERE state = 'due' AND claim IS NOT NULL",
};
const HASTEN: &Statement = &Statement {
    name: "HASTEN",
    text: "UPDATE deliveries SET due_at = 0 WHERE state = 'due' AND claim IS NULL AND due_at > 0",
};
const COUNT_DUE: &Statement =
    &Statement { name: "COUNT_DUE", text: "SELECT COUNT(*) AS number FROM deliveries WHERE state = 'due'" };

#[derive(sqlx::FromRow)]
struct Body {
    n: i64,
    body: Vec<u8>,
}

#[derive(sqlx::FromRow)]
struct Number {
    number: i64,
}

/// What callers know: the marks of their pings, by check, in the order in which each caller sent them.
#[derive(Default)]
struct Known {
    /// Answered 200.
    accepted: BTreeMap<String, Vec<(usize, String)>>,
    /// Not answered, because the program was gone.
    open: usize,
    /// Answered otherwise.
    other: BTreeMap<u16, usize>,
}

on_both! {
    async fn what_was_answered_200_is_kept_and_told_over_kills(engine: Engine) {
        let rounds = if is_long() { 20 } else { 3 };
        let receiver = Receiver::new().await;
        let place = Place::new(engine).await;
        let (client, channel) = prepare(&place, &receiver).await;
        let mut process = start(&place).await;
        let mut known = Known::default();
        let client = client.at(&process.client.base);
        let busy = create(&client, BUSY_CHECKS, &channel).await;
        let silent = create(&client, SILENT_CHECKS, &channel).await;
        for round in 0..rounds {
            let client = client.at(&process.client.base);
            for check in &silent {
                assert_eq!(client.ping(check, "").await.status, 200);
            }
            let callers: Vec<_> = (0..CALLERS)
                .map(|caller| tokio::spawn(call(client.clone(), busy.clone(), caller, round)))
                .collect();
            tokio::time::sleep(Span::millis(200 + (flatline::id::fraction() * 1000.0) as i64).to_std()).await;
            process.kill().await;
            for caller in callers {
                known.add(caller.await.unwrap());
            }
            let db = place.open().await;
            for check in &silent {
                rows::age(&db, check, Span::hours(1)).await;
            }
            rows::change(&db, END_LEASES, &[]).await;
            db.close().await;
            process = start(&place).await;
        }
        let db = place.open().await;
        until("all deliveries are settled and the silent checks down", async || {
            rows::change(&db, HASTEN, &[]).await;
            let mut all_down = true;
            for check in &silent {
                all_down &= rows::row(&db, check).await.state.status == Status::Down;
            }
            all_down && due(&db).await == 0
        })
        .await;
        assert!(process.terminate().await.success());
        let checks: Vec<String> = busy.into_iter().chain(silent).collect();
        verify(&db, &checks, &known).await;
        let told = verify_deliveries(&db, &checks, &receiver).await;
        assert_eq!(cli::examine(&db).await.unwrap(), Vec::<String>::new());
        println!(
            "{engine:?}: {rounds} kills; {} pings answered 200, {} not answered, others {:?}; {told}",
            known.accepted.values().map(Vec::len).sum::<usize>(),
            known.open,
            known.other,
        );
    }

    async fn a_stop_in_order_loses_nothing_and_waits_for_nobody(engine: Engine) {
        let receiver = Receiver::new().await;
        let place = Place::new(engine).await;
        let (client, channel) = prepare(&place, &receiver).await;
        let mut process = start(&place).await;
        let client = client.at(&process.client.base);
        let busy = create(&client, BUSY_CHECKS, &channel).await;
        let callers: Vec<_> =
            (0..CALLERS).map(|caller| tokio::spawn(call(client.clone(), busy.clone(), caller, 0))).collect();
        tokio::time::sleep(Span::millis(300).to_std()).await;
        assert!(process.terminate().await.success());
        let mut known = Known::default();
        for caller in callers {
            known.add(caller.await.unwrap());
        }
        let late: Vec<String> =
            process.said().into_iter().filter(|line| line.contains("in time")).collect();
        assert_eq!(late, Vec::<String>::new());
        let db = place.open().await;
        verify(&db, &busy, &known).await;
        assert_eq!(cli::examine(&db).await.unwrap(), Vec::<String>::new());
    }
}

/// An account with a webhook, made before the program first runs: its client and the channel's uuid.
async fn prepare(place: &Place, receiver: &Receiver) -> (Client, String) {
    let (app, _) = serve::build(place.open().await, place.settings(&[]), Clock::System).await.unwrap();
    let owner = sign_up(&app, "owner@example.org", Some("unlimited")).await;
    let channel = webhook(&app, &owner, receiver).await;
    app.db.close().await;
    (Client::new("").with_key(&owner.api_key), channel.uuid.to_string())
}

async fn start(place: &Place) -> Process {
    Process::start(place, &[("LOG", "warn,flatline::serve=info")]).await
}

async fn create(client: &Client, number: usize, channel: &str) -> Vec<String> {
    let mut checks = Vec::new();
    for index in 0..number {
        let spec = json!({"name": format!("job {index}"), "timeout": 600, "grace": 60, "channels": channel});
        checks.push(client.check(&spec).await);
    }
    checks
}

/// One caller: pings of every kind, one after the other, until the program is gone.
async fn call(client: Client, checks: Vec<String>, caller: usize, round: usize) -> Known {
    const KINDS: [&str; 16] =
        ["", "", "", "", "", "/0", "/start", "/start", "", "", "/log", "/log", "", "/fail", "/7", ""];
    let mut known = Known::default();
    for turn in 0.. {
        let check = &checks[(turn * 7 + caller * 5) % checks.len()];
        let mut suffix = KINDS[(turn + caller * 3) % KINDS.len()].to_owned();
        if turn % 3 == 0 {
            suffix = format!("{suffix}?rid={}", flatline::id::uuid());
        }
        let mark = format!("{round}.{caller}.{turn}");
        let path = format!("/ping/{check}{suffix}");
        match client.without_key().try_send("POST", &path, &[], mark.clone().into_bytes()).await {
            Ok(answer) if answer.status == 200 => {
                known.accepted.entry(check.clone()).or_default().push((caller, mark));
            }
            Ok(answer) => *known.other.entry(answer.status).or_default() += 1,
            Err(_) => {
                known.open += 1;
                break;
            }
        }
    }
    known
}

impl Known {
    fn add(&mut self, other: Self) {
        for (check, marks) in other.accepted {
            self.accepted.entry(check).or_default().extend(marks);
        }
        self.open += other.open;
        for (status, number) in other.other {
            *self.other.entry(status).or_default() += number;
        }
    }
}

async fn due(db: &Db) -> i64 {
    let mut tx = db.begin_read().await.unwrap();
    tx.query(COUNT_DUE).maybe::<Number>().await.unwrap().unwrap().number
}

/// Every mark that was answered 200 is in its check's log once, and a caller's marks are in its order.
async fn verify(db: &Db, checks: &[String], known: &Known) {
    assert_eq!(known.other, BTreeMap::new());
    for check in checks {
        rows::assert_consistent(db, check).await;
        let id = rows::row(db, check).await.id;
        let mut tx = db.begin_read().await.unwrap();
        let bodies: Vec<Body> = tx.query(LIST_BODIES).bind(id).all().await.unwrap();
        let mut numbers = BTreeMap::new();
        for Body { n, body } in bodies {
            let mark = String::from_utf8(body).unwrap();
            assert_eq!(numbers.insert(mark.clone(), n), None, "{mark} is there twice");
        }
        let mut last = BTreeMap::new();
        for (caller, mark) in known.accepted.get(check).into_iter().flatten() {
            let n = *numbers.get(mark).unwrap_or_else(|| panic!("{mark} was answered 200 and is lost"));
            let before = last.insert(*caller, n).unwrap_or(0);
            assert!(before < n, "{mark} has number {n} after {before}");
        }
    }
}

/// Every delivery arrived, or its UP told both; says how many.
async fn verify_deliveries(db: &Db, checks: &[String], receiver: &Receiver) -> String {
    let mut arrived: BTreeMap<String, i64> = BTreeMap::new();
    for received in receiver.received() {
        let id = received.headers["idempotency-key"].to_str().unwrap().to_owned();
        *arrived.entry(id).or_default() += 1;
    }
    let (mut sent, mut superseded, mut ids) = (0, 0, BTreeSet::new());
    for check in checks {
        for delivery in rows::deliveries(db, check).await {
            let id = delivery.uuid.to_string();
            let times = arrived.get(&id).copied().unwrap_or(0);
            assert!(times <= delivery.attempts, "{delivery:?} arrived {times} times");
            match delivery.state.as_str() {
                "sent" => assert!(times >= 1, "{delivery:?} never arrived"),
                other => assert_eq!((other, delivery.tells.as_str()), ("superseded", "down"), "{delivery:?}"),
            }
            sent += usize::from(delivery.state == "sent");
            superseded += usize::from(delivery.state == "superseded");
            ids.insert(id);
        }
    }
    assert!(arrived.keys().all(|id| ids.contains(id)), "a message came under an id of no delivery");
    let repeated = arrived.values().filter(|times| **times > 1).count();
    format!("{sent} deliveries sent, {superseded} superseded, {repeated} came more than once")
}
