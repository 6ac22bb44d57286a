//! News between the processes on one PostgreSQL: NOTIFY, merged and outside any transaction of ours, since it puts
//! commits in a row; LISTEN on one connection, from the first watch on.
//!
//! A message is `<process> <project> [<check>..]`; without a check it means all. What a process says itself it has
//! told its own watchers already.

use std::collections::{BTreeSet, HashMap};

use sqlx::postgres::PgListener;
use sqlx::{Pool, Postgres};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::{Changed, News};

/// Schemas are told apart, since channels belong to the whole database.
const CHANNEL: &str = "SELECT 'flatline_' || md5(current_schema())";
const NOTIFY: &str =
    "SELECT pg_notify('flatline_' || md5(current_schema()), message) FROM unnest($1) AS messages (message)";

pub(super) struct Wire {
    pool: Pool<Postgres>,
    process: Uuid,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl Wire {
    pub(super) fn new(pool: Pool<Postgres>) -> Self {
        Self { pool, process: crate::id::uuid(), listening: Mutex::new(None) }
    }

    /// Tells the other processes, as well as it can be done.
    pub(super) async fn send(&self, changed: &HashMap<i64, Changed>) {
        let messages: Vec<String> =
            changed.iter().map(|(project_id, changed)| message(self.process, *project_id, changed)).collect();
        match sqlx::query(NOTIFY).bind(messages).execute(&self.pool).await {
            Ok(_) | Err(sqlx::Error::PoolClosed) => {}
            Err(error) => tracing::warn!(%error, "pages of other processes are not told what changed"),
        }
    }

    /// Makes sure that the other processes are heard.
    pub(super) async fn listen(&self, news: &News) -> sqlx::Result<()> {
        let mut listening = self.listening.lock().await;
        if listening.as_ref().is_some_and(|task| !task.is_finished()) {
            return Ok(());
        }
        let mut listener = PgListener::connect_with(&self.pool).await?;
        let channel: String = sqlx::query_scalar(CHANNEL).fetch_one(&mut listener).await?;
        listener.listen(&channel).await?;
        *listening = Some(tokio::spawn(hear(listener, self.process, news.clone())));
        Ok(())
    }
}

/// Hears the other processes until the connection cannot be had any more.
async fn hear(mut listener: PgListener, process: Uuid, news: News) {
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) => match read(notification.payload()) {
                Some((from, ..)) if from == process => {}
                Some((_, project_id, changed)) => news.hear(project_id, changed),
                None => tracing::warn!("news from another version of the program cannot be read"),
            },
            // The connection was lost and made anew; what was said meanwhile is gone.
            Ok(None) => news.hear_all(),
            Err(error) => {
                if !matches!(error, sqlx::Error::PoolClosed) {
                    tracing::warn!(%error, "other processes cannot be heard");
                }
                news.end_all();
                return;
            }
        }
    }
}

fn message(process: Uuid, project_id: i64, changed: &Changed) -> String {
    let mut message = format!("{} {project_id}", process.simple());
    if let Changed::Checks(checks) = changed {
        for check in checks {
            message.push(' ');
            message.push_str(&check.simple().to_string());
        }
    }
    message
}

fn read(message: &str) -> Option<(Uuid, i64, Changed)> {
    let mut words = message.split(' ');
    let process = words.next()?.parse().ok()?;
    let project_id = words.next()?.parse().ok()?;
    let checks = words.map(|word| word.parse().ok()).collect::<Option<BTreeSet<Uuid>>>()?;
    let changed = if checks.is_empty() { Changed::All } else { Changed::Checks(checks) };
    Some((process, project_id, changed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::news::CHECKS;

    #[test]
    fn a_message_reads_back_as_what_was_said_and_the_longest_fits() {
        let (process, check) = (Uuid::from_u128(7), |number: usize| Uuid::from_u128(number as u128));
        for changed in [Changed::All, Changed::Checks((1..=CHECKS).map(check).collect())] {
            let said = message(process, i64::MAX, &changed);
            // PostgreSQL takes 7,999 bytes.
            assert!(said.len() < 2_000, "{}", said.len());
            assert_eq!(read(&said), Some((process, i64::MAX, changed)));
        }
        assert_eq!(read("nonsense"), None);
        assert_eq!(read(&format!("{} 1 x", process.simple())), None);
    }
}
