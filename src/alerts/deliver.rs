//! Claim, charge, send, settle: how a delivery leaves the house.
//!
//! A lease with a token says who is sending; it outlasts the longest send, so two workers never send the same
//! delivery unless the first one died, and only the holder of the token may settle. This file opens its own
//! transactions, because sending happens between two of them: the claim commits first, with the charge.

use std::collections::BTreeMap;

use super::send::{self, Outcome, Senders};
use super::store::{self, Claimed, Settlement};
use super::{DeliveryState, Message, attempts, letters, moves, setup};
use crate::accounts::{self, Account, Charge};
use crate::checks::Status;
use crate::config::Plans;
use crate::db::{self, Db, WriteTx};
use crate::error::Result;
use crate::id;
use crate::metrics::Metrics;
use crate::rate::{Rates, Refusal, Verdict};
use crate::time::{Clock, Span, Time};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

/// How long a lease lasts; longer than [`SEND_LIMIT`], so that a living worker never loses it.
pub const LEASE: Span = Span::seconds(120);
/// The longest that one attempt may take.
const SEND_LIMIT: Span = Span::seconds(60);
/// Deliveries claimed at once by one worker, and sent side by side.
const BATCH: i64 = 20;
/// A delivery that no attempt could bring home in this time is given up.
const GIVE_UP_AFTER: Span = Span::hours(24);
/// Held deliveries of one account that are looked at in one go.
const HELD_BATCH: i64 = 1000;
/// Over this, deliveries that had to wait for their turn are spread.
const SPREAD: Span = Span::seconds(30);
const FIRST_BACKOFF: Span = Span::seconds(15);
const LONGEST_BACKOFF: Span = Span::hours(1);
/// A channel may ask for more patience than ours, up to this.
const LONGEST_RETRY_AFTER: Span = Span::hours(6);

/// What sending needs.
pub struct Deliverer<'a> {
    pub db: &'a Db,
    pub plans: &'a Plans,
    pub senders: &'a Senders,
    /// Limits how often one account calls one host.
    pub rates: &'a Rates,
    pub metrics: &'a Metrics,
    pub clock: &'a Clock,
}

impl Deliverer<'_> {
    /// Claims one batch of due deliveries, sends them side by side and settles each; returns how many were
    /// looked at, so that zero means that none is due.
    ///
    /// # Errors
    /// The database's. What was claimed is free again when its lease ends.
    pub async fn run_once(&self) -> Result<usize> {
        let now = self.clock.now();
        let due = db::read!(self.db, |tx| store::list_claimable(tx, now, BATCH).await)?;
        if due.is_empty() {
            return Ok(0);
        }
        let looked_at = due.len();
        let claimed = db::write!(self.db, |tx| claim_all(tx, self.plans, &due, now).await)?;
        let mut sending = FuturesUnordered::new();
        for delivery in &claimed {
            sending.push(self.send(delivery));
        }
        let mut first_error = Ok(());
        while let Some(sent) = sending.next().await {
            first_error = first_error.and(sent);
        }
        first_error?;
        Ok(looked_at)
    }

    async fn send(&self, delivery: &Claimed) -> Result<()> {
        let now = self.clock.now();
        let message = db::read!(self.db, |tx| super::message(tx, delivery, &self.senders.urls, now).await)?;
        let Some(message) = message else { return Ok(()) };
        if let Some(refusal) = self.refused(delivery, &message).await? {
            return self.postpone(delivery, &refusal).await;
        }
        let outcome = self.attempt(&message).await;
        self.settle(delivery, &message, outcome).await
    }

    /// Spends one call to the host that the message would call; the refusal, if it was one too many.
    async fn refused(&self, delivery: &Claimed, message: &Message) -> Result<Option<Refusal>> {
        let target = send::target(message).filter(|_| message.channel.disabled_at.is_none());
        let Some(host) = target else { return Ok(None) };
        let chain = self.rates.webhook_call(delivery.account_id, &host);
        Ok(match chain.spend(self.db, self.clock.now()).await? {
            Verdict::Accepted(_) => None,
            Verdict::Refused(refusal) => Some(refusal),
        })
    }

    /// Lets a delivery wait that was one call too many: this was no attempt. Those that wait together come back
    /// spread out, so that they do not all ask at once again.
    async fn postpone(&self, delivery: &Claimed, refusal: &Refusal) -> Result<()> {
        #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "half a minute")]
        let spread = Span::millis((id::fraction() * SPREAD.0 as f64) as i64);
        let due_at = self.clock.now() + refusal.retry_after + spread;
        let why = format!("It waits for its turn: at most {} such calls are made a minute.", refusal.limit);
        let token = delivery.claim.unwrap_or_default();
        db::write!(self.db, |tx| store::postpone(tx, delivery.id, token, due_at, &why).await)?;
        tracing::info!(delivery = %delivery.uuid, scope = refusal.scope, "delivery waits");
        Ok(())
    }

    async fn attempt(&self, message: &Message) -> Outcome {
        if message.channel.disabled_at.is_some() {
            return Outcome::Failed { why: "The channel was turned off.".to_owned() };
        }
        if message.channel.project_id != message.check.project_id {
            return Outcome::Failed { why: moves::REASON.to_owned() };
        }
        match tokio::time::timeout(SEND_LIMIT.to_std(), self.senders.send(message)).await {
            Ok(outcome) => outcome,
            Err(_) => Outcome::Retry { why: "It took too long.".to_owned(), after: None },
        }
    }

    async fn settle(&self, delivery: &Claimed, message: &Message, outcome: Outcome) -> Result<()> {
        let now = self.clock.now();
        let settlement = settlement(delivery, &outcome, id::fraction(), now);
        let token = delivery.claim.unwrap_or_default();
        let settled = db::write!(self.db, |tx| {
            let settlement = match settlement.settled_at {
                // The check came up while its DOWN was tried in vain: the UP need not wait for another attempt.
                None if is_overtaken(tx, delivery).await? => Settlement {
                    state: DeliveryState::Superseded,
                    settled_at: Some(now),
                    ..settlement.clone()
                },
                _ => settlement.clone(),
            };
            let settled = store::settle(tx, delivery.id, token, &settlement).await?;
            if settled {
                attempts::note(tx, delivery.id, delivery.attempts, &settlement, now).await?;
            }
            tx.changes_check(message.check.project_id, message.check.uuid);
            setup::note(tx, delivery.channel_id, &outcome, now).await?;
            Ok::<_, crate::error::Error>(settled.then_some(settlement))
        })?;
        if let Some(settlement) = settled {
            self.count(message, &settlement, now);
        }
        Ok(())
    }

    fn count(&self, message: &Message, settlement: &Settlement, now: Time) {
        let result = if settlement.settled_at.is_none() { "retry" } else { settlement.state.word() };
        self.metrics.delivered(&message.channel.kind, result);
        if settlement.state == DeliveryState::Sent {
            let late = now - message.flip.flipped_at;
            self.metrics.deadline_to_sent(late);
        }
        tracing::info!(
            delivery = %message.id,
            check = message.check.id,
            channel = message.channel.id,
            tells = message.flip.new_status.word(),
            result,
            outcome = %settlement.outcome,
            "delivery"
        );
    }
}

