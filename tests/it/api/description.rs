//! The description of the API tells what the router has.

use std::collections::BTreeSet;

use flatline::http::api::openapi::description;
use serde_json::Value;

use crate::source::routes;
use crate::support::{Engine, World};

fn json() -> Value {
    serde_json::to_value(description()).unwrap()
}

/// Method and path of every operation, as the router writes them.
fn described() -> BTreeSet<(String, String)> {
    let json = json();
    let paths = json["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(move |method| (method.to_uppercase(), format!("/api/{{version}}{path}")))
    });
    operations.collect()
}

#[test]
fn every_route_is_described_and_nothing_else() {
    // Where a slash is missing clients are sent to the described route.
    let routes: BTreeSet<_> =
        routes("src/http/api").into_iter().filter(|(method, _)| method != "ANY").collect();
    assert_eq!(described(), routes);
}

#[test]
fn every_reference_leads_somewhere() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match value {
                        Value::String(to) if name == "$ref" => drop(found.insert(to.clone())),
                        value => references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let (json, mut found) = (json(), BTreeSet::new());
    references(&json, &mut found);
    assert!(found.contains("#/components/schemas/Check"), "{found:?}");
    for to in found {
        assert!(json.pointer(to.strip_prefix('#').unwrap()).is_some(), "{to}");
    }
}

#[test]
fn an_operation_with_a_key_tells_what_a_wrong_key_and_too_many_calls_come_to() {
    for (path, item) in json()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            let statuses: BTreeSet<&str> = responses.keys().map(String::as_str).collect();
            assert!(statuses.is_superset(&BTreeSet::from(["500", "503"])), "{method} {path}: {statuses:?}");
            let keys = operation["security"].as_array();
            if keys.is_some_and(|keys| keys.iter().any(|key| key.get("key").is_some())) {
                assert!(
                    statuses.is_superset(&BTreeSet::from(["401", "429"])),
                    "{method} {path}: {statuses:?}"
                );
                let headers = responses["429"]["headers"].as_object().unwrap();
                let headers = headers.keys().map(String::as_str);
                let headers: BTreeSet<&str> =
                    headers.filter(|name| !name.starts_with("Access-Control-")).collect();
                let told = ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After"];
                assert_eq!(headers, BTreeSet::from(told), "{method} {path}");
            }
        }
    }
}

#[test]
fn every_answer_but_those_for_no_browser_tells_what_browsers_need() {
    let json = json();
    let all: BTreeSet<&str> =
        json["components"]["headers"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(all.len(), 4);
    for (path, item) in json["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, answer) in operation["responses"].as_object().unwrap() {
                let headers = answer["headers"].as_object().into_iter().flat_map(|headers| headers.keys());
                let told: BTreeSet<&str> =
                    headers.map(String::as_str).filter(|name| name.starts_with("Access-Control-")).collect();
                let expected = if ["/status/", "/metrics/"].contains(&path.as_str()) {
                    BTreeSet::new()
                } else {
                    all.clone()
                };
                assert_eq!(told, expected, "{method} {path} {status}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn anybody_may_read_it_at_version_3() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let anybody = world.client.without_key();
    let answer = anybody.get("openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.header("access-control-allow-methods"), Some("GET, OPTIONS"));
    let served = answer.json();
    assert_eq!((&served["openapi"], &served["servers"][0]["url"]), (&"3.1.0".into(), &"/api/v3".into()));
    assert_eq!(served, json());
    assert_eq!(anybody.send("GET", "/api/v2/openapi.json", &[], Vec::new()).await.status, 404);
}
