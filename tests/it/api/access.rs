//! What each kind of key opens: every route of the API with each, in one table that is complete because the routes
//! are read from the source.

use std::collections::BTreeSet;

use flatline::db::Statement;
use flatline::id;
use flatline::time::{Span, Time};
use serde_json::json;

use crate::source::routes;
use crate::support::{Client, Engine, START, World, on_both};

/// The owner's key, the owner's read-only key, another project's, one that nobody has, none.
type Statuses = [u16; 5];

/// Method, route with what is asked, and what each key comes to.
type Line = (&'static str, &'static str, Statuses);

const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];
const NOBODYS: &str = "hcw_AAAAAAAAAAAAAAAAAAAAAAAAAAAA";

const READ: Statuses = [200, 200, 200, 401, 401];
const READ_ONE: Statuses = [200, 200, 403, 401, 401];
const WRITE_ONE: Statuses = [200, 401, 403, 401, 401];

const TABLE: &[Line] = &[
    ("GET", "/checks/", READ),
    ("POST", "/checks/", [201, 401, 201, 401, 401]),
    ("GET", "/checks/{check}", READ_ONE),
    ("POST", "/checks/{check}", WRITE_ONE),
    ("DELETE", "/checks/{check}", WRITE_ONE),
    ("POST", "/checks/{check}/pause", WRITE_ONE),
    // It is not paused.
    ("POST", "/checks/{check}/resume", [409, 401, 403, 401, 401]),
    ("GET", "/checks/{check}/pings/", WRITE_ONE),
    ("GET", "/checks/{check}/pings/{n}/body", WRITE_ONE),
    ("GET", "/checks/{check}/flips/", READ_ONE),
    ("GET", "/channels/", [200, 401, 200, 401, 401]),
    ("GET", "/channels/{channel}", WRITE_ONE),
    ("PUT", "/channels/{channel}", WRITE_ONE),
    ("DELETE", "/channels/{channel}", WRITE_ONE),
    ("POST", "/channels/{channel}/test", WRITE_ONE),
    ("GET", "/schedules/preview", READ),
    ("GET", "/badges/", READ),
    // Answered alike whether or not there is what they name.
    ("POST", "/notifications/{delivery}/status", [200; 5]),
    ("POST", "/bounces/", [200; 5]),
    ("GET", "/status/", [200; 5]),
    // It has a key of its own.
    ("GET", "/metrics/", [403; 5]),
    ("GET", "/openapi.json", [200; 5]),
];

#[test]
fn every_route_has_its_line() {
    let listed: BTreeSet<(String, String)> = TABLE
        .iter()
        .map(|(method, route, _)| ((*method).to_owned(), format!("/api/{{version}}{route}")))
        .collect();
    assert_eq!(listed.len(), TABLE.len());
    let routes: BTreeSet<_> =
        routes("src/http/api").into_iter().filter(|(method, _)| method != "ANY").collect();
    assert_eq!(routes, listed);
}

/// A client with each kind of key, in the table's order.
async fn keyring(world: &World) -> [Client; 5] {
    let other = world.sign_up("other@example.org", "unlimited").await;
    [
        world.client.clone(),
        world.client.with_key(&world.owner.api_key_readonly),
        world.client.with_key(&other.api_key),
        world.client.with_key(NOBODYS),
        world.client.without_key(),
    ]
}

/// What a route names, fresh for each attempt, since some end it: a check that was pinged, and a channel.
async fn path(world: &World, version: &str, route: &str) -> String {
    let check = world.client.check(&json!({"name": "watched"})).await;
    assert_eq!(world.client.ping_with(&check, "", b"output").await.status, 200);
    let channel = world.channel("email", &json!({"address": "owner@example.org"})).await.uuid;
    let path =
        route.replace("{check}", &check).replace("{channel}", &channel.to_string()).replace("{n}", "1");
    let asked = if route == "/schedules/preview" { "?schedule=*+*+*+*+*" } else { "" };
    format!("/api/{version}{path}{asked}")
}

/// What a refusal says.
fn refusal(status: u16, with_key: bool) -> Option<Vec<u8>> {
    let says = |what: &str| Some(json!({ "error": what }).to_string().into_bytes());
    match status {
        401 if with_key => says("wrong api key"),
        401 => says("missing api key"),
        403 | 404 => Some(Vec::new()),
        409 => Some(b"check is not paused".to_vec()),
        _ => None,
    }
}