/// Settles what is due at `now` as `outcome` says, without sending anything: what a demonstration does in place of
/// [`Deliverer::run_once`].
///
/// # Errors
/// The database's.
pub async fn pretend(
    tx: &mut WriteTx,
    plans: &Plans,
    now: Time,
    outcome: impl Fn(&Claimed) -> Outcome,
) -> Result<()> {
    let due = store::list_claimable(tx, now, BATCH).await?;
    for delivery in claim_all(tx, plans, &due, now).await? {
        let outcome = outcome(&delivery);
        let settlement = settlement(&delivery, &outcome, 0.5, now);
        store::settle(tx, delivery.id, delivery.claim.unwrap_or_default(), &settlement).await?;
        attempts::note(tx, delivery.id, delivery.attempts, &settlement, now).await?;
        setup::note(tx, delivery.channel_id, &outcome, now).await?;
    }
    Ok(())
}

/// Charges and leases a batch of what is due to the accounts of `seen`; a DOWN that its UP overtook is superseded
/// instead, one without quota is held. The accounts are locked first, by id. What another worker took while this
/// one waited for them is not looked at twice: the batch is read anew. Then deliveries check by check, where an
/// UP takes the DOWNs before it too.
async fn claim_all(tx: &mut WriteTx, plans: &Plans, seen: &[Claimed], now: Time) -> Result<Vec<Claimed>> {
    let mut accounts: BTreeMap<i64, Option<Account>> =
        seen.iter().map(|delivery| (delivery.account_id, None)).collect();
    for (id, account) in &mut accounts {
        *account = lock_account(tx, plans, *id).await?;
    }
    let mut due = store::list_claimable(tx, now, BATCH).await?;
    due.retain(|delivery| accounts.contains_key(&delivery.account_id));
    due.sort_by_key(|delivery| (delivery.check_id, delivery.channel_id, delivery.id));
    let mut claimed = Vec::new();
    for delivery in &due {
        let account = accounts[&delivery.account_id].as_ref();
        if is_overtaken(tx, delivery).await? {
            store::supersede(tx, delivery.id, now).await?;
            continue;
        }
        if delivery.tells == Status::Up {
            store::supersede_waiting(tx, delivery, now).await?;
        }
        let mut charged = false;
        if let Some(account) = account.filter(|_| delivery.charged_at.is_none()) {
            match accounts::charge_alert(tx, account, now).await? {
                Charge::Taken => charged = true,
                Charge::Outdated => continue,
                Charge::QuotaUsed if is_owed(tx, delivery).await? => {}
                Charge::QuotaUsed => {
                    hold(tx, account, delivery, now).await?;
                    continue;
                }
            }
        }
        match store::claim(tx, delivery, id::uuid(), now + LEASE, now).await? {
            Some(delivery) => claimed.push(delivery),
            None if charged => {
                accounts::store::give_back_alert(tx, delivery.account_id, accounts::month(now)).await?;
            }
            None => {}
        }
    }
    Ok(claimed)
}

