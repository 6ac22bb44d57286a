//! Alerts: from a flip to a message that somebody reads.
//!
//! [`flipped`] is the one place that writes a flip, with a delivery for each channel that is to hear of it, in
//! the transaction that changed the status. From then on rows drive everything: [`deliver`] claims due
//! deliveries under a lease, charges the account's quota, sends through [`send`] outside any transaction, and
//! settles. Killed between any two steps, it repeats at most one message, with the same id; it loses none.

pub mod attempts;
pub mod deliver;
pub mod flips;
pub mod letters;
pub mod links;
pub mod log;
pub mod moves;
pub mod returned;
pub mod send;
pub mod setup;
pub mod store;
pub mod words;

pub use flips::{flipped, is_told};

use uuid::Uuid;

use crate::checks::json::{Access, CheckJson, Urls};
use crate::checks::{self, Check, Reason, Status, StoredFlip};
use crate::db::{ReadTx, text_enum};
use crate::error::{Error, Result};
use crate::time::{Span, Time};

text_enum! {
    /// Where a delivery stands.
    pub enum DeliveryState {
        /// To be sent, now or at its next attempt.
        Due = "due",
        /// Waits for the account's alerts of another month, or a larger plan.
        Held = "held",
        Sent = "sent",
        /// Never sent: the opposite change came first, and its message tells both.
        Superseded = "superseded",
        /// Never sent: no attempt in 24 hours was taken, or none ever can be.
        GivenUp = "given_up",
    }
}

/// A place alerts go to.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Channel {
    pub id: i64,
    pub uuid: Uuid,
    pub project_id: i64,
    /// The name of its kind, as [`send::KINDS`] has it.
    pub kind: String,
    pub name: String,
    /// What its kind needs, as JSON.
    pub config: String,
    pub on_down: bool,
    pub on_up: bool,
    pub verified_at: Option<Time>,
    pub disabled_at: Option<Time>,
    pub last_sent_at: Option<Time>,
    /// What it answered to the last message that it took.
    pub last_answer: String,
    /// Why the last attempt failed; empty after one that did not.
    pub last_error: String,
    /// Since when no attempt was taken.
    pub failing_since_at: Option<Time>,
    /// When its owner was last asked to agree.
    pub asked_at: Option<Time>,
    /// Moves with every change of its settings.
    pub rev: i64,
}

impl Channel {
    /// Where it goes, if its kind can tell.
    pub fn place(&self) -> String {
        send::Kind::find(&self.kind).map(|kind| kind.place_of(&self.config)).unwrap_or_default()
    }

    /// The mail address whose owner has to agree before anything is sent, as long as they have not.
    pub fn asks(&self) -> Option<String> {
        let kind = send::Kind::find(&self.kind).filter(|_| self.verified_at.is_none())?;
        kind.check(&self.config).ok()?.asks
    }

    /// What people read for its kind.
    pub fn kind_title(&self) -> &str {
        send::Kind::find(&self.kind).map_or(&self.kind, |kind| kind.title)
    }

    /// Its name, or else where it goes, or else its kind.
    pub fn display_name(&self) -> String {
        [self.name.clone(), self.place()]
            .into_iter()
            .find(|text| !text.is_empty())
            .unwrap_or_else(|| self.kind_title().to_owned())
    }
}

/// A channel about to be stored.
#[derive(Clone, Debug)]
pub struct NewChannel {
    pub uuid: Uuid,
    pub project_id: i64,
    pub kind: &'static str,
    pub name: String,
    pub config: String,
    pub on_down: bool,
    pub on_up: bool,
    pub verified_at: Option<Time>,
}

/// All that a message may tell: what a channel's kind is given to send.
#[derive(Clone, Debug)]
pub struct Message {
    /// The delivery's uuid: the same for every attempt.
    pub id: Uuid,
    pub channel: Channel,
    pub check: Check,
    pub project_name: String,
    pub flip: StoredFlip,
    /// The last written flip before this one.
    pub before: Option<StoredFlip>,
    /// Whether the message of the flip before was superseded, so that this one tells both.
    pub tells_both: bool,
    /// The last ping that carried a body or an exit status worth showing.
    pub last_ping: Option<LastPing>,
    /// Names of other checks of the project that are down, with the time of their flip; at most ten.
    pub also_down: Vec<(String, Time)>,
    /// Names of the other channels that are told.
    pub also_told: Vec<String>,
    /// The check in the Management API's shape, version 3.
    pub check_json: String,
    pub now: Time,
}

