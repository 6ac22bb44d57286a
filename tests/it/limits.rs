//! Limits as callers meet them: API keys, addresses, pings that name nothing, and what a plan counts.

mod chains;
mod lock_out;
mod paths;
mod plans;
mod races;
mod targets;

use flatline::rate;
use flatline::time::Span;
use serde_json::json;
use tempfile::NamedTempFile;

use crate::support::{Engine, World, on_both};

/// Plans and limits that are reached quickly.
const PLANS: &str = r#"
[tight]
checks = 3
min_interval_seconds = 60
api_per_minute = 5
api_per_day = 12
[roomy]
checks = 3
min_interval_seconds = 60
api_per_minute = "none"
api_per_day = "none"
[daily]
checks = "none"
min_interval_seconds = 60
api_per_minute = "none"
api_per_day = 40
[limits]
api_address_per_minute = 8
failed_keys_per_minute = 3
unknown_pings_per_minute = 4
creates_per_hour = 2
"#;

fn plans_file(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

/// A world with these plans; one trusted proxy, the test itself, says who is calling.
async fn world(engine: Engine, plan: &str) -> (World, NamedTempFile) {
    let file = plans_file(PLANS);
    let path = file.path().display().to_string();
    let changes = [("PLANS_FILE", path.as_str()), ("TRUSTED_PROXIES", "127.0.0.0/8")];
    (World::with(engine, plan, &changes).await, file)
}

/// How many counter rows there are; they are gone afterwards.
async fn counted_rows(world: &World) -> u64 {
    rate::prune(&world.app.db, world.clock.now() + Span::hours(24 * 400)).await.unwrap()
}

async fn get_from(world: &World, key: &str, address: &str) -> crate::support::Answer {
    let client = world.client.with_key(key);
    client.send("GET", "/api/v3/checks/", &[("X-Forwarded-For", address)], Vec::new()).await
}

on_both! {
    async fn an_api_key_is_told_where_it_stands_and_then_until_when_it_has_to_wait(engine: Engine) {
        let (world, _file) = world(engine, "tight").await;
        for remaining in (0..5).rev() {
            let answer = world.client.get("checks/").await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("ratelimit-limit"), Some("5"));
            assert_eq!(answer.header("ratelimit-remaining"), Some(remaining.to_string().as_str()));
            assert_eq!(answer.header("ratelimit-reset"), Some("61"));
        }
        world.advance(Span::seconds(20));
        let refused = world.client.get("checks/").await;
        assert_eq!(refused.status, 429);
        assert_eq!(refused.text(), r#"{"error":"rate_limited","scope":"api_per_minute","retry_after":41}"#);
        let headers = ["retry-after", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
        assert_eq!(headers.map(|name| refused.header(name).unwrap()), ["41", "5", "0", "41"]);
        assert_eq!(refused.header("access-control-allow-origin"), Some("*"));

        world.advance(Span::millis(40_999));
        assert_eq!(world.client.get("checks/").await.status, 429);
        world.advance(Span::millis(1));
        assert_eq!(world.client.get("checks/").await.status, 200);
    }

    async fn a_thousand_refusals_of_one_state_have_one_body(engine: Engine) {
        let (world, _file) = world(engine, "tight").await;
        let asked = 1005;
        let mut bodies = Vec::new();
        for _ in 0..asked {
            let answer = world.client.get("checks/").await;
            if answer.status == 429 {
                bodies.push(answer.text());
            }
        }
        assert_eq!(bodies.len(), asked - 5);
        bodies.dedup();
        assert_eq!(bodies, [r#"{"error":"rate_limited","scope":"api_per_minute","retry_after":61}"#]);
    }

    async fn refused_calls_cost_nothing_of_the_day_but_their_address_knows_of_them(engine: Engine) {
        let (world, _file) = world(engine, "tight").await;
        for call in 0..20 {
            assert_eq!(world.client.get("checks/").await.status, if call < 5 { 200 } else { 429 });
        }
        let other = world.sign_up("other@example.org", "tight").await;
        let answer = world.client.with_key(&other.api_key).get("checks/").await;
        let scope = (answer.status, answer.json()["scope"].clone());
        assert_eq!(scope, (429, json!("api_address_per_minute")), "both come from one address");
        let mut statuses = Vec::new();
        for _ in 0..2 {
            world.advance(Span::seconds(61));
            for _ in 0..5 {
                statuses.push(world.client.get("checks/").await.status);
            }
        }
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 429, 429, 429], "twelve a day");
        assert_eq!(world.client.get("checks/").await.json()["scope"], "api_per_minute");
        world.advance(Span::seconds(61));
        assert_eq!(world.client.get("checks/").await.json()["scope"], "api_per_day");
    }

    async fn a_plan_without_limits_leaves_no_trace_of_its_calls(engine: Engine) {
        let (world, _file) = world(engine, "unlimited").await;
        for _ in 0..20 {
            let answer = world.client.get("checks/").await;
            assert_eq!((answer.status, answer.header("ratelimit-limit")), (200, None));
        }
        let uuid = world.client.check(&json!({"name": "job"})).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        assert_eq!(counted_rows(&world).await, 0);
    }

    async fn wrong_keys_are_counted_by_address_and_do_not_lock_out_right_ones(engine: Engine) {
        let (world, _file) = world(engine, "roomy").await;
        let wrong = format!("hcw_{}", "x".repeat(28));
        let mut statuses = Vec::new();
        for _ in 0..5 {
            statuses.push(get_from(&world, &wrong, "198.51.100.7").await.status);
        }
        assert_eq!(statuses, [401, 401, 401, 429, 429]);
        let refused = get_from(&world, &wrong, "198.51.100.7").await;
        let body = r#"{"error":"rate_limited","scope":"failed_keys_per_minute","retry_after":61}"#;
        assert_eq!(refused.text(), body);
        assert_eq!(get_from(&world, &world.owner.api_key, "198.51.100.7").await.status, 200);
        assert_eq!(get_from(&world, &wrong, "198.51.100.8").await.status, 401);
        assert_eq!(get_from(&world, "short", "198.51.100.7").await.text(), r#"{"error":"missing api key"}"#);

        let scrape = format!("/projects/{}/metrics/{wrong}", world.owner.project);
        let scraped = |address: &'static str| {
            let (client, scrape) = (world.client.without_key(), scrape.clone());
            async move { client.send("GET", &scrape, &[("X-Forwarded-For", address)], Vec::new()).await.status }
        };
        assert_eq!([scraped("198.51.100.7").await, scraped("198.51.100.8").await], [429, 403]);
    }

    async fn an_ipv6_caller_is_counted_by_its_64(engine: Engine) {
        let (world, _file) = world(engine, "roomy").await;
        let wrong = format!("hcw_{}", "x".repeat(28));
        let addresses = ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3", "2001:db8::4", "2001:db8:0:1::1"];
        let mut statuses = Vec::new();
        for address in addresses {
            statuses.push(get_from(&world, &wrong, address).await.status);
        }
        assert_eq!(statuses, [401, 401, 401, 429, 401]);
    }

    async fn pings_of_nothing_are_counted_by_address_and_others_are_not(engine: Engine) {
        let (world, _file) = world(engine, "roomy").await;
        let uuid = world.client.check(&json!({"name": "job"})).await;
        let nothing = "3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f";
        let mut statuses = Vec::new();
        for _ in 0..6 {
            statuses.push(world.client.ping(nothing, "").await.status);
        }
        assert_eq!(statuses, [404, 404, 404, 404, 429, 429]);
        let refused = world.client.ping(nothing, "").await;
        let body = r#"{"error":"rate_limited","scope":"unknown_pings_per_minute","retry_after":61}"#;
        assert_eq!((refused.text().as_str(), refused.header("retry-after")), (body, None));
        assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        world.advance(Span::seconds(61));
        assert_eq!(world.client.ping(nothing, "").await.status, 404);
    }

    async fn checks_made_by_pings_are_counted_by_project_and_hour(engine: Engine) {
        let (world, _file) = world(engine, "roomy").await;
        let make = |slug: &'static str| world.client.ping(&world.owner.ping_key, slug);
        assert_eq!(make("/one?create=1").await.status, 201);
        assert_eq!(make("/one?create=1").await.status, 429, "the check is there, and this is a repeat");
        assert_eq!(make("/two?create=1").await.status, 201);
        let refused = make("/three?create=1").await;
        assert_eq!(refused.status, 429);
        let body = r#"{"error":"rate_limited","scope":"creates_per_hour","retry_after":3660}"#;
        assert!(refused.text().starts_with(&body[..60]), "{}", refused.text());
        assert_eq!(refused.header("retry-after"), None);
        let other = world.sign_up("other@example.org", "roomy").await;
        assert_eq!(world.client.ping(&other.ping_key, "/three?create=1").await.status, 201);
        world.advance(Span::seconds(3660));
        assert_eq!(make("/three?create=1").await.status, 201);
    }

    async fn what_was_refused_of_a_check_is_remembered_with_the_reason(engine: Engine) {
        let (world, _file) = world(engine, "roomy").await;
        let uuid = world.client.check(&json!({"name": "job"})).await;
        let id = uuid.parse().unwrap();
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        assert_eq!(world.app.recorder.refused(id), None);
        world.advance(Span::seconds(20));
        for _ in 0..3 {
            assert_eq!(world.client.ping(&uuid, "").await.status, 429);
        }
        let refused = world.app.recorder.refused(id).unwrap();
        assert_eq!((refused.pings, refused.signal.word()), (3, "success"));
        assert_eq!((refused.last_at, refused.min_interval), (world.clock.now(), Span::seconds(60)));
    }
}

#[test]
fn the_readme_lists_every_limit_as_it_is() {
    let readme = include_str!("../../README.md");
    let is_row = |line: &&str| {
        line.starts_with("| `") && [" per ", " at once "].iter().any(|words| line.contains(words))
    };
    let written: Vec<&str> = readme.lines().filter(is_row).collect();
    let window = |span: Span| match span.as_seconds() {
        0 => "at once",
        60 => "per minute",
        3600 => "per hour",
        _ => "per day",
    };
    let rows: Vec<String> = flatline::config::LIMITS
        .iter()
        .map(|row| {
            let (name, count, window) = (row.name, row.count, window(row.window));
            format!("| `{name}` | {count} {window} | {} | {} |", row.subject, row.counts)
        })
        .collect();
    assert_eq!(written, rows);
}
