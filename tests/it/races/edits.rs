//! Edits and pauses of one check at once, and a plan that changes under everything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use flatline::checks::{self, Status};
use flatline::db::Statement;
use flatline::time::Span;
use serde_json::{Value, json};

use super::ground::{Ground, Setting, count, on_all, race, rounds};
use crate::support::{is_long, program};

const FIND_PLAN: &Statement =
    &Statement { name: "FIND_PLAN", text: "SELECT plan FROM accounts ORDER BY id LIMIT 1" };

#[derive(sqlx::FromRow)]
struct PlanRow {
    plan: String,
}

on_all! {
    async fn of_edits_of_different_columns_none_is_lost(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let edits: [(&str, Value); 12] = [
            ("name", json!("nightly")),
            ("tags", json!("a b")),
            ("desc", json!("what it does")),
            ("timeout", json!(7200)),
            ("grace", json!(600)),
            ("methods", json!("POST")),
            ("manual_resume", json!(true)),
            ("start_kw", json!("begin")),
            ("success_kw", json!("done")),
            ("failure_kw", json!("ERROR")),
            ("filter_http_body", json!(true)),
            ("filter_default_fail", json!(true)),
        ];
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(10)).await;
            let statuses = race(edits.len(), |index| {
                let (client, path) = (ground.client(index), format!("checks/{check}"));
                let (name, value) = edits[index].clone();
                async move { client.post(&path, &json!({ name: value })).await.status }
            })
            .await;
            assert_eq!(statuses, vec![200; edits.len()], "round {round}");
            let shown = ground.client(round).read(&check).await;
            for (name, value) in &edits {
                assert_eq!(&shown[*name], value, "round {round}: {name}");
            }
            assert_eq!(ground.row(&check).await.rev, 12, "round {round}");
            ground.assert_consistent(&check).await;
        }
        ground.end().await;
    }

    async fn of_edits_of_one_revision_one_is_taken(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let row = ground.row(&ground.check("job").await).await;
            let taken = race(6, |index| {
                let (db, id, rev) = (ground.db.clone(), row.id, row.rev);
                async move {
                    let mut tx = db.begin_write().await.unwrap();
                    let edited = checks::edit(&mut tx, id, Some(rev), |settings| {
                        settings.name = format!("by {index}");
                        Ok(())
                    })
                    .await;
                    if edited.is_ok() {
                        tx.commit().await.unwrap();
                    }
                    edited.is_ok()
                }
            })
            .await;
            assert_eq!(taken.iter().filter(|taken| **taken).count(), 1, "round {round}");
            let now = ground.row(&row.uuid.to_string()).await;
            let winner = taken.iter().position(|taken| *taken).unwrap();
            assert_eq!((now.rev, now.settings.name), (row.rev + 1, format!("by {winner}")), "round {round}");
        }
    }

    async fn of_edits_under_one_tag_one_is_taken_and_the_others_hear_that_it_was_edited(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.check("job").await;
            let path = format!("/api/v3/checks/{check}");
            let read = ground.client(round).send("GET", &path, &[], Vec::new()).await;
            let tag = read.header("etag").unwrap().to_owned();
            let statuses = race(10, |index| {
                let (client, path, tag) = (ground.client(index), path.clone(), tag.clone());
                let body = json!({"name": format!("by {index}")}).to_string().into_bytes();
                async move { client.send("POST", &path, &[("If-Match", &tag)], body).await.status }
            })
            .await;
            assert_eq!((count(&statuses, 200), count(&statuses, 412)), (1, 9), "round {round}: {statuses:?}");
            let winner = statuses.iter().position(|status| *status == 200).unwrap();
            let row = ground.row(&check).await;
            assert_eq!((row.rev, row.settings.name), (1, format!("by {winner}")), "round {round}");
        }
        ground.end().await;
    }

    async fn of_ten_pauses_at_once_one_writes_the_flip(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(10)).await;
            let statuses = race(10, |index| {
                let (client, path) = (ground.client(index), format!("checks/{check}/pause"));
                async move { client.post(&path, &json!({})).await.status }
            })
            .await;
            assert_eq!(statuses, [200; 10], "round {round}");
            let flips: Vec<_> = ground.flips(&check).await.iter().map(|flip| flip.new_status).collect();
            assert_eq!(flips, [Status::Up, Status::Paused], "round {round}");
        }
        ground.end().await;
    }

    async fn a_plan_that_changes_under_pings_flips_and_creations_leaves_every_floor_and_deadline_right(
        setting: Setting
    ) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..if is_long() { 10 } else { 1 } {
            let mut checks = Vec::new();
            for index in 0..12 {
                checks.push(ground.pinged_check("job", Span::seconds(50 + index * 20)).await);
            }
            let statuses = storm(&ground, &checks).await;
            let other = statuses.iter().find(|status| ![200, 201, 429].contains(status));
            assert_eq!(other, None, "round {round}");
            let mut tx = ground.db.begin_read().await.unwrap();
            let stored = tx.query(FIND_PLAN).maybe::<PlanRow>().await.unwrap().unwrap().plan;
            let floor = ground.app.settings.plans.get(&stored).unwrap().floor;
            drop(tx);
            let listed = ground.client(0).get("checks/").await.json();
            let listed = listed["checks"].as_array().unwrap().clone();
            assert_eq!(listed.len(), (round + 1) * (12 + CREATIONS), "round {round}");
            for check in listed {
                let check = crate::support::uuid_of(&check);
                assert_eq!(ground.row(&check).await.floor_ms, floor, "round {round}");
                ground.assert_consistent(&check).await;
            }
        }
        ground.end().await;
    }
}

const CREATIONS: usize = 16;
const PLAN_CHANGES: usize = 6;

/// Two that change the plan, four that ping, two that create, one that sweeps, until the plans have changed
/// often enough; returns the statuses of all answers.
async fn storm(ground: &Ground, checks: &[String]) -> Vec<u16> {
    let (checks, calm) = (Arc::new(checks.to_vec()), Arc::new(AtomicBool::new(false)));
    let statuses = race(9, |index| {
        let (client, app) = (ground.client(index), Arc::clone(&ground.app));
        let (checks, calm) = (Arc::clone(&checks), Arc::clone(&calm));
        let changes: Vec<_> = (0..PLAN_CHANGES)
            .map(|turn| {
                let changes: Vec<(&str, &str)> =
                    ground.changes.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let mut command = program(ground.place(), &changes);
                let plan = ["calm", "slow", "unlimited"][(turn + index) % 3];
                command.args(["account", "plan", "owner@example.org", plan]);
                command
            })
            .collect();
        async move {
            let mut statuses = Vec::new();
            match index {
                0 | 1 => {
                    for mut change in changes {
                        let said = change.output().await.unwrap();
                        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
                    }
                    calm.store(true, Ordering::SeqCst);
                }
                2 | 3 => {
                    for _ in 0..CREATIONS / 2 {
                        statuses.push(client.post("checks/", &json!({"timeout": 60})).await.status);
                    }
                }
                4 => {
                    while !calm.load(Ordering::SeqCst) {
                        app.sweep().await.unwrap();
                    }
                }
                _ => {
                    let mut turn = index;
                    while !calm.load(Ordering::SeqCst) {
                        let suffix = ["", "/fail", "/start", "/log", "/3"][turn % 5];
                        statuses.push(client.ping(&checks[turn * 7 % checks.len()], suffix).await.status);
                        turn += 1;
                    }
                }
            }
            statuses
        }
    })
    .await;
    statuses.into_iter().flatten().collect()
}
