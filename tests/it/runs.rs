//! Runs from the outside: starts, ends, durations, and what the API shows of them.

use flatline::checks::{Reason, Status};
use flatline::time::{Span, Time};
use serde_json::{Value, json};

use crate::outage::{skip, told, watched};
use crate::races::rows;
use crate::support::{Engine, Receiver, START, World, on_both};

const RUN: &str = "3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f";
const OTHER: &str = "9e7f0a1b-2c3d-4e5f-8c1e-6a4d4c1b3f2b";

/// The log's kinds and durations in seconds, oldest first.
async fn durations(world: &World, uuid: &str) -> Vec<(&'static str, Option<i64>)> {
    let log = rows::log(&world.app.db, uuid).await;
    log.iter().map(|entry| (entry.kind.word(), entry.duration_ms.map(Span::as_seconds))).collect()
}

/// The flips after a check's first: when, to what, why.
async fn flips(world: &World, uuid: &str) -> Vec<(Time, Status, Reason)> {
    let flips = rows::flips(&world.app.db, uuid).await;
    flips.iter().map(|flip| (flip.flipped_at, flip.new_status, flip.reason)).collect()
}

on_both! {
    /// b109: the run ids of start and end are both NULL. b115: start and end are one run.
    async fn a_run_without_an_id_has_its_duration(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"timeout": 86_400})).await;
        world.client.ping(&uuid, "/start").await;
        let running = world.client.read(&uuid).await;
        assert_eq!((&running["started"], running.get("last_duration")), (&json!(true), None));
        skip(&world, Span::seconds(42)).await;
        world.client.ping(&uuid, "").await;
        let ended = world.client.read(&uuid).await;
        assert_eq!((&ended["started"], &ended["last_duration"]), (&json!(false), &json!(42)));
        assert_eq!(durations(&world, &uuid).await, [("start", None), ("success", Some(42))]);
        skip(&world, Span::seconds(1)).await;
        world.client.ping(&uuid, "").await;
        assert_eq!(world.client.read(&uuid).await.get("last_duration"), None, "this one had none");
    }

    /// Overlapping runs keep their durations; the latest start is the one that is supervised (CONTRACT 2.8).
    async fn overlapping_runs_keep_their_durations(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"timeout": 86_400})).await;
        for (seconds, ping) in [(10, format!("/start?rid={RUN}")), (10, format!("/start?rid={OTHER}"))] {
            world.client.ping(&uuid, &ping).await;
            skip(&world, Span::seconds(seconds)).await;
        }
        world.client.ping(&uuid, &format!("?rid={RUN}")).await;
        assert_eq!(world.client.read(&uuid).await["started"], json!(true));
        skip(&world, Span::seconds(5)).await;
        world.client.ping(&uuid, &format!("/3?rid={}", OTHER.to_uppercase())).await;
        assert_eq!(world.client.read(&uuid).await["last_duration"], json!(15));
        assert_eq!(
            durations(&world, &uuid).await,
            [("start", None), ("start", None), ("success", Some(20)), ("fail", Some(15))]
        );
        assert_eq!(rows::row(&world.app.db, &uuid).await.state.open_runs, 0);
    }

    /// b112: a run may take its grace, whatever the period; the end takes the check up again, with its duration.
    async fn a_run_longer_than_its_grace_is_down_until_it_ends(engine: Engine) {
        let receiver = Receiver::new().await;
        let world = World::new(engine, "unlimited").await;
        let uuid = watched(&world, &receiver, json!({"timeout": 86_400, "grace": 21_600})).await;
        world.client.ping(&uuid, "/start").await;
        skip(&world, Span::seconds(21_600) - Span::millis(1)).await;
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "up");
        skip(&world, Span::millis(1)).await;
        world.tick().await;
        skip(&world, Span::seconds(3600)).await;
        world.client.ping(&uuid, "").await;
        world.tick().await;
        assert_eq!(told(&receiver), ["down", "up"]);
        assert_eq!(
            flips(&world, &uuid).await[1..],
            [
                (START + Span::seconds(21_600), Status::Down, Reason::Run),
                (START + Span::seconds(25_200), Status::Up, Reason::Success)
            ]
        );
        assert_eq!(world.client.read(&uuid).await["last_duration"], json!(25_200));
    }

    /// b116: a run that never ends, of a check that was never up.
    async fn a_run_that_never_ends_times_out(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"timeout": 86_400, "grace": 60})).await;
        world.client.ping(&uuid, "/start").await;
        let running = world.client.read(&uuid).await;
        let shown: Vec<&Value> = ["status", "started", "next_ping"].iter().map(|key| &running[*key]).collect();
        assert_eq!(shown, [&json!("new"), &json!(true), &json!(START.iso_seconds())]);
        world.pass(Span::seconds(180)).await;
        world.tick().await;
        assert_eq!(flips(&world, &uuid).await, [(START + Span::seconds(60), Status::Down, Reason::Run)]);
    }

    /// b117: documented as: the late start is shown as it was, and its success is the recovery.
    async fn a_run_that_begins_after_a_miss_has_its_own_start_and_duration(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        // The slot is a minute after the world's beginning.
        let uuid = world.client.check(&json!({"schedule": "13 3 * * *", "grace": 60})).await;
        world.client.ping(&uuid, "").await;
        let slot = START + Span::seconds(60);
        world.pass(Span::seconds(180)).await;
        world.tick().await;
        world.client.ping(&uuid, "/start").await;
        assert_eq!(world.client.status(&uuid).await, "down");
        skip(&world, Span::seconds(1800)).await;
        world.tick().await;
        world.client.ping(&uuid, "").await;
        assert_eq!(
            flips(&world, &uuid).await[1..],
            [
                (slot + Span::seconds(60), Status::Down, Reason::Timeout),
                (slot + Span::seconds(1920), Status::Up, Reason::Success)
            ]
        );
        assert_eq!(world.client.read(&uuid).await["last_duration"], json!(1800));
    }

    async fn a_hung_run_is_told_once_although_other_runs_succeed(engine: Engine) {
        let receiver = Receiver::new().await;
        let world = World::new(engine, "unlimited").await;
        let uuid = watched(&world, &receiver, json!({"timeout": 86_400, "grace": 60})).await;
        world.client.ping(&uuid, &format!("/start?rid={RUN}")).await;
        for _ in 0..3 {
            skip(&world, Span::seconds(90)).await;
            world.tick().await;
            world.client.ping(&uuid, &format!("?rid={OTHER}")).await;
            world.tick().await;
        }
        assert_eq!(told(&receiver), ["down", "up"]);
    }

    /// b081: down, overdue in between, then up: the recovery is told.
    async fn a_recovery_is_told_whatever_lay_between(engine: Engine) {
        let receiver = Receiver::new().await;
        let world = World::new(engine, "unlimited").await;
        let uuid = watched(&world, &receiver, json!({"timeout": 60, "grace": 60})).await;
        world.client.ping(&uuid, "/fail").await;
        for _ in 0..6 {
            world.pass(Span::seconds(30)).await;
            world.tick().await;
        }
        world.client.ping(&uuid, "").await;
        world.tick().await;
        assert_eq!(told(&receiver), ["down", "up"]);
    }
}
