//! One connection: HTTP/1 or HTTP/2 over any stream, with bounds on what a client may take of time and memory.
//!
//! `serve` accepts sockets and hands them over here. The peer's address comes by argument and travels with each
//! request, so that a handler sees the same whatever carried the bytes. Who sends nothing, half a head or a body
//! that never ends is cut off.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::Watcher;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tower::Service;

use super::body::Patient;

/// The longest head of a request in bytes; what is read of a socket at once is bounded by the same.
const HEAD_BYTES: u32 = 64 * 1024;
const STREAMS: u32 = 200;
/// How often an HTTP/2 client that says nothing is asked whether it is there, and how long it may take to answer.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
const ALIVE_LIMIT: Duration = Duration::from_secs(15);

/// For how long a client is waited for.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the head of a request, the first one included.
    pub head: Duration,
    /// For the next piece of a body.
    pub piece: Duration,
    /// For a whole body.
    pub body: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let (head, piece, body) =
            (Duration::from_secs(15), Duration::from_secs(30), Duration::from_secs(600));
        Self { head, piece, body }
    }
}

/// Ends the connection that a request came by, for a handler whose client takes nothing any more.
#[derive(Clone, Debug, Default)]
pub struct HangUp(Arc<Notify>);

impl HangUp {
    pub fn now(&self) {
        self.0.notify_one();
    }
}

/// Speaks with clients on behalf of a router.
pub struct Front {
    http: Builder<TokioExecutor>,
    router: Router,
    patience: Patience,
}

impl Front {
    pub fn new(router: Router, patience: Patience) -> Self {
        let mut http = Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(patience.head)
            .max_buf_size(HEAD_BYTES as usize)
            // Small clients close their side once they have spoken; their ping counts and is answered.
            .half_close(true);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEAD_BYTES)
            .keep_alive_interval(ALIVE_EVERY)
            .keep_alive_timeout(ALIVE_LIMIT);
        Self { http, router, patience }
    }

    /// Serves one client until it or the watcher ends the connection. A connection that breaks is the client's
    /// affair: a request that did not arrive whole recorded nothing.
    pub async fn converse<S>(&self, stream: S, peer: SocketAddr, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (asked, hang_up) = (Arc::new(Notify::new()), HangUp::default());
        let handed_on = hang_up.clone();
        let (router, heard) = (self.router.clone(), Arc::clone(&asked));
        let patience = self.patience;
        let service = service_fn(move |mut request: Request<Incoming>| {
            heard.notify_one();
            request.extensions_mut().insert(ConnectInfo(peer));
            request.extensions_mut().insert(handed_on.clone());
            router.clone().call(request.map(|body| Patient::new(body, patience.piece, patience.body)))
        });
        let connection = self.http.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = watcher.watch(connection);
        tokio::pin!(connection);
        // Neither version's own limits run before the first bytes tell which version it is.
        tokio::select! {
            _ = &mut connection => return,
            first = tokio::time::timeout(patience.head, asked.notified()) => {
                if first.is_err() {
                    return;
                }
            }
        }
        tokio::select! {
            ended = connection => drop(ended),
            () = hang_up.0.notified() => {}
        }
    }
}
