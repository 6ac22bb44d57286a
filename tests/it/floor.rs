//! The floor from the outside: what is refused is refused in the open, and is never the cause of an alarm.
//! The simulation over random traffic stands with the state machine, in `src/checks/tests/traffic.rs`.

use flatline::checks::Status;
use flatline::time::Span;
use serde_json::{Value, json};

use crate::outage::skip;
use crate::races::rows;
use crate::support::{Engine, START, World, on_both};

on_both! {
    /// b062, b063: what is too soon is answered 429 with a reason and how long to wait, and is not in the log.
    async fn a_refused_ping_says_so_and_leaves_nothing(engine: Engine) {
        let world = World::new(engine, "free").await;
        let uuid = world.client.check(&json!({"timeout": 3600})).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        skip(&world, Span::millis(299_001)).await;
        let before = rows::row(&world.app.db, &uuid).await;
        let answer = world.client.ping(&uuid, "").await;
        let body = json!({"error": "ping rejected — too fast", "min_interval_seconds": 300, "retry_after": 1});
        assert_eq!((answer.status, answer.json()), (429, body));
        assert_eq!(answer.header("retry-after"), None);
        assert_eq!(rows::row(&world.app.db, &uuid).await, before);
        skip(&world, Span::millis(999)).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200, "exactly at the floor");
        assert_eq!(rows::log(&world.app.db, &uuid).await.len(), 2);
    }

    /// b064: a job every five seconds that says when it starts and ends, on a plan with a floor: every end of a
    /// run is taken as long as its start is, and six starts a minute are.
    async fn six_runs_a_minute_are_taken_and_the_seventh_says_too_fast(engine: Engine) {
        let world = World::new(engine, "pro").await;
        let uuid = world.client.check(&json!({"timeout": 3600})).await;
        let mut taken = 0;
        for _ in 0..12 {
            let start = world.client.ping(&uuid, "/start").await.status;
            skip(&world, Span::seconds(2)).await;
            let end = world.client.ping(&uuid, "").await.status;
            assert_eq!(start, end);
            taken += usize::from(start == 200) + usize::from(end == 200);
            skip(&world, Span::seconds(3)).await;
        }
        assert_eq!(taken, 12);
    }

    /// b065: checks do not share a floor.
    async fn each_check_has_a_floor_of_its_own(engine: Engine) {
        let world = World::new(engine, "pro").await;
        for number in 0..3 {
            let uuid = world.client.check(&json!({"name": format!("check {number}")})).await;
            assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        }
    }

    /// The ping that was refused was the job's report: its next may come a period and a grace later.
    async fn a_refusal_is_no_reason_for_an_alarm(engine: Engine) {
        let world = World::new(engine, "free").await;
        let simple = world.client.check(&json!({"timeout": 600, "grace": 60})).await;
        let slots = world.client.check(&json!({"schedule": "* * * * *", "grace": 60})).await;
        for uuid in [&simple, &slots] {
            world.client.ping(uuid, "").await;
        }
        world.pass(Span::seconds(290)).await;
        for uuid in [&simple, &slots] {
            assert_eq!(world.client.ping(uuid, "").await.status, 429);
        }
        // The first slot whose ping could not be refused is the one 300 s after the last that counted.
        for (uuid, deadline) in [(&slots, 300 + 60), (&simple, 600 + 60 + 300)] {
            let left = START + Span::seconds(deadline) - world.clock.now();
            world.pass(left - Span::millis(1)).await;
            world.tick().await;
            assert_ne!(world.client.status(uuid).await, "down");
            world.pass(Span::millis(1)).await;
            world.tick().await;
            assert_eq!(world.client.status(uuid).await, "down");
            let flips = rows::flips(&world.app.db, uuid).await;
            assert_eq!(flips[1].flipped_at, START + Span::seconds(deadline));
        }
    }

    /// Beyond six changes in a floor window the state still changes, nothing more is written, and the sweep tells
    /// once what it came to.
    async fn a_flapping_check_is_told_of_once_the_window_ends(engine: Engine) {
        let world = World::new(engine, "pro").await;
        let uuid = world.client.check(&json!({"timeout": 3600})).await;
        for _ in 0..4 {
            for ping in ["", "/fail"] {
                assert_eq!(world.client.ping(&uuid, ping).await.status, 200);
                world.pass(Span::seconds(1)).await;
            }
        }
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        let shown = world.client.read(&uuid).await;
        let shown: Vec<&Value> = ["status", "n_pings"].iter().map(|key| &shown[*key]).collect();
        assert_eq!(shown, [&json!("up"), &json!(6)]);
        assert_eq!(rows::flips(&world.app.db, &uuid).await.len(), 6);
        world.pass(Span::seconds(52)).await;
        world.tick().await;
        world.tick().await;
        let flips = rows::flips(&world.app.db, &uuid).await;
        let last = flips.last().expect("a flip");
        assert_eq!((flips.len(), last.old_status, last.new_status), (7, Status::Down, Status::Up));
        assert_eq!((last.reason.word(), last.flipped_at), ("flapping", START + Span::seconds(60)));
        rows::assert_consistent(&world.app.db, &uuid).await;
    }
}