/// The account with today's values of its plan. `None` if its plan is no longer among the plans: then nothing
/// says what its alerts are limited to, and an alert too many is better than one that is never sent.
async fn lock_account(tx: &mut WriteTx, plans: &Plans, account_id: i64) -> Result<Option<Account>> {
    let row = accounts::store::lock_account(tx, account_id).await?;
    Ok(row.and_then(|row| plans.get(&row.plan).map(|plan| Account { id: row.id, plan: plan.clone() })))
}

/// Whether a DOWN that was never sent has its UP behind it already.
async fn is_overtaken(tx: &mut WriteTx, delivery: &Claimed) -> Result<bool> {
    if delivery.tells != Status::Down {
        return Ok(false);
    }
    let after = store::find_delivery_after(tx, delivery.check_id, delivery.channel_id, delivery.id).await?;
    Ok(after.is_some_and(|after| after.tells == Status::Up))
}

/// Whether the message is an UP whose DOWN was sent: that one is sent, quota or not.
async fn is_owed(tx: &mut WriteTx, delivery: &Claimed) -> Result<bool> {
    if delivery.tells != Status::Up {
        return Ok(false);
    }
    let before = store::find_delivery_before(tx, delivery.check_id, delivery.channel_id, delivery.id).await?;
    Ok(before.is_some_and(|before| before.tells == Status::Down && before.state == DeliveryState::Sent))
}

async fn hold(tx: &mut WriteTx, account: &Account, delivery: &Claimed, now: Time) -> Result<()> {
    if store::hold(tx, delivery.id, now).await? {
        letters::tell_quota(tx, account, now).await?;
    }
    Ok(())
}

/// Lets held deliveries go where there is quota again (a new month, a larger plan), if they are still true; the
/// others are dropped. Returns how many were released.
///
/// # Errors
/// The database's.
pub async fn release_held(db: &Db, plans: &Plans, now: Time) -> Result<usize> {
    let accounts = db::read!(db, |tx| store::list_held_accounts(tx).await)?;
    let mut released = 0;
    for account_id in accounts {
        released += db::write!(db, |tx| release_held_of(tx, plans, account_id, now).await)?;
    }
    Ok(released)
}

async fn release_held_of(tx: &mut WriteTx, plans: &Plans, account_id: i64, now: Time) -> Result<usize> {
    let Some(row) = accounts::store::lock_account(tx, account_id).await? else { return Ok(0) };
    let plan = plans.of(&row.plan);
    let left = plan.alerts_per_month.unwrap_or(i64::MAX).saturating_sub(row.alerts_used_at(now));
    let (mut released, mut some_wait) = (0, false);
    for held in store::list_held(tx, account_id, HELD_BATCH).await? {
        if held.tells != held.told_status {
            // Also without quota: the opposite message stands behind it, and may be one that is owed.
            store::drop_held(tx, held.id, now).await?;
        } else if left > i64::try_from(released).unwrap_or(i64::MAX) {
            released += usize::from(store::release(tx, held.id, now).await?);
        } else {
            some_wait = true;
        }
    }
    if some_wait {
        // In a new month too, whose alerts are used up by what the last one left.
        letters::tell_quota(tx, &Account { id: account_id, plan }, now).await?;
    }
    Ok(released)
}

/// What an outcome means for the row; `jitter` is a number in `0.0..1.0`.
fn settlement(delivery: &Claimed, outcome: &Outcome, jitter: f64, now: Time) -> Settlement {
    let since = delivery.charged_at.unwrap_or(delivery.created_at);
    let retried = match outcome {
        Outcome::Retry { after, .. } => Some(next_attempt(delivery.attempts, *after, jitter, now)),
        _ => None,
    };
    let (state, text) = match outcome {
        Outcome::Sent { note } => (DeliveryState::Sent, note.clone()),
        Outcome::Retry { why, .. } if retried.is_some_and(|at| at > since + GIVE_UP_AFTER) => {
            (DeliveryState::GivenUp, format!("{why} Given up after 24 hours."))
        }
        Outcome::Retry { why, .. } => (DeliveryState::Due, why.clone()),
        Outcome::Failed { why } | Outcome::Disable { why } => (DeliveryState::GivenUp, why.clone()),
    };
    let settled_at = (state != DeliveryState::Due).then_some(now);
    Settlement { state, outcome: text, due_at: retried.unwrap_or(now), settled_at }
}

/// When the next attempt is due after `attempts` failed ones: twice the wait each time, a quarter more or less
/// by chance, and no earlier than the channel asked for.
pub(super) fn next_attempt(attempts: i64, asked: Option<Span>, jitter: f64, now: Time) -> Time {
    let doubled = FIRST_BACKOFF.0.saturating_mul(1 << (attempts - 1).clamp(0, 20));
    let wait = doubled.min(LONGEST_BACKOFF.0);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a wait of at most an hour"
    )]
    let wait = (wait as f64 * (0.75 + 0.5 * jitter)) as i64;
    let asked = asked.unwrap_or(Span::ZERO).min(LONGEST_RETRY_AFTER);
    now + Span::millis(wait).max(asked)
}
