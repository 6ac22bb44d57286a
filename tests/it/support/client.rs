//! A client of the program under test: pings and the Management API.

use std::sync::OnceLock;

use flatline::checks::UniqueKey;
use reqwest::{Method, StatusCode};
use serde_json::Value;

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {} {}", self.status, self.text()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Speaks to one base URL, with an API key or without.
#[derive(Clone)]
pub struct Client {
    pub base: String,
    key: Option<String>,
    http: reqwest::Client,
}

fn http() -> reqwest::Client {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        // Another test may have installed it before; either way it is there.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    #[expect(clippy::disallowed_methods, reason = "the tests are the stranger that calls")]
    let builder = reqwest::Client::builder();
    builder
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .pool_max_idle_per_host(512)
        .build()
        .expect("a client can be built")
}

impl Client {
    pub fn new(base: &str) -> Self {
        Self { base: base.to_owned(), key: None, http: http() }
    }

    /// The same client with another key.
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    /// The same client with no key.
    pub fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    /// The same client speaking HTTP/2 from the first byte, over one connection.
    pub fn speaking_http_2(&self) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the tests are the stranger that calls")]
        let builder = reqwest::Client::builder();
        let http = builder.no_proxy().http2_prior_knowledge().build().expect("a client can be built");
        Self { http, ..self.clone() }
    }

    /// The same client speaking to another base URL.
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    /// Sends one request; connection errors are the test's failure.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        self.try_send(method, path, headers, body)
            .await
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Sends one request.
    pub async fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> reqwest::Result<Answer> {
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        let mut request = self.http.request(method, format!("{}{path}", self.base)).body(body);
        if let Some(key) = &self.key {
            request = request.header("X-Api-Key", key);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Ok(Answer { status, headers, body: response.bytes().await?.to_vec() })
    }

    /// Asks for an answer that may not end.
    pub async fn stream(&self, path: &str, cookies: &str) -> reqwest::Response {
        let request = self.http.get(format!("{}{path}", self.base)).header("Cookie", cookies);
        request.send().await.unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// `GET` on the API, version 3.
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", &format!("/api/v3/{path}"), &[], Vec::new()).await
    }

    /// `POST` on the API, version 3.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", &format!("/api/v3/{path}"), &[], body.to_string().into_bytes()).await
    }

    /// `DELETE` on the API, version 3.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", &format!("/api/v3/{path}"), &[], Vec::new()).await
    }

    /// Makes a check and returns its JSON.
    pub async fn create(&self, spec: &Value) -> Value {
        let answer = self.post("checks/", spec).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
        answer.json()
    }

    /// Makes a check and returns its uuid.
    pub async fn check(&self, spec: &Value) -> String {
        uuid_of(&self.create(spec).await)
    }

    /// A check's JSON.
    pub async fn read(&self, uuid: &str) -> Value {
        let answer = self.get(&format!("checks/{uuid}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        answer.json()
    }

    /// A check's status.
    pub async fn status(&self, uuid: &str) -> String {
        self.read(uuid).await["status"].as_str().expect("a status").to_owned()
    }

    /// Pings: `suffix` is what follows the uuid, such as `/fail` or `?rid=..`.
    pub async fn ping(&self, uuid: &str, suffix: &str) -> Answer {
        self.without_key().send("GET", &format!("/ping/{uuid}{suffix}"), &[], Vec::new()).await
    }

    /// Pings with a body.
    pub async fn ping_with(&self, uuid: &str, suffix: &str, body: &[u8]) -> Answer {
        self.without_key().send("POST", &format!("/ping/{uuid}{suffix}"), &[], body.to_vec()).await
    }
}

/// By what pages and news name the check of that uuid.
pub fn key_of(uuid: &str) -> String {
    UniqueKey::of(uuid.parse().expect("a uuid")).to_string()
}

/// The uuid in a check's JSON.
pub fn uuid_of(check: &Value) -> String {
    check["uuid"].as_str().expect("a check has a uuid").to_owned()
}
