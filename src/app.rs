//! The running program: what the edges need, in one place, and the jobs as functions.
//!
//! Jobs are started by `jobs` on a schedule and by tests through [`App::tick`]; both run the same functions.
//! Each opens its own transactions and reads the clock once.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::accounts::passkeys::Site;
use crate::accounts::{self, Account, AccountRow, team};
use crate::alerts::deliver::{self, Deliverer};
use crate::alerts::returned::store::SentDelivery;
use crate::alerts::returned::{self, Claim};
use crate::alerts::send::{Outcome, Senders};
use crate::alerts::{Message, letters, setup};
use crate::caller::Proxies;
use crate::checks::json::Urls;
use crate::checks::{self, Check};
use crate::config::Settings;
use crate::db::{self, Db, Fault, ReadTx, WriteTx, fault};
use crate::error::{Error, Result};
use crate::mail::Report;
use crate::metrics::Metrics;
use crate::plans;
use crate::rate::{self, Rates};
use crate::recorder::{Recorder, Unavailable};
use crate::removal;
use crate::sweep::witness::{STALE_AFTER, Stamped};
use crate::sweep::{self, Swept, store as sweep_store};
use crate::time::{Clock, Span, Time};

/// Runs forgotten in one go.
const EXPIRY_BATCH: i64 = 500;
/// Gaps are kept as long as the longest window can reach back: a year of period and one of grace.
const GAP_LIFE: Span = Span::hours(24 * 731);
/// The readiness probe gives up on a sweep that is later than this, or a delivery that waits longer.
const READY_LATENESS: Span = Span::minutes(5);

/// The program's parts.
pub struct App {
    pub db: Db,
    pub clock: Clock,
    pub settings: Arc<Settings>,
    pub urls: Urls,
    /// Signs badges.
    pub secret: Vec<u8>,
    pub proxies: Proxies,
    pub rates: Rates,
    /// The site as passkeys know it; `None` where browsers know none.
    pub passkey_site: Option<Site>,
    pub recorder: Recorder,
    pub senders: Senders,
    pub metrics: Arc<Metrics>,
    /// Rung when a flip was written, so that its deliveries leave at once.
    pub flipped: Notify,
}

/// What a job could not do.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    #[error(transparent)]
    Failed(#[from] Error),
    #[error("pings cannot be taken now, so silence is not judged")]
    Blind,
}

/// What was done with a letter that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounced {
    Taken,
    /// It reports no failure.
    NoReport,
    /// The address it came to was not signed here, or its delivery is none that was sent lately.
    Unsigned,
}

impl App {
    /// An account with today's values of its plan.
    ///
    /// # Errors
    /// The account is gone.
    pub async fn account(&self, tx: &mut ReadTx, account_id: i64) -> Result<Account> {
        self.with_plan(accounts::store::find_account(tx, account_id).await?)
    }

    /// The same with its row locked, so that the plan cannot change before something is counted by it.
    ///
    /// # Errors
    /// As for [`App::account`].
    pub async fn lock_account(&self, tx: &mut WriteTx, account_id: i64) -> Result<Account> {
        self.with_plan(accounts::store::lock_account(tx, account_id).await?)
    }

    fn with_plan(&self, row: Option<AccountRow>) -> Result<Account> {
        Ok(row.ok_or(Error::NotFound)?.account(&self.settings.plans))
    }

    /// Puts right what a start has to: the instance's row, and accounts whose plan's values changed.
    ///
    /// # Errors
    /// The database's.
    pub async fn prepare(&self) -> Result<()> {
        let now = self.clock.now();
        let (outdated, orphans) = db::write!(self.db, |tx| {
            accounts::instance(tx, now).await?;
            let plans = &self.settings.plans;
            Ok::<_, Error>((plans::outdated(tx, plans).await?, plans::orphans(tx, plans).await?))
        })?;
        for (plan, accounts) in orphans {
            tracing::warn!(
                plan,
                accounts,
                "accounts are on a plan that is no longer there; 'free' limits them"
            );
        }
        for (account_id, plan) in outdated {
            if db::write!(self.db, |tx| plans::renew(tx, account_id, &plan).await)? {
                tracing::info!(account = account_id, plan = %plan.name, "applied the plan's new values");
            }
        }
        Ok(())
    }

    /// Moves the witness's stamp.
    ///
    /// # Errors
    /// Pings cannot be taken now.
    pub async fn stamp(&self) -> Result<Stamped, Unavailable> {
        let stamped = self.recorder.stamp().await?;
        match stamped {
            Stamped::Regular => {}
            Stamped::AfterGap(gap) => {
                tracing::warn!(from = ?gap.started_at, until = ?gap.ended_at, "pings could not be taken");
            }
            Stamped::ClockSetBack(checks) => tracing::warn!(checks, "the clock was set back"),
        }
        Ok(stamped)
    }

