//! The way of a ping to its group: a lone one waits for nobody, a crowd shares a transaction, a flood of one check
//! holds nobody else up, and a queue that is full says so.
//!
//! One thread runs everything, so that what is asked for at once is in the queue before anybody takes from it.

use std::cell::RefCell;

use flatline::checks::{self, Check, Reason, Signal};
use flatline::pings::{Outcome, Ping};
use flatline::recorder::{QUEUE, Unavailable};
use futures_util::FutureExt;
use futures_util::future::join_all;
use serde_json::json;
use tokio::task::{unconstrained, yield_now};
use uuid::Uuid;

use crate::ops::{metrics, sample};
use crate::races::rows;
use crate::support::{Engine, World, success};

/// Pings that all workers together may have taken from the queue and hold in their hands.
const IN_HAND: usize = 4 * 256;

/// Another success at the instant of the last one.
fn again(check: &Check) -> Ping {
    success(check, check.state.last_ping_at.expect("it was pinged"))
}

/// A check that is up, so that further successes repeat what is known.
async fn pinged(world: &World, name: &str) -> Check {
    let uuid = world.client.check(&json!({"name": name})).await;
    assert_eq!(world.client.ping(&uuid, "").await.status, 200);
    rows::row(&world.app.db, &uuid).await
}

/// Makes a test for each engine of one async function.
macro_rules! on_one_thread {
    ($(async fn $name:ident($engine:ident: Engine) $body:block)+) => {
        $(mod $name {
            use super::*;

            async fn test($engine: Engine) $body

            #[tokio::test]
            async fn sqlite() {
                test(Engine::Sqlite).await;
            }

            #[tokio::test]
            async fn postgres() {
                test(Engine::Postgres).await;
            }
        })+
    };
}

on_one_thread! {
    async fn a_lone_ping_is_a_group_of_its_own_and_a_crowd_shares_one(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = pinged(&world, "nightly").await;
        for _ in 0..3 {
            let outcome = world.app.recorder.record(again(&check)).await;
            assert_eq!(outcome, Ok(Outcome::Recorded { signal: Signal::Success, flip: None }));
        }
        let groups = async || {
            let text = metrics(&world).await;
            (sample(&text, "flatline_group_size_count"), sample(&text, "flatline_group_size_sum"))
        };
        assert_eq!(groups().await, (4.0, 4.0), "each alone");
        let crowd = (0..200).map(|_| world.app.recorder.record(again(&check)));
        let outcomes = unconstrained(join_all(crowd)).await;
        assert!(outcomes.iter().all(Result::is_ok));
        assert_eq!(groups().await, (5.0, 204.0), "200 in one");
        let live = rows::row(&world.app.db, &check.uuid.to_string()).await;
        assert_eq!((live.state.n_pings, live.state.seq), (204, check.state.seq + 203));
    }

    async fn a_flood_of_one_check_holds_nobody_else_up_for_longer_than_what_came_before(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let (loud, quiet) = (pinged(&world, "loud").await, pinged(&world, "quiet").await);
        let answered = RefCell::new(Vec::new());
        let take = |check: &Check| {
            let (ping, id, answered, recorder) = (again(check), check.id, &answered, &world.app.recorder);
            async move {
                assert!(recorder.record(ping).await.is_ok());
                answered.borrow_mut().push(id);
            }
        };
        // A worker that opens its connection first would be overtaken by those that have theirs.
        unconstrained(join_all((0..2000).map(|_| take(&loud)))).await;
        answered.borrow_mut().clear();
        let flood = (0..3000).map(|turn| take(if turn == 600 { &quiet } else { &loud }));
        unconstrained(join_all(flood)).await;
        let answered = answered.into_inner();
        let place = answered.iter().position(|id| *id == quiet.id);
        // Its group and, on PostgreSQL, those that were committed beside it.
        assert!(place.is_some_and(|place| place < 600 + IN_HAND), "answered as number {place:?} of 3000");
    }

    async fn while_most_pings_are_refused_a_look_refuses_the_next_ones(engine: Engine) {
        let world = World::new(engine, "free").await;
        let (loud, quiet) = (pinged(&world, "loud").await, pinged(&world, "quiet").await);
        let record = |ping: Ping| world.app.recorder.record(ping);
        for _ in 0..500 {
            assert!(matches!(record(again(&loud)).await, Ok(Outcome::TooFast { .. })));
        }
        let groups = async || sample(&metrics(&world).await, "flatline_group_size_count");
        let before = groups().await;
        assert!(matches!(record(again(&quiet)).await, Ok(Outcome::TooFast { .. })));
        let unknown = Ping { check: Uuid::from_u128(7), ..again(&quiet) };
        assert_eq!(record(unknown).await, Ok(Outcome::Unknown));
        assert_eq!(groups().await, before, "nothing was written");
        let failed = Ping { signal: Signal::Fail, ..again(&quiet) };
        let outcome = Outcome::Recorded { signal: Signal::Fail, flip: Some(Reason::Fail) };
        assert_eq!(record(failed).await, Ok(outcome), "what a look cannot decide is written");
    }

    async fn a_full_queue_is_answered_503_and_what_waits_is_recorded_all_the_same(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = pinged(&world, "nightly").await;
        // Somebody holds what every ping has to write.
        let mut held = world.app.db.begin_write().await.unwrap();
        assert!(checks::store::lock(&mut held, check.id).await.unwrap().is_some());

        let mut waiting = Vec::new();
        let mut turned_away = 0;
        while turned_away < 100 {
            let mut next = Box::pin(world.app.recorder.record(again(&check)));
            match next.as_mut().now_or_never() {
                None => waiting.push(next),
                Some(answer) => {
                    assert_eq!(answer, Err(Unavailable));
                    turned_away += 1;
                    yield_now().await;
                }
            }
        }
        assert!((QUEUE..=QUEUE + IN_HAND).contains(&waiting.len()), "{} wait", waiting.len());
        let answer = world.client.ping(&check.uuid.to_string(), "").await;
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("2")));
        let refused = sample(&metrics(&world).await, r#"flatline_pings_refused_total{reason="unavailable"}"#);
        assert!((refused - 1.0).abs() < f64::EPSILON, "{refused}");

        drop(held);
        let number = i64::try_from(waiting.len()).unwrap();
        for outcome in join_all(waiting).await {
            assert_eq!(outcome, Ok(Outcome::Recorded { signal: Signal::Success, flip: None }));
        }
        let live = rows::row(&world.app.db, &check.uuid.to_string()).await;
        assert_eq!(live.state.n_pings, 1 + number, "each counts once");
    }
}
