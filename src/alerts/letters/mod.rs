//! Letters: mails to a person about the account, not about a check. They are rows, claimed and settled like
//! deliveries, so that a mail server's bad day costs none; they are no alerts and no quota counts them. A row
//! holds the facts; they are worded when the letter is sent, outside any transaction.

pub mod store;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::send::{Outcome, Senders, email};
use super::store::Settlement;
use super::words::channel_off::ChannelOff;
use super::words::confirm::Confirm;
use super::words::email_change::{self, EmailChange};
use super::words::invitation::Invitation;
use super::words::quota::Quota;
use super::words::sign_in::SignIn;
use super::words::sign_up::SignUp;
use super::words::{Written, security, unseen};
use super::{DeliveryState, deliver};
use crate::accounts::{self, Account, User};
use crate::db::{self, Db, WriteTx};
use crate::error::{Error, Result};
use crate::id;
use crate::mail::{Address, Letter};
use crate::time::{Clock, Span, Time};
use store::{NewLetter, StoredLetter};

const BATCH: i64 = 20;
/// A letter that no attempt could bring home in this time is given up.
const GIVE_UP_AFTER: Span = Span::hours(72);
/// The zone in which letters tell times: accounts have none of their own yet.
const ZONE: &str = "UTC";

/// What a letter tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "letter", rename_all = "snake_case")]
pub enum Facts {
    /// The alerts of the month are used up.
    Quota { plan: String, limit: i64, resets_at: Time },
    /// Somebody entered the address for a project's alerts.
    Confirm { channel: Uuid, project: String, asked_by: String },
    /// Nothing can be sent to a channel any more.
    ChannelOff { channel: Uuid, name: String, project: String, why: String },
    /// Slots fell into a gap of ours.
    Unseen { gap_started_at: Time, gap_ended_at: Time, slots: Vec<Slot> },
    /// A link that signs its reader in.
    SignIn { url: String, good_for_ms: Span },
    /// A link with which its reader makes an account.
    SignUp { url: String, good_for_ms: Span },
    /// A link that makes the reader's address the one that a user signs in with.
    NewEmail { url: String, old: String, good_for_ms: Span },
    /// Somebody wanted to sign in with the reader's address, which has an account.
    EmailTaken,
    /// The user signs in with another address from now on; told to the old one.
    EmailChanged { new: String },
    /// What the user signs in with was changed or used.
    Security { change: security::Change, at: Time },
    /// A link that leads into a project.
    Invitation { url: String, good_for_ms: Span, project: String, role: String, invited_by: String },
}

/// A slot whose ping could not be seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slot {
    pub check: Uuid,
    pub name: String,
    pub slot_at: Time,
}

/// Tells the account's owner, once a month, that its alerts are used up.
///
/// # Errors
/// The database's.
pub async fn tell_quota(tx: &mut WriteTx, account: &Account, now: Time) -> Result<()> {
    if !accounts::store::tell_quota(tx, account.id, now).await? {
        return Ok(());
    }
    let facts = Facts::Quota {
        plan: account.plan.name.clone(),
        limit: account.plan.alerts_per_month.unwrap_or(i64::MAX),
        resets_at: accounts::month_start(accounts::month(now) + 1),
    };
    write(tx, account.id, &facts, now).await
}

/// Tells an account's owner that a channel was turned off, unless it is the owner's own address that takes nothing.
///
/// # Errors
/// The database's.
pub async fn tell_channel_off(tx: &mut WriteTx, channel_id: i64, why: &str, now: Time) -> Result<()> {
    let Some(channel) = super::store::find_channel(tx, channel_id).await? else { return Ok(()) };
    let Some(project) = accounts::store::find_project(tx, channel.project_id).await? else { return Ok(()) };
    let owner = accounts::store::find_user_of_account(tx, project.account_id).await?;
    let is_told_elsewhere = |owner: &accounts::User| !channel.place().eq_ignore_ascii_case(&owner.email);
    let Some(owner) = owner.filter(is_told_elsewhere) else { return Ok(()) };
    let facts = Facts::ChannelOff {
        channel: channel.uuid,
        name: channel.display_name(),
        project: project.name,
        why: why.to_owned(),
    };
    write_to(tx, Some(project.account_id), &owner.email, &facts, now).await
}

