//! A check that is moved while it is pinged, edited and deleted, and places that are taken meanwhile.

use flatline::accounts::{self, Project, Role};
use flatline::checks::{self, Check};
use flatline::moving;
use serde_json::json;

use super::ground::{Ground, Setting, count, jitter, on_all, race, rounds};
use crate::support::sign_up;

/// The project of another account on a plan, in which the owner may change checks; and its key.
async fn target(ground: &Ground, plan: &str) -> (Project, String) {
    let new = sign_up(&ground.app, &format!("{plan}@example.org"), Some(plan)).await;
    let mut tx = ground.db.begin_write().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, "owner@example.org").await.unwrap().unwrap();
    let project = accounts::store::find_project_by_uuid(&mut tx, new.project).await.unwrap().unwrap();
    accounts::store::create_member(&mut tx, project.id, user.id, Role::Member, ground.app.clock.now())
        .await
        .unwrap();
    tx.commit().await.unwrap();
    (project, new.api_key)
}

/// Moves checks as a page does, beginning anew where another transaction was in the way; whether there was room.
async fn move_to(ground: &Work, seen: &[Check], target: &Project) -> bool {
    for _ in 0..5 {
        let mut tx = ground.db.begin_write().await.unwrap();
        let now = ground.now;
        match moving::move_checks(&mut tx, &ground.plans, seen, target, now).await {
            Ok(_) => {
                tx.commit().await.unwrap();
                return true;
            }
            Err(flatline::error::Error::Invalid(_)) => return false,
            Err(error) if flatline::db::AsDatabase::asks_to_retry(&error) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("another transaction was in the way five times");
}

/// What a mover takes along to its task.
#[derive(Clone)]
struct Work {
    db: flatline::db::Db,
    plans: flatline::config::Plans,
    now: flatline::time::Time,
}

impl Work {
    fn of(ground: &Ground) -> Self {
        Self { db: ground.db.clone(), plans: ground.app.settings.plans.clone(), now: ground.app.clock.now() }
    }
}

async fn project(ground: &Ground) -> Project {
    let mut tx = ground.db.begin_read().await.unwrap();
    accounts::store::find_project_by_uuid(&mut tx, ground.owner.project).await.unwrap().unwrap()
}

on_all! {
    async fn a_move_loses_no_ping_and_no_edit(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let home = project(&ground).await;
        let (away, key) = target(&ground, "slow").await;
        for round in 0..rounds() {
            let check = ground.check("job").await;
            let statuses = race(12, |index| {
                let (client, check, work) = (ground.client(index), check.clone(), Work::of(&ground));
                let (home, away) = (home.clone(), away.clone());
                async move {
                    jitter().await;
                    match index {
                        // There and back, and there again.
                        0..3 => {
                            let mut tx = work.db.begin_read().await.unwrap();
                            let seen = checks::store::find(&mut tx, check.parse().unwrap()).await.unwrap().unwrap();
                            drop(tx);
                            let to = if seen.project_id == home.id { &away } else { &home };
                            assert!(move_to(&work, &[seen], to).await);
                            200
                        }
                        3..8 => client.ping(&check, &format!("/log?rid={}", flatline::id::uuid())).await.status,
                        _ => client.post(&format!("checks/{check}"), &json!({"tags": format!("t{index}")})).await.status,
                    }
                }
            })
            .await;
            assert!(statuses[3..8].iter().all(|status| [200, 429].contains(status)), "round {round}: {statuses:?}");
            // An edit comes before the move, or the check is no longer where its key opens.
            assert!(statuses[8..].iter().all(|status| [200, 403].contains(status)), "round {round}: {statuses:?}");
            let row = ground.row(&check).await;
            assert_eq!(row.state.n_pings as usize, count(&statuses[3..8], 200), "round {round}");
            let (floor, account) = if row.project_id == home.id { (60, home.account_id) } else { (120, away.account_id) };
            assert_eq!((row.floor_ms.as_seconds(), row.account_id), (floor, account), "round {round}");
            let key = if row.project_id == home.id { ground.owner.api_key.clone() } else { key.clone() };
            let tags = ground.client(round).with_key(&key).read(&check).await["tags"].as_str().unwrap().to_owned();
            assert_eq!(tags.is_empty(), count(&statuses[8..], 200) == 0, "round {round}: {tags} {statuses:?}");
            ground.assert_consistent(&check).await;
        }
        ground.end().await;
    }

    async fn a_check_that_is_moved_and_deleted_at_once_is_counted_once(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let (away, _) = target(&ground, "slow").await;
        for round in 0..rounds() {
            let check = ground.check("job").await;
            let seen = ground.row(&check).await;
            let statuses = race(4, |index| {
                let (client, check, work) = (ground.client(index), check.clone(), Work::of(&ground));
                let (seen, away) = (seen.clone(), away.clone());
                async move {
                    jitter().await;
                    match index {
                        0 | 1 => client.delete(&format!("checks/{check}")).await.status,
                        _ => u16::from(move_to(&work, &[seen], &away).await),
                    }
                }
            })
            .await;
            assert!(count(&statuses[..2], 200) <= 1, "round {round}: {statuses:?}");
            assert!(statuses[..2].iter().all(|status| [200, 403, 404].contains(status)), "round {round}: {statuses:?}");
            let mut tx = ground.db.begin_read().await.unwrap();
            let left = checks::store::find(&mut tx, check.parse().unwrap()).await.unwrap();
            assert_eq!(left.is_none(), count(&statuses[..2], 200) == 1, "round {round}");
            assert!(left.is_none_or(|left| left.project_id == away.id), "round {round}");
        }
        ground.end().await;
    }

    async fn a_nearly_full_account_takes_as_many_as_it_has_room_for(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let (away, key) = target(&ground, "narrow").await;
        for number in 0..23 {
            ground.clients[0].with_key(&key).check(&json!({"name": format!("theirs {number}")})).await;
        }
        for round in 0..rounds() {
            let mut moving = Vec::new();
            for _ in 0..6 {
                let check = ground.check("job").await;
                moving.push(ground.row(&check).await);
            }
            let statuses = race(12, |index| {
                let (client, work) = (ground.client(index).with_key(&key), Work::of(&ground));
                let (seen, away) = (moving[index % 6].clone(), away.clone());
                async move {
                    jitter().await;
                    match index {
                        0..6 => u16::from(move_to(&work, &[seen], &away).await),
                        _ => client.post("checks/", &json!({"name": "theirs"})).await.status,
                    }
                }
            })
            .await;
            let (moved, made) = (count(&statuses[..6], 1), count(&statuses[6..], 201));
            assert_eq!(moved + made, 2, "round {round}: {statuses:?}");
            let client = ground.clients[0].with_key(&key);
            let all = client.get("checks/").await.json()["checks"].as_array().unwrap().clone();
            assert_eq!(all.len(), 25, "round {round}");
            for check in &all[23..] {
                assert_eq!(client.delete(&format!("checks/{}", check["uuid"].as_str().unwrap())).await.status, 200);
            }
        }
        ground.end().await;
    }
}
