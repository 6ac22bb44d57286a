//! Where others tell that a message failed after it was taken (`CONTRACT` 3.1): the receiver, by the delivery's uuid
//! that came with the message, and mail servers, by a letter to a signed address. No key opens these; what names no
//! delivery is counted by address, and is answered like all else, so that its sender does not come again.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{FromRequest, Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use utoipa::ToSchema;
use uuid::Uuid;

use super::access::spend;
use super::answers::{Broken, Counted, Posted};
use super::{ApiFailure, Version};
use crate::alerts::returned;
use crate::alerts::send::Outcome;
use crate::app::{App, Bounced};
use crate::db;
use crate::http::{body, limits, reply};
use crate::mail::{self, Report};

/// The most of a body that is looked at, in bytes.
const BODY_LIMIT: usize = 1024 * 1024;

/// A body of any kind, its beginning, and whom it came from.
#[derive(Debug)]
pub struct Said {
    from: IpAddr,
    body: Vec<u8>,
}

impl FromRequest<Arc<App>> for Said {
    type Rejection = ApiFailure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiFailure> {
        let (parts, body) = request.into_parts();
        let from = limits::address(app, &parts.extensions, &parts.headers);
        match body::read(body, Some(BODY_LIMIT)).await {
            Ok(body) => Ok(Self { from, body }),
            Err(_) => Err(ApiFailure::Invalid("could not read request body".to_owned())),
        }
    }
}

/// What a receiver may tell, as a form. Other members are ignored.
#[derive(Debug, Default, ToSchema)]
#[schema(as = Callback)]
pub struct Form {
    /// Why the message failed; the first 200 characters are kept.
    #[schema(nullable = false, required = false)]
    error: String,
    /// With `error`: anything but nothing turns the channel off.
    #[schema(nullable = false, required = false)]
    mark_disabled: String,
    /// As Twilio tells it of text messages: `failed` and `undelivered` are failures.
    #[schema(rename = "MessageStatus", nullable = false, required = false)]
    message_status: String,
    /// As Twilio tells it of calls: `failed` is a failure.
    #[schema(rename = "CallStatus", nullable = false, required = false)]
    call_status: String,
}

impl Form {
    fn read(body: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in url::form_urlencoded::parse(body) {
            match name.as_ref() {
                "error" => form.error = value.into_owned(),
                "mark_disabled" => form.mark_disabled = value.into_owned(),
                "MessageStatus" => form.message_status = value.into_owned(),
                "CallStatus" => form.call_status = value.into_owned(),
                _ => {}
            }
        }
        form
    }

    /// What it means for the delivery; `None` if it tells of no failure.
    fn outcome(&self) -> Option<Outcome> {
        let failed = |status: &str| returned::of_receiver(&format!("its status is {status}"), false);
        match (self.error.as_str(), self.message_status.as_str(), self.call_status.as_str()) {
            (_, status @ ("failed" | "undelivered"), _) | (_, _, status @ "failed") => Some(failed(status)),
            ("", ..) => None,
            (error, ..) => Some(returned::of_receiver(error, !self.mark_disabled.is_empty())),
        }
    }
}

/// Tell that a message failed
///
/// For receivers that find out after they took it. They are believed for an hour. The answer is the same whether or not
/// there is such a message.
#[utoipa::path(post, path = "/notifications/{delivery}/status", operation_id = "report_delivery", tag = "channels",
    params(("delivery" = String, Path, description = "The `Idempotency-Key` that came with the message")),
    request_body(content = Form, content_type = "application/x-www-form-urlencoded"),
    responses((status = 200, description = "It was heard"), Posted, Counted, Broken))]
pub async fn status(
    State(app): State<Arc<App>>,
    Path((_, delivery)): Path<(String, String)>,
    said: Said,
) -> Result<StatusCode, ApiFailure> {
    let now = app.clock.now();
    let delivery = delivery.parse::<Uuid>().unwrap_or_default();
    let found: Result<_, ApiFailure> = db::read!(app.db, |tx| Ok(returned::find(tx, delivery, now).await?));
    let Some(sent) = found? else {
        spend(&app, &app.rates.unknown_report(said.from)).await?;
        return Ok(StatusCode::OK);
    };
    if let Some(outcome) = Form::read(&said.body).outcome() {
        app.take_back(&sent, &outcome).await?;
    }
    Ok(StatusCode::OK)
}

/// Hand a returned letter over
///
/// For whoever gets the mail to `FLATLINE_BOUNCE_ADDRESS`. The answer is the same for letters that are none of ours, so
/// that nobody sends them again; its text says what was done.
#[utoipa::path(post, path = "/bounces/", operation_id = "report_bounce", tag = "channels",
    request_body(content = String, content_type = "message/rfc822", description = "The mail, as it came"),
    responses((status = 200, description = "It was heard", body = str, content_type = "text/plain"), Posted, Counted,
        Broken))]
pub async fn bounce(
    State(app): State<Arc<App>>,
    _version: Version,
    said: Said,
) -> Result<Response, ApiFailure> {
    let claim =
        app.senders.returns.as_ref().and_then(|returns| {
            mail::recipients(&said.body).iter().find_map(|address| returns.read(address))
        });
    let bounced = match (claim, Report::read(&said.body)) {
        (None, _) => Bounced::Unsigned,
        (Some(_), None) => Bounced::NoReport,
        (Some(claim), Some(report)) => app.bounced(&claim, report).await?,
    };
    if bounced != Bounced::Taken {
        spend(&app, &app.rates.unknown_report(said.from)).await?;
    }
    let says = match bounced {
        Bounced::Taken => "OK",
        Bounced::NoReport => "OK (ignored)",
        Bounced::Unsigned => "OK (bad signature)",
    };
    Ok(reply::text(StatusCode::OK, says))
}
