//! A receiver of webhooks on loopback, which keeps what it got and answers what it is told to.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

/// One call as it came in.
#[derive(Clone, Debug)]
pub struct Received {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
    /// The status it was answered with.
    pub answered: u16,
}

struct Inner {
    received: Mutex<Vec<Received>>,
    status: AtomicU16,
    /// What `Retry-After` says; empty for none.
    retry_after: Mutex<String>,
}

/// A running receiver; it ends with the test.
#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    inner: Arc<Inner>,
}

impl Receiver {
    pub async fn new() -> Self {
        let inner = Arc::new(Inner {
            received: Mutex::default(),
            status: AtomicU16::new(200),
            retry_after: Mutex::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let router = Router::new().fallback(receive).with_state(Arc::clone(&inner));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, inner }
    }

    /// From now on every call is answered with this status.
    pub fn answer(&self, status: u16) {
        self.inner.status.store(status, Ordering::SeqCst);
    }

    /// From now on every answer asks to come again later.
    pub fn ask_to_retry_after(&self, later: &str) {
        *self.inner.retry_after.lock().expect("no test panics while it holds it") = later.to_owned();
    }

    /// What came in so far, in order.
    pub fn received(&self) -> Vec<Received> {
        self.inner.received.lock().expect("no test panics while it holds it").clone()
    }
}

async fn receive(
    State(inner): State<Arc<Inner>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let status = inner.status.load(Ordering::SeqCst);
    let received = Received {
        method: method.to_string(),
        path: uri.to_string(),
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
        answered: status,
    };
    inner.received.lock().expect("no test panics while it holds it").push(received);
    let mut response = StatusCode::from_u16(status).expect("a status").into_response();
    let retry_after = inner.retry_after.lock().expect("no test panics while it holds it").clone();
    if !retry_after.is_empty() {
        response.headers_mut().insert("retry-after", retry_after.parse().expect("a header's value"));
    }
    response
}