on_both! {
    async fn each_key_opens_what_the_table_says(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let keyring = keyring(&world).await;
        let mut wrong = Vec::new();
        for version in VERSIONS {
            for (method, route, statuses) in TABLE {
                for (index, (client, expected)) in keyring.iter().zip(statuses).enumerate() {
                    let expected = if *route == "/openapi.json" && version != "v3" { 404 } else { *expected };
                    let path = path(&world, version, route).await;
                    let answer = client.send(method, &path, &[], Vec::new()).await;
                    let says = refusal(expected, index != 4);
                    if answer.status != expected || says.is_some_and(|says| says != answer.body) {
                        let got = (answer.status, answer.text());
                        wrong.push(format!("{method} {path} with key {index}: {got:?} and not {expected}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    async fn what_does_not_exist_is_404_for_every_good_key_and_401_for_a_bad_one(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let keyring = keyring(&world).await;
        let nothing = "00000000-0000-4000-8000-000000000000";
        for (method, route, statuses) in TABLE.iter().filter(|line| line.1.contains('{') && line.2 != [200; 5] && line.0 != "PUT") {
            let path = route.replace("{check}", nothing).replace("{channel}", nothing).replace("{n}", "1");
            for (client, status) in keyring.iter().zip(statuses) {
                let expected = if *status == 401 { 401 } else { 404 };
                let answer = client.send(method, &format!("/api/v3{path}"), &[], Vec::new()).await;
                assert_eq!(answer.status, expected, "{method} {path}");
            }
        }
    }

    async fn of_several_keys_of_a_project_each_opens_it_until_it_is_revoked(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let (second, readonly) = (id::api_key(), id::api_key_readonly());
        add_key(&world, &second, false).await;
        add_key(&world, &readonly, true).await;
        let path = format!("checks/{}", world.client.check(&json!({"name": "job"})).await);
        for (key, write) in [(&second, 200), (&readonly, 401)] {
            let client = world.client.with_key(key);
            assert_eq!(client.get(&path).await.status, 200);
            assert_eq!(client.post(&path, &json!({"name": "renamed"})).await.status, write);
        }
        revoke(&world, &second).await;
        let revoked = world.client.with_key(&second);
        assert_eq!(revoked.get(&path).await.status, 401);
        assert_eq!(revoked.post("checks/", &json!({})).await.status, 401);
        assert_eq!(world.client.with_key(&readonly).get(&path).await.status, 200);
        assert_eq!(world.client.get(&path).await.status, 200);
    }

    async fn the_use_of_a_key_is_noted_once_a_minute(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        assert_eq!(last_use(&world, &world.owner.api_key).await, None);
        let mut noted = Vec::new();
        for seconds in [0, 59, 1, 30, 3600, 0] {
            world.advance(Span::seconds(seconds));
            assert_eq!(world.client.get("checks/").await.status, 200);
            let last = last_use(&world, &world.owner.api_key).await.unwrap();
            noted.push((last - START).as_seconds());
        }
        assert_eq!(noted, [0, 0, 60, 60, 3690, 3690]);
        assert_eq!(last_use(&world, &world.owner.api_key_readonly).await, None);
    }

    async fn a_use_that_was_noted_under_a_wrong_clock_is_noted_anew(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.advance(Span::hours(24));
        assert_eq!(world.client.get("checks/").await.status, 200);
        world.advance(Span::hours(-24));
        assert_eq!(world.client.get("checks/").await.status, 200);
        assert_eq!(last_use(&world, &world.owner.api_key).await, Some(START));
    }
}

const ADD_KEY: &Statement = &Statement {
    name: "ADD_KEY",
    text: "INSERT INTO api_keys (uuid, project_id, name, readonly, digest, hint, created_at) \
           SELECT $1, project_id, 'another', $2, $3, 'hc', 0 FROM api_keys WHERE digest = $4",
};
const REVOKE_KEY: &Statement =
    &Statement { name: "REVOKE_KEY", text: "DELETE FROM api_keys WHERE digest = $1" };
const LAST_USE: &Statement =
    &Statement { name: "LAST_USE", text: "SELECT last_used_at FROM api_keys WHERE digest = $1" };

#[derive(sqlx::FromRow)]
struct LastUse {
    last_used_at: Option<Time>,
}

async fn add_key(world: &World, key: &str, is_readonly: bool) {
    let mut tx = world.app.db.begin_write().await.unwrap();
    let change = tx.change(ADD_KEY).bind(id::uuid()).bind(is_readonly).bind(id::digest(key));
    assert_eq!(change.bind(id::digest(&world.owner.api_key)).count().await.unwrap(), 1);
    tx.commit().await.unwrap();
}

async fn revoke(world: &World, key: &str) {
    let mut tx = world.app.db.begin_write().await.unwrap();
    assert_eq!(tx.change(REVOKE_KEY).bind(id::digest(key)).count().await.unwrap(), 1);
    tx.commit().await.unwrap();
}

async fn last_use(world: &World, key: &str) -> Option<Time> {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let row: Option<LastUse> = tx.query(LAST_USE).bind(id::digest(key)).maybe().await.unwrap();
    row.unwrap().last_used_at
}
