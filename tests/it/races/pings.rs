//! Pings against pings: the floor, the transition of a status, runs.

use std::collections::BTreeSet;

use flatline::checks::{Signal, Status};
use flatline::time::Span;
use serde_json::{Value, json};

use super::ground::{Ground, Setting, count, on_all, race, rounds};
use crate::support::{Engine, Receiver, World, on_both};

/// Sends `callers` pings at once and returns status and body of each, and that none told `curl` to sleep.
async fn ping_at_once(ground: &Ground, check: &str, suffix: &str, callers: usize) -> Vec<(u16, Vec<u8>)> {
    let answers = race(callers, |index| {
        let (client, check, suffix) = (ground.client(index), check.to_owned(), suffix.to_owned());
        async move { client.ping(&check, &suffix).await }
    })
    .await;
    let answers = answers.into_iter().inspect(|answer| assert_eq!(answer.header("retry-after"), None));
    answers.map(|answer| (answer.status, answer.body)).collect()
}

fn statuses(answers: &[(u16, Vec<u8>)]) -> Vec<u16> {
    answers.iter().map(|(status, _)| *status).collect()
}

/// One of them was accepted, all others came too fast and were told so in the words of DESIGN 3.
fn assert_one_accepted(ground: &Ground, answers: &[(u16, Vec<u8>)], round: usize) {
    let (accepted, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|(status, _)| *status == 200);
    assert_eq!(accepted.len(), 1, "round {round}: {:?}", statuses(answers));
    assert_eq!(accepted[0].1, b"OK");
    for (status, body) in refused {
        assert_eq!(*status, 429, "round {round}");
        let body: Value = serde_json::from_slice(body).unwrap();
        let keys: BTreeSet<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, BTreeSet::from(["error", "min_interval_seconds", "retry_after"]));
        assert_eq!(body["error"], "ping rejected — too fast");
        assert_eq!(body["min_interval_seconds"], 60);
        let retry_after = body["retry_after"].as_i64().unwrap();
        // The system's clock runs on while the ten are answered.
        let allowed = if ground.is_exact() { 60..=60 } else { 50..=61 };
        assert!(allowed.contains(&retry_after), "round {round}: {retry_after}");
    }
}

