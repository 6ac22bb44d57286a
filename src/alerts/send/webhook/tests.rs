use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;
use crate::alerts::links::Links;
use crate::alerts::words::sample::{channel, failed, recovered};
use crate::checks::json::Urls;
use crate::mail::{Mailbox, Post};
use crate::net::Outgoing;
use crate::time::Span;

fn senders(private: &[&str]) -> Senders {
    Senders {
        post: Post::outbox("outbox".into(), Mailbox::parse("alerts@mon.example").unwrap()),
        outgoing: Outgoing::new(private.iter().map(|network| network.parse().unwrap()).collect()).unwrap(),
        links: Links::new("https://watch.example.org", &[7; 32]),
        returns: None,
        urls: Urls { site: "https://watch.example.org".to_owned(), ping: String::new() },
        site: "watch.example.org".to_owned(),
    }
}

/// A receiver for one request: gives its answer and returns what it was sent.
async fn receiver(answer: &'static str) -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let seen = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !is_whole(&request) {
            let mut chunk = [0; 4096];
            let read = stream.read(&mut chunk).await.unwrap();
            assert_ne!(read, 0, "the request broke off");
            request.extend_from_slice(&chunk[..read]);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        request.iter().map(|byte| char::from(*byte)).collect()
    });
    (url, seen)
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_lowercase();
    let Some(head) = text.find("\r\n\r\n") else { return false };
    let length = text[..head].lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    let body = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    request.len() >= body + length
}

const TAKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// One attempt to send `message` with this configuration, where `URL` stands for the receiver's.
async fn attempt(config: &str, mut message: Message, answer: &'static str) -> (Outcome, String) {
    let (url, seen) = receiver(answer).await;
    message.channel = channel("webhook", &config.replace("URL", &url));
    let outcome = senders(&["127.0.0.0/8"]).send(&message).await;
    (outcome, seen.await.unwrap())
}

#[tokio::test]
async fn a_webhook_sends_what_its_owner_wrote() {
    let mut message = failed();
    message.check.settings.name = "nightly\r\nX-Evil: 1 \u{2013} \u{e9}".to_owned();
    let config = r#"{"down":{"method":"PUT","url":"URL/hook/$SLUG?n=$NAME","headers":{"X-Check":"$NAME","Content-Type":"text/plain"},
        "body":"$CODE|$STATUS|$NOW|$TAGS|$EXITSTATUS"},"up":null}"#;
    let (outcome, request) = attempt(config, message, TAKEN).await;
    assert_eq!(outcome, Outcome::Sent { note: "The target answered 200.".to_owned() });
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with(
        "PUT /hook/dump-pg-main?n=nightly%0D%0AX-Evil%3A%201%20%E2%80%93%20%C3%A9 HTTP/1.1\r\n"
    ));
    let lines: Vec<&str> = head.split("\r\n").collect();
    assert!(lines.contains(&"x-check: nightly  X-Evil: 1 &#8211; \u{e9}"));
    assert!(lines.contains(&"idempotency-key: 00000000-0000-0000-0000-0000000000d1"));
    assert!(lines.contains(&"content-type: text/plain"));
    assert!(!lines.iter().any(|line| line.to_lowercase().starts_with("x-evil")));
    assert_eq!(body, "4f7c1b9e-0000-4000-8000-000000000001|down|2026-03-26T01:52:00+00:00|db prod|1");
}

#[tokio::test]
async fn a_get_has_no_body_and_the_up_has_a_request_of_its_own() {
    let config =
        r#"{"down":{"method":"POST","url":"URL/down"},"up":{"method":"GET","url":"URL/up?s=$STATUS"}}"#;
    let (outcome, request) = attempt(config, recovered(), TAKEN).await;
    assert!(matches!(outcome, Outcome::Sent { .. }));
    assert!(request.starts_with("GET /up?s=up HTTP/1.1\r\n"));
    assert!(request.ends_with("\r\n\r\n"));
}