    /// Sweeps until nothing is due; returns how many flips were written. Silence is judged only while the
    /// witness is fresh.
    ///
    /// # Errors
    /// The database's, or that pings cannot be taken.
    pub async fn sweep(&self) -> Result<usize, JobError> {
        let now = self.clock.now();
        let (mut due, stamp) = db::read!(self.db, |tx| Ok::<_, Error>((
            sweep::due(tx, now).await?,
            sweep_store::find_stamp(tx).await?
        )))?;
        let overdue = due.iter().filter_map(|check| check.state.next_look()).filter(|at| *at <= now).min();
        self.metrics.sweep_lateness(overdue.map_or(Span::ZERO, |at| now - at));
        let fresh = stamp.is_some_and(|at| now - at < STALE_AFTER && at - now < STALE_AFTER);
        if !fresh || self.recorder.has_refused() {
            self.stamp().await.map_err(|Unavailable| JobError::Blind)?;
            due = db::read!(self.db, |tx| sweep::due(tx, now).await)?;
        }
        let mut flips = 0;
        while !due.is_empty() {
            let swept = self.sweep_batch(&due, now).await?;
            flips += swept.flips.len();
            self.report(&swept);
            due = db::read!(self.db, |tx| sweep::due(tx, now).await)?;
        }
        if flips > 0 {
            self.flipped.notify_one();
        }
        Ok(flips)
    }

    /// Judges one batch; where one of its checks makes the transaction fail, each by itself.
    async fn sweep_batch(&self, due: &[Check], now: Time) -> Result<Swept> {
        match db::write!(self.db, |tx| sweep::sweep(tx, due, now).await) {
            Err(Error::Database(error)) if fault(&error) == Fault::Unavailable => Err(Error::Database(error)),
            Err(error) => {
                tracing::error!(%error, "a batch of the sweep failed; its checks are judged one by one");
                self.sweep_each(due, now).await
            }
            swept => swept,
        }
    }

    async fn sweep_each(&self, due: &[Check], now: Time) -> Result<Swept> {
        let mut all = Swept::default();
        for check in due {
            let alone = std::slice::from_ref(check);
            match db::write!(self.db, |tx| sweep::sweep(tx, alone, now).await) {
                Ok(swept) => {
                    all.flips.extend(swept.flips);
                    all.unseen += swept.unseen;
                    all.set_aside.extend(swept.set_aside);
                }
                // What passes with the machine's state says nothing about the check.
                Err(Error::Database(error)) if fault(&error) != Fault::Statement => {
                    return Err(Error::Database(error));
                }
                Err(error) => {
                    let why = "it could not be judged; the log says why";
                    tracing::error!(check = check.id, %error, "a check could not be judged");
                    db::write!(self.db, |tx| sweep::set_aside(tx, check, why, now).await)?;
                    all.set_aside.push((check.id, why.to_owned()));
                }
            }
        }
        Ok(all)
    }

    fn report(&self, swept: &Swept) {
        for reason in &swept.flips {
            self.metrics.flipped(reason.word());
        }
        for (check, why) in &swept.set_aside {
            self.metrics.job_failed("judge");
            tracing::error!(check, why, "a check was set aside");
        }
        if swept.unseen > 0 {
            tracing::warn!(slots = swept.unseen, "slots fell into a gap and could not be judged");
        }
    }

    /// Sends a message for trying a channel, once, and keeps what came of it as the channel's last result.
    ///
    /// # Errors
    /// The database's; the message may have been sent.
    pub async fn test_channel(&self, message: &Message) -> Result<Outcome> {
        let outcome = self.senders.send(message).await;
        let (now, channel) = (self.clock.now(), &message.channel);
        db::write!(self.db, |tx| {
            setup::note(tx, channel.id, &outcome, now).await?;
            tx.changes_project(channel.project_id);
            Ok::<_, Error>(())
        })?;
        Ok(outcome)
    }

    /// Keeps what somebody reported of a message that was sent.
    ///
    /// # Errors
    /// The database's.
    pub async fn take_back(&self, sent: &SentDelivery, outcome: &Outcome) -> Result<()> {
        let now = self.clock.now();
        if db::write!(self.db, |tx| returned::take_back(tx, sent, outcome, now).await)? {
            tracing::info!(delivery = sent.id, ?outcome, "a message failed after it was taken");
        }
        Ok(())
    }

