//! Badges for everybody who has their address: of a check, a tag, a project (`CONTRACT` 4).

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get};
use axum::{Json, Router};
use percent_encoding::percent_decode_str;
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::accounts;
use crate::app::App;
use crate::badges::{self, ALL, States};
use crate::checks::{self, Check};
use crate::db::{self, ReadTx};
use crate::error::{Error, Result};
use crate::http::reply;
use crate::import;

const NO_STORE: &str = "max-age=0, no-cache, no-store, must-revalidate, private";
/// A picture that is opened by itself runs nothing and loads nothing.
const CSP: &str = "default-src 'none'; sandbox";

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/badge/{badge_key}/{file}", badge(get(of_project)))
        .route("/badge/{badge_key}/{signature}/{file}", badge(get(of_tag)))
        .route("/b/{states}/{file}", badge(get(of_check)))
}

fn badge(router: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    router
        .options(async || dress(StatusCode::NO_CONTENT.into_response()))
        .fallback(async || dress(StatusCode::METHOD_NOT_ALLOWED.into_response()))
}

/// The form that a badge is asked for in.
#[derive(Clone, Copy, Debug)]
enum Format {
    Svg,
    Json,
    Shields,
}

/// Takes a file's name apart at its last dot.
fn format_of(file: &str) -> Option<(&str, Format)> {
    let (stem, ending) = file.rsplit_once('.')?;
    let format = match ending {
        "svg" => Format::Svg,
        "json" => Format::Json,
        "shields" => Format::Shields,
        _ => return None,
    };
    Some((stem, format))
}

async fn of_project(
    State(app): State<Arc<App>>,
    Path((badge_key, file)): Path<(String, String)>,
) -> Response {
    let Some((signature, format)) = format_of(&file) else { return not_found() };
    answer(tagged(&app, &badge_key, signature, ALL, format).await)
}

async fn of_tag(
    State(app): State<Arc<App>>,
    Path((badge_key, signature, file)): Path<(String, String, String)>,
) -> Response {
    let Some((tag, format)) = format_of(&file) else { return not_found() };
    // The path was decoded once; tags are encoded twice.
    let Ok(tag) = percent_decode_str(tag).decode_utf8() else { return not_found() };
    answer(tagged(&app, &badge_key, &signature, &tag, format).await)
}

async fn of_check(State(app): State<Arc<App>>, Path((states, file)): Path<(String, String)>) -> Response {
    let states = match states.as_str() {
        "2" => States::UpDown,
        "3" => States::UpLateDown,
        _ => return not_found(),
    };
    let Some((key, format)) = format_of(&file) else { return not_found() };
    let Ok(key) = key.parse::<Uuid>() else { return not_found() };
    let found: Result<Option<Check>> =
        db::read!(app.db, |tx| checks::store::find_by_badge_key(tx, key).await);
    answer(found.map(|check| {
        check.map(|check| {
            let name = &check.settings.name;
            let label = if name.is_empty() { check.uuid.to_string() } else { name.clone() };
            draw(&app, &[check], &label, states, format)
        })
    }))
}

async fn tagged(
    app: &App,
    badge_key: &str,
    signature: &str,
    tag: &str,
    format: Format,
) -> Result<Option<Response>> {
    let (signature, states) = match signature.strip_suffix("-2") {
        Some(signature) => (signature, States::UpDown),
        None => (signature, States::UpLateDown),
    };
    let found: Result<Option<Vec<Check>>> = db::read!(app.db, |tx| {
        match project_of(tx, &app.secret, badge_key, signature, tag).await? {
            Some(project_id) => Ok(Some(checks::store::list(tx, project_id).await?)),
            None => Ok(None),
        }
    });
    let has_tag = |check: &Check| tag == ALL || check.settings.tags.split_whitespace().any(|one| one == tag);
    Ok(found?.map(|mut checks| {
        checks.retain(has_tag);
        let label = if tag == ALL { app.settings.site_host() } else { tag.to_owned() };
        draw(app, &checks, &label, states, format)
    }))
}

/// The project that an address with the right signature names: ours, or one that was brought with a project.
async fn project_of(
    tx: &mut ReadTx,
    secret: &[u8],
    badge_key: &str,
    signature: &str,
    tag: &str,
) -> Result<Option<i64>> {
    if let Ok(badge_key) = badge_key.parse::<Uuid>() {
        let right = badges::signature(secret, badge_key, tag);
        if bool::from(right.as_bytes().ct_eq(signature.as_bytes())) {
            let project = accounts::store::find_project_by_badge_key(tx, badge_key).await?;
            return Ok(project.map(|project| project.id));
        }
    }
    import::badges::find(tx, badge_key, tag, signature).await
}

fn draw(app: &App, checks: &[Check], label: &str, states: States, format: Format) -> Response {
    let (verdict, summary) = badges::summary(checks.iter(), states, app.clock.now());
    match format {
        Format::Json => Json(summary).into_response(),
        Format::Shields => Json(badges::shield(label, verdict)).into_response(),
        Format::Svg => {
            let picture = badges::svg(label, verdict);
            let headers = [(header::CONTENT_TYPE, "image/svg+xml"), (header::CONTENT_SECURITY_POLICY, CSP)];
            (headers, picture).into_response()
        }
    }
}

fn answer(drawn: Result<Option<Response>>) -> Response {
    match drawn {
        Ok(Some(response)) => dress(response),
        Ok(None) | Err(Error::NotFound) => not_found(),
        Err(error) => dress(reply::failure(&error)),
    }
}

fn not_found() -> Response {
    dress(reply::text(StatusCode::NOT_FOUND, "not found"))
}

fn dress(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(NO_STORE));
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("X-Api-Key"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, OPTIONS"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}
