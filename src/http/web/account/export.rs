//! `/account/export`: everything as one JSON file, sent as it is read. The connection breaks where the reading does, so
//! that half a file is never taken for a whole one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use futures_util::stream;

use crate::app::App;
use crate::db;
use crate::error::Error;
use crate::export::Export;
use crate::http::web::WebFailure;
use crate::http::web::visitor::Posted;

pub async fn download(State(app): State<Arc<App>>, posted: Posted) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (signed_in, _) = db::read!(app.db, |tx| posted.visitor.signed_in(tx, now).await)?;
    let export = Export::new(signed_in.user, app.urls.clone(), now);
    let pieces = stream::try_unfold((app, export), async |(app, mut export)| {
        let piece: Result<Option<String>, Error> = db::read!(app.db, |tx| export.next(tx).await);
        let piece = piece.inspect_err(|error| tracing::error!(%error, "an export broke off"))?;
        Ok::<_, Error>(piece.map(|piece| (piece, (app, export))))
    });
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_static("attachment; filename=\"flatline.json\""),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}