/// Tells a user that what they sign in with was changed or used, by a letter to the address they sign in with.
///
/// # Errors
/// The database's.
pub async fn tell_change(tx: &mut WriteTx, user: &User, change: security::Change, now: Time) -> Result<()> {
    let facts = Facts::Security { change, at: now };
    write_to(tx, Some(user.account_id), &user.email, &facts, now).await
}

/// Stores a letter to an account's owner.
///
/// # Errors
/// The database's.
pub async fn write(tx: &mut WriteTx, account_id: i64, facts: &Facts, now: Time) -> Result<()> {
    let Some(owner) = accounts::store::find_user_of_account(tx, account_id).await? else { return Ok(()) };
    write_to(tx, Some(account_id), &owner.email, facts, now).await
}

/// Stores a letter to an address.
///
/// # Errors
/// The database's.
pub async fn write_to(
    tx: &mut WriteTx,
    account_id: Option<i64>,
    recipient: &str,
    facts: &Facts,
    now: Time,
) -> Result<()> {
    let facts = serde_json::to_string(facts).map_err(|error| Error::internal(error.to_string()))?;
    store::create(tx, NewLetter { account_id, recipient: recipient.to_owned(), facts }, now).await
}

/// Stores the letter that asks an address whether it wants a project's alerts.
///
/// # Errors
/// The database's.
pub async fn ask_to_confirm(
    tx: &mut WriteTx,
    account_id: i64,
    address: &str,
    facts: &Facts,
    now: Time,
) -> Result<()> {
    write_to(tx, Some(account_id), address, facts, now).await
}

/// Sends one batch of due letters; returns how many were looked at.
///
/// # Errors
/// The database's.
pub async fn run_once(db: &Db, senders: &Senders, clock: &Clock) -> Result<usize> {
    let now = clock.now();
    let due: Result<Vec<StoredLetter>> = db::read!(db, |tx| store::list_claimable(tx, now, BATCH).await);
    let due = due?;
    for letter in &due {
        send(db, senders, clock, letter).await?;
    }
    Ok(due.len())
}

async fn send(db: &Db, senders: &Senders, clock: &Clock, letter: &StoredLetter) -> Result<()> {
    let (now, token) = (clock.now(), id::uuid());
    let until = now + deliver::LEASE;
    let ours: Result<bool> = db::write!(db, |tx| store::claim(tx, letter.id, token, until, now).await);
    if !ours? {
        return Ok(());
    }
    let held: Result<Vec<(String, Time)>> = db::read!(db, |tx| match letter.account_id {
        Some(account_id) => super::store::list_held_names(tx, account_id).await,
        None => Ok(Vec::new()),
    });
    let outcome = match mail(senders, letter, &held?, now) {
        Ok(mail) => email::outcome(senders.post.send(&mail, now).await),
        Err(why) => Outcome::Failed { why },
    };
    let settlement = settlement(letter, &outcome, clock.now());
    let settled: Result<bool> = db::write!(db, |tx| store::settle(tx, letter.id, token, &settlement).await);
    settled?;
    let result = settlement.state.word();
    tracing::info!(letter = %letter.uuid, result, outcome = %settlement.outcome, "letter");
    Ok(())
}

