//! What every test stands on: a world of its own, with the real stack inside.
//!
//! [`World::new`] makes a fresh database (a file, or a PostgreSQL schema of its own), an account on a plan, and
//! the program listening on a free port, on a clock that only the test moves. `world.tick()` runs the jobs until
//! nothing is left to do. [`on_both!`] makes two tests of one: `…::sqlite` and `…::postgres`.

mod client;
pub mod passkey;
mod process;
mod receiver;
mod wire;

pub use client::{Answer, Client, key_of, uuid_of};
pub use process::{Process, program};
pub use receiver::Receiver;
pub use wire::Wire;

use std::sync::Arc;

use flatline::alerts::{self, Channel, NewChannel};
use flatline::app::App;
use flatline::checks::{Check, Signal};
use flatline::config::Settings;
use flatline::db::{self, Db};
use flatline::mail::Address;
use flatline::pings::Ping;
use flatline::recorder::Worker;
use flatline::signup::{self, Applicant, NewAccount};
use flatline::time::{Clock, Span, Time};
use flatline::{accounts, http, serve};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// When every test begins: 2026-03-26T03:12:00Z.
pub const START: Time = Time(1_774_494_720_000);

/// A success as a job sends it, by GET and with an empty body.
pub fn success(check: &Check, at: Time) -> Ping {
    Ping {
        check: check.uuid,
        signal: Signal::Success,
        letter: None,
        rid: None,
        exit_status: None,
        scheme: "http",
        remote_addr: None,
        method: "GET".into(),
        user_agent: "job".into(),
        body: Vec::new(),
        received_at: at,
    }
}

/// Numbers that look like chance and are the same each time.
pub struct Chance(pub u64);

impl Chance {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % limit as u64).unwrap()
    }
}

/// The engine a test runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// Makes a test for each engine of one async function that takes the [`Engine`].
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($engine:ident: Engine) $body:block)+) => {
        $(mod $name {
            use super::*;

            async fn test($engine: Engine) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                test(Engine::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn postgres() {
                test(Engine::Postgres).await;
            }
        })+
    };
}
pub(crate) use on_both;

/// Whether the long repetitions were asked for (`tests/run --long`).
pub fn is_long() -> bool {
    variable("FLATLINE_TEST_LONG").is_some()
}

/// A variable that `tests/run` sets.
#[expect(clippy::disallowed_methods, reason = "tests are told by tests/run where their services are")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// A database for one test, gone with it.
pub struct Place {
    pub url: String,
    /// The data folder; for SQLite also the database's.
    pub folder: tempfile::TempDir,
}

impl Place {
    /// Makes one. PostgreSQL: a schema of its own on the server that `tests/run` started.
    pub async fn new(engine: Engine) -> Self {
        let folder = tempfile::Builder::new()
            .prefix("it-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .expect("target/tmp can be written");
        let url = match engine {
            Engine::Sqlite => format!("sqlite://{}/flatline.db", folder.path().display()),
            Engine::Postgres => {
                let base = variable("FLATLINE_TEST_POSTGRES_URL").expect(
                    "FLATLINE_TEST_POSTGRES_URL is set by tests/run; use `tests/run --with cargo test …`",
                );
                let schema = format!("t{}", flatline::id::uuid().simple());
                db::create_schema(&base, &schema).await.expect("the test server takes schemas");
                let separator = if base.contains('?') { '&' } else { '?' };
                format!("{base}{separator}options=-c%20search_path%3D{schema}")
            }
        };
        Self { url, folder }
    }

    /// Settings for this place, with changes: names without the prefix.
    pub fn settings(&self, changes: &[(&str, &str)]) -> Settings {
        let data_dir = self.folder.path().display().to_string();
        let read = Settings::read(|name| {
            let short = name.strip_prefix("FLATLINE_").unwrap_or(name);
            let changed = changes.iter().find(|(key, _)| *key == short).map(|(_, value)| (*value).to_owned());
            changed.or(match short {
                "DATABASE_URL" => Some(self.url.clone()),
                "DATA_DIR" => Some(data_dir.clone()),
                "LISTEN" => Some("127.0.0.1:0".to_owned()),
                "SITE_URL" => Some("http://flatline.test".to_owned()),
                "METRICS_KEY" => Some("metrics-key-of-the-tests".to_owned()),
                // Receivers of webhooks listen on loopback.
                "PRIVATE_TARGETS" => Some("127.0.0.0/8".to_owned()),
                _ => None,
            })
        });
        read.expect("the test's settings can be used")
    }

    pub async fn open(&self) -> Db {
        Db::open(&self.url.parse().expect("a database URL")).await.expect("the database opens")
    }
}

/// The program running in this process on a manual clock.
pub struct World {
    pub place: Place,
    pub clock: Clock,
    pub app: Arc<App>,
    pub client: Client,
    /// The first account, on the plan the test asked for.
    pub owner: NewAccount,
    changes: Vec<(String, String)>,
    running: Running,
}

struct Running {
    accepting: JoinHandle<()>,
    recording: JoinHandle<()>,
}

impl World {
    /// A world whose first account has `plan`.
    pub async fn new(engine: Engine, plan: &str) -> Self {
        Self::with(engine, plan, &[]).await
    }