on_all! {
    async fn of_ten_successes_at_once_after_the_floor_one_is_accepted(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(61)).await;
            let answers = ping_at_once(&ground, &check, "", 10).await;
            assert_one_accepted(&ground, &answers, round);
            let numbers: Vec<i64> = ground.log(&check).await.iter().map(|entry| entry.n).collect();
            assert_eq!(numbers, [1, 2], "round {round}");
            assert_eq!(ground.row(&check).await.state.n_pings, 2);
        }
        ground.end().await;
    }

    async fn exactly_at_the_floor_one_is_accepted_and_just_before_it_none(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(60)).await;
            assert_one_accepted(&ground, &ping_at_once(&ground, &check, "", 10).await, round);
            if ground.is_exact() {
                let check = ground.pinged_check("job", Span::millis(59_999)).await;
                let answers = statuses(&ping_at_once(&ground, &check, "", 10).await);
                assert_eq!(count(&answers, 429), 10, "round {round}");
            }
        }
        ground.end().await;
    }

    async fn ten_successes_at_once_on_a_down_check_are_one_flip_and_one_delivery_a_channel(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let receiver = Receiver::new().await;
        ground.webhook(&receiver).await;
        for round in 0..rounds() {
            let check = ground.down_check("job").await;
            let answers = ping_at_once(&ground, &check, "", 10).await;
            assert_one_accepted(&ground, &answers, round);
            let flips: Vec<_> = ground.flips(&check).await.iter().map(|flip| flip.new_status).collect();
            assert_eq!(flips, [Status::Up, Status::Down, Status::Up], "round {round}");
            let mut ups: Vec<i64> = ground
                .deliveries(&check)
                .await
                .iter()
                .filter(|delivery| delivery.tells == "up")
                .map(|delivery| delivery.channel_id)
                .collect();
            ups.sort_unstable();
            ups.dedup();
            assert_eq!((ups.len(), ground.deliveries(&check).await.len()), (2, 4), "round {round}");
        }
        ground.end().await;
    }

    async fn ten_fails_at_once_on_an_up_check_are_one_flip(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            // The last success is young: a change of status is never refused.
            let check = ground.pinged_check("job", Span::seconds(1)).await;
            assert_one_accepted(&ground, &ping_at_once(&ground, &check, "/fail", 10).await, round);
            let flips: Vec<_> = ground.flips(&check).await.iter().map(|flip| flip.new_status).collect();
            assert_eq!(flips, [Status::Up, Status::Down], "round {round}");
            assert_eq!(ground.deliveries(&check).await.len(), 1, "round {round}");
        }
        ground.end().await;
    }

    async fn of_ten_ends_of_one_run_one_closes_it(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(1)).await;
            let rid = format!("?rid={}", flatline::id::uuid());
            assert_eq!(ground.client(0).ping(&check, &format!("/start{rid}")).await.status, 200);
            assert_one_accepted(&ground, &ping_at_once(&ground, &check, &rid, 10).await, round);
            let ends: Vec<_> = ground.log(&check).await;
            let durations = ends.iter().filter(|entry| entry.duration_ms.is_some()).count();
            assert_eq!((ends.len(), durations), (3, 1), "round {round}");
            assert_eq!(ground.row(&check).await.state.open_runs, 0);
        }
        ground.end().await;
    }

    async fn of_ten_starts_of_one_run_one_opens_it(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(1)).await;
            let start = format!("/start?rid={}", flatline::id::uuid());
            assert_one_accepted(&ground, &ping_at_once(&ground, &check, &start, 10).await, round);
            let starts = ground.log(&check).await.iter().filter(|entry| entry.kind == Signal::Start).count();
            assert_eq!((starts, ground.row(&check).await.state.open_runs), (1, 1), "round {round}");
        }
        ground.end().await;
    }

    async fn of_twenty_starts_of_different_runs_six_open_one(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(1)).await;
            let answers = race(20, |index| {
                let (client, check) = (ground.client(index), check.clone());
                async move { client.ping(&check, &format!("/start?rid={}", flatline::id::uuid())).await.status }
            })
            .await;
            assert_eq!((count(&answers, 200), count(&answers, 429)), (6, 14), "round {round}: {answers:?}");
            assert_eq!(ground.row(&check).await.state.open_runs, 6, "round {round}");
        }
        ground.end().await;
    }

    async fn successes_and_fails_at_once_leave_at_most_six_flips_and_the_sweep_tells_the_rest(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(70)).await;
            let answers = race(30, |index| {
                let (client, check) = (ground.client(index), check.clone());
                let suffix = if index % 2 == 0 { "" } else { "/fail" };
                async move { client.ping(&check, suffix).await.status }
            })
            .await;
            assert_eq!(count(&answers, 200) + count(&answers, 429), 30, "round {round}: {answers:?}");
            let flips = ground.flips(&check).await;
            assert!(flips.len() <= 7, "round {round}: {}", flips.len());
            ground.age(&check, Span::seconds(61)).await;
            ground.app.sweep().await.unwrap();
            let (state, flips) = (ground.row(&check).await.state, ground.flips(&check).await);
            assert_eq!(state.told_status, state.status, "round {round}");
            assert!(flips.len() <= 8, "round {round}: {}", flips.len());
            for pair in flips.windows(2) {
                assert_eq!(pair[0].new_status, pair[1].old_status, "round {round}");
            }
            assert_eq!(flips.last().map(|flip| flip.new_status), Some(state.status), "round {round}");
            let logged = i64::try_from(ground.log(&check).await.len()).unwrap();
            assert_eq!(logged, state.n_pings, "round {round}");
        }
        ground.end().await;
    }
}

on_both! {
    async fn with_no_floor_a_ping_decided_after_a_later_one_is_taken_too(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "job"})).await;
        for suffix in ["", "/log", "/start", "/fail", "/start"] {
            world.advance(Span::millis(5));
            assert_eq!(world.client.ping(&check, suffix).await.status, 200, "{suffix}");
            world.advance(Span::millis(-5));
            assert_eq!(world.client.ping(&check, suffix).await.status, 200, "{suffix}");
        }
        assert_eq!(world.client.read(&check).await["n_pings"], 10);
    }
}
