//! `/`: on to the checks, to the list of projects where there are several or none, or to where one signs in.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;

use super::visitor::Visitor;
use super::{WebFailure, to};
use crate::app::App;
use crate::db;

pub async fn show(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (_, memberships) = db::read!(app.db, |tx| visitor.signed_in(tx, now).await)?;
    Ok(match memberships.as_slice() {
        [membership] => to(&format!("/projects/{}", membership.project.uuid)),
        _ => to("/projects"),
    })
}
