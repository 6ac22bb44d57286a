//! `checks/<uuid>`: read, update, delete, pause, resume (`CONTRACT` 3.2 to 3.5). With `If-Match`, a change happens
//! only to the revision that the caller knows.

use std::sync::Arc;

use axum::RequestExt;
use axum::extract::{FromRequest, Path, Request, State};
use axum::response::Response;

use super::access::Opened;
use super::answers::{Broken, ByKey, ByUuid, Conditional, Counted, Edited, Keyed, OfOne, Posted, Unchanged};
use super::spec::Spec;
use super::tag::{IfMatch, IfNoneMatch, Tagged};
use super::{ApiFailure, Caller, Need, Version, assignment};
use crate::alerts;
use crate::app::App;
use crate::checks::json::{Access, CheckJson};
use crate::checks::{self, Check};
use crate::db::{self, ReadTx, WriteTx};
use crate::pause::{self, Turned};
use crate::removal;
use crate::time::Time;

/// Read a check
#[utoipa::path(get, path = "/checks/{check}", operation_id = "read_check", tag = "checks",
    params(ByKey, ("If-None-Match" = Option<String>, Header, description = "Tags of answers that the caller has")),
    security(("key" = []), ("readonly_key" = [])),
    responses(Tagged, Unchanged, OfOne, Keyed, Counted, Broken))]
pub async fn read(
    State(app): State<Arc<App>>,
    version: Version,
    Path((_, check)): Path<(String, String)>,
    known: IfNoneMatch,
    caller: Caller,
) -> Result<Response, ApiFailure> {
    let now = app.clock.now();
    let shown: Result<Tagged, ApiFailure> = db::read!(app.db, |tx| {
        let (opened, check) = caller.open_check(tx, Need::Read, &check).await?;
        shape(tx, &app, &opened, &check, version, now).await
    });
    Ok(shown?.unless(&known))
}

/// A call that is to change the check in its path, if it still is what the caller knows.
#[derive(Debug)]
pub struct Change {
    version: Version,
    check: String,
    condition: IfMatch,
    caller: Caller,
}

impl FromRequest<Arc<App>> for Change {
    type Rejection = ApiFailure;

    async fn from_request(mut request: Request, app: &Arc<App>) -> Result<Self, ApiFailure> {
        let version = request.extract_parts().await?;
        let path = request.extract_parts::<Path<(String, String)>>().await;
        let Path((_, check)) = path.map_err(|_| ApiFailure::NotFound)?;
        let Ok(condition) = request.extract_parts::<IfMatch>().await;
        let caller = Caller::from_request(request, app).await?;
        Ok(Self { version, check, condition, caller })
    }
}

impl Change {
    async fn open(&self, tx: &mut ReadTx) -> Result<(Opened, Check), ApiFailure> {
        self.caller.open_check(tx, Need::Write, &self.check).await
    }
}

/// Change a check
///
/// What the body does not mention stays as it is.
#[utoipa::path(post, path = "/checks/{check}", operation_id = "update_check", tag = "checks",
    params(ByUuid, Conditional), request_body = Spec, security(("key" = [])),
    responses(Tagged, Posted, OfOne, Edited, Keyed, Counted, Broken))]
pub async fn update(State(app): State<Arc<App>>, change: Change) -> Result<Tagged, ApiFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let (opened, check) = change.open(tx).await?;
        let spec = Spec::read(&change.caller.body).map_err(ApiFailure::Invalid)?;
        change.condition.hold(tx, &check).await?;
        let check = apply(tx, &check, &spec, change.version).await?;
        if let Some(wanted) = &spec.channels {
            assignment::assign(tx, &check, wanted).await?;
        }
        shape(tx, &app, &opened, &check, change.version, now).await
    })
}

/// Delete a check
///
/// With its log. The answer is the check as it was.
#[utoipa::path(delete, path = "/checks/{check}", operation_id = "delete_check", tag = "checks",
    params(ByUuid, Conditional), security(("key" = [])),
    responses(Tagged, OfOne, Edited, Keyed, Counted, Broken))]
pub async fn delete(State(app): State<Arc<App>>, change: Change) -> Result<Tagged, ApiFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let (_, check) = change.open(tx).await?;
        // The account's row comes before the check's.
        app.lock_account(tx, check.account_id).await?;
        change.condition.hold(tx, &check).await?;
        removal::delete_check(tx, &check, now).await?;
        // Nothing hears of it any more.
        let json = CheckJson::new(&check, Access::full([]), &app.urls, change.version.0, now);
        Ok(Tagged { rev: check.rev, json })
    })
}

/// Pause a check
///
/// It is not judged until it is resumed, by hand or by a ping.
#[utoipa::path(post, path = "/checks/{check}/pause", operation_id = "pause_check", tag = "checks",
    params(ByUuid, Conditional), security(("key" = [])),
    responses(Tagged, Posted, OfOne, Edited, Keyed, Counted, Broken))]
pub async fn pause(State(app): State<Arc<App>>, change: Change) -> Result<Tagged, ApiFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let (opened, check) = change.open(tx).await?;
        change.condition.hold(tx, &check).await?;
        let (paused, _) = pause::pause(tx, check.id, now).await?;
        paused.stayed(&check)?;
        shape(tx, &app, &opened, &paused, change.version, now).await
    })
}

/// Resume a check
///
/// It waits for its first ping again. One that is not paused is refused.
#[utoipa::path(post, path = "/checks/{check}/resume", operation_id = "resume_check", tag = "checks",
    params(ByUuid, Conditional), security(("key" = [])),
    responses(Tagged, Posted, OfOne, Edited, Keyed, Counted, Broken,
        (status = 409, description = "It is not paused", body = str, content_type = "text/plain")))]
pub async fn resume(State(app): State<Arc<App>>, change: Change) -> Result<Tagged, ApiFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let (opened, check) = change.open(tx).await?;
        change.condition.hold(tx, &check).await?;
        let (resumed, turned) = pause::resume(tx, check.id, now).await?;
        resumed.stayed(&check)?;
        if turned == Turned::Already {
            return Err(ApiFailure::Conflict("check is not paused"));
        }
        shape(tx, &app, &opened, &resumed, change.version, now).await
    })
}

/// Writes what a body asks for over a check; what it does not mention stays.
///
/// # Errors
/// The check is gone, or the database's.
pub async fn apply(
    tx: &mut WriteTx,
    check: &Check,
    spec: &Spec,
    version: Version,
) -> Result<Check, ApiFailure> {
    let edited = checks::edit(tx, check.id, None, |settings| {
        spec.apply(settings, version.0);
        Ok(())
    });
    let edited = edited.await?;
    edited.stayed(check)?;
    Ok(edited)
}

/// A check as the key that was opened shows it.
///
/// # Errors
/// The database's.
pub async fn shape(
    tx: &mut ReadTx,
    app: &App,
    opened: &Opened,
    check: &Check,
    version: Version,
    now: Time,
) -> Result<Tagged, ApiFailure> {
    let access = if opened.readonly {
        Access::Readonly
    } else {
        let assigned = alerts::store::list_assigned_to_check(tx, check.id).await?;
        Access::full(assigned.into_iter().map(|row| row.channel_uuid))
    };
    let json = CheckJson::new(check, access, &app.urls, version.0, now);
    Ok(Tagged { rev: check.rev, json })
}
