//! Setting a channel up: the one set of rules for the page and the API.
//!
//! [`judge`] says what may be stored, [`write`] stores it and, where the owner of a mail address has to agree first,
//! writes the letter that asks. Asking costs a limit on callers, which has to be spent before the transaction opens:
//! [`Judged::asks`] tells its caller whom. Nothing is sent here.

pub mod store;

use uuid::Uuid;

use super::letters::{self, Facts};
use super::send::form::Fault;
use super::send::{Kind, Outcome, Told};
use super::{Channel, NewChannel};
use crate::accounts::Project;
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::time::Time;

/// Characters of a channel's name.
pub const NAME_CHARS: usize = 100;

/// What somebody asks a channel to be.
#[derive(Clone, Debug)]
pub struct Wish {
    pub uuid: Uuid,
    pub kind: &'static Kind,
    pub name: String,
    /// As JSON.
    pub config: String,
    /// Which messages it gets, where its configuration does not decide that.
    pub told: Told,
}

/// A channel that can be stored.
#[derive(Clone, Debug)]
pub struct Judged {
    pub new: NewChannel,
    /// The address whose owner has to agree, and has not.
    pub asks: Option<String>,
}

/// How storing a channel ended.
#[derive(Clone, Debug)]
pub enum Written {
    Made(Channel),
    Changed(Channel),
    /// Somebody changed it since the given revision, or deleted it; nothing was written.
    Outdated,
}

/// Judges a wish for a channel of a project. An address that is not `owner`'s, the account owner's, has to agree
/// first, and again when it changes; every other kind belongs to whoever sets it up.
///
/// # Errors
/// The field that has to be mended.
pub fn judge(
    wish: Wish,
    project_id: i64,
    existing: Option<&Channel>,
    owner: &str,
    now: Time,
) -> std::result::Result<Judged, Fault> {
    if existing.is_some_and(|existing| existing.kind != wish.kind.name) {
        return Err(Fault::whole("kind of a channel cannot be changed"));
    }
    if wish.name.chars().count() > NAME_CHARS || wish.name.contains('\0') {
        return Err(Fault::at("name", format!("Name: it has more than {NAME_CHARS} characters.")));
    }
    let checked = wish.kind.check(&wish.config)?;
    let told = checked.told.unwrap_or(wish.told);
    let agreed =
        existing.filter(|existing| existing.config == checked.config).and_then(|one| one.verified_at);
    let asks = checked.asks.filter(|address| agreed.is_none() && !address.eq_ignore_ascii_case(owner));
    let new = NewChannel {
        uuid: wish.uuid,
        project_id,
        kind: wish.kind.name,
        name: wish.name,
        config: checked.config,
        on_down: told.down,
        on_up: told.up,
        verified_at: agreed.or_else(|| asks.is_none().then_some(now)),
    };
    Ok(Judged { new, asks })
}

/// Stores a judged channel: changes the one of its uuid, with `rev` only if nobody did since, or makes it.
///
/// # Errors
/// The database's.
pub async fn write(
    tx: &mut WriteTx,
    project: &Project,
    judged: Judged,
    rev: Option<i64>,
    asked_by: &str,
    now: Time,
) -> Result<Written> {
    let Judged { new, asks } = judged;
    let (uuid, written) = (new.uuid, super::store::update_channel(tx, &new, rev).await?);
    let written = match (written, rev) {
        (Some(channel), _) => Written::Changed(channel),
        (None, Some(_)) => return Ok(Written::Outdated),
        (None, None) => Written::Made(super::store::create_channel(tx, new, now).await?),
    };
    if let Some(address) = asks {
        ask(tx, project, uuid, &address, asked_by, now).await?;
    }
    tx.changes_project(project.id);
    Ok(written)
}

/// Writes the letter that asks the owner of an address whether they want the channel's alerts.
///
/// # Errors
/// The database's.
pub async fn ask(
    tx: &mut WriteTx,
    project: &Project,
    channel: Uuid,
    address: &str,
    asked_by: &str,
    now: Time,
) -> Result<()> {
    store::note_asked(tx, channel, now).await?;
    let facts = Facts::Confirm { channel, project: project.name.clone(), asked_by: asked_by.to_owned() };
    letters::ask_to_confirm(tx, project.account_id, address, &facts, now).await
}

/// Deletes a channel of a project, with what waits to be sent to it.
///
/// # Errors
/// [`Error::NotFound`] if somebody else did.
pub async fn delete(tx: &mut WriteTx, channel: &Channel) -> Result<()> {
    let deleted = super::store::delete_channel(tx, channel.id).await?;
    tx.changes_project(channel.project_id);
    if deleted { Ok(()) } else { Err(Error::NotFound) }
}

/// Keeps what an attempt came to as the channel's last result. The account's owner hears by mail of a channel that is
/// turned off.
///
/// # Errors
/// The database's.
pub async fn note(tx: &mut WriteTx, channel_id: i64, outcome: &Outcome, now: Time) -> Result<()> {
    match outcome {
        Outcome::Sent { note } => super::store::note_sent(tx, channel_id, note, now).await,
        Outcome::Retry { why, .. } | Outcome::Failed { why } => {
            super::store::note_error(tx, channel_id, why, now).await
        }
        Outcome::Disable { why } => {
            if super::store::disable_channel(tx, channel_id, why, now).await? {
                letters::tell_channel_off(tx, channel_id, why, now).await?;
            }
            Ok(())
        }
    }
}
