//! No alert is lost, and none is sent for our own outage (DESIGN 4).
//!
//! The program is stopped and started on the same data, or the clock jumps under it, while jobs keep their times
//! and their pings reach nobody. What comes after must hold for every one of them.

pub mod crowd;

use std::collections::{BTreeMap, BTreeSet};

use flatline::app::JobError;
use flatline::checks::{Gap, Status};
use flatline::db::{Db, Statement};
use flatline::time::Span;
use serde_json::{Value, json};
use uuid::Uuid;

use self::crowd::{Crowd, LONGEST_GRACE, LONGEST_SILENCE, gaps, letters, unseen};
use crate::races::rows;
use crate::support::{Engine, Process, Receiver, START, World, is_long, on_both};

const DAY: Span = Span::hours(24);

/// As if the program had stamped all along.
const STAMP: &Statement =
    &Statement { name: "STAMP", text: "UPDATE witness SET stamped_at = $1 WHERE id = 1" };

/// Lets time pass while the program runs undisturbed, without running its jobs.
pub async fn skip(world: &World, span: Span) {
    world.clock.advance(span);
    rows::change(&world.app.db, STAMP, &[world.clock.now().0]).await;
}

/// A check on a webhook of its own, up.
pub async fn watched(world: &World, receiver: &Receiver, mut spec: Value) -> String {
    let call = |says: &str| json!({"method": "POST", "url": format!("{}/{says}", receiver.url)});
    let channel = world.channel("webhook", &json!({"down": call("down"), "up": call("up")})).await;
    spec["channels"] = json!(channel.uuid.to_string());
    let uuid = world.client.check(&spec).await;
    assert_eq!(world.client.ping(&uuid, "").await.status, 200);
    uuid
}

/// What the receiver was told, in order: `down` or `up`.
pub fn told(receiver: &Receiver) -> Vec<String> {
    receiver.received().iter().map(|call| call.path.trim_start_matches('/').to_owned()).collect()
}

/// Two accounts' jobs live for ten minutes, report to nobody while `away` happens, of which some never return, and
/// live on.
async fn outlive(world: &mut World, number: usize, away: impl AsyncFnOnce(&mut World)) {
    let second = world.sign_up("second@example.org", "business").await;
    let first = world.owner.clone();
    let mut crowd = Crowd::new(world, &[(&first, number - number / 4), (&second, number / 4)]).await;
    crowd.live(world, Span::minutes(10)).await;
    assert_eq!(crowd.downs(world).await, BTreeMap::new());

    let started_at = world.clock.now();
    away(world).await;
    let gap = Gap { started_at, ended_at: world.clock.now() };
    crowd.silence(7);
    crowd.miss(gap.ended_at);
    assert_eq!(gaps(world).await, [gap]);
    crowd.live(world, LONGEST_SILENCE).await;

    assert_eq!(crowd.downs(world).await, crowd.silent(), "the silent ones once each, and no other");
    let marked = unseen(world).await;
    assert_eq!(marked, crowd.unjudgeable(gap));
    assert!(marked.len() > number / 7, "{} of {number}", marked.len());
    let letters = letters(world).await;
    let mut expected: BTreeMap<i64, BTreeSet<Uuid>> = BTreeMap::new();
    for job in crowd.jobs.iter().filter(|job| marked.contains_key(&job.check.id)) {
        expected.entry(job.check.account_id).or_default().insert(job.check.uuid);
    }
    assert_eq!((letters.len(), expected.len()), (2, 2), "one letter for each account");
    for letter in letters {
        assert_eq!(letter.checks, expected[&letter.account_id]);
    }
}

