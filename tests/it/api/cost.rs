//! What a call costs the database: as many statements for 1,000 checks as for one.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use flatline::checks::{self, Created, Settings};
use flatline::db::count_statements;
use flatline::{accounts, http, id};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{Engine, World, on_both};

/// Asks the program in this very task; returns the answer's JSON and how many statements it took.
async fn get(world: &World, path: &str) -> (Value, u64) {
    let mut request = Request::get(path)
        .header("host", "flatline.test")
        .header("x-api-key", &world.owner.api_key)
        .body(Body::empty())
        .unwrap();
    request.extensions_mut().insert(ConnectInfo(SocketAddr::from((Ipv4Addr::LOCALHOST, 1))));
    let router = http::router(Arc::clone(&world.app));
    let (answer, statements) = count_statements(router.oneshot(request)).await;
    let body = axum::body::to_bytes(answer.unwrap().into_body(), usize::MAX).await.unwrap();
    (serde_json::from_slice(&body).unwrap(), statements)
}

/// Adds checks, each with a channel, in one transaction.
async fn add_checks(world: &World, number: usize) {
    let now = world.clock.now();
    let channel = world.channel("email", &json!({"address": "owner@example.org"})).await;
    let mut tx = world.app.db.begin_write().await.unwrap();
    let key = accounts::find_key(&mut tx, &world.owner.api_key).await.unwrap().unwrap();
    let project = accounts::store::find_project(&mut tx, key.project_id).await.unwrap().unwrap();
    let account = world.app.lock_account(&mut tx, project.account_id).await.unwrap();
    for index in 0..number {
        let settings =
            Settings { name: format!("job {index}"), tags: "a b".to_owned(), ..Settings::default() };
        let ids = (id::uuid(), id::uuid());
        let made = checks::create(&mut tx, &account, project.id, &settings, ids, now).await.unwrap();
        let Created::Check(check) = made else { panic!("no room") };
        flatline::alerts::store::assign(&mut tx, check.id, channel.id).await.unwrap();
    }
    tx.commit().await.unwrap();
}

on_both! {
    async fn a_list_of_1000_checks_takes_as_many_statements_as_a_list_of_one(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        add_checks(&world, 1).await;
        let paths = ["/api/v3/checks/", "/api/v3/badges/"];
        let mut few = Vec::new();
        for path in paths {
            // The first use of a key in a minute is noted.
            get(&world, path).await;
            few.push(get(&world, path).await.1);
        }
        add_checks(&world, 999).await;
        for (path, few) in paths.iter().zip(few) {
            assert_eq!(get(&world, path).await.1, few, "{path}");
            // The key and its plan; then the key, its project, the checks, their channels.
            assert!(few <= 5, "{path}: {few}");
        }
        let (list, _) = get(&world, "/api/v3/checks/").await;
        let checks = list["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 1000);
        assert!(checks.iter().all(|check| check["channels"].as_str().is_some_and(|uuid| uuid.len() == 36)));
    }
}
