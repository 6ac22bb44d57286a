//! A project's checks for Prometheus to scrape (`CONTRACT` 4, "Prometheus"), with a read-only key.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{Extensions, HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use uuid::Uuid;

use crate::accounts;
use crate::app::App;
use crate::checks::{self, Check, Status, UniqueKey};
use crate::db;
use crate::error::Result;
use crate::http::limits::{self, Asked};
use crate::http::reply;
use crate::id::API_KEY_CHARS;
use crate::time::Time;

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/projects/{project}/metrics/", get(by_header))
        .route("/projects/{project}/metrics/{key}", get(by_path))
        .route("/projects/{project}/checks/metrics/{key}", get(by_path))
}

async fn by_header(
    State(app): State<Arc<App>>,
    Path(project): Path<String>,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match given.and_then(|value| value.strip_prefix("Bearer ")) {
        Some(key) => scrape(&app, limits::address(&app, &extensions, &headers), &project, key).await,
        None => StatusCode::UNAUTHORIZED.into_response(),
    }
}

async fn by_path(
    State(app): State<Arc<App>>,
    Path((project, key)): Path<(String, String)>,
    extensions: Extensions,
    headers: HeaderMap,
) -> Response {
    scrape(&app, limits::address(&app, &extensions, &headers), &project, &key).await
}

/// Only a read-only key opens this, and only for its own project: the address ends up in other people's files.
async fn scrape(app: &App, from: IpAddr, project: &str, key: &str) -> Response {
    if key.len() != API_KEY_CHARS {
        return StatusCode::BAD_REQUEST.into_response();
    }
    match limits::api_key(app, from, key).await {
        Ok(Asked::Known(_)) => {}
        Ok(Asked::Unknown) => return StatusCode::FORBIDDEN.into_response(),
        Ok(Asked::Refused(refusal)) => return limits::refused(&refusal),
        Err(error) => return reply::failure(&error),
    }
    let project = project.parse::<Uuid>().unwrap_or_default();
    let found: Result<Option<Vec<Check>>> = db::read!(app.db, |tx| {
        let key = accounts::find_key(tx, key).await?.filter(|key| key.readonly);
        let of_key = match key {
            Some(key) => accounts::store::find_project(tx, key.project_id).await?,
            None => None,
        };
        match of_key.filter(|of_key| of_key.uuid == project) {
            Some(project) => Ok(Some(checks::store::list(tx, project.id).await?)),
            None => Ok(None),
        }
    });
    match found {
        Ok(Some(checks)) => {
            ([(header::CONTENT_TYPE, "text/plain")], text(&checks, app.clock.now())).into_response()
        }
        Ok(None) => StatusCode::FORBIDDEN.into_response(),
        Err(error) => reply::failure(&error),
    }
}

/// What is told of each check: the family, its help, and its value.
type Family = (&'static str, &'static str, fn(&Check, Time) -> bool);

const FAMILIES: [Family; 4] = [
    ("hc_check_up", "Whether the check is currently up (1 for yes, 0 for no).", |check, _| {
        check.state.status != Status::Down
    }),
    ("hc_check_started", "Whether a run of the check is under way (1 for yes, 0 for no).", |check, _| {
        check.is_running()
    }),
    (
        "hc_check_grace",
        "Whether the check is late, within its grace time (1 for yes, 0 for no).",
        Check::is_late,
    ),
    ("hc_check_paused", "Whether the check is paused (1 for yes, 0 for no).", |check, _| {
        check.state.status == Status::Paused
    }),
];

fn text(checks: &[Check], now: Time) -> String {
    let mut out = String::new();
    for (family, help, value) in FAMILIES {
        head(&mut out, family, help);
        for check in checks {
            let (name, tags) = (escape(&check.settings.name), escape(&check.settings.tags));
            let (key, value) = (UniqueKey::of(check.uuid), u8::from(value(check, now)));
            line(
                &mut out,
                &format!("{family}{{name=\"{name}\", tags=\"{tags}\", unique_key=\"{key}\"}} {value}"),
            );
        }
        out.push('\n');
    }
    let mut tags: BTreeMap<&str, bool> = BTreeMap::new();
    for check in checks {
        for tag in check.settings.tags.split_whitespace() {
            *tags.entry(tag).or_insert(true) &= check.state.status != Status::Down;
        }
    }
    head(&mut out, "hc_tag_up", "Whether all checks with this tag are up (1 for yes, 0 for no).");
    for (tag, up) in tags {
        line(&mut out, &format!("hc_tag_up{{tag=\"{}\"}} {}", escape(tag), u8::from(up)));
    }
    out.push('\n');
    head(&mut out, "hc_checks_total", "The total number of checks.");
    line(&mut out, &format!("hc_checks_total {}", checks.len()));
    out.push('\n');
    let down = checks.iter().filter(|check| check.state.status == Status::Down).count();
    head(&mut out, "hc_checks_down_total", "The number of checks that are down.");
    line(&mut out, &format!("hc_checks_down_total {down}"));
    out
}

fn head(out: &mut String, family: &str, help: &str) {
    line(out, &format!("# HELP {family} {help}"));
    line(out, &format!("# TYPE {family} gauge"));
}

fn line(out: &mut String, line: &str) {
    // Writing to a String does not fail.
    let _ = writeln!(out, "{line}");
}

/// A label's value as the text format wants it.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_label_keeps_its_line() {
        assert_eq!(super::escape("Ada's 13\" \\ laptop\nx"), "Ada's 13\\\" \\\\ laptop\\nx");
    }
}
