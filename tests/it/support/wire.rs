//! A connection on which a test says its own bytes: over a socket, or over a pipe into the program in this process,
//! where the peer's address is the test's to choose.

use std::net::SocketAddr;
use std::time::Duration;

use flatline::http;
use flatline::http::connection::{Front, Patience};
use hyper_util::server::graceful::GracefulShutdown;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::World;
use super::client::Answer;

/// No answer comes later than this in a program that works; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(900);
const PIPE_BYTES: usize = 64 * 1024;

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// One connection.
pub struct Wire {
    stream: Box<dyn Stream>,
    heard: Vec<u8>,
}

impl Wire {
    /// Connects to a base URL such as `http://127.0.0.1:1234`.
    pub async fn to(base: &str) -> Self {
        let address = base.trim_start_matches("http://");
        let stream = TcpStream::connect(address).await.expect("the program listens");
        Self { stream: Box::new(stream), heard: Vec::new() }
    }

    /// A pipe into a world's program, which sees `peer` at its other end.
    pub fn into(world: &World, peer: SocketAddr) -> Self {
        Self::into_with(world, peer, Patience::default())
    }

    /// The same into a program with patience of the test's choice.
    pub fn into_with(world: &World, peer: SocketAddr, patience: Patience) -> Self {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let front = Front::new(http::router(world.app.clone()), patience);
        tokio::spawn(async move {
            let running = GracefulShutdown::new();
            front.converse(far, peer, running.watcher()).await;
        });
        Self { stream: Box::new(near), heard: Vec::new() }
    }

    /// Says bytes. A program that has heard enough may hang up meanwhile; then false.
    pub async fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).await.is_ok() && self.stream.flush().await.is_ok()
    }

    /// Says nothing more, as a client does that is done or was cut off; it still hears.
    pub async fn stop(&mut self) {
        drop(self.stream.shutdown().await);
    }

    /// The next answer to a request with this method; `None` if the connection ends without one.
    pub async fn hear(&mut self, method: &str) -> Option<Answer> {
        let head = loop {
            if let Some(at) = self.heard.windows(4).position(|four| four == b"\r\n\r\n") {
                break self.heard.drain(..at + 4).collect::<Vec<u8>>();
            }
            if !self.more().await {
                return None;
            }
        };
        let head = String::from_utf8(head).expect("heads are ASCII");
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status line");
        let status: u16 = status.parse().expect("a status");
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").expect("a header");
            headers.append(
                HeaderName::try_from(name).expect("a name"),
                HeaderValue::try_from(value).expect("a value"),
            );
        }
        let length = headers
            .get("content-length")
            .map_or(0, |length| length.to_str().expect("ASCII").parse().expect("a length"));
        let length = if method == "HEAD" || status < 200 || status == 204 { 0 } else { length };
        while self.heard.len() < length && self.more().await {}
        let body = self.heard.drain(..length.min(self.heard.len())).collect();
        Some(Answer { status, headers, body })
    }

    /// Says a whole request and hears its answer.
    pub async fn ask(&mut self, request: impl AsRef<[u8]>) -> Option<Answer> {
        let request = request.as_ref();
        let method = request.split(|byte| *byte == b' ').next().unwrap_or_default();
        let method = String::from_utf8_lossy(method).into_owned();
        self.say(request).await;
        self.hear(&method).await
    }

    async fn more(&mut self) -> bool {
        let mut piece = [0; 16 * 1024];
        let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut piece)).await;
        match read.expect("the program answers or hangs up") {
            Ok(0) | Err(_) => false,
            Ok(bytes) => {
                self.heard.extend_from_slice(&piece[..bytes]);
                true
            }
        }
    }
}