#[tokio::test]
async fn an_idempotency_key_of_the_owners_own_wins() {
    let config =
        r#"{"down":{"method":"POST","url":"URL/","headers":{"Idempotency-Key":"$CODE-$STATUS"}},"up":null}"#;
    let (_, request) = attempt(config, failed(), TAKEN).await;
    assert_eq!(request.matches("idempotency-key: ").count(), 1);
    assert!(request.contains("idempotency-key: 4f7c1b9e-0000-4000-8000-000000000001-down\r\n"));
}

#[tokio::test]
async fn what_is_not_taken_is_tried_again_unless_it_is_gone() {
    let config = r#"{"down":{"method":"POST","url":"URL/"},"up":null}"#;
    let retry = |why: &str, after: Option<i64>| Outcome::Retry {
        why: why.to_owned(),
        after: after.map(Span::seconds),
    };
    let table = [
        (
            "HTTP/1.1 206 Partial\r\nContent-Length: 0\r\n\r\n",
            Outcome::Sent { note: "The target answered 206.".to_owned() },
        ),
        (
            "HTTP/1.1 503 Away\r\nRetry-After: 120\r\nContent-Length: 0\r\n\r\n",
            retry("The target answered 503.", Some(120)),
        ),
        (
            "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
            retry("The target answered 429.", Some(7)),
        ),
        ("HTTP/1.1 404 Lost\r\nContent-Length: 0\r\n\r\n", retry("The target answered 404.", None)),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            retry(
                "The target answered 302: it points elsewhere, and redirects are not followed. Enter the address it points to.",
                None,
            ),
        ),
        (
            "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n",
            Outcome::Failed { why: "The target answered 410, it is gone.".to_owned() },
        ),
    ];
    for (answer, outcome) in table {
        assert_eq!(attempt(config, failed(), answer).await.0, outcome);
    }
}

#[test]
fn what_a_public_target_says_is_shown_in_one_line() {
    let answer = |excerpt: &str| Answer {
        status: 500,
        retry_after: None,
        excerpt: excerpt.to_owned(),
        private: false,
    };
    let why = |excerpt| match outcome(Ok(answer(excerpt))) {
        Outcome::Retry { why, .. } => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why("no such\r\n\x1b hook"), "The target answered 500: no such hook.");
    assert_eq!(why(&"x".repeat(500)), format!("The target answered 500: {}…", "x".repeat(99)));
}

