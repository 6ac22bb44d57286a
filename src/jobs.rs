//! The schedule of the jobs. A run that is not over when the next is due is left alone: each job has a lock that
//! is tried, never waited for.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

use crate::app::App;
use crate::sweep::witness::STAMP_EVERY;
use crate::time::Span;

const DELIVER_EVERY: Span = Span::seconds(1);
const LETTERS_EVERY: Span = Span::seconds(5);
const CARE_EVERY: Span = Span::seconds(30);

/// Starts the schedule; it ends with [`JobScheduler::shutdown`].
///
/// # Errors
/// The scheduler's.
pub async fn start(app: &Arc<App>) -> Result<JobScheduler, JobSchedulerError> {
    let scheduler = JobScheduler::new().await?;
    let sweep_every = app.settings.sweep_interval;
    scheduler
        .add(job(app, "stamp", STAMP_EVERY, |app| async move {
            app.stamp().await.map(drop).map_err(|_| "pings cannot be taken".to_owned())
        })?)
        .await?;
    scheduler
        .add(job(app, "sweep", sweep_every, |app| async move {
            app.sweep().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler
        .add(job(app, "deliver", DELIVER_EVERY, |app| async move {
            app.deliver().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler
        .add(job(app, "letters", LETTERS_EVERY, |app| async move {
            app.send_letters().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler
        .add(job(app, "care", CARE_EVERY, |app| async move {
            app.care().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler.start().await?;
    Ok(scheduler)
}

fn job<F, Fut>(app: &Arc<App>, name: &'static str, every: Span, work: F) -> Result<Job, JobSchedulerError>
where
    F: Fn(Arc<App>) -> Fut + Send + Sync + Copy + 'static,
    Fut: Future<Output = Result<(), String>> + Send + 'static,
{
    let app = Arc::clone(app);
    let running = Arc::new(Mutex::new(()));
    let every = Duration::from_millis(u64::try_from(every.0).unwrap_or(1000));
    Job::new_repeated_async(every, move |_, _| {
        let (app, running) = (Arc::clone(&app), Arc::clone(&running));
        Box::pin(async move {
            let Ok(_running) = running.try_lock_owned() else { return };
            let metrics = Arc::clone(&app.metrics);
            if let Err(error) = work(app).await {
                metrics.job_failed(name);
                tracing::error!(job = name, error, "a job failed");
            }
        })
    })
}
