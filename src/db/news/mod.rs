//! News: which checks a committed transaction changed, for pages that somebody looks at.
//!
//! A transaction notes what it changes; once that is durable the note is passed on, merged by project and at most ten
//! times a second, to whoever watches the project: in this process, and with PostgreSQL by [`wire`] in every other.
//! News is a hint to look again and holds nothing but uuids. It may come twice; where some of it may have been lost
//! a watcher hears [`Changed::All`]. It never holds up a commit, and costs nothing where nobody watches.

mod wire;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::{Pool, Postgres};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::broadcast::{self, Receiver, Sender};
use uuid::Uuid;

use wire::Wire;

/// The shortest time between two passings-on.
const PACE: Duration = Duration::from_millis(100);
/// The most checks that one piece of news names; of more it says "all".
const CHECKS: usize = 50;
/// Pieces of news that a watcher may leave unheard before it is told "all" in their place.
const UNHEARD: usize = 16;

/// What changed in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// These of its checks.
    Checks(BTreeSet<Uuid>),
    /// Which checks there are, or more of them than can be named, or nobody knows what.
    All,
}

/// The place where news is told and heard; clones are the same place.
#[derive(Clone)]
pub struct News(Arc<Place>);

struct Place {
    pending: Mutex<Pending>,
    /// `None` once the place is closed.
    watched: Mutex<Option<HashMap<i64, Sender<Changed>>>>,
    wire: Option<Wire>,
}

#[derive(Default)]
struct Pending {
    changed: HashMap<i64, Changed>,
    /// Whether a task is there that passes on what comes.
    is_passed_on: bool,
}

/// Hears of one project, until it is dropped or the place is closed.
pub struct Watch {
    project_id: i64,
    receiver: Option<Receiver<Changed>>,
    news: News,
}

impl Changed {
    fn of(check: Option<Uuid>) -> Self {
        check.map_or(Self::All, |check| Self::Checks(BTreeSet::from([check])))
    }

    fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Checks(checks), Self::Checks(others)) => {
                checks.extend(others);
                if checks.len() > CHECKS {
                    *self = Self::All;
                }
            }
            (Self::All, _) | (_, Self::All) => *self = Self::All,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl News {
    /// A place for this process alone.
    pub(super) fn here() -> Self {
        Self::new(None)
    }

    /// A place that this process shares with all others on its database.
    pub(super) fn everywhere(pool: Pool<Postgres>) -> Self {
        Self::new(Some(Wire::new(pool)))
    }

    fn new(wire: Option<Wire>) -> Self {
        let watched = Mutex::new(Some(HashMap::new()));
        Self(Arc::new(Place { pending: Mutex::default(), watched, wire }))
    }

    /// Watches a project; what was committed before may still come as news.
    ///
    /// # Errors
    /// The database cannot be listened to now, so news of other processes would be missed; or the place is closed.
    pub async fn watch(&self, project_id: i64) -> sqlx::Result<Watch> {
        if let Some(wire) = &self.0.wire {
            wire.listen(self).await?;
        }
        let mut watched = lock(&self.0.watched);
        let projects = watched.as_mut().ok_or(sqlx::Error::PoolClosed)?;
        let sender = projects.entry(project_id).or_insert_with(|| broadcast::channel(UNHEARD).0);
        Ok(Watch { project_id, receiver: Some(sender.subscribe()), news: self.clone() })
    }

    /// Ends every watch, and lets nobody begin another one.
    pub fn close(&self) {
        *lock(&self.0.watched) = None;
    }

    /// Passes on what a transaction changed, now that it is durable.
    pub(super) fn tell(&self, changed: Vec<(i64, Option<Uuid>)>) {
        if changed.is_empty() || (self.0.wire.is_none() && !self.is_watched()) {
            return;
        }
        let mut pending = lock(&self.0.pending);
        for (project_id, check) in changed {
            let changed = Changed::of(check);
            match pending.changed.entry(project_id) {
                Entry::Occupied(mut all) => all.get_mut().add(changed),
                Entry::Vacant(none) => drop(none.insert(changed)),
            }
        }
        if !std::mem::replace(&mut pending.is_passed_on, true) {
            tokio::spawn(self.clone().pass_on());
        }
    }

    fn is_watched(&self) -> bool {
        lock(&self.0.watched).as_ref().is_some_and(|projects| !projects.is_empty())
    }

    /// Passes on what is pending, at its pace, until nothing is.
    async fn pass_on(self) {
        while let Some(changed) = self.take() {
            for (project_id, changed) in &changed {
                self.hear(*project_id, changed.clone());
            }
            if let Some(wire) = &self.0.wire {
                wire.send(&changed).await;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    fn take(&self) -> Option<HashMap<i64, Changed>> {
        let mut pending = lock(&self.0.pending);
        let changed = std::mem::take(&mut pending.changed);
        pending.is_passed_on = !changed.is_empty();
        pending.is_passed_on.then_some(changed)
    }

    /// Tells those who watch a project here.
    fn hear(&self, project_id: i64, changed: Changed) {
        if let Some(sender) = lock(&self.0.watched).as_ref().and_then(|projects| projects.get(&project_id)) {
            // Nobody hears it where the last watch is just ending.
            drop(sender.send(changed));
        }
    }

    /// Tells everybody here to look again, after news may have been lost.
    fn hear_all(&self) {
        for sender in lock(&self.0.watched).iter().flat_map(HashMap::values) {
            drop(sender.send(Changed::All));
        }
    }

    /// Ends every watch, because nothing can be heard; new ones may begin.
    fn end_all(&self) {
        if let Some(projects) = lock(&self.0.watched).as_mut() {
            projects.clear();
        }
    }
}

impl Watch {
    /// The next news, together with what came meanwhile; `None` once there will be no more.
    pub async fn next(&mut self) -> Option<Changed> {
        let receiver = self.receiver.as_mut()?;
        let mut changed = match receiver.recv().await {
            Ok(changed) => changed,
            Err(RecvError::Lagged(_)) => Changed::All,
            Err(RecvError::Closed) => return None,
        };
        loop {
            match receiver.try_recv() {
                Ok(more) => changed.add(more),
                Err(TryRecvError::Lagged(_)) => changed = Changed::All,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Some(changed),
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.receiver = None;
        if let Some(projects) = lock(&self.news.0.watched).as_mut()
            && projects.get(&self.project_id).is_some_and(|sender| sender.receiver_count() == 0)
        {
            projects.remove(&self.project_id);
        }
    }
}

#[cfg(test)]
mod tests;
