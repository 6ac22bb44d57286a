//! Bodies of pings: as much as is kept, the rest read and thrown away, within bounds of time.

use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::reply;

/// A body whose next piece takes longer than this is given up.
const IDLE: Duration = Duration::from_secs(30);
/// The longest that a whole body may take, so that nobody keeps a connection with a byte now and then.
const LIMIT: Duration = Duration::from_secs(600);

/// Why a body was given up; then nothing was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadBody {
    /// The connection broke, or its framing did.
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
pub async fn read(body: Body, limit: Option<usize>) -> Result<Vec<u8>, BadBody> {
    timeout(LIMIT, read_pieces(body, limit.unwrap_or(usize::MAX))).await.unwrap_or(Err(BadBody::TooSlow))
}

async fn read_pieces(mut body: Body, limit: usize) -> Result<Vec<u8>, BadBody> {
    let mut kept = Vec::new();
    loop {
        let frame = match timeout(IDLE, body.frame()).await {
            Ok(Some(frame)) => frame.map_err(|_| BadBody::Incomplete)?,
            Ok(None) => return Ok(kept),
            Err(_) => return Err(BadBody::TooSlow),
        };
        if let Some(piece) = frame.data_ref() {
            let room = limit - kept.len();
            kept.extend_from_slice(&piece[..piece.len().min(room)]);
        }
    }
}