on_both! {
    async fn a_thousand_jobs_outlive_a_crash_longer_than_their_grace(engine: Engine) {
        let mut world = World::new(engine, "unlimited").await;
        outlive(&mut world, 1000, async |world: &mut World| {
            world.stop().await;
            world.advance(LONGEST_GRACE + Span::minutes(10));
            world.start().await;
        }).await;
    }

    /// The machine slept: the first thing that runs is the sweep, under a clock that is far ahead.
    async fn jobs_outlive_a_suspended_machine_and_a_clock_set_forward(engine: Engine) {
        let mut world = World::new(engine, "unlimited").await;
        outlive(&mut world, 140, async |world: &mut World| {
            world.advance(LONGEST_GRACE + Span::minutes(10));
            assert_eq!(world.app.sweep().await.expect("the sweep runs"), 0);
        }).await;
    }

    /// b083: the server was off for two minutes, as long as period and grace together.
    async fn nothing_is_alarmed_at_once_after_a_short_outage(engine: Engine) {
        let receiver = Receiver::new().await;
        let mut world = World::new(engine, "unlimited").await;
        let uuid = watched(&world, &receiver, json!({"timeout": 60, "grace": 60})).await;
        world.stop().await;
        world.advance(Span::seconds(120));
        world.start().await;
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "grace");
        world.pass(Span::seconds(50)).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        world.tick().await;
        assert_eq!((world.client.status(&uuid).await.as_str(), told(&receiver).len()), ("up", 0));
        world.pass(Span::seconds(120)).await;
        world.tick().await;
        assert_eq!(told(&receiver), ["down"], "and a silence of its own is told");
    }

    /// b084: 200 checks, two hours; what was missed comes in one letter, what stays missing goes down one by one.
    async fn a_start_after_a_long_outage_floods_nobody(engine: Engine) {
        let mut world = World::new(engine, "unlimited").await;
        let owner = world.owner.clone();
        let crowd = Crowd::new(&world, &[(&owner, 200)]).await;
        let mut crowd = crowd;
        crowd.live(&world, Span::minutes(2)).await;
        world.stop().await;
        world.advance(Span::hours(2));
        world.start().await;
        crowd.silence(1);
        for _ in 0..3 {
            crowd.live(&world, Span::seconds(10)).await;
            assert_eq!(crowd.downs(&world).await, BTreeMap::new());
        }
        crowd.live(&world, LONGEST_SILENCE).await;
        assert_eq!(crowd.downs(&world).await, crowd.silent());
        let letters = letters(&world).await;
        assert_eq!(letters.iter().map(|letter| letter.checks.len()).collect::<Vec<_>>(), [200]);
    }

    /// b085, b089: what was down before an outage is down after it, and nobody is told again.
    async fn what_was_known_to_be_down_is_not_told_again(engine: Engine) {
        let receiver = Receiver::new().await;
        let mut world = World::new(engine, "unlimited").await;
        let uuid = watched(&world, &receiver, json!({"timeout": 60, "grace": 60})).await;
        world.pass(Span::seconds(120)).await;
        world.tick().await;
        assert_eq!(told(&receiver), ["down"]);
        for away in [5, 45, 1800, 100_000] {
            world.stop().await;
            world.advance(Span::seconds(away));
            world.start().await;
            world.tick().await;
            world.pass(Span::minutes(5)).await;
            world.tick().await;
        }
        assert_eq!(world.client.status(&uuid).await, "down");
        assert_eq!((told(&receiver).len(), rows::flips(&world.app.db, &uuid).await.len()), (1, 2));
        assert_eq!(letters(&world).await.len(), 0);
        world.client.ping(&uuid, "").await;
        world.tick().await;
        assert_eq!(told(&receiver), ["down", "up"]);
    }

    /// b086: a restart keeps deadlines; they count from the last ping and not from the restart.
    async fn a_restart_keeps_deadlines(engine: Engine) {
        let mut world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"timeout": 90_000, "grace": 3600})).await;
        world.client.ping(&uuid, "").await;
        skip(&world, Span::seconds(86_000)).await;
        world.stop().await;
        world.advance(Span::seconds(40));
        world.start().await;
        let down_at = START + Span::seconds(90_000 + 3600);
        let left = down_at - world.clock.now();
        skip(&world, left - Span::millis(1)).await;
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "grace");
        skip(&world, Span::millis(1)).await;
        world.tick().await;
        let flips = rows::flips(&world.app.db, &uuid).await;
        assert_eq!((flips[1].new_status, flips[1].flipped_at), (Status::Down, down_at));
    }

    async fn a_dead_job_is_found_although_the_server_restarts_every_night(engine: Engine) {
        let mut world = World::new(engine, "unlimited").await;
        let simple = world.client.check(&json!({"timeout": 86_400, "grace": 3600})).await;
        let cron = world.client.check(&json!({"schedule": "12 3 * * *", "grace": 3600})).await;
        for uuid in [&simple, &cron] {
            world.client.ping(uuid, "").await;
        }
        skip(&world, DAY - Span::seconds(20)).await;
        let mut found = Vec::new();
        for night in 1..=3 {
            world.stop().await;
            world.advance(Span::seconds(45));
            world.start().await;
            world.tick().await;
            // Until after the grace of the night, the day, and shortly before the next restart.
            for span in [Span::minutes(70), DAY - Span::minutes(70) - Span::seconds(45)] {
                skip(&world, span).await;
                world.tick().await;
            }
            for uuid in [&simple, &cron] {
                if world.client.status(uuid).await == "down" {
                    found.push((night, uuid));
                }
            }
        }
        assert_eq!(found, [(2, &simple), (2, &cron), (3, &simple), (3, &cron)]);
        for uuid in [&simple, &cron] {
            let flips = rows::flips(&world.app.db, uuid).await;
            assert_eq!(flips.len(), 2, "told once");
            assert_eq!(flips[1].blind_ms, Span::seconds(45), "with what was not seen");
        }
        assert_eq!(letters(&world).await.len(), 1);
    }

    /// A job that reports, by hand and with a failure, is heard in an outage's shadow like at any time.
    async fn an_explicit_fail_always_counts(engine: Engine) {
        let receiver = Receiver::new().await;
        let mut world = World::new(engine, "unlimited").await;
        let uuid = watched(&world, &receiver, json!({"timeout": 60, "grace": 60})).await;
        world.stop().await;
        world.advance(Span::seconds(110));
        world.start().await;
        world.client.ping(&uuid, "/fail").await;
        world.tick().await;
        assert_eq!((world.client.status(&uuid).await.as_str(), told(&receiver)), ("down", vec!["down".to_owned()]));
    }

    /// A process that answered 503 notes the span, although the stamp of another one may have moved on.
    async fn a_process_that_answered_503_notes_the_span(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"timeout": 60, "grace": 60})).await;
        world.client.ping(&uuid, "").await;
        world.pass(Span::seconds(60)).await;
        // Somebody holds what a ping has to write.
        let other = Db::open(&world.place.url.parse().expect("a URL")).await.expect("it opens");
        let mut held = other.begin_write().await.expect("a write");
        let check = rows::row(&other, &uuid).await;
        assert!(flatline::checks::store::lock(&mut held, check.id).await.expect("a write").is_some());
        assert_eq!(world.client.ping(&uuid, "").await.status, 503);
        world.advance(Span::seconds(50));
        held.commit().await.expect("it changed nothing");
        skip(&world, Span::seconds(10)).await;
        assert_eq!(world.app.sweep().await.expect("the sweep runs"), 0);
        assert_eq!(world.client.status(&uuid).await, "grace", "its ping was refused, so its silence is no proof");
        let refused = START + Span::seconds(60);
        assert_eq!(gaps(&world).await, [Gap { started_at: refused, ended_at: refused + Span::seconds(60) }]);
    }

    /// While pings cannot be taken, nothing is judged.
    async fn silence_is_not_judged_while_pings_cannot_be_taken(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"timeout": 60, "grace": 60})).await;
        world.client.ping(&uuid, "").await;
        let other = Db::open(&world.place.url.parse().expect("a URL")).await.expect("it opens");
        let mut held = other.begin_write().await.expect("a write");
        held.change(STAMP).bind(START).count().await.expect("a write");
        world.advance(Span::seconds(130));
        assert!(matches!(world.app.sweep().await, Err(JobError::Blind | JobError::Failed(_))));
        held.commit().await.expect("it changed nothing");
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "grace");
    }
}

