//! The recorder's worker on threads of its own. On those that serve requests each step of a group would wait for
//! whatever is read and answered just then, some hundred requests at a time, and so would everybody in the group.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

use super::Worker;

/// Threads for an embedded database, whose engine has one more for its writer, and for another.
const EMBEDDED_THREADS: usize = 1;
const THREADS: usize = 2;

/// A worker at work; its threads end with the value. Connections of the pool may have been opened on them, so the
/// database is to be closed before.
pub struct Recording {
    threads: Option<Runtime>,
    working: JoinHandle<()>,
}

impl Worker {
    /// Works on threads of its own until the recorder is closed and its jobs are done.
    ///
    /// # Errors
    /// The machine has no threads left.
    pub fn start(self) -> io::Result<Recording> {
        let number = if self.committer.db.is_embedded() { EMBEDDED_THREADS } else { THREADS };
        let threads = Builder::new_multi_thread()
            .worker_threads(number)
            .thread_name("recorder")
            .enable_all()
            .build()?;
        let working = threads.spawn(self.run());
        Ok(Recording { threads: Some(threads), working })
    }
}

impl Recording {
    /// Waits until the worker is done; whether it was in time.
    pub async fn ends_within(&mut self, patience: Duration) -> bool {
        tokio::time::timeout(patience, &mut self.working).await.is_ok()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // Whoever drops it may be a task, which must not block.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}
