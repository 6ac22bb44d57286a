//! Where a race is run: one program on SQLite, one on PostgreSQL, three processes on one PostgreSQL.
//!
//! The same race runs on all three. Programs in this process go by a manual clock, processes by the system's, so
//! no race moves a clock: it moves what is stored ([`Ground::age`]), as if it had happened that much earlier.
//! Beside the three processes, whose jobs run on their own schedule, a fourth program in this process lets the
//! race start a job exactly when it wants to. [`Ground::end`] asks the doctor.

use std::sync::Arc;

use flatline::app::App;
use flatline::checks::log::Entry;
use flatline::checks::{self, Check, StoredFlip};
use flatline::db::{Db, Statement};
use flatline::signup::NewAccount;
use flatline::time::{Clock, Span};
use flatline::{alerts, serve};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::rows::{self, Delivery};
use crate::support::{Answer, Client, Engine, Place, Process, Receiver, World, is_long, sign_up, variable};

/// How the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Sqlite,
    Postgres,
    /// Real processes on PostgreSQL.
    ThreeProcesses,
}

/// Makes three tests of one async function that takes a [`Setting`].
macro_rules! on_all {
    ($($(#[$meta:meta])* async fn $name:ident($setting:ident: Setting) $body:block)+) => {
        $(mod $name {
            use super::*;

            async fn test($setting: Setting) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                test(Setting::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn postgres() {
                test(Setting::Postgres).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn three_processes() {
                test(Setting::ThreeProcesses).await;
            }
        })+
    };
}
pub(crate) use on_all;

/// How often a race is run; the long run repeats it until luck is no explanation, or as often as
/// `FLATLINE_TEST_ROUNDS` says.
pub fn rounds() -> usize {
    let stated = variable("FLATLINE_TEST_ROUNDS").map(|rounds| rounds.parse().expect("a number of rounds"));
    stated.unwrap_or(if is_long() { 1000 } else { 10 })
}

/// Plans of which nothing is short but what a race is about.
const PLANS: &str = r#"
[calm]
checks = "none"
min_interval_seconds = 60
log_entries = 10000
alerts_per_month = "none"
members = "none"
api_per_minute = "none"
api_per_day = "none"
[slow]
checks = "none"
min_interval_seconds = 120
log_entries = 10000
alerts_per_month = "none"
members = "none"
api_per_minute = "none"
api_per_day = "none"
[narrow]
checks = 25
min_interval_seconds = 60
alerts_per_month = "none"
api_per_minute = "none"
api_per_day = "none"
[quiet]
checks = "none"
min_interval_seconds = 60
alerts_per_month = 3
api_per_minute = "none"
api_per_day = "none"
[limits]
unknown_pings_per_minute = "none"
unknown_pings_per_day = "none"
failed_keys_per_minute = "none"
failed_keys_per_day = "none"
creates_per_hour = "none"
invitations_per_minute = "none"
invitations_per_day = "none"
invitations_target_per_day = "none"
projects_per_day = "none"
sign_in_per_day = "none"
sign_in_address_per_day = "none"
second_factor_per_minute = "none"
second_factor_per_day = "none"
second_factor_user_per_day = "none"
recovery_codes_per_minute = "none"
recovery_codes_per_day = "none"
passkeys_per_minute = "none"
passkeys_per_day = "none"
passkeys_at_once = 4
sign_ups_per_minute = "none"
sign_ups_per_day = "none"
sign_in_per_minute = "none"
sign_in_address_per_minute = "none"
sign_in_email_per_minute = "none"
webhook_calls_target_per_minute = "none"
webhook_calls_per_minute = "none"
"#;

/// Servers on one database, an owner with a key, and a way into the database.
pub struct Ground {
    /// One for each server, with the owner's key.
    pub clients: Vec<Client>,
    /// The program in this process, whose jobs a race starts by hand.
    pub app: Arc<App>,
    pub db: Db,
    pub owner: NewAccount,
    /// What the processes run with: the changes to the settings.
    pub changes: Vec<(&'static str, String)>,
    kept: Kept,
}

/// What lives as long as the ground.
struct Kept {
    world: Option<World>,
    place: Option<Place>,
    processes: Vec<Process>,
    _plans: tempfile::NamedTempFile,
}

impl Ground {
    /// Servers in a setting, and an owner on `plan`.
    pub async fn new(setting: Setting, plan: &str) -> Self {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(file.path(), PLANS).unwrap();
        let changes = vec![
            ("PLANS_FILE", file.path().display().to_string()),
            // Where browsers know passkeys.
            ("SITE_URL", "http://localhost".to_owned()),
            ("LOG", "warn,flatline::serve=info".to_owned()),
        ];
        let engine = if setting == Setting::Sqlite { Engine::Sqlite } else { Engine::Postgres };
        let borrowed: Vec<(&str, &str)> =
            changes.iter().map(|(name, value)| (*name, value.as_str())).collect();
        if setting != Setting::ThreeProcesses {
            let world = World::with(engine, plan, &borrowed).await;
            return Self {
                clients: vec![world.client.clone()],
                app: Arc::clone(&world.app),
                db: world.app.db.clone(),
                owner: world.owner.clone(),
                changes,
                kept: Kept { world: Some(world), place: None, processes: Vec::new(), _plans: file },
            };
        }
        let place = Place::new(engine).await;
        let built = serve::build(place.open().await, place.settings(&borrowed), Clock::System).await;
        let (app, worker) = built.unwrap();
        tokio::spawn(worker.run());
        let owner = sign_up(&app, "owner@example.org", Some(plan)).await;
        let mut processes = Vec::new();
        for _ in 0..3 {
            processes.push(Process::start(&place, &borrowed).await);
        }
        Self {
            clients: processes.iter().map(|process| process.client.with_key(&owner.api_key)).collect(),
            db: app.db.clone(),
            app,
            owner,
            changes,
            kept: Kept { world: None, place: Some(place), processes, _plans: file },
        }
    }

    /// The server for the `index`th caller.
    pub fn client(&self, index: usize) -> Client {
        self.clients[index % self.clients.len()].clone()
    }

    pub fn place(&self) -> &Place {
        let of_world = self.kept.world.as_ref().map(|world| &world.place);
        of_world.or(self.kept.place.as_ref()).unwrap()
    }

    /// Whether answers about time are exact: the clock stands still.
    pub fn is_exact(&self) -> bool {
        self.kept.processes.is_empty()
    }

    /// A check with period and grace of one minute that tells all channels.
    pub async fn check(&self, name: &str) -> String {
        self.clients[0].check(&json!({"name": name, "timeout": 60, "grace": 60, "channels": "*"})).await
    }

    /// A check whose first success was `since` ago.
    pub async fn pinged_check(&self, name: &str, since: Span) -> String {
        let check = self.check(name).await;
        assert_eq!(self.clients[0].ping(&check, "").await.status, 200);
        self.age(&check, since).await;
        check
    }

    /// A check that went down by silence, an hour after its only success.
    pub async fn down_check(&self, name: &str) -> String {
        let check = self.pinged_check(name, Span::hours(1)).await;
        self.app.sweep().await.unwrap();
        assert_eq!(self.row(&check).await.state.status, checks::Status::Down);
        check
    }

    /// A webhook channel of the owner's project that calls the receiver.
    pub async fn webhook(&self, receiver: &Receiver) -> alerts::Channel {
        webhook(&self.app, &self.owner, receiver).await
    }

    /// Moves all that happened to a check into the past.
    pub async fn age(&self, check: &str, by: Span) {
        rows::age(&self.db, check, by).await;
    }

    pub async fn change(&self, statement: &'static Statement, numbers: &[i64]) -> u64 {
        rows::change(&self.db, statement, numbers).await
    }

    pub async fn row(&self, check: &str) -> Check {
        rows::row(&self.db, check).await
    }

    pub async fn flips(&self, check: &str) -> Vec<StoredFlip> {
        rows::flips(&self.db, check).await
    }

    pub async fn log(&self, check: &str) -> Vec<Entry> {
        rows::log(&self.db, check).await
    }

    pub async fn deliveries(&self, check: &str) -> Vec<Delivery> {
        rows::deliveries(&self.db, check).await
    }

    pub async fn assert_consistent(&self, check: &str) {
        rows::assert_consistent(&self.db, check).await;
    }

    /// What the doctor says must be nothing.
    pub async fn end(&self) {
        assert_eq!(flatline::cli::examine(&self.db).await.unwrap(), Vec::<String>::new());
    }
}

/// A webhook channel of an account's first project.
pub async fn webhook(app: &App, owner: &NewAccount, receiver: &Receiver) -> alerts::Channel {
    let mut tx = app.db.begin_write().await.unwrap();
    let key = flatline::accounts::find_key(&mut tx, &owner.api_key).await.unwrap().unwrap();
    let channel = alerts::NewChannel {
        uuid: flatline::id::uuid(),
        project_id: key.project_id,
        kind: "webhook",
        name: receiver.url.clone(),
        config: webhook_config(&receiver.url).to_string(),
        on_down: true,
        on_up: true,
        verified_at: Some(app.clock.now()),
    };
    let channel = alerts::store::create_channel(&mut tx, channel, app.clock.now()).await.unwrap();
    tx.commit().await.unwrap();
    channel
}

fn webhook_config(url: &str) -> Value {
    let request = |says: &str| json!({"method": "POST", "url": url, "body": format!("$NAME is {says}")});
    json!({"down": request("down"), "up": request("up")})
}

/// Lets `runners` start at the same moment and returns what each came to.
pub async fn race<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    runners: usize,
    run: impl Fn(usize) -> F,
) -> Vec<T> {
    let start = Arc::new(Barrier::new(runners));
    let running: Vec<_> = (0..runners)
        .map(|index| {
            let (start, work) = (Arc::clone(&start), run(index));
            tokio::spawn(async move {
                start.wait().await;
                work.await
            })
        })
        .collect();
    let mut results = Vec::with_capacity(runners);
    for runner in running {
        results.push(runner.await.unwrap());
    }
    results
}

/// Asks again as often as a 503 says so: where the database gives no connection for five seconds, because the machine
/// stands still, a caller is sent away with nothing done.
pub async fn answered<F: Future<Output = Answer>>(ask: impl Fn() -> F) -> Answer {
    for _ in 0..20 {
        let answer = ask().await;
        if answer.status != 503 {
            return answer;
        }
        assert_eq!(answer.header("retry-after"), Some("2"));
        tokio::time::sleep(Span::seconds(2).to_std()).await;
    }
    panic!("it was sent away twenty times");
}

/// Waits for up to three milliseconds by chance, so that each side of a race comes first at times.
pub async fn jitter() {
    tokio::time::sleep(Span::millis((flatline::id::fraction() * 4.0) as i64).to_std()).await;
}

/// Asks again until it is so, for at most a minute: for what other processes do on their own schedule.
pub async fn until(what: &str, is_so: impl AsyncFn() -> bool) {
    for _ in 0..1200 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Span::millis(50).to_std()).await;
    }
    panic!("it did not come about within a minute that {what}");
}

/// How many of `statuses` are `status`.
pub fn count(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|one| **one == status).count()
}
