//! The schedule of the jobs. A run that is not over when the next is due is left alone: each job has its place, which
//! is tried for and never waited for. Deliveries have several, so that a target that keeps silent for as long as it
//! may holds up those behind it by no more than a second; their claims keep the runs apart.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_cron_scheduler::{Job, JobScheduler, JobSchedulerError};

use crate::app::App;
use crate::sweep::witness::STAMP_EVERY;
use crate::time::Span;

/// Runs that send deliveries side by side; more would only wait for each other's locks.
const DELIVERING: usize = 4;
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
        .add(job(app, "stamp", 1, STAMP_EVERY, |app| async move {
            app.stamp().await.map(drop).map_err(|_| "pings cannot be taken".to_owned())
        })?)
        .await?;
    scheduler
        .add(job(app, "sweep", 1, sweep_every, |app| async move {
            app.sweep().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler
        .add(job(app, "deliver", DELIVERING, DELIVER_EVERY, |app| async move {
            app.deliver().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler
        .add(job(app, "letters", 1, LETTERS_EVERY, |app| async move {
            app.send_letters().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler
        .add(job(app, "care", 1, CARE_EVERY, |app| async move {
            app.care().await.map(drop).map_err(|error| error.to_string())
        })?)
        .await?;
    scheduler.start().await?;
    Ok(scheduler)
}

fn job<F, Fut>(
    app: &Arc<App>,
    name: &'static str,
    places: usize,
    every: Span,
    work: F,
) -> Result<Job, JobSchedulerError>
where
    F: Fn(Arc<App>) -> Fut + Send + Sync + Copy + 'static,
    Fut: Future<Output = Result<(), String>> + Send + 'static,
{
    let app = Arc::clone(app);
    let places = Arc::new(Semaphore::new(places));
    let every = Duration::from_millis(u64::try_from(every.0).unwrap_or(1000));
    Job::new_repeated_async(every, move |_, _| {
        let (app, places) = (Arc::clone(&app), Arc::clone(&places));
        Box::pin(async move {
            let Ok(_place) = places.try_acquire_owned() else { return };
            let metrics = Arc::clone(&app.metrics);
            if let Err(error) = work(app).await {
                metrics.job_failed(name);
                tracing::error!(job = name, error, "a job failed");
            }
        })
    })
}
