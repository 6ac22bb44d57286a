//! `schedules/preview`: what an expression means, before a check has it. Needs no check, but a key.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::answers::{Broken, Counted, Keyed, Posted};
use super::{ApiFailure, Caller, Need};
use crate::app::App;
use crate::db;
use crate::schedule::{Kind, Schedule, Zone};

/// Instants that a preview shows.
const INSTANTS: usize = 5;

#[derive(Serialize, ToSchema)]
pub struct Preview {
    #[schema(inline)]
    kind: Kind,
    tz: String,
    in_words: String,
    /// What people may not have meant.
    warnings: Vec<String>,
    /// The next instants, in the zone's own time.
    next: Vec<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described here, read by the handler")]
struct Asked {
    /// A cron expression of five items, or OnCalendar expressions, one a line.
    schedule: String,
    /// The IANA time zone; UTC if it is left out.
    tz: Option<String>,
}

/// Try a schedule on
///
/// What an expression means, and its next five instants.
#[utoipa::path(get, path = "/schedules/preview", operation_id = "preview_schedule", tag = "schedules",
    params(Asked), security(("key" = []), ("readonly_key" = [])),
    responses((status = 200, description = "What it means", body = Preview), Posted, Keyed, Counted, Broken))]
pub async fn preview(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    caller: Caller,
) -> Result<Json<Preview>, ApiFailure> {
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
        kind: schedule.kind(),
        tz: zone.name().to_owned(),
        in_words: schedule.in_words(),
        warnings: schedule.warnings(),
        next: schedule.slots(now).take(INSTANTS).map(|slot| zone.local(slot).rfc3339()).collect(),
    };
    Ok(Json(preview))
}
