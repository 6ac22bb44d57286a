//! `/checks/<key>/log/<n>`: one ping with all that it carried, and its body as a file.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::log::{kind_of, origin};
use super::output::output;
use crate::alerts::words::clock::short;
use crate::alerts::words::name_of;
use crate::app::App;
use crate::checks::UniqueKey;
use crate::checks::log::{Entry, store as log_store};
use crate::db;
use crate::http::named::Named;
use crate::http::web::mark::Mark;
use crate::http::web::shell::Shell;
use crate::http::web::visitor::{Need, Visitor};
use crate::http::web::when::{Stamp, Wall};
use crate::http::web::{WebFailure, page};

#[derive(Template)]
#[template(path = "web/ping.html")]
struct Ping {
    shell: Shell,
    check: UniqueKey,
    name: String,
    n: i64,
    mark: Mark,
    tone: &'static str,
    word: String,
    when: Stamp,
    facts: Vec<(&'static str, String)>,
    bytes: usize,
    html: String,
    is_text: bool,
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path((check, n)): Path<(Named, i64)>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (opened, check, entry, body) = db::read!(app.db, |tx| {
        let (opened, check) = visitor.open_check(tx, check, Need::Look, now).await?;
        let entry = log_store::find(tx, check.id, n).await?.ok_or(WebFailure::NotFound)?;
        let body = log_store::find_body(tx, check.id, n).await?.unwrap_or_default();
        Ok::<_, WebFailure>((opened, check, entry, body))
    })?;
    let wall = Wall::new(&opened.signed_in.user.zone, now);
    let (mark, tone, word) = kind_of(&entry);
    let shown = output(&body);
    let template = Ping {
        shell: Shell::of_project(&app, &visitor, &opened, "Checks"),
        check: UniqueKey::of(check.uuid),
        name: name_of(&check),
        n,
        mark,
        tone,
        word,
        when: wall.clock_stamp(entry.received_at),
        facts: facts(&entry),
        bytes: body.len(),
        html: shown.html,
        is_text: shown.is_text,
    };
    Ok(page(StatusCode::OK, &template))
}

fn facts(entry: &Entry) -> Vec<(&'static str, String)> {
    let mut facts = vec![("Came as", origin(entry))];
    facts.extend(entry.duration_ms.map(|span| ("The run took", short(span))));
    facts.extend(entry.exit_status.map(|status| ("Exit status", status.to_string())));
    facts.extend(entry.rid.map(|rid| ("Run id", rid.to_string())));
    facts
}

/// The body as it was sent, to be saved and never to be run.
pub async fn download(
    State(app): State<Arc<App>>,
    Path((check, n)): Path<(Named, i64)>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (key, body) = db::read!(app.db, |tx| {
        let (_, check) = visitor.open_check(tx, check, Need::Look, now).await?;
        let body = log_store::find_body(tx, check.id, n).await?.ok_or(WebFailure::NotFound)?;
        Ok::<_, WebFailure>((UniqueKey::of(check.uuid), body))
    })?;
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{key}-{n}.bin\"")),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, body).into_response())
}
