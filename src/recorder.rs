//! The recorder: gathers concurrent pings and commits them as a group, one transaction and one fsync for all.
//!
//! Each ping keeps its own guard and its own answer, sent only once the group is durable. A lone ping waits for
//! nobody: while one group commits, the next gathers. A group that fails for one ping's sake is replayed one by
//! one, so that a poisoned ping harms nobody else; one that fails because the database cannot take it is
//! answered "unavailable" at once, and the span in which that happened ([`refusals`]) is noted as a gap. A ping that
//! will probably be refused is looked at by [`asker`] first, which costs no write.

mod asker;
mod generations;
mod odds;
mod recording;
mod refusals;
mod remembered;
mod too_fast;

pub use recording::Recording;
pub use too_fast::Refused;

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::config::Plans;
use crate::db::{self, Db, Fault, Versions, WriteTx, fault};
use crate::error::{Error, Result};
use crate::metrics::Metrics;
use crate::pings::{self, Outcome, Ping, Recorded};
use crate::sweep::witness::{self, Stamped};
use crate::time::Clock;
use asker::Asker;
use odds::Odds;
use refusals::Refusals;
use remembered::Remembered;
use too_fast::TooFast;

/// Pings that may wait; further ones are refused with 503, so that memory stays bounded.
pub const QUEUE: usize = 8192;
/// The most pings in one transaction.
const GROUP: usize = 256;
/// Groups that PostgreSQL commits side by side; SQLite has one writer.
const POSTGRES_WORKERS: usize = 4;

/// The database cannot take it now; nothing was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unavailable;

type Answer<T> = oneshot::Sender<std::result::Result<T, Unavailable>>;

enum Job {
    Ping(Ping, Answer<Outcome>),
    Stamp(Answer<Stamped>),
    Close,
}

/// The way in; clones share the queue.
#[derive(Clone)]
pub struct Recorder {
    queue: mpsc::Sender<Job>,
    asking: mpsc::Sender<Job>,
    shared: Arc<Shared>,
}

/// What both sides know.
struct Shared {
    clock: Clock,
    refusals: Refusals,
    too_fast: TooFast,
    odds: Odds,
    /// Of no use where others write too: they would outdate it, and rows are locked in the order in which they are read.
    remembered: Option<Remembered>,
}

/// The side that works: runs until the recorder is closed, or every clone of it dropped, and the queue is empty.
pub struct Worker {
    asker: Asker,
    committer: Committer,
}

/// Commits groups.
struct Committer {
    jobs: tokio::sync::Mutex<mpsc::Receiver<Job>>,
    db: Db,
    plans: Arc<Plans>,
    metrics: Arc<Metrics>,
    shared: Arc<Shared>,
}

/// Makes a recorder and its worker.
pub fn recorder(db: Db, plans: Arc<Plans>, metrics: Arc<Metrics>, clock: Clock) -> (Recorder, Worker) {
    let (queue, jobs) = mpsc::channel(QUEUE);
    let jobs = tokio::sync::Mutex::new(jobs);
    let shared = Arc::new(Shared {
        clock,
        refusals: Refusals::default(),
        too_fast: TooFast::default(),
        odds: Odds::default(),
        remembered: db.is_embedded().then(Remembered::default),
    });
    let (asking, asker) = Asker::new(queue.clone(), db.clone(), Arc::clone(&shared));
    let committer = Committer { jobs, db, plans, metrics, shared: Arc::clone(&shared) };
    (Recorder { queue, asking, shared }, Worker { asker, committer })
}

impl Shared {
    /// Whether a look at the ping's check will probably do; if it does not, nothing but the look is lost.
    fn expects_refusal(&self, ping: &Ping) -> bool {
        self.odds.are_for_refusal() || self.too_fast.expects(ping.check, ping.received_at)
    }

    /// Keeps in mind how a ping was answered.
    fn note(&self, ping: &Ping, outcome: &Outcome) {
        self.odds.note(matches!(outcome, Outcome::TooFast { .. } | Outcome::Unknown));
        self.too_fast.note_outcome(ping, outcome);
    }
}

