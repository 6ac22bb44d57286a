//! HTTP as clients really speak it, and as they should not: every form gets the contract's answer or a clear refusal,
//! what is not a whole request records nothing, and nobody holds a connection by saying little.

use std::net::SocketAddr;
use std::time::Duration;

use flatline::http::connection::Patience;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::support::{Engine, Wire, World, on_both};

const HOST: &str = "Host: flatline.test\r\n";

async fn check(world: &World) -> String {
    world.client.check(&json!({})).await
}

async fn pings(world: &World, uuid: &str) -> i64 {
    world.client.read(uuid).await["n_pings"].as_i64().unwrap()
}

/// Says one request on a connection of its own; 0 is a connection that ends without an answer.
async fn status_of(world: &World, request: impl AsRef<[u8]>) -> u16 {
    Wire::to(&world.client.base).await.ask(request).await.map_or(0, |answer| answer.status)
}

on_both! {
    async fn each_form_of_a_request_that_http_allows_is_a_ping(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let encoded: String = uuid.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let forms = [
            ("HTTP/1.0 without a host", format!("GET /ping/{uuid} HTTP/1.0\r\n\r\n")),
            ("the whole URL", format!("GET http://flatline.test/ping/{uuid} HTTP/1.1\r\n{HOST}\r\n")),
            ("a path in percent signs", format!("GET /ping/{encoded} HTTP/1.1\r\n{HOST}\r\n")),
            ("bare line feeds", format!("GET /ping/{uuid} HTTP/1.1\nHost: flatline.test\n\n")),
            ("a blank line in front", format!("\r\nGET /ping/{uuid} HTTP/1.1\r\n{HOST}\r\n")),
            ("a body with GET", format!("GET /ping/{uuid} HTTP/1.1\r\n{HOST}Content-Length: 2\r\n\r\nhi")),
            ("a method of its own", format!("PURGE /ping/{uuid} HTTP/1.1\r\n{HOST}\r\n")),
            ("TRACE", format!("TRACE /ping/{uuid} HTTP/1.1\r\n{HOST}\r\n")),
            (
                "chunks with an extension and a trailer",
                format!(
                    "POST /ping/{uuid} HTTP/1.1\r\n{HOST}Transfer-Encoding: chunked\r\n\r\n\
                     3;a=b\r\none\r\n1\r\n,\r\n0\r\nX-Sum: 4\r\n\r\n"
                ),
            ),
            (
                "an upgrade that is not offered",
                format!("GET /ping/{uuid} HTTP/1.1\r\n{HOST}Connection: upgrade, close\r\nUpgrade: h2c\r\n\r\n"),
            ),
        ];
        for (at, (what, request)) in forms.iter().enumerate() {
            assert_eq!(status_of(&world, request).await, 200, "{what}");
            assert_eq!(pings(&world, &uuid).await, i64::try_from(at).unwrap() + 1, "{what}");
        }
        let body = world.client.get(&format!("checks/{uuid}/pings/9/body")).await;
        assert_eq!(body.text(), "one,");
    }

    async fn what_http_does_not_allow_is_refused_and_records_nothing(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let get = |headers: &str| format!("GET /ping/{uuid} HTTP/1.1\r\n{HOST}{headers}\r\n");
        let post = |headers: &str| format!("POST /ping/{uuid} HTTP/1.1\r\n{HOST}{headers}\r\n\r\nhello");
        let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
        let long = "x".repeat(70_000);
        let refused: &[(&str, Vec<u8>, &[u16])] = &[
            ("no host", format!("GET /ping/{uuid} HTTP/1.1\r\n\r\n").into(), &[400]),
            ("two hosts", get("Host: other.test\r\n").into(), &[400]),
            ("a method in small letters", format!("get /ping/{uuid} HTTP/1.1\r\n{HOST}\r\n").into(), &[405]),
            ("two lengths", post("Content-Length: 5\r\nContent-Length: 6").into(), &[400]),
            ("a length below nothing", post("Content-Length: -5").into(), &[400]),
            ("a length beyond all numbers", post("Content-Length: 99999999999999999999999").into(), &[400]),
            ("an unknown coding", post("Transfer-Encoding: gzip").into(), &[400, 501]),
            ("chunks without a size", post("Transfer-Encoding: chunked").into(), &[400]),
            ("a header that folds", get("X-A: b\r\n c\r\n").into(), &[400]),
            ("a blank before the colon", get("X-A : b\r\n").into(), &[400]),
            ("a NUL in a header", get("X-A: \0\r\n").into(), &[400]),
            ("a NUL in the path", format!("GET /ping/{uuid}\0 HTTP/1.1\r\n{HOST}\r\n").into(), &[400]),
            ("a version to come", format!("GET /ping/{uuid} HTTP/7.0\r\n{HOST}\r\n").into(), &[400, 505]),
            ("a head too long", get(&format!("X-Long: {long}\r\n")).into(), &[431]),
            ("too many headers", get(&many).into(), &[431]),
            ("a path too long", format!("GET /ping/{long} HTTP/1.1\r\n{HOST}\r\n").into(), &[414, 431]),
            ("the greeting of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), &[0, 400]),
            ("noise", vec![0xff; 4096], &[0, 400]),
            ("half of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_vec(), &[0, 400, 505]),
        ];
        for (what, request, allowed) in refused {
            let status = status_of(&world, request).await;
            assert!(allowed.contains(&status), "{what}: {status}");
        }
        assert_eq!(pings(&world, &uuid).await, 0);
    }

    async fn a_connection_cut_in_mid_body_records_nothing(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        for framing in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
            let mut wire = Wire::to(&world.client.base).await;
            wire.say(format!("POST /ping/{uuid}/fail HTTP/1.1\r\n{HOST}{framing}\r\n\r\n5\r\nhello\r\n")).await;
            wire.stop().await;
            let answer = wire.hear("POST").await.map(|answer| answer.status);
            assert!(matches!(answer, None | Some(400)), "{framing}: {answer:?}");
        }
        let read = world.client.read(&uuid).await;
        assert_eq!((&read["n_pings"], &read["status"]), (&json!(0), &json!("new")));
    }

    async fn pings_sent_without_waiting_are_answered_in_order(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let mut wire = Wire::to(&world.client.base).await;
        let suffixes = ["/start", "/999", "", "/log"];
        let all: String = suffixes.map(|s| format!("GET /ping/{uuid}{s} HTTP/1.1\r\n{HOST}\r\n")).concat();
        wire.say(all).await;
        let mut statuses = Vec::new();
        for _ in suffixes {
            statuses.push(wire.hear("GET").await.unwrap().status);
        }
        assert_eq!(statuses, [200, 400, 200, 200]);
        let list = world.client.get(&format!("checks/{uuid}/pings/")).await.json();
        let kinds: Vec<_> = list["pings"].as_array().unwrap().iter().map(|ping| ping["type"].clone()).collect();
        assert_eq!(kinds, ["log", "success", "start"]);
    }

    async fn a_client_that_closes_its_side_once_it_has_spoken_is_answered(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        for _ in 0..20 {
            let mut wire = Wire::to(&world.client.base).await;
            wire.say(format!("POST /ping/{uuid} HTTP/1.1\r\n{HOST}Content-Length: 2\r\n\r\nhi")).await;
            wire.stop().await;
            assert_eq!(wire.hear("POST").await.map(|answer| answer.status), Some(200));
        }
        assert_eq!(pings(&world, &uuid).await, 20);
    }

    async fn a_client_that_asks_first_is_told_to_go_on(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let mut wire = Wire::to(&world.client.base).await;
        let head = format!(
            "POST /ping/{uuid} HTTP/1.1\r\n{HOST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        );
        assert_eq!(wire.ask(head).await.unwrap().status, 100);
        assert_eq!(pings(&world, &uuid).await, 0);
        wire.say("hello").await;
        assert_eq!(wire.hear("POST").await.unwrap().status, 200);
        assert_eq!(pings(&world, &uuid).await, 1);
    }

    async fn http_2_without_asking_first_carries_many_pings_at_once(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let client = world.client.speaking_http_2();
        let pings = (0..150).map(|_| client.ping_with(&uuid, "", b"over one connection"));
        let answers = futures_util::future::join_all(pings).await;
        assert!(answers.iter().all(|answer| answer.status == 200));
        assert_eq!(self::pings(&world, &uuid).await, 150);
    }

    async fn head_has_the_headers_of_get_and_options_is_no_ping(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let mut answers = Vec::new();
        for method in ["GET", "HEAD"] {
            let request = format!("{method} /ping/{uuid} HTTP/1.1\r\n{HOST}\r\n");
            let mut answer = Wire::to(&world.client.base).await.ask(request).await.unwrap();
            for own in ["date", "x-request-id"] {
                assert!(answer.headers.remove(own).is_some(), "{own}");
            }
            answers.push(answer);
        }
        assert_eq!(answers[0].headers, answers[1].headers);
        assert_eq!(answers[0].header("content-length"), Some("2"));
        assert_eq!((answers[0].text().as_str(), answers[1].body.len()), ("OK", 0));
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("ping-body-limit", "100000"),
            ("cache-control", "max-age=0, no-cache, no-store, must-revalidate, private"),
            ("content-type", "text/plain; charset=utf-8"),
        ] {
            assert_eq!(answers[0].header(name), Some(value));
        }
        for target in [format!("/ping/{uuid}"), format!("/ping/{uuid}/fail"), "/ping/unknown".to_owned()] {
            let asked = world.client.without_key().send("OPTIONS", &target, &[], Vec::new()).await;
            assert_eq!((asked.status, asked.header("access-control-allow-origin")), (204, Some("*")));
        }
        assert_eq!(pings(&world, &uuid).await, 2);
    }

    async fn whatever_is_said_the_program_answers_or_hangs_up_and_never_fails(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let mut runner = TestRunner::deterministic();
        let mut accepted = 0;
        for _ in 0..if crate::support::is_long() { 5000 } else { 300 } {
            let said = request(&uuid).new_tree(&mut runner).unwrap().current();
            let mut wire = Wire::into(&world, SocketAddr::from(([203, 0, 113, 7], 40_000)));
            wire.say(&said).await;
            wire.stop().await;
            let method = String::from_utf8_lossy(said.split(|byte| *byte == b' ').next().unwrap()).into_owned();
            if let Some(answer) = wire.hear(&method).await {
                assert!(answer.status < 500, "{} to {:?}", answer.status, String::from_utf8_lossy(&said));
                accepted += i64::from(answer.status == 200 && answer.header("ping-body-limit").is_some());
            }
        }
        assert!(accepted > 10, "{accepted}");
        assert_eq!(pings(&world, &uuid).await, accepted);
    }
}

/// Requests that are nearly right: each part is mostly sound and sometimes noise.
fn request(uuid: &str) -> impl Strategy<Value = Vec<u8>> + use<> {
    let method = prop_oneof![4 => Just("GET"), 4 => Just("POST"), 1 => Just("HEAD"), 1 => Just("PROPFIND"), 1 => Just("g")];
    let target = prop_oneof![
        6 => Just(format!("/ping/{uuid}")),
        1 => Just("/api/v3/checks/".to_owned()),
        1 => Just("/api/v1/checks/%00".to_owned()),
        1 => Just("/badge/%ff/%00.svg".to_owned()),
    ];
    let suffix = prop_oneof![4 => Just(String::new()), 1 => "/[0-9]{1,12}", 1 => "/[ -~]{0,20}", 1 => "(/|%[0-9a-f]{2}){1,5}"];
    let query = prop_oneof![
        3 => Just(String::new()),
        1 => "\\?rid=[0-9a-fA-F-]{0,40}",
        1 => "\\?[a-z]{1,6}=(%[0-9a-f]{2}){0,8}&[ -~]{0,20}",
    ];
    let headers = prop_oneof![
        3 => Just(Vec::new()),
        1 => proptest::collection::vec(any::<u8>(), 0..60),
        1 => "(X-Forwarded-For|User-Agent|Content-Type|Expect|Connection|Range|X-Api-Key): [ -~]{0,60}\r\n"
            .prop_map(String::into_bytes),
    ];
    let body = proptest::collection::vec(any::<u8>(), 0..300);
    (method, target, suffix, query, headers, body, -2_i64..3).prop_map(
        |(method, target, suffix, query, headers, body, off)| {
            let length = i64::try_from(body.len()).unwrap() + off.max(0) * i64::from(off > 1);
            let mut said = format!("{method} {target}{suffix}{query} HTTP/1.1\r\n{HOST}").into_bytes();
            said.extend(headers);
            said.extend(format!("Content-Length: {length}\r\n\r\n").into_bytes());
            said.extend(body);
            said
        },
    )
}

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(200);

fn impatient(world: &World, patience: Patience) -> Wire {
    Wire::into_with(world, SocketAddr::from(([203, 0, 113, 7], 40_000)), patience)
}

on_both! {
    async fn whoever_sends_no_whole_head_in_time_is_cut_off(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        for said in [
            "",
            "G",
            "PRI * HT",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            &format!("GET /ping/{uuid} HTTP/1.1\r\n{HOST}X-Slow: "),
            &format!("GET /ping/{uuid} HTTP/1.1\r\n{HOST}"),
        ] {
            let mut wire = impatient(&world, Patience { head: SHORT, piece: LONG, body: LONG });
            wire.say(said).await;
            assert_eq!(wire.hear("GET").await.map(|answer| answer.status), None, "{said:?}");
        }
        assert_eq!(pings(&world, &uuid).await, 0);
    }

    async fn a_body_that_stalls_is_given_up_on_every_route_and_records_nothing(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        for (target, status) in [(format!("/ping/{uuid}/fail"), 408), ("/api/v3/checks/".to_owned(), 400)] {
            let mut wire = impatient(&world, Patience { head: LONG, piece: SHORT, body: LONG });
            let head = format!("POST {target} HTTP/1.1\r\n{HOST}Content-Length: 100\r\n\r\n");
            assert_eq!(wire.ask(format!("{head}half of it")).await.unwrap().status, status, "{target}");
        }
        assert_eq!(pings(&world, &uuid).await, 0);
    }

    async fn a_body_that_drips_for_ever_is_given_up_too(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = check(&world).await;
        let mut wire = impatient(&world, Patience { head: LONG, piece: LONG, body: SHORT });
        wire.say(format!("POST /ping/{uuid} HTTP/1.1\r\n{HOST}Content-Length: 1000000000\r\n\r\n")).await;
        let answer = loop {
            tokio::select! {
                biased;
                answer = wire.hear("POST") => break answer,
                // As many drops as the other side takes.
                () = tokio::task::yield_now() => {}
            }
            wire.say(".").await;
        };
        assert_eq!(answer.unwrap().status, 408);
        assert_eq!(pings(&world, &uuid).await, 0);
    }
}
