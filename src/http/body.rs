//! Bodies of requests: [`Patient`] bounds the time that any of them may take, [`read`] keeps what a ping keeps.
//!
//! Every request's body is made patient where its connection is served, so that no handler can be held by a client
//! that sends a byte now and then, whether or not the handler thinks of it.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

use super::reply;

/// Why a body was given up; then nothing was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBody {
    /// The connection broke, or the body's framing is wrong.
    Incomplete,
    TooSlow,
}

impl IntoResponse for BadBody {
    fn into_response(self) -> Response {
        match self {
            Self::Incomplete => reply::text(StatusCode::BAD_REQUEST, "incomplete body"),
            Self::TooSlow => reply::text(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        }
    }
}

/// Reads a body to its end and keeps its first `limit` bytes.
///
/// # Errors
/// [`BadBody`].
pub async fn read(mut body: Body, limit: Option<usize>) -> Result<Vec<u8>, BadBody> {
    let limit = limit.unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| if is_slow(&error) { BadBody::TooSlow } else { BadBody::Incomplete })?;
        if let Some(piece) = frame.data_ref() {
            let room = limit - kept.len();
            kept.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }
    Ok(kept)
}

fn is_slow(error: &(dyn std::error::Error + 'static)) -> bool {
    error.is::<Slow>() || error.source().is_some_and(is_slow)
}

/// The error of a [`Patient`] body whose patience is over.
#[derive(Debug)]
struct Slow;

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the body took too long")
    }
}

impl std::error::Error for Slow {}

/// A body that fails once its next piece, or the whole of it, takes too long. Time runs only while somebody reads.
pub struct Patient {
    body: Incoming,
    idle_limit: Duration,
    limit: Duration,
    idle: Option<Pin<Box<Sleep>>>,
    whole: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    pub fn new(body: Incoming, idle_limit: Duration, limit: Duration) -> Self {
        Self { body, idle_limit, limit, idle: None, whole: None }
    }
}

impl HttpBody for Patient {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let (idle_limit, limit) = (self.idle_limit, self.limit);
        // Also asked where pieces are at hand, or a steady drip would never be seen.
        if self.whole.as_mut().is_some_and(|whole| whole.as_mut().poll(context).is_ready()) {
            return Poll::Ready(Some(Err(Slow.into())));
        }
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(frame) => {
                self.idle = None;
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            // Most bodies are at hand when they are asked for; timers are made for the others.
            Poll::Pending => {
                let idle = self.idle.get_or_insert_with(|| Box::pin(sleep(idle_limit)));
                let is_idle = idle.as_mut().poll(context).is_ready();
                let whole = self.whole.get_or_insert_with(|| Box::pin(sleep(limit)));
                if is_idle || whole.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Some(Err(Slow.into())));
                }
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
