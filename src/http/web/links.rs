//! What the links in mails do (`alerts::links`): without signing in, each for the one thing it is signed for.
//!
//! A look at a link changes nothing, because mail scanners look; the page shows a button. POST does it, whether
//! from that button or from a mail program's own (RFC 8058).

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;

use super::{WebFailure, page};
use crate::alerts;
use crate::alerts::links::{Action, address_mark};
use crate::alerts::send::email;
use crate::app::App;
use crate::checks::{self, unique_key};
use crate::db;
use crate::error::{Error, Result};
use crate::pause;

pub fn routes() -> Router<Arc<App>> {
    Router::new().route("/mail/{verb}/{token}", get(ask).post(act))
}

#[derive(Template)]
#[template(path = "web/mail_link.html")]
struct MailLink {
    question: String,
    button: &'static str,
    /// What was done, once it is.
    done: Option<String>,
}

async fn ask(
    State(app): State<Arc<App>>,
    Path((verb, token)): Path<(String, String)>,
) -> Result<Response, WebFailure> {
    let action = app.senders.links.verify(&verb, &token).ok_or(WebFailure::NotFound)?;
    let named = db::read!(app.db, |tx| Named::find(tx, action).await)?;
    let (question, button) = named.question();
    Ok(page(StatusCode::OK, &MailLink { question, button, done: None }))
}

async fn act(
    State(app): State<Arc<App>>,
    Path((verb, token)): Path<(String, String)>,
) -> Result<Response, WebFailure> {
    let action = app.senders.links.verify(&verb, &token).ok_or(WebFailure::NotFound)?;
    let now = app.clock.now();
    let named = db::write!(app.db, |tx| {
        let named = Named::find(tx, action).await?;
        match &named {
            Named::Pause(check) => drop(pause::pause(tx, check.id, now).await?),
            Named::Mute(check, channel) => {
                alerts::store::unassign(tx, check.id, channel.id).await?;
            }
            Named::Confirm(channel) => {
                alerts::store::verify_channel(tx, channel, now).await?;
            }
            Named::Stop(channel) => {
                alerts::store::disable_channel(tx, channel.id, "turned off by a link in a mail", now).await?;
            }
        }
        Ok::<_, Error>(named)
    })?;
    let (question, button) = named.question();
    Ok(page(StatusCode::OK, &MailLink { question, button, done: Some(named.done()) }))
}

/// An action with the rows it names.
enum Named {
    Pause(Box<checks::Check>),
    Mute(Box<checks::Check>, alerts::Channel),
    Stop(alerts::Channel),
    Confirm(alerts::Channel),
}

impl Named {
    async fn find(tx: &mut db::ReadTx, action: Action) -> Result<Self> {
        Ok(match action {
            Action::Pause { check } => {
                Self::Pause(Box::new(unique_key::find(tx, check).await?.ok_or(Error::NotFound)?))
            }
            Action::Mute { check, channel } => Self::Mute(
                Box::new(unique_key::find(tx, check).await?.ok_or(Error::NotFound)?),
                alerts::store::find_channel_by_uuid(tx, channel).await?.ok_or(Error::NotFound)?,
            ),
            Action::Confirm { channel, address } => {
                let channel =
                    alerts::store::find_channel_by_uuid(tx, channel).await?.ok_or(Error::NotFound)?;
                let is_asked =
                    email::address_of(&channel.config).is_some_and(|now| address_mark(&now) == address);
                if !is_asked {
                    return Err(Error::NotFound);
                }
                Self::Confirm(channel)
            }
            Action::Stop { channel } => {
                Self::Stop(alerts::store::find_channel_by_uuid(tx, channel).await?.ok_or(Error::NotFound)?)
            }
        })
    }

    fn question(&self) -> (String, &'static str) {
        match self {
            Self::Pause(check) => {
                (format!("Pause “{}”? It is not watched until it is resumed.", check.display_name()), "Pause")
            }
            Self::Mute(check, channel) => {
                let (check, channel) = (check.display_name(), channel.display_name());
                (format!("Tell {channel} nothing more about “{check}”? Other checks go on."), "Mute")
            }
            Self::Confirm(channel) => {
                (format!("Get alerts at {}?", channel.display_name()), "Yes, send alerts")
            }
            Self::Stop(channel) => (
                format!("Send no more alerts to {}? Nobody is told there any more.", channel.display_name()),
                "Stop",
            ),
        }
    }

    fn done(&self) -> String {
        match self {
            Self::Confirm(channel) => format!("Alerts now go to {}.", channel.display_name()),
            Self::Pause(check) => format!("“{}” is paused.", check.display_name()),
            Self::Mute(check, channel) => {
                format!("{} hears nothing more about “{}”.", channel.display_name(), check.display_name())
            }
            Self::Stop(channel) => format!("No more alerts go to {}.", channel.display_name()),
        }
    }
}