    /// Keeps what a returned letter reports, if we signed the address that it came to.
    ///
    /// # Errors
    /// The database's.
    pub async fn bounced(&self, claim: &Claim, report: Report) -> Result<Bounced> {
        let (now, returns) = (self.clock.now(), self.senders.returns.as_ref());
        let found: Result<Option<SentDelivery>> = db::read!(self.db, |tx| match returns {
            Some(returns) => returned::find_signed(tx, returns, claim, now).await,
            None => Ok(None),
        });
        let Some(sent) = found? else { return Ok(Bounced::Unsigned) };
        self.take_back(&sent, &returned::of_letter(report)).await?;
        Ok(Bounced::Taken)
    }

    /// Sends deliveries until none is due; returns how many were looked at.
    ///
    /// # Errors
    /// The database's.
    pub async fn deliver(&self) -> Result<usize> {
        let deliverer = Deliverer {
            db: &self.db,
            plans: &self.settings.plans,
            senders: &self.senders,
            rates: &self.rates,
            metrics: &self.metrics,
            clock: &self.clock,
        };
        let mut looked_at = 0;
        loop {
            let batch = deliverer.run_once().await?;
            looked_at += batch;
            if batch == 0 {
                break;
            }
        }
        let now = self.clock.now();
        let oldest = db::read!(self.db, |tx| crate::alerts::store::find_oldest_due(tx, now).await)?;
        let waits = oldest.map_or(Span::ZERO, |at| (now - at).max(Span::ZERO));
        self.metrics.oldest_undelivered(waits);
        Ok(looked_at)
    }

    /// Sends letters until none is due; returns how many were looked at.
    ///
    /// # Errors
    /// The database's.
    pub async fn send_letters(&self) -> Result<usize> {
        let mut looked_at = 0;
        loop {
            let batch = letters::run_once(&self.db, &self.senders, &self.clock).await?;
            looked_at += batch;
            if batch == 0 {
                return Ok(looked_at);
            }
        }
    }

    /// The slower care: held deliveries, letters about unseen slots, invitations, runs, gaps and counts that grew too
    /// old. Returns how much there was to do.
    ///
    /// # Errors
    /// The database's.
    pub async fn care(&self) -> Result<usize> {
        let now = self.clock.now();
        let mut done = deliver::release_held(&self.db, &self.settings.plans, now).await?;
        let untold = db::read!(self.db, |tx| sweep_store::list_untold_accounts(tx).await)?;
        for account in untold {
            let told = db::write!(self.db, |tx| sweep::unseen::tell_account(tx, &account, now).await)?;
            done += usize::from(told);
        }
        let expired = db::read!(self.db, |tx| team::store::list_expired(tx, now).await)?;
        for project_id in expired {
            let places = db::write!(self.db, |tx| team::expire(tx, project_id, now).await)?;
            done += usize::from(places > 0);
        }
        let before = now - checks::state::RUN_LIFE;
        let runs = db::read!(self.db, |tx| checks::store::list_expired_runs(tx, before, EXPIRY_BATCH).await)?;
        for run in &runs {
            let expired = db::write!(self.db, |tx| checks::store::expire_run(tx, run).await)?;
            done += usize::from(expired);
        }
        while db::write!(self.db, |tx| removal::purge(tx, now).await)? > 0 {}
        db::write!(self.db, |tx| sweep_store::prune_gaps(tx, now - GAP_LIFE).await)?;
        rate::prune(&self.db, now).await?;
        Ok(done)
    }

    /// Runs every job until nothing is left to do: what tests call in place of waiting.
    ///
    /// # Errors
    /// The first job's that fails.
    pub async fn tick(&self) -> Result<(), JobError> {
        self.stamp().await.map_err(|Unavailable| JobError::Blind)?;
        self.sweep().await?;
        self.care().await?;
        self.deliver().await?;
        self.send_letters().await?;
        Ok(())
    }

    /// Why the instance is not ready, if it is not: the database, a late sweep, an old outbox.
    ///
    /// # Errors
    /// The database's.
    pub async fn unready(&self) -> Result<Option<String>> {
        let now = self.clock.now();
        let (due, oldest) = db::read!(self.db, |tx| {
            Ok::<_, Error>((
                sweep::due(tx, now).await?,
                crate::alerts::store::find_oldest_due(tx, now).await?,
            ))
        })?;
        let overdue = due.iter().filter_map(|check| check.state.wake_at).min();
        if let Some(at) = overdue.filter(|at| now - *at > READY_LATENESS) {
            return Ok(Some(format!("the sweep is {} s late", (now - at).as_seconds())));
        }
        if let Some(at) = oldest.filter(|at| now - *at > READY_LATENESS) {
            return Ok(Some(format!("a delivery has waited for {} s", (now - at).as_seconds())));
        }
        Ok(None)
    }
}