    /// The same with settings of its own: names without the prefix.
    pub async fn with(engine: Engine, plan: &str, changes: &[(&str, &str)]) -> Self {
        let place = Place::new(engine).await;
        let clock = Clock::manual(START);
        let changes: Vec<(String, String)> =
            changes.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (app, client, running) = start(&place, &clock, &changes).await;
        let owner = sign_up(&app, "owner@example.org", Some(plan)).await;
        app.stamp().await.expect("a fresh database takes the stamp");
        let client = client.with_key(&owner.api_key);
        Self { place, clock, app, client, owner, changes, running }
    }

    /// Stops the program as a crash does (nothing is written) and starts it on the same data.
    pub async fn crash_and_restart(&mut self) {
        self.stop().await;
        self.start().await;
    }

    /// Stops the program without a last stamp.
    pub async fn stop(&mut self) {
        self.running.accepting.abort();
        self.app.recorder.close().await;
        (&mut self.running.recording).await.expect("the recorder ends");
        self.app.db.close().await;
    }

    /// Starts it again, as `serve` does: the stamp comes before the first sweep.
    pub async fn start(&mut self) {
        let (app, client, running) = start(&self.place, &self.clock, &self.changes).await;
        self.app = app;
        self.client = client.with_key(&self.owner.api_key);
        self.running = running;
        self.app.stamp().await.expect("the stamp is taken");
    }

    /// Moves the clock.
    pub fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    /// Moves the clock in steps of ten seconds, stamping at each as the running program does, so that no gap
    /// is seen; the jobs do not run.
    pub async fn pass(&self, span: Span) {
        let mut left = span;
        while left > Span::ZERO {
            let step = left.min(Span::seconds(10));
            self.clock.advance(step);
            left = left - step;
            self.app.stamp().await.expect("the stamp is taken");
        }
    }

    /// Runs the jobs until nothing is left to do.
    pub async fn tick(&self) {
        self.app.tick().await.expect("the jobs run");
    }

    /// Makes a user a member of the owner's project.
    pub async fn add_member(&self, email: &str, role: accounts::Role) {
        let now = self.clock.now();
        let mut tx = self.app.db.begin_write().await.expect("a write");
        let project =
            accounts::store::find_project_by_uuid(&mut tx, self.owner.project).await.expect("a read");
        let user =
            accounts::store::find_user_by_email(&mut tx, email).await.expect("a read").expect("a user");
        let project = project.expect("a project").id;
        accounts::store::create_member(&mut tx, project, user.id, role, now).await.expect("a member");
        tx.commit().await.expect("it is stored");
    }

    /// The mails written so far, where no mail server is set.
    pub async fn outbox(&self) -> Vec<String> {
        let Ok(folder) = std::fs::read_dir(self.place.folder.path().join("outbox")) else {
            return Vec::new();
        };
        let text = |entry: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(entry.expect("an entry").path()).expect("a mail").replace("=\r\n", "")
        };
        folder.map(text).collect()
    }

    /// Another channel of the owner's project that hears of DOWN and UP.
    pub async fn channel(&self, kind: &'static str, config: &serde_json::Value) -> Channel {
        let now = self.clock.now();
        let mut tx = self.app.db.begin_write().await.expect("a write");
        let key = accounts::find_key(&mut tx, &self.owner.api_key).await.expect("a read").expect("a key");
        let new = NewChannel {
            uuid: flatline::id::uuid(),
            project_id: key.project_id,
            kind,
            name: String::new(),
            config: config.to_string(),
            on_down: true,
            on_up: true,
            verified_at: Some(now),
        };
        let channel = alerts::store::create_channel(&mut tx, new, now).await.expect("it can be made");
        tx.commit().await.expect("it is stored");
        channel
    }

    /// Another account.
    pub async fn sign_up(&self, email: &str, plan: &str) -> NewAccount {
        sign_up(&self.app, email, Some(plan)).await
    }
}

async fn start(place: &Place, clock: &Clock, changes: &[(String, String)]) -> (Arc<App>, Client, Running) {
    let changes: Vec<(&str, &str)> =
        changes.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let settings = place.settings(&changes);
    let (app, worker): (Arc<App>, Worker) =
        serve::build(place.open().await, settings, clock.clone()).await.expect("the program can be built");
    let recording = tokio::spawn(worker.run());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let router = http::router(Arc::clone(&app));
    let accepting = tokio::spawn(serve::accept(listener, router, std::future::pending()));
    (app, Client::new(&format!("http://{address}")), Running { accepting, recording })
}

/// The token of a fresh link that signs a user in.
pub async fn sign_in_token(app: &App, email: &str) -> String {
    let now = app.clock.now();
    let mut tx = app.db.begin_write().await.expect("a write");
    let user = accounts::store::find_user_by_email(&mut tx, email).await.expect("a read");
    let id = user.expect("the user is there").id;
    let token = signup::sign_in_link(&mut tx, id, Span::hours(1), now).await.expect("a link");
    tx.commit().await.expect("it is stored");
    token
}

/// Makes an account, as the command line does.
pub async fn sign_up(app: &App, email: &str, plan: Option<&str>) -> NewAccount {
    let applicant = Applicant {
        email: Address::parse(email).expect("an address"),
        password_hash: None,
        plan: plan.map(str::to_owned),
        may_operate: true,
    };
    let now = app.clock.now();
    let mut tx = app.db.begin_write().await.expect("a write");
    let new = signup::sign_up(&mut tx, &app.settings.plans, &app.settings.default_plan, &applicant, now)
        .await
        .expect("the account can be made");
    tx.commit().await.expect("it is stored");
    new
}
