//! The short way of pings that will probably be refused: one look at the rows of many, nothing that writes.
//!
//! What the look shows to be a repeat under its floor, or of no check at all, is refused; everything else goes to the
//! queue of those that are decided by a guarded write, and so does all of it if the look fails. It never accepts a ping.
//! Where checks are remembered, the look is at that, with the right to write in hand, so that nobody changes them.

use std::sync::Arc;

use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use super::{Answer, GROUP, Job, QUEUE, Shared, Unavailable};
use crate::db::{self, Db};
use crate::error::Result;
use crate::pings::{self, Outcome, Ping};

/// Looks side by side: while one asks the database, another answers.
const ASKERS: usize = 2;

pub(super) struct Asker {
    asks: Mutex<Receiver<Job>>,
    /// Where pings go that are not refused.
    queue: Sender<Job>,
    db: Db,
    shared: Arc<Shared>,
}

impl Asker {
    /// Makes one and the way in.
    pub(super) fn new(queue: Sender<Job>, db: Db, shared: Arc<Shared>) -> (Sender<Job>, Self) {
        let (asking, asks) = mpsc::channel(QUEUE);
        (asking, Self { asks: Mutex::new(asks), queue, db, shared })
    }

    /// Works until the recorder is closed, or every clone of it dropped; then the queue is closed too.
    pub(super) async fn run(self) {
        let asker = Arc::new(self);
        let mut running = JoinSet::new();
        for _ in 0..ASKERS {
            let asker = Arc::clone(&asker);
            running.spawn(async move { asker.work().await });
        }
        while let Some(ended) = running.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "one that asks for the recorder ended");
            }
        }
        // An error means that the workers are gone already.
        let _: std::result::Result<(), _> = asker.queue.send(Job::Close).await;
    }

    async fn work(&self) {
        let mut jobs = Vec::with_capacity(GROUP);
        loop {
            {
                let mut asks = self.asks.lock().await;
                if asks.recv_many(&mut jobs, GROUP).await == 0 {
                    return;
                }
                if jobs.iter().any(|job| matches!(job, Job::Close)) {
                    asks.close();
                }
            }
            let (mut pings, mut answers) = (Vec::with_capacity(jobs.len()), Vec::with_capacity(jobs.len()));
            for job in jobs.drain(..) {
                if let Job::Ping(ping, answer) = job {
                    pings.push(ping);
                    answers.push(answer);
                }
            }
            let refused = self.refuse(&pings).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the checks of some pings could not be looked at");
                vec![None; pings.len()]
            });
            for ((ping, answer), refused) in pings.into_iter().zip(answers).zip(refused) {
                match refused {
                    Some(outcome) => {
                        self.shared.note(&ping, &outcome);
                        // A caller that gave up waiting needs no answer.
                        drop(answer.send(Ok(outcome)));
                    }
                    None => self.pass_on(ping, answer),
                }
            }
        }
    }

    async fn refuse(&self, group: &[Ping]) -> Result<Vec<Option<Outcome>>> {
        let Some(memory) = &self.shared.remembered else {
            return db::read!(self.db, |tx| pings::refuse(tx, group).await);
        };
        let held = self.db.hold().await?;
        let live = held.as_ref().map(|(_, version)| memory.live(group, *version)).unwrap_or_default();
        drop(held);
        if group.iter().all(|ping| live.contains_key(&ping.check)) {
            return Ok(pings::refuse_live(group, &live));
        }
        db::write!(self.db, |tx| {
            let versions = tx.versions().await?;
            let live = versions.map(|versions| memory.live(group, versions.before));
            let (refused, found) = pings::refuse_known(tx, group, live.unwrap_or_default()).await?;
            if let Some(versions) = versions {
                memory.put(found, versions);
            }
            Ok(refused)
        })
    }

    fn pass_on(&self, ping: Ping, answer: Answer<Outcome>) {
        let received_at = ping.received_at;
        if let Err(error) = self.queue.try_send(Job::Ping(ping, answer)) {
            self.shared.refusals.add(received_at, self.shared.clock.now());
            if let Job::Ping(_, answer) = error.into_inner() {
                drop(answer.send(Err(Unavailable)));
            }
        }
    }
}
