//! Pages for people: one file per screen, complete without a script.
//!
//! A handler reads the clock, opens one transaction, asks domain functions, and renders what they said after the
//! transaction ended. Who the caller is and what they may do is [`visitor`]'s to say, for every page. No page
//! holds inline code, asks another host for anything, or shows what a stranger wrote without escaping it.

mod account;
mod api_reference;
pub mod assets;
mod badges;
mod channels;
mod check;
mod checks;
mod docs;
mod edit;
mod failure;
mod fields;
mod home;
mod invitation;
mod limits;
mod links;
mod live;
mod mark;
mod projects;
mod qr;
mod settings;
mod shell;
mod shown;
mod sign_in;
mod sign_in_code;
mod sign_in_link;
mod sign_in_passkey;
mod sign_up;
mod team;
mod usage;
mod visitor;
mod wall;
mod when;

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;

use crate::app::App;
use crate::http::reply;

pub use failure::WebFailure;
use live::Part;

/// Each answer is packed anew while somebody waits: the usual level takes twice as long and saves a tenth.
const PACKING: CompressionLevel = CompressionLevel::Precise(3);

/// Nothing but our own style sheet, script, icons and forms.
const CSP: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
                   form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Every page with its handlers; the tests read this list to know that they missed none.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/", get(home::show))
        .route("/sign-in", get(sign_in::show).post(sign_in::submit))
        .route("/sign-in/code", get(sign_in_code::show).post(sign_in_code::submit))
        .route("/sign-in/passkey", post(sign_in_passkey::submit))
        .route("/sign-in/passkey/begin", post(sign_in_passkey::begin))
        .route("/sign-in/{token}", get(sign_in_link::show).post(sign_in_link::redeem))
        .route("/sign-up", get(sign_up::show).post(sign_up::submit))
        .route("/sign-up/{token}", get(sign_up::show_link).post(sign_up::redeem))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/usage", get(usage::show))
        .route("/invitations/{token}", get(invitation::show).post(invitation::redeem))
        .route("/projects", get(projects::show).post(projects::create))
        .route("/projects/restore", post(projects::restore))
        .route("/projects/{project}", get(checks::show))
        .route("/projects/{project}/bulk", post(checks::change))
        .route("/projects/{project}/restore", post(checks::restore))
        .route("/projects/{project}/new-check", get(edit::show_new).post(edit::create))
        .route("/projects/{project}/events", get(live::of_project))
        .route("/projects/{project}/wall", get(wall::show))
        .route("/projects/{project}/wall/address", post(wall::make_address))
        .route("/projects/{project}/wall/address/end", post(wall::end_address))
        .route("/wall/{key}", get(wall::show_by_key))
        .route("/wall/{key}/events", get(live::of_wall))
        .route("/projects/{project}/badges", get(badges::show))
        .route("/projects/{project}/channels", get(channels::show))
        .route("/projects/{project}/new-channel/{kind}", get(channels::show_new).post(channels::create))
        .route("/channels/{channel}", get(channels::show_one).post(channels::save))
        .route("/channels/{channel}/test", post(channels::test))
        .route("/channels/{channel}/ask", post(channels::ask))
        .route("/channels/{channel}/delete", post(channels::delete))
        .route("/checks/{check}", get(check::show))
        .route("/checks/{check}/pause", post(check::pause))
        .route("/checks/{check}/resume", post(check::resume))
        .route("/checks/{check}/copy", post(check::copy))
        .route("/checks/{check}/move", get(check::moving::show).post(check::moving::carry_out))
        .route("/checks/{check}/delete", post(check::delete))
        .route("/checks/{check}/log/{n}", get(check::show_body))
        .route("/checks/{check}/log/{n}/body", get(check::download))
        .route("/checks/{check}/edit", get(edit::show).post(edit::save))
        .route("/static/{file}", get(assets::serve))
        .merge(account::routes())
        .merge(team_and_settings())
        .merge(docs::routes())
        .merge(links::routes())
        .layer(CompressionLayer::new().quality(PACKING))
}

/// Who is in a project, and what it has of its own.
fn team_and_settings() -> Router<Arc<App>> {
    Router::new()
        .route("/projects/{project}/team", get(team::show))
        .route("/projects/{project}/team/invitations", post(team::invite))
        .route("/projects/{project}/team/invitations/{invitation}/revoke", post(team::revoke))
        .route("/projects/{project}/team/members/{member}/role", post(team::set_role))
        .route("/projects/{project}/team/members/{member}/remove", post(team::remove))
        .route("/projects/{project}/team/leave", post(team::leave))
        .route("/projects/{project}/team/offer", post(team::offer))
        .route("/projects/{project}/team/withdraw", post(team::withdraw))
        .route("/projects/{project}/team/accept", post(team::accept))
        .route("/projects/{project}/settings", get(settings::show))
        .route("/projects/{project}/settings/name", post(settings::rename))
        .route("/projects/{project}/settings/ping-key", post(settings::replace_ping_key))
        .route("/projects/{project}/settings/ping-key/remove", post(settings::remove_ping_key))
        .route("/projects/{project}/settings/keys", post(settings::create_key))
        .route("/projects/{project}/settings/keys/{key}/revoke", post(settings::revoke_key))
        .route("/projects/{project}/settings/delete", post(settings::delete))
}

/// What stands behind every address that is none of ours.
pub async fn not_found() -> Response {
    failure::not_found()
}

/// On to another page, after a form was taken.
fn to(path: &str) -> Response {
    Redirect::to(path).into_response()
}

/// Renders a page that changes while it is open, or as much of it as was asked for.
fn live_page(part: &Part, whole: &impl Template, live: &impl Template) -> Response {
    match part {
        Part::Page => page(StatusCode::OK, whole),
        Part::Live | Part::Rows(_) => page(StatusCode::OK, live),
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
            headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
            response
        }
        Err(error) => {
            tracing::error!(%error, "a page could not be rendered");
            reply::internal()
        }
    }
}
