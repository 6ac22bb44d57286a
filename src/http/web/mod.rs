//! Pages for people: one file per screen.

mod links;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use crate::app::App;
use crate::error::Error;
use crate::http::reply;

/// Nothing but our own style sheet, script and forms.
const CSP: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                   form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The app's own style sheet, inside the program.
const STYLE: &str = include_str!("../../../static/app.css");

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(home)).route("/static/app.css", get(style)).merge(links::routes())
}

async fn style() -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "public, max-age=3600")];
    (headers, STYLE).into_response()
}

#[derive(Template)]
#[template(path = "web/home.html")]
struct Home;

#[derive(Template)]
#[template(path = "web/not_found.html")]
struct NotFound;

async fn home() -> Response {
    page(StatusCode::OK, &Home)
}

/// What stands behind every address that is none of ours.
pub async fn not_found() -> Response {
    page(StatusCode::NOT_FOUND, &NotFound)
}

/// An error's face for people: a stranger's thing is not there, the rest is in the log.
pub async fn failed(error: Error) -> Response {
    match error {
        Error::NotFound => not_found().await,
        error => reply::failure(&error),
    }
}

/// Renders a page with the headers that every page carries.
pub fn page(status: StatusCode, template: &impl Template) -> Response {
    match template.render() {
        Ok(html) => {
            let mut response = (status, Html(html)).into_response();
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            reply::internal()
        }
    }
}
