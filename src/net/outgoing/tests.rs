use std::net::SocketAddr;

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap as Headers, HeaderValue, StatusCode};
use axum::routing::{any, get, post};
use reqwest::Method;
use tokio::net::TcpListener;

use super::*;
use crate::net::address::Refused;

const NOW: Time = Time(1_774_494_720_000);

fn outgoing(allowed: &[&str]) -> Outgoing {
    Outgoing::new(allowed.iter().map(|net| net.parse().unwrap()).collect()).unwrap()
}

fn call(url: &str) -> Call {
    Call {
        method: Method::GET,
        url: url.parse().unwrap(),
        headers: HeaderMap::new(),
        body: Vec::new(),
        timeout: Span::seconds(30),
    }
}

async fn receiver(routes: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    address
}

async fn fetch(url: &str) -> Result<Answer, CallError> {
    outgoing(&["127.0.0.0/8", "::1/128"]).send(call(url), NOW).await
}

#[tokio::test]
async fn a_call_carries_method_headers_body_and_our_name() {
    let echo = post(|headers: Headers, body: Bytes| async move {
        let agent = headers["user-agent"].to_str().unwrap().to_owned();
        let expected = format!("Flatline/{}", env!("CARGO_PKG_VERSION"));
        let right = agent == expected && headers["x-token"] == "s3cret" && body == "down"[..];
        if right { StatusCode::NO_CONTENT } else { StatusCode::BAD_REQUEST }
    });
    let address = receiver(Router::new().route("/", echo)).await;
    let mut call = call(&format!("http://{address}/"));
    call.method = Method::POST;
    call.headers.insert("x-token", HeaderValue::from_static("s3cret"));
    call.body = b"down".to_vec();
    let sending = tokio::spawn(async move { outgoing(&["127.0.0.1/32"]).send(call, NOW).await });
    let answer = sending.await.unwrap().unwrap();
    assert_eq!(answer, Answer { status: 204, retry_after: None, excerpt: String::new(), private: true });
    assert!(answer.accepted());
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let routes = Router::new()
        .route("/", get(|| async { (StatusCode::FOUND, [("location", "/end")]) }))
        .route("/end", get(|| async { "followed" }));
    let answer = fetch(&format!("http://{}/", receiver(routes).await)).await.unwrap();
    assert_eq!(answer.status, 302);
    assert!(!answer.accepted());
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_an_error() {
    let routes = Router::new().route("/", get(std::future::pending::<()>));
    let mut call = call(&format!("http://{}/", receiver(routes).await));
    call.timeout = Span::millis(50);
    assert_eq!(outgoing(&["127.0.0.1/32"]).send(call, NOW).await, Err(CallError::TimedOut));
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_and_as_a_date() {
    let busy = |value: &'static str| {
        get(move || async move { (StatusCode::SERVICE_UNAVAILABLE, [("retry-after", value)]) })
    };
    let routes = Router::new()
        .route("/seconds", busy("120"))
        .route("/date", busy("Thu, 26 Mar 2026 03:13:00 GMT"))
        .route("/past", busy("Thu, 26 Mar 2020 03:13:00 GMT"))
        .route("/soon", busy("soon"));
    let address = receiver(routes).await;
    for (path, expected) in [
        ("seconds", Some(Span::seconds(120))),
        ("date", Some(Span::seconds(60))),
        ("past", Some(Span::ZERO)),
        ("soon", None),
    ] {
        let answer = fetch(&format!("http://{address}/{path}")).await.unwrap();
        assert_eq!((answer.status, answer.retry_after), (503, expected), "{path}");
    }
}

#[tokio::test]
async fn the_body_of_a_private_target_is_withheld() {
    let address = receiver(Router::new().route("/", get(|| async { "secret of the house" }))).await;
    let answer = fetch(&format!("http://{address}/")).await.unwrap();
    assert_eq!((answer.excerpt.as_str(), answer.private), ("", true));
}

#[tokio::test]
async fn only_the_beginning_of_a_body_is_read() {
    let endless =
        futures_util::stream::repeat_with(|| Ok::<_, std::io::Error>(Bytes::from_static(b"0123456789")));
    let routes = Router::new()
        .route("/endless", get(|| async { axum::body::Body::from_stream(endless) }))
        .route("/nul", get(|| async { &b"caf\xc3\xa9 \0 \xff"[..] }));
    let address = receiver(routes).await;
    let client = outgoing(&["127.0.0.1/32"]).client;
    let body = async |path: &str| {
        excerpt(client.get(format!("http://{address}/{path}")).send().await.unwrap()).await
    };
    assert_eq!(body("endless").await, "0123456789".repeat(1000));
    assert_eq!(body("nul").await, "café \u{fffd} \u{fffd}");
}

#[tokio::test]
async fn every_spelling_of_a_forbidden_address_is_refused_and_nobody_is_called() {
    let (called, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let address = receiver(Router::new().fallback(any(|| async move { called.send(()).unwrap() }))).await;
    let port = address.port();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::127.0.0.1]",
        "[::1]",
        "localhost",
        "LOCALHOST",
        "user:word@127.0.0.1",
    ] {
        let refused = outgoing(&["10.0.0.0/8"]).send(call(&format!("http://{host}:{port}/")), NOW).await;
        assert!(
            matches!(refused, Err(CallError::Refused(Refused::Special { purpose: "loopback", .. }))),
            "{host}: {refused:?}"
        );
    }
    let metadata = outgoing(&["0.0.0.0/0", "::/0"]).send(call("http://169.254.169.254/"), NOW).await;
    assert!(matches!(metadata, Err(CallError::Refused(Refused::Never { .. }))));
    assert!(calls.try_recv().is_err());
}

#[tokio::test]
async fn a_name_is_called_at_the_address_that_was_judged() {
    let address = receiver(Router::new().route("/", get(|| async { "here" }))).await;
    let answer = fetch(&format!("http://localhost:{}/", address.port())).await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn failures_have_names() {
    let address = receiver(Router::new()).await;
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    assert_eq!(fetch(&format!("http://{closed}/")).await, Err(CallError::ConnectionRefused));
    assert_eq!(fetch("ftp://127.0.0.1/").await, Err(CallError::Scheme));
    assert!(matches!(fetch(&format!("https://{address}/")).await, Err(CallError::Tls(_))));
    let no_label_is_that_long = format!("http://{}.invalid/", "a".repeat(64));
    assert_eq!(fetch(&no_label_is_that_long).await, Err(CallError::NameNotFound));

    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent_address = silent.local_addr().unwrap();
    tokio::spawn(async move {
        let (socket, _) = silent.accept().await.unwrap();
        drop(socket);
    });
    assert_eq!(fetch(&format!("http://{silent_address}/")).await, Err(CallError::Broken));
}

#[tokio::test]
async fn headers_of_the_connection_cannot_be_given() {
    for name in ["host", "content-length", "transfer-encoding", "connection"] {
        let mut call = call("http://127.0.0.1:9/");
        call.headers.insert(name, HeaderValue::from_static("x"));
        let error = outgoing(&["127.0.0.1/32"]).send(call, NOW).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the header {name} is set by Flatline itself"));
    }
}