#[tokio::test]
async fn a_target_in_a_private_network_is_not_called_and_the_setting_is_named() {
    let mut message = failed();
    for url in [
        "http://127.0.0.1:9/",
        "http://[::ffff:127.0.0.1]:9/",
        "http://0x7f000001:9/",
        "http://169.254.169.254/",
    ] {
        let config = format!(r#"{{"down":{{"method":"POST","url":"{url}"}},"up":null}}"#);
        message.channel = channel("webhook", &config);
        let Outcome::Retry { why, after: None } = senders(&[]).send(&message).await else { panic!("{url}") };
        assert!(why.contains("FLATLINE_PRIVATE_TARGETS"), "{why}");
    }
}

#[tokio::test]
async fn a_url_that_its_values_break_waits_to_be_mended() {
    let mut message = failed();
    message.check.settings.slug = "a b".to_owned();
    message.channel =
        channel("webhook", r#"{"down":{"method":"POST","url":"http://example.org:$SLUG/"},"up":null}"#);
    let why = "The URL cannot be used once its placeholders are filled in.".to_owned();
    assert_eq!(senders(&[]).send(&message).await, Outcome::Retry { why, after: None });
}

#[tokio::test]
async fn a_message_without_a_request_fails_at_once() {
    let mut message = recovered();
    message.channel =
        channel("webhook", r#"{"down":{"method":"POST","url":"http://example.org/"},"up":null}"#);
    let why = "There is no URL for UP.".to_owned();
    assert_eq!(senders(&[]).send(&message).await, Outcome::Failed { why });
    message.channel = channel("pigeon", "{}");
    let why = "There is no kind of channel 'pigeon'.".to_owned();
    assert_eq!(senders(&[]).send(&message).await, Outcome::Failed { why });
}

#[test]
fn a_webhook_that_can_be_called_is_kept() {
    let given = r#"{"down": {"method": "post", "url": " https://example.org/$NAME ", "headers": {"X-A": "1"}, "body": "$BODY"},
        "up": {"method": "GET", "url": ""}}"#;
    assert_eq!(
        check(given),
        Ok(Checked {
            config: r#"{"down":{"method":"POST","url":"https://example.org/$NAME","headers":{"X-A":"1"},"body":"$BODY"},"up":null}"#
                .to_owned(),
            told: Some(Told { down: true, up: false }),
            asks: None,
        })
    );
    let kept = check(given).unwrap().config;
    assert_eq!(check(&kept).unwrap().config, kept);
}

#[test]
fn a_refusal_names_the_field_and_what_it_takes() {
    let down =
        |fields: &str| format!(r#"{{"down":{{"method":"POST","url":"https://example.org/"{fields}}}}}"#);
    let url = |url: &str| format!(r#"{{"up":{{"method":"POST","url":{}}}}}"#, serde_json::Value::from(url));
    let long = "x".repeat(1001);
    let headers: Vec<String> = (0..21).map(|n| format!(r#""X-{n}":"""#)).collect();
    let table = [
        ("{}".to_owned(), "Enter a Down URL, an Up URL, or both: without one the webhook is never called."),
        (url(" "), "Enter a Down URL, an Up URL, or both: without one the webhook is never called."),
        (url("example.org"), "Up URL: it must be an address that begins with http:// or https://."),
        (url("ftp://example.org/"), "Up URL: it must be an address that begins with http:// or https://."),
        (
            url("https://exa\nmple.org/"),
            "Up URL: it must be an address that begins with http:// or https://.",
        ),
        (url(&format!("https://example.org/{long}")), "Up URL: it has more than 1000 characters."),
        (
            r#"{"down":{"method":"DELETE","url":"https://example.org/"}}"#.to_owned(),
            "Down method: choose POST, PUT or GET.",
        ),
        (down(&format!(r#","body":"{long}""#)), "Down body: it has more than 1000 characters."),
        (
            r#"{"down":{"method":"GET","url":"https://example.org/","body":"x"}}"#.to_owned(),
            "Down body: a GET request has none; choose POST or PUT, or leave it empty.",
        ),
        (
            down(r#","headers":{"hOST":"x"}"#),
            "Down headers: hOST is set by Flatline itself and cannot be given.",
        ),
        (
            down(r#","headers":{"Content-Length":"3"}"#),
            "Down headers: Content-Length is set by Flatline itself and cannot be given.",
        ),
        (
            down(r#","headers":{"Transfer-Encoding":"chunked"}"#),
            "Down headers: Transfer-Encoding is set by Flatline itself and cannot be given.",
        ),
        (
            down(r#","headers":{"Connection":"close"}"#),
            "Down headers: Connection is set by Flatline itself and cannot be given.",
        ),
        (down(r#","headers":{"X A":"x"}"#), "Down headers: 'X A' is not the name of a header."),
        (down(r#","headers":{"":"x"}"#), "Down headers: '' is not the name of a header."),
        (
            down(r#","headers":{"X-A":"x\r\nX-B: y"}"#),
            "Down headers: X-A must be one line without control characters.",
        ),
        (down(r#","headers":{"X-A":"1","x-a":"2"}"#), "Down headers: x-a is there twice."),
        (
            down(&format!(r#","headers":{{"X-A":"{long}"}}"#)),
            "Down headers: X-A has more than 1000 characters.",
        ),
        (down(&format!(r#","headers":{{{}}}"#, headers.join(","))), "Down headers: there are more than 20."),
    ];
    for (config, refusal) in table {
        assert_eq!(check(&config).unwrap_err().words, refusal, "{config}");
    }
    assert!(check("down").unwrap_err().words.starts_with("The webhook cannot be read: "));
}
