//! One connection: HTTP/1 or HTTP/2 over any stream, with bounds on what a client may take of time and memory.
//!
//! `serve` accepts sockets and hands them over here. The peer's address comes by argument and travels with each
//! request, so that a handler sees the same whatever carried the bytes. Who sends nothing, or half a head, is cut
//! off; bodies have limits of their own where they are read.

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

/// A client gets this long for the head of a request, the first one included.
const HEAD_LIMIT: Duration = Duration::from_secs(15);
/// The longest head of a request in bytes; what is read of a socket at once is bounded by the same.
const HEAD_BYTES: u32 = 64 * 1024;
const STREAMS: u32 = 200;
/// How often an HTTP/2 client that says nothing is asked whether it is there, and how long it may take to answer.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
const ALIVE_LIMIT: Duration = Duration::from_secs(15);

/// Speaks with clients on behalf of a router.
pub struct Front {
    http: Builder<TokioExecutor>,
    router: Router,
}

impl Front {
    pub fn new(router: Router) -> Self {
        let mut http = Builder::new(TokioExecutor::new());
        http.http1()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_LIMIT)
            .max_buf_size(HEAD_BYTES as usize)
            .half_close(false);
        http.http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .max_header_list_size(HEAD_BYTES)
            .keep_alive_interval(ALIVE_EVERY)
            .keep_alive_timeout(ALIVE_LIMIT);
        Self { http, router }
    }

    /// Serves one client until it or the watcher ends the connection. A connection that breaks is the client's
    /// affair: a request that did not arrive whole recorded nothing.
    pub async fn converse<S>(&self, stream: S, peer: SocketAddr, watcher: Watcher)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let asked = Arc::new(Notify::new());
        let (router, heard) = (self.router.clone(), Arc::clone(&asked));
        let service = service_fn(move |mut request: Request<Incoming>| {
            heard.notify_one();
            request.extensions_mut().insert(ConnectInfo(peer));
            router.clone().call(request)
        });
        let connection = self.http.serve_connection(TokioIo::new(stream), service).into_owned();
        let connection = watcher.watch(connection);
        tokio::pin!(connection);
        // Neither version's own limits run before the first bytes tell which version it is.
        tokio::select! {
            _ = &mut connection => return,
            first = tokio::time::timeout(HEAD_LIMIT, asked.notified()) => {
                if first.is_err() {
                    return;
                }
            }
        }
        drop(connection.await);
    }
}
