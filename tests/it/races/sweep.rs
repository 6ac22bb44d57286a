//! The sweep against pings, edits, pauses and other sweeps; several that stamp the witness at once.

use flatline::checks::{Reason, Status};
use flatline::db::Statement;
use flatline::sweep::store::list_gaps;
use flatline::time::{Span, Time};
use serde_json::json;

use super::ground::{Ground, Setting, jitter, on_all, race, rounds};

/// A second past its deadline: period, grace and floor are a minute each.
const OVERDUE: Span = Span::seconds(181);

const AGE_STAMP: &Statement =
    &Statement { name: "AGE_STAMP", text: "UPDATE witness SET stamped_at = stamped_at - $1 WHERE id = 1" };
const DELETE_GAPS: &Statement = &Statement { name: "DELETE_GAPS", text: "DELETE FROM gaps" };

/// Runs the sweep three times at once, and beside it `other`: the answer's status.
async fn against_sweeps<F>(ground: &Ground, other: F) -> u16
where
    F: Future<Output = u16> + Send + 'static,
{
    let app = &ground.app;
    let other = tokio::spawn(async move {
        jitter().await;
        other.await
    });
    race(3, |_| {
        let app = std::sync::Arc::clone(app);
        async move {
            jitter().await;
            app.sweep().await.unwrap();
        }
    })
    .await;
    other.await.unwrap()
}

async fn news(ground: &Ground, check: &str) -> Vec<Status> {
    ground.flips(check).await.iter().map(|flip| flip.new_status).collect()
}

on_all! {
    async fn no_check_is_down_after_a_success_that_was_accepted(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let mut swept_first = 0;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", OVERDUE).await;
            let (client, pinged) = (ground.client(round), check.clone());
            let status = against_sweeps(&ground, async move { client.ping(&pinged, "").await.status }).await;
            assert_eq!(status, 200, "round {round}");
            assert_eq!(ground.row(&check).await.state.status, Status::Up, "round {round}");
            match news(&ground, &check).await.as_slice() {
                [Status::Up] => {}
                [Status::Up, Status::Down, Status::Up] => swept_first += 1,
                other => panic!("round {round}: {other:?}"),
            }
            ground.assert_consistent(&check).await;
        }
        println!("{setting:?}: the sweep came first in {swept_first} of {} rounds", rounds());
        ground.end().await;
    }

    async fn a_fail_and_the_sweep_take_a_check_down_once(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", OVERDUE).await;
            let (client, pinged) = (ground.client(round), check.clone());
            let status =
                against_sweeps(&ground, async move { client.ping(&pinged, "/fail").await.status }).await;
            assert_eq!(status, 200, "round {round}");
            assert_eq!(news(&ground, &check).await, [Status::Up, Status::Down], "round {round}");
            ground.assert_consistent(&check).await;
        }
        ground.end().await;
    }

    async fn many_sweeps_take_each_overdue_check_down_once(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds().div_ceil(5) {
            let mut checks = Vec::new();
            for _ in 0..20 {
                checks.push(ground.pinged_check("job", OVERDUE).await);
            }
            let flips = race(6, |_| {
                let app = std::sync::Arc::clone(&ground.app);
                async move { app.sweep().await.unwrap() }
            })
            .await;
            if ground.is_exact() {
                assert_eq!(flips.iter().sum::<usize>(), checks.len(), "round {round}: {flips:?}");
            }
            for check in &checks {
                let flips = ground.flips(check).await;
                let reasons: Vec<Reason> = flips.iter().map(|flip| flip.reason).collect();
                assert_eq!(reasons, [Reason::Success, Reason::Timeout], "round {round}");
                ground.assert_consistent(check).await;
            }
        }
        ground.end().await;
    }

    async fn an_edit_a_ping_and_the_sweep_at_once_lose_nothing(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", OVERDUE).await;
            let (client, other, edited) = (ground.client(round), ground.client(round + 1), check.clone());
            let status = against_sweeps(&ground, async move {
                let change = json!({"timeout": 3600});
                let path = format!("checks/{edited}");
                let (edit, ping) = tokio::join!(client.post(&path, &change), other.ping(&edited, ""));
                assert_eq!(edit.status, 200, "{}", edit.text());
                ping.status
            })
            .await;
            let row = ground.row(&check).await;
            assert_eq!((status, row.state.status), (200, Status::Up), "round {round}");
            assert_eq!((row.settings.period_ms, row.rev), (Span::hours(1), 1), "round {round}");
            let due = row.state.last_ping_at.map(|at| at + Span::seconds(3600 + 60 + 60));
            assert_eq!(row.state.deadline_at, due, "round {round}");
            ground.assert_consistent(&check).await;
        }
        ground.end().await;
    }

    async fn an_edit_that_gives_more_time_and_the_sweep_agree_on_one_story(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let mut saved = 0;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", OVERDUE).await;
            let (client, path) = (ground.client(round), format!("checks/{check}"));
            let status = against_sweeps(&ground, async move {
                client.post(&path, &json!({"grace": 3600})).await.status
            })
            .await;
            let row = ground.row(&check).await;
            assert_eq!((status, row.settings.grace_ms), (200, Span::hours(1)), "round {round}");
            saved += usize::from(row.state.status == Status::Up);
            ground.assert_consistent(&check).await;
        }
        println!("{setting:?}: the edit came first in {saved} of {} rounds", rounds());
        ground.end().await;
    }

    async fn a_check_that_was_paused_stays_paused(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", OVERDUE).await;
            let (client, path) = (ground.client(round), format!("checks/{check}/pause"));
            let status =
                against_sweeps(&ground, async move { client.post(&path, &json!({})).await.status }).await;
            assert_eq!((status, ground.row(&check).await.state.status), (200, Status::Paused), "round {round}");
            ground.assert_consistent(&check).await;
        }
        ground.end().await;
    }

    async fn many_that_stamp_after_a_gap_note_it_once(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            ground.change(DELETE_GAPS, &[]).await;
            ground.change(AGE_STAMP, &[60_000]).await;
            race(6, |_| {
                let app = std::sync::Arc::clone(&ground.app);
                async move { app.stamp().await.unwrap() }
            })
            .await;
            let mut tx = ground.db.begin_read().await.unwrap();
            let gaps = list_gaps(&mut tx, Time::EPOCH).await.unwrap();
            assert_eq!(gaps.len(), 1, "round {round}: {gaps:?}");
            let length = gaps[0].ended_at - gaps[0].started_at;
            assert!((Span::seconds(60)..Span::seconds(75)).contains(&length), "round {round}: {gaps:?}");
        }
        ground.end().await;
    }
}
