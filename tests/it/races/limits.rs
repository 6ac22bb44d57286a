//! What a plan counts: checks and alerts; and the one operator.

use std::sync::Arc;

use flatline::db::Statement;
use flatline::time::Span;
use serde_json::json;

use super::ground::{Ground, Setting, answered, count, on_all, race, rounds, until};
use super::rows::{change, number};
use crate::support::{Engine, Place, is_long, on_both, program};

const FORGET_ALERTS: &Statement =
    &Statement { name: "FORGET_ALERTS", text: "UPDATE accounts SET alerts_used = 0, quota_told_month = 0" };
/// Those of the round before would be sent now that there is quota again.
const DELETE_HELD: &Statement =
    &Statement { name: "DELETE_HELD", text: "DELETE FROM deliveries WHERE state = 'held'" };
const DELETE_LETTERS: &Statement = &Statement { name: "DELETE_LETTERS", text: "DELETE FROM letters" };
const COUNT_LETTERS: &Statement =
    &Statement { name: "COUNT_LETTERS", text: "SELECT COUNT(*) AS number FROM letters" };
const COUNT_CHECKS: &Statement = &Statement {
    name: "COUNT_CHECKS",
    text: "SELECT checks_used AS number FROM accounts ORDER BY id LIMIT 1",
};
const COUNT_ALERTS: &Statement = &Statement {
    name: "COUNT_ALERTS",
    text: "SELECT alerts_used AS number FROM accounts ORDER BY id LIMIT 1",
};
const FORGET_OPERATOR: &Statement =
    &Statement { name: "FORGET_OPERATOR", text: "UPDATE instance SET operator_id = NULL" };

/// Creates checks at once; returns the statuses and the uuids of those that came to be.
async fn create_at_once(ground: &Ground, callers: usize) -> (Vec<u16>, Vec<String>) {
    let answers = race(callers, |index| {
        let client = ground.client(index);
        async move {
            let spec = json!({"name": format!("job {index}")});
            answered(|| client.post("checks/", &spec)).await
        }
    })
    .await;
    let created = answers.iter().filter(|answer| answer.status == 201);
    let uuids = created.map(|answer| crate::support::uuid_of(&answer.json())).collect();
    (answers.iter().map(|answer| answer.status).collect(), uuids)
}

async fn delete_at_once(ground: &Ground, checks: Vec<String>) -> Vec<u16> {
    let checks = Arc::new(checks);
    race(checks.len(), |index| {
        let (client, checks) = (ground.client(index), Arc::clone(&checks));
        async move {
            let path = format!("checks/{}", checks[index]);
            answered(|| client.delete(&path)).await.status
        }
    })
    .await
}

