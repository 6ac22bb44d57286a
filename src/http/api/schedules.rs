//! `schedules/preview`: what an expression means, before a check has it. Needs no check, but a key.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use super::{ApiFailure, Caller, Need};
use crate::app::App;
use crate::db;
use crate::schedule::{Schedule, Zone};

/// Instants that a preview shows.
const INSTANTS: usize = 5;

#[derive(Serialize)]
struct Preview {
    kind: &'static str,
    tz: String,
    in_words: String,
    warnings: Vec<String>,
    /// The next instants, in the zone's own time.
    next: Vec<String>,
}

pub async fn preview(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let opened: Result<(), ApiFailure> = db::read!(app.db, |tx| {
        caller.open(tx, Need::Read).await?;
        Ok(())
    });
    opened?;
    let (mut expression, mut zone) = (String::new(), "UTC".to_owned());
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match name.as_ref() {
            "schedule" => expression = value.into_owned(),
            "tz" => zone = value.into_owned(),
            _ => {}
        }
    }
    let schedule =
        Schedule::parse(&expression, &zone).map_err(|error| ApiFailure::Invalid(error.to_string()))?;
    let zone = Zone::parse(&zone).map_err(|error| ApiFailure::Invalid(error.to_string()))?;
    let preview = Preview {
        kind: schedule.kind().word(),
        tz: zone.name().to_owned(),
        in_words: schedule.in_words(),
        warnings: schedule.warnings(),
        next: schedule.slots(now).take(INSTANTS).map(|slot| zone.local(slot).rfc3339()).collect(),
    };
    Ok(Json(preview).into_response())
}