/// The ping that a message quotes.
#[derive(Clone, Debug)]
pub struct LastPing {
    pub n: i64,
    pub received_at: Time,
    pub exit_status: Option<i64>,
    /// As it was stored: any bytes, at most the body limit.
    pub body: Vec<u8>,
}

impl Message {
    /// A message about a check that does not exist, for trying a channel: down, or up where it is only told
    /// that.
    pub fn test(channel: Channel, project_name: &str, urls: &Urls, now: Time) -> Self {
        let (old, new) =
            if channel.on_down { (Status::Up, Status::Down) } else { (Status::Down, Status::Up) };
        let reason = if channel.on_down { Reason::Fail } else { Reason::Success };
        let check = Check::sample("TEST", new, now);
        let flip = StoredFlip {
            id: 0,
            check_id: 0,
            flipped_at: now,
            old_status: old,
            new_status: new,
            reason,
            ping_n: None,
            exit_status: None,
            expected_at: None,
            started_at: None,
            last_success_at: None,
            blind_ms: Span::ZERO,
        };
        let shape = CheckJson::new(&check, Access::Full { channels: String::new() }, urls, 3, now);
        Self {
            id: crate::id::uuid(),
            channel,
            project_name: project_name.to_owned(),
            flip,
            before: None,
            tells_both: false,
            last_ping: None,
            also_down: Vec::new(),
            also_told: Vec::new(),
            check_json: serde_json::to_string(&shape).unwrap_or_default(),
            check,
            now,
        }
    }
}

/// Gathers what the message of a delivery may tell.
///
/// # Errors
/// The database's.
pub async fn message(
    tx: &mut ReadTx,
    delivery: &store::Claimed,
    urls: &Urls,
    now: Time,
) -> Result<Option<Message>> {
    let Some(check) = checks::store::find_by_id(tx, delivery.check_id).await? else { return Ok(None) };
    let Some(channel) = store::find_channel(tx, delivery.channel_id).await? else { return Ok(None) };
    let Some(flip) = checks::flips::store::find(tx, delivery.flip_id).await? else { return Ok(None) };
    let before = checks::flips::store::find_before(tx, check.id, flip.id).await?;
    let project = crate::accounts::store::find_project(tx, check.project_id).await?;
    let previous =
        store::find_delivery_before(tx, delivery.check_id, delivery.channel_id, delivery.id).await?;
    let last_ping = last_ping(tx, &flip).await?;
    let also_down = store::list_also_down(tx, check.project_id, check.id).await?;
    let also_told = store::list_also_told(tx, flip.id, channel.id).await?;
    let check_json = check_json(tx, &check, urls, now).await?;
    Ok(Some(Message {
        id: delivery.uuid,
        channel,
        project_name: project.map(|project| project.name).unwrap_or_default(),
        flip,
        before,
        tells_both: previous.is_some_and(|previous| previous.state == DeliveryState::Superseded),
        last_ping,
        also_down,
        also_told,
        check_json,
        check,
        now,
    }))
}

async fn check_json(tx: &mut ReadTx, check: &Check, urls: &Urls, now: Time) -> Result<String> {
    let assigned = store::list_assigned_to_check(tx, check.id).await?;
    let mut channels: Vec<String> = assigned.iter().map(|row| row.channel_uuid.to_string()).collect();
    channels.sort();
    let access = Access::Full { channels: channels.join(",") };
    let json = serde_json::to_string(&CheckJson::new(check, access, urls, 3, now));
    json.map_err(|error| Error::internal(error.to_string()))
}

/// The ping that explains a flip: the one that caused it, or else the last one that says how a run went.
async fn last_ping(tx: &mut ReadTx, flip: &StoredFlip) -> Result<Option<LastPing>> {
    let entry = match flip.ping_n {
        Some(n) => checks::log::store::find(tx, flip.check_id, n).await?,
        None => checks::log::store::find_last_outcome(tx, flip.check_id).await?,
    };
    let Some(entry) = entry else { return Ok(None) };
    let body = checks::log::store::find_body(tx, entry.check_id, entry.n).await?.unwrap_or_default();
    Ok(Some(LastPing { n: entry.n, received_at: entry.received_at, exit_status: entry.exit_status, body }))
}