impl Recorder {
    /// Records a ping; the answer comes once it is durable.
    ///
    /// # Errors
    /// The queue is full or the database cannot take it.
    pub async fn record(&self, ping: Ping) -> std::result::Result<Outcome, Unavailable> {
        let received_at = ping.received_at;
        let (answer, answered) = oneshot::channel();
        let way = if self.shared.expects_refusal(&ping) { &self.asking } else { &self.queue };
        if way.try_send(Job::Ping(ping, answer)).is_err() {
            self.shared.refusals.add(received_at, self.shared.clock.now());
            return Err(Unavailable);
        }
        answered.await.map_err(|_| Unavailable)?
    }

    /// Whether pings were refused of which the sweep cannot know yet; the next stamp tells it.
    pub fn has_refused(&self) -> bool {
        self.shared.refusals.unnoted(self.shared.clock.now()).is_some()
    }

    /// Moves the witness's stamp along the path that pings take.
    ///
    /// # Errors
    /// As for a ping, which is the point of it.
    pub async fn stamp(&self) -> std::result::Result<Stamped, Unavailable> {
        let (answer, answered) = oneshot::channel();
        self.queue.send(Job::Stamp(answer)).await.map_err(|_| Unavailable)?;
        answered.await.map_err(|_| Unavailable)?
    }

    /// What this process refused of a check for coming too fast, if it remembers any.
    pub fn refused(&self, check: Uuid) -> Option<Refused> {
        self.shared.too_fast.of(check)
    }

    /// Takes nothing new; what waits is still recorded.
    pub async fn close(&self) {
        // Those that ask pass it on once they are done. An error means that the worker is gone already.
        let _: Result<(), _> = self.asking.send(Job::Close).await;
    }
}

impl Worker {
    /// Works until the recorder is closed and its jobs are done.
    pub async fn run(self) {
        let Self { asker, committer } = self;
        let workers = if committer.db.is_embedded() { 1 } else { POSTGRES_WORKERS };
        let committer = Arc::new(committer);
        let mut running = JoinSet::new();
        running.spawn(asker.run());
        for _ in 0..workers {
            let committer = Arc::clone(&committer);
            running.spawn(async move { committer.work().await });
        }
        while let Some(ended) = running.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a recorder's worker ended");
            }
        }
    }
}

impl Committer {
    async fn work(&self) {
        let mut jobs = Vec::with_capacity(GROUP);
        loop {
            let waiting = {
                let mut queue = self.jobs.lock().await;
                if queue.recv_many(&mut jobs, GROUP).await == 0 {
                    return;
                }
                // While the queue is still ours: another worker that waits for jobs holds it for as long.
                if jobs.iter().any(|job| matches!(job, Job::Close)) {
                    queue.close();
                }
                queue.len()
            };
            self.metrics.queue_length(waiting);
            let mut pings = Vec::with_capacity(jobs.len());
            let mut stamps = Vec::new();
            for job in jobs.drain(..) {
                match job {
                    Job::Ping(ping, answer) => pings.push((ping, answer)),
                    Job::Stamp(answer) => stamps.push(answer),
                    Job::Close => {}
                }
            }
            if !pings.is_empty() {
                self.commit(pings).await;
            }
            for answer in stamps {
                let stamped = self.stamp().await;
                // A caller that gave up waiting needs no answer.
                let _ = answer.send(stamped);
            }
        }
    }

    async fn commit(&self, group: Vec<(Ping, Answer<Outcome>)>) {
        let (pings, answers): (Vec<Ping>, Vec<_>) = group.into_iter().unzip();
        self.metrics.group(pings.len());
        let outcomes = match self.record(&pings).await {
            Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
            Err(error) if pings.len() > 1 && !self.is_unavailable(&error) => self.replay(&pings).await,
            Err(error) => {
                tracing::error!(%error, pings = pings.len(), "pings could not be recorded");
                vec![Err(Unavailable); pings.len()]
            }
        };
        for (ping, (answer, outcome)) in pings.iter().zip(answers.into_iter().zip(outcomes)) {
            if let Ok(outcome) = &outcome {
                self.shared.note(ping, outcome);
            }
            drop(answer.send(outcome));
        }
    }