on_all! {
    async fn of_forty_creations_with_five_places_left_five_succeed(setting: Setting) {
        let ground = Ground::new(setting, "narrow").await;
        for _ in 0..20 {
            ground.check("old").await;
        }
        for round in 0..rounds() {
            let (statuses, created) = create_at_once(&ground, 40).await;
            assert_eq!((count(&statuses, 201), count(&statuses, 403)), (5, 35), "round {round}: {statuses:?}");
            assert_eq!(number(&ground.db, COUNT_CHECKS).await, 25, "round {round}");
            ground.end().await;
            let deleted = delete_at_once(&ground, created).await;
            assert_eq!(count(&deleted, 200), 5, "round {round}: {deleted:?}");
            assert_eq!(number(&ground.db, COUNT_CHECKS).await, 20, "round {round}");
        }
        ground.end().await;
    }

    async fn of_ten_deletions_of_one_check_one_gives_its_place_back(setting: Setting) {
        let ground = Ground::new(setting, "narrow").await;
        ground.check("stays").await;
        for round in 0..rounds() {
            let check = ground.check("goes").await;
            let statuses = delete_at_once(&ground, vec![check; 10]).await;
            assert_eq!((count(&statuses, 200), count(&statuses, 404)), (1, 9), "round {round}: {statuses:?}");
            assert_eq!(number(&ground.db, COUNT_CHECKS).await, 1, "round {round}");
        }
        ground.end().await;
    }

    async fn of_ten_first_pings_of_one_slug_one_makes_its_check(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let path = format!("/ping/{}/job-{round}?create=1", ground.owner.ping_key);
            let statuses = race(10, |index| {
                let (client, path) = (ground.client(index).without_key(), path.clone());
                async move { answered(|| client.send("GET", &path, &[], Vec::new())).await.status }
            })
            .await;
            assert_eq!((count(&statuses, 201), count(&statuses, 429)), (1, 9), "round {round}: {statuses:?}");
            let made = i64::try_from(round + 1).unwrap();
            assert_eq!(number(&ground.db, COUNT_CHECKS).await, made, "round {round}");
        }
        ground.end().await;
    }

    async fn of_ten_that_ask_for_one_unique_check_one_makes_it(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let spec = json!({"name": format!("job {round}"), "unique": ["name"]});
            let answers = race(10, |index| {
                let (client, spec) = (ground.client(index), spec.clone());
                async move { answered(|| client.post("checks/", &spec)).await }
            })
            .await;
            let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
            assert_eq!((count(&statuses, 201), count(&statuses, 200)), (1, 9), "round {round}: {statuses:?}");
            let first = crate::support::uuid_of(&answers[0].json());
            assert!(answers.iter().all(|answer| crate::support::uuid_of(&answer.json()) == first));
            let made = i64::try_from(round + 1).unwrap();
            assert_eq!(number(&ground.db, COUNT_CHECKS).await, made, "round {round}");
        }
        ground.end().await;
    }

    async fn a_deletion_among_pings_and_sweeps_leaves_nothing_behind(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let check = ground.pinged_check("job", Span::seconds(181)).await;
            let statuses = race(8, |index| {
                let (client, check, app) = (ground.client(index), check.clone(), Arc::clone(&ground.app));
                async move {
                    match index {
                        0 => client.delete(&format!("checks/{check}")).await.status,
                        1 | 2 => app.sweep().await.map(|_| 200).unwrap(),
                        _ => client.ping(&check, ["", "/fail", "/start", "/log", "/7"][index - 3]).await.status,
                    }
                }
            })
            .await;
            assert_eq!(statuses[0], 200, "round {round}: {statuses:?}");
            assert!(statuses.iter().all(|status| [200, 404, 429].contains(status)), "round {round}: {statuses:?}");
            assert_eq!(ground.client(0).get(&format!("checks/{check}")).await.status, 404, "round {round}");
            assert_eq!(number(&ground.db, COUNT_CHECKS).await, 0, "round {round}");
        }
        ground.end().await;
    }

    async fn of_ten_alerts_with_a_quota_of_three_three_are_sent_and_seven_held(setting: Setting) {
        let ground = Ground::new(setting, "quiet").await;
        for round in 0..rounds() {
            ground.change(DELETE_HELD, &[]).await;
            ground.change(FORGET_ALERTS, &[]).await;
            ground.change(DELETE_LETTERS, &[]).await;
            let mut checks = Vec::new();
            for _ in 0..10 {
                checks.push(ground.pinged_check("job", Span::hours(1)).await);
            }
            race(6, |_| {
                let app = Arc::clone(&ground.app);
                async move {
                    app.sweep().await.unwrap();
                    app.deliver().await.unwrap();
                }
            })
            .await;
            until("no delivery waits", async || states(&ground, &checks).await.iter().all(|s| s != "due")).await;
            let states = states(&ground, &checks).await;
            let of = |state: &str| states.iter().filter(|one| *one == state).count();
            assert_eq!((of("sent"), of("held"), states.len()), (3, 7, 10), "round {round}: {states:?}");
            assert_eq!(number(&ground.db, COUNT_ALERTS).await, 3, "round {round}");
            assert_eq!(number(&ground.db, COUNT_LETTERS).await, 1, "round {round}");
        }
        ground.end().await;
    }
}

async fn states(ground: &Ground, checks: &[String]) -> Vec<String> {
    let mut states = Vec::new();
    for check in checks {
        states.extend(ground.deliveries(check).await.into_iter().map(|delivery| delivery.state));
    }
    states
}

on_both! {
    async fn of_many_first_accounts_one_becomes_the_operators(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        for round in 0..if is_long() { 20 } else { 3 } {
            change(&db, FORGET_OPERATOR, &[]).await;
            let said = race(4, |index| {
                let mut command = program(&place, &[]);
                let email = format!("person{index}.{round}@example.org");
                command.args(["account", "create", "--email", &email]);
                async move { command.output().await.unwrap() }
            })
            .await;
            let plans = said.iter().map(|output| {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                let said = String::from_utf8_lossy(&output.stdout).into_owned();
                let first = said.lines().next().unwrap_or_default().to_owned();
                first.rsplit(' ').next().unwrap_or_default().to_owned()
            });
            let mut plans: Vec<String> = plans.collect();
            plans.sort();
            assert_eq!(plans, ["free", "free", "free", "unlimited"], "round {round}");
        }
    }

    async fn of_many_accounts_with_one_address_one_is_made_and_the_others_hear_why(engine: Engine) {
        let place = Place::new(engine).await;
        place.open().await.close().await;
        for round in 0..if is_long() { 20 } else { 3 } {
            let said = race(4, |_| {
                let mut command = program(&place, &[]);
                command.args(["account", "create", "--email", &format!("person.{round}@example.org")]);
                async move { command.output().await.unwrap() }
            })
            .await;
            let made = said.iter().filter(|output| output.status.success()).count();
            assert_eq!(made, 1, "round {round}");
            for output in said.iter().filter(|output| !output.status.success()) {
                let reason = String::from_utf8_lossy(&output.stderr);
                // A busy machine may have the driver warn of slow statements before it.
                let wanted = format!("flatline: person.{round}@example.org has an account already\n");
                assert!(reason.ends_with(&wanted), "round {round}: {reason}");
            }
        }
    }
}