/// The same with the real program and the real clock: jobs with a minute of period and grace, stopped in order
/// and killed, for longer than both.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_real_program_outlives_its_own_outages() {
    if !is_long() {
        return;
    }
    tokio::join!(
        real_outage(Engine::Sqlite, true),
        real_outage(Engine::Sqlite, false),
        real_outage(Engine::Postgres, true),
        real_outage(Engine::Postgres, false),
    );
}

async fn real_outage(engine: Engine, kill: bool) {
    let world = World::new(engine, "unlimited").await;
    let mut process = Process::start(&world.place, &[]).await;
    let api = world.client.at(&process.client.base);
    let mut jobs = Vec::new();
    for _ in 0..12 {
        jobs.push(api.check(&json!({"timeout": 60, "grace": 60})).await);
    }
    let (silent, living) = jobs.split_at(3);
    report(&process, &jobs, 2).await;
    if kill {
        process.kill().await;
    } else {
        assert!(process.terminate().await.success());
    }
    tokio::time::sleep(std::time::Duration::from_secs(130)).await;
    let mut process = Process::start(&world.place, &[]).await;
    report(&process, living, 8).await;
    for (job, downs) in silent.iter().map(|job| (job, 1)).chain(living.iter().map(|job| (job, 0))) {
        let flips = rows::flips(&world.app.db, job).await;
        let number = flips.iter().filter(|flip| flip.new_status == Status::Down).count();
        assert_eq!(number, downs, "{flips:?}");
    }
    assert_eq!(letters(&world).await.len(), 1);
    process.kill().await;
}

/// Lets jobs report every half minute.
async fn report(process: &Process, jobs: &[String], times: usize) {
    for _ in 0..times {
        for job in jobs {
            assert_eq!(process.client.ping(job, "").await.status, 200);
        }
        tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    }
}