    /// Records each ping by itself, after a group failed for one of them.
    async fn replay(&self, pings: &[Ping]) -> Vec<std::result::Result<Outcome, Unavailable>> {
        let mut outcomes = Vec::with_capacity(pings.len());
        for ping in pings {
            let alone = self.record(std::slice::from_ref(ping)).await;
            outcomes.push(match alone.map(|outcomes| outcomes.into_iter().next()) {
                Ok(Some(outcome)) => Ok(outcome),
                Ok(None) => Err(Unavailable),
                Err(error) => {
                    tracing::error!(%error, "a ping could not be recorded");
                    Err(Unavailable)
                }
            });
        }
        outcomes
    }

    async fn record(&self, group: &[Ping]) -> Result<Vec<Outcome>> {
        let refused = self.shared.refusals.unnoted(self.shared.clock.now());
        let memory = self.shared.remembered.as_ref();
        let recorded: Result<(Recorded, Option<Versions>)> = db::write!(self.db, |tx| {
            if let Some(gap) = refused {
                witness::note_outage(tx, gap).await?;
            }
            // What one attempt relied on, the next does not: it is taken out.
            let remembered = memory.map(|memory| memory.take(group));
            let recorded = pings::record(tx, &self.plans, group, remembered).await?;
            Ok((recorded, self.meet(tx).await?))
        });
        let outcomes = recorded.map(|(Recorded { outcomes, repeatable }, versions)| {
            if let (Some(memory), Some(versions)) = (memory, versions) {
                memory.put(repeatable, versions);
            }
            outcomes
        });
        match &outcomes {
            Ok(_) => refused.into_iter().for_each(|gap| self.shared.refusals.noted(gap)),
            Err(error) if self.is_unavailable(error) => {
                let now = self.shared.clock.now();
                let first = group.iter().map(|ping| ping.received_at).min().unwrap_or(now);
                self.shared.refusals.add(first, now);
            }
            Err(_) => {}
        }
        outcomes
    }

    async fn stamp(&self) -> std::result::Result<Stamped, Unavailable> {
        let now = self.shared.clock.now();
        let refused = self.shared.refusals.unnoted(now);
        let stamped: Result<(Stamped, Option<Versions>)> = db::write!(self.db, |tx| {
            if let Some(gap) = refused {
                witness::note_outage(tx, gap).await?;
            }
            let stamped = witness::stamp(tx, self.shared.clock.now()).await?;
            Ok((stamped, self.meet(tx).await?))
        });
        match stamped {
            Ok((stamped, versions)) => {
                // Anything else may have moved the checks themselves.
                if let (Some(memory), Some(versions), Stamped::Regular) =
                    (&self.shared.remembered, versions, &stamped)
                {
                    memory.put([], versions);
                }
                refused.into_iter().for_each(|gap| self.shared.refusals.noted(gap));
                Ok(stamped)
            }
            Err(error) => {
                tracing::error!(%error, "the witness could not stamp");
                if self.is_unavailable(&error) {
                    self.shared.refusals.add(now, self.shared.clock.now());
                }
                Err(Unavailable)
            }
        }
    }

    /// Takes note of the state of the database, at the end of what a transaction does.
    async fn meet(&self, tx: &mut WriteTx) -> Result<Option<Versions>> {
        let Some(memory) = &self.shared.remembered else { return Ok(None) };
        let versions = tx.versions().await?;
        versions.iter().for_each(|versions| memory.meet(versions.before));
        Ok(versions)
    }

    fn is_unavailable(&self, error: &Error) -> bool {
        matches!(error, Error::Database(error) if fault(error) == Fault::Unavailable)
    }
}
