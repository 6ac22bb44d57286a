//! Starting, serving, stopping.
//!
//! Start: open and migrate the database, apply the plans, bind, stamp the witness, then jobs and requests. Stop
//! (SIGTERM, SIGINT): take no new connections, finish what was accepted, let the recorder empty its queue, write
//! the exact second to the witness, close the database.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::accounts::passkeys::Site;
use crate::alerts::links::Links;
use crate::alerts::returned::ReturnAddress;
use crate::alerts::send::Senders;
use crate::app::App;
use crate::caller::Proxies;
use crate::checks::json::Urls;
use crate::config::Settings;
use crate::db::{self, Db};
use crate::http::connection::{Front, Patience};
use crate::mail::{Mailbox, Post};
use crate::metrics::Metrics;
use crate::net::Outgoing;
use crate::rate::Rates;
use crate::recorder::{Unavailable, Worker, recorder};
use crate::schedule::zone_data;
use crate::sweep::witness::Stamped;
use crate::time::Clock;
use crate::{accounts, http, jobs, signup, smtp};

/// Connections served at once; further ones wait in the kernel's queue.
const CONNECTIONS: usize = 10_000;
/// How long a stop waits for requests under way.
const DRAIN: Duration = Duration::from_secs(20);

/// Why the server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(transparent)]
    Open(#[from] db::OpenError),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("{0}")]
    Setting(String),
    #[error("the database could not be prepared: {0}")]
    Prepare(#[from] crate::error::Error),
    #[error("the recorder could not be started: {0}")]
    Threads(std::io::Error),
    #[error("the jobs could not be started: {0}")]
    Jobs(#[from] tokio_cron_scheduler::JobSchedulerError),
}

/// Builds the program on an open database; the worker has to be run for pings to be recorded.
///
/// # Errors
/// A setting that only shows to be wrong here, such as the mail server's URL, or the database's.
pub async fn build(db: Db, settings: Settings, clock: Clock) -> Result<(Arc<App>, Worker), ServeError> {
    let settings = Arc::new(settings);
    let metrics = Arc::new(Metrics::default());
    let now = clock.now();
    let instance = db::write!(db, |tx| accounts::instance(tx, now).await)?;
    let urls = Urls { site: settings.site_url.clone(), ping: settings.ping_url.clone() };
    let senders = senders(&settings, &urls, &instance.secret)?;
    let rates = Rates::new(settings.limits.clone(), &instance.secret);
    let header = settings.client_ip_header.as_deref().and_then(|name| name.parse().ok());
    let (recorder, worker) =
        recorder(db.clone(), Arc::new(settings.plans.clone()), Arc::clone(&metrics), clock.clone());
    let app = App {
        db,
        clock,
        urls,
        secret: instance.secret,
        proxies: Proxies { trusted: settings.trusted_proxies.clone(), header },
        rates,
        passkey_site: Site::of(&settings.site_url),
        settings,
        recorder,
        senders,
        metrics,
        flipped: tokio::sync::Notify::new(),
    };
    app.prepare().await?;
    Ok((Arc::new(app), worker))
}

/// The ways out, as the settings describe them.
fn senders(settings: &Settings, urls: &Urls, secret: &[u8]) -> Result<Senders, ServeError> {
    let from = Mailbox::parse(&settings.mail_from)
        .map_err(|error| ServeError::Setting(format!("FLATLINE_MAIL_FROM: {error}")))?;
    let post = match &settings.smtp_url {
        Some(url) => Post::smtp(url, from)
            .map_err(|error| ServeError::Setting(format!("FLATLINE_SMTP_URL: {error}")))?,
        None => Post::outbox(settings.data_dir.join("outbox"), from),
    };
    let outgoing = Outgoing::new(settings.private_targets.clone())
        .map_err(|error| ServeError::Setting(error.to_string()))?;
    let links = Links::new(&urls.site, secret);
    let returns = settings.bounce_address.as_deref().map(|address| ReturnAddress::new(address, secret));
    let returns = returns
        .transpose()
        .map_err(|error| ServeError::Setting(format!("FLATLINE_BOUNCE_ADDRESS: {error}")))?;
    Ok(Senders { post, outgoing, links, returns, urls: urls.clone(), site: settings.site_host() })
}

/// Serves until the process is asked to stop.
///
/// # Errors
/// It could not start.
pub async fn serve(settings: Settings) -> Result<(), ServeError> {
    let db = Db::open(&settings.database_url.parse()?).await?;
    let listener = listen(settings.listen).await?;
    warn_about(&settings);
    let (app, worker) = build(db, settings, Clock::System).await?;
    let mut recording = worker.start().map_err(ServeError::Threads)?;
    tell_claim(&app).await?;
    // Before the first sweep, so that it knows for how long nobody was there to take pings.
    note(app.stamp().await);
    let mut scheduler = jobs::start(&app).await?;
    let delivering = tokio::spawn(deliver_at_once(Arc::clone(&app)));
    let (stop_mail, mail_stopped) = tokio::sync::oneshot::channel::<()>();
    let taking_mail = match app.settings.smtp_listen {
        Some(address) => {
            let listener = listen_for_mail(address).await?;
            let stop = async move { drop(mail_stopped.await) };
            Some(tokio::spawn(smtp::listen(listener, Arc::clone(&app), stop)))
        }
        None => None,
    };
    if let Ok(address) = listener.local_addr() {
        tracing::info!(%address, site = %app.urls.site, engine = app.db.engine(), "listening");
    }
    let news = app.db.news().clone();
    let stop = async move {
        stop_signal().await;
        // Pages that listen would keep their connections open for good.
        news.close();
    };
    accept(listener, http::router(Arc::clone(&app)), stop).await;

    tracing::info!("stopping");
    drop(stop_mail);
    if let Some(taking_mail) = taking_mail {
        taking_mail.abort();
    }
    delivering.abort();
    if let Err(error) = scheduler.shutdown().await {
        tracing::error!(%error, "the jobs did not stop in order");
    }
    note(app.stamp().await);
    app.recorder.close().await;
    if !recording.ends_within(DRAIN).await {
        tracing::error!("the recorder did not finish in time");
    }
    app.db.close().await;
    drop(recording);
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address, source };
    if let Some(handed_over) = listenfd::ListenFd::from_env().take_tcp_listener(0).map_err(failed)? {
        handed_over.set_nonblocking(true).map_err(failed)?;
        return TcpListener::from_std(handed_over).map_err(failed);
    }
    TcpListener::bind(address).await.map_err(failed)
}

async fn listen_for_mail(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let listener =
        TcpListener::bind(address).await.map_err(|source| ServeError::Listen { address, source })?;
    tracing::info!(%address, "taking pings by mail");
    Ok(listener)
}

/// As long as nobody runs the instance, says how to claim it.
async fn tell_claim(app: &App) -> Result<(), ServeError> {
    let instance = db::read!(app.db, |tx| accounts::store::find_instance(tx).await)?;
    if instance.is_some_and(|instance| instance.operator_id.is_none()) {
        let url = format!("{}/sign-up?claim={}", app.urls.site, signup::claim_token(&app.secret));
        tracing::warn!(%url, "this instance has no operator yet; whoever opens this address becomes it");
    }
    Ok(())
}

fn warn_about(settings: &Settings) {
    if let Some(warning) = zone_data().too_old(Clock::System.now()) {
        tracing::warn!("{warning}");
    }
    if !settings.is_https() {
        tracing::warn!("the site is plain http: cookies are not Secure; use it on a network you trust");
    }
    if settings.smtp_url.is_none() {
        let folder = settings.data_dir.join("outbox");
        tracing::warn!(folder = %folder.display(), "no FLATLINE_SMTP_URL: mails are written to files");
    }
}

fn note(stamped: Result<Stamped, Unavailable>) {
    if stamped.is_err() {
        tracing::error!("the witness could not stamp; a gap will be noted");
    }
}

/// Sends as soon as a flip is written; the schedule's run is the fallback.
async fn deliver_at_once(app: Arc<App>) {
    loop {
        app.flipped.notified().await;
        if let Err(error) = app.deliver().await {
            tracing::error!(%error, "deliveries could not be sent");
        }
    }
}

/// Accepts connections until `stop`, then lets those under way finish.
pub async fn accept(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let front = Arc::new(Front::new(router, Patience::default()));
    tokio::pin!(stop);
    loop {
        let room = Arc::clone(&room);
        let accepted = tokio::select! {
            accepted = async {
                let place = room.acquire_owned().await;
                listener.accept().await.map(|(stream, peer)| (stream, peer, place))
            } => accepted,
            () = &mut stop => break,
        };
        let (stream, peer, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, mostly: wait for some to be freed.
                tracing::error!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        drop(stream.set_nodelay(true));
        let (front, watcher) = (Arc::clone(&front), graceful.watcher());
        tokio::spawn(async move {
            front.converse(stream, peer, watcher).await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
}

async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        tracing::error!("signals cannot be watched; stop the process by force");
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