/// The letter as mail; `held` are the alerts that wait for quota.
fn mail(
    senders: &Senders,
    letter: &StoredLetter,
    held: &[(String, Time)],
    now: Time,
) -> Result<Letter, String> {
    let to = Address::parse(&letter.recipient).map_err(|error| error.to_string())?;
    let facts: Facts = serde_json::from_str(&letter.facts).map_err(|error| error.to_string())?;
    let written = facts.written(senders, to.as_str(), held, now).map_err(|error| error.to_string())?;
    let Written { subject, text, html } = written;
    let (id, to) = (letter.uuid, to.into());
    Ok(Letter { id, follows: None, to, returns_to: None, subject, text, html, unsubscribe: None })
}

impl Facts {
    fn written(
        &self,
        senders: &Senders,
        to: &str,
        held: &[(String, Time)],
        now: Time,
    ) -> Result<Written, askama::Error> {
        let site = senders.site.as_str();
        match self {
            Self::Quota { plan, limit, resets_at } => {
                let usage_url = format!("{}/usage", senders.urls.site);
                let (limit, resets_at, usage_url) = (*limit, *resets_at, usage_url.as_str());
                let held_in_all = held.len();
                Quota { plan, limit, resets_at, held, held_in_all, usage_url, zone: ZONE, to, site, now }
                    .written()
            }
            Self::Confirm { channel, project, asked_by } => {
                let url = senders.links.confirm(*channel, to);
                let (project, asked_by) = (project.as_str(), asked_by.as_str());
                Confirm { url: &url, to, project, asked_by, site }.written()
            }
            Self::ChannelOff { channel, name, project, why } => {
                let url = format!("{}/channels/{channel}", senders.urls.site);
                ChannelOff { channel: name, project, why, url: &url, to, site }.written()
            }
            Self::Unseen { gap_started_at, gap_ended_at, slots } => {
                let slot = |slot: &Slot| unseen::Slot {
                    check: slot.name.clone(),
                    url: senders.links.open(slot.check),
                    at: slot.slot_at,
                };
                let slots: Vec<unseen::Slot> = slots.iter().map(slot).collect();
                unseen::Unseen {
                    gap: (*gap_started_at, *gap_ended_at),
                    unseen: &slots,
                    undecided: &[],
                    checks_url: &senders.urls.site,
                    zone: ZONE,
                    to,
                    site,
                    now,
                }
                .written()
            }
            Self::SignIn { url, good_for_ms } => SignIn { url, good_for: *good_for_ms, to, site }.written(),
            Self::SignUp { url, good_for_ms } => SignUp { url, good_for: *good_for_ms, to, site }.written(),
            Self::NewEmail { url, old, good_for_ms } => {
                let step = email_change::Step::Asked { url, old, good_for: *good_for_ms };
                EmailChange { step, to, site }.written()
            }
            Self::EmailTaken => EmailChange { step: email_change::Step::Taken, to, site }.written(),
            Self::EmailChanged { new } => {
                EmailChange { step: email_change::Step::Done { new }, to, site }.written()
            }
            Self::Security { change, at } => {
                let account_url = format!("{}/account", senders.urls.site);
                security::Security { change, at: *at, zone: ZONE, account_url, to, site, now }.written()
            }
            Self::Invitation { url, good_for_ms, project, role, invited_by } => {
                Invitation { url, good_for: *good_for_ms, project, role, invited_by, to, site }.written()
            }
        }
    }
}

fn settlement(letter: &StoredLetter, outcome: &Outcome, now: Time) -> Settlement {
    let next = deliver::next_attempt(letter.attempts + 1, None, id::fraction(), now);
    let (state, text) = match outcome {
        Outcome::Sent { note } => (DeliveryState::Sent, note.clone()),
        Outcome::Retry { why, .. } if next <= letter.created_at + GIVE_UP_AFTER => {
            (DeliveryState::Due, why.clone())
        }
        Outcome::Retry { why, .. } | Outcome::Failed { why } | Outcome::Disable { why } => {
            (DeliveryState::GivenUp, why.clone())
        }
    };
    let settled_at = (state != DeliveryState::Due).then_some(now);
    Settlement { state, outcome: text, due_at: next, settled_at }
}
