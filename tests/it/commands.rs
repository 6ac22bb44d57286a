//! The command line as an operator and scripts use it: the real program, its output, its exit codes.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use flatline::accounts;
use flatline::accounts::second_factor::{self, Authenticator};
use flatline::accounts::sessions::{self, Origin};
use flatline::checks::{Status, log};
use flatline::db::{Db, Statement};
use flatline::time::Clock;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection};
use tokio::io::AsyncWriteExt;

use crate::support::{Engine, Place, Process, on_both, program, variable};

const MISCOUNT: &Statement =
    &Statement { name: "MISCOUNT", text: "UPDATE accounts SET checks_used = checks_used + $1" };
const MISCOUNT_RUNS: &Statement =
    &Statement { name: "MISCOUNT_RUNS", text: "UPDATE checks SET open_runs = open_runs + $1" };

async fn run(place: &Place, args: &[&str]) -> Output {
    program(place, &[]).args(args).output().await.unwrap()
}

fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

async fn create(place: &Place, args: &[&str]) -> Value {
    let output = run(place, &[&["account", "create", "--json"], args].concat()).await;
    assert!(output.status.success(), "{:?}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn keys(made: &Value) -> Vec<&str> {
    made.as_object().unwrap().keys().map(String::as_str).collect()
}

async fn plan_of(place: &Place, email: &str) -> String {
    let db = place.open().await;
    let mut tx = db.begin_read().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, email).await.unwrap().unwrap();
    accounts::store::find_account(&mut tx, user.account_id).await.unwrap().unwrap().plan
}

on_both! {
    async fn account_create_prints_what_scripts_and_people_need(engine: Engine) {
        let place = Place::new(engine).await;
        let first = create(&place, &["--email", "Ann@Example.org"]).await;
        assert_eq!(keys(&first), ["api_key", "api_key_readonly", "email", "ping_key", "project", "sign_in_url"]);
        let text = |name: &str| first[name].as_str().unwrap();
        assert_eq!(text("email"), "ann@example.org");
        assert!(text("project").parse::<uuid::Uuid>().is_ok());
        assert!(text("api_key").starts_with("hcw_") && text("api_key").len() == 32);
        assert!(text("api_key_readonly").starts_with("hcr_") && text("api_key_readonly").len() == 32);
        assert_eq!(text("ping_key").len(), 22);
        assert!(text("sign_in_url").starts_with("http://flatline.test/sign-in/"));
        assert_eq!(plan_of(&place, "ann@example.org").await, "unlimited", "the first account is the operator's");

        let mut command = program(&place, &[]);
        let args = ["account", "create", "--email", "bob@example.org", "--password-stdin", "--json"];
        let mut child = command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all("correct horse\n".as_bytes()).await.unwrap();
        let second: Value = serde_json::from_slice(&child.wait_with_output().await.unwrap().stdout).unwrap();
        assert_eq!(keys(&second), ["api_key", "api_key_readonly", "email", "ping_key", "project"]);
        assert_eq!(plan_of(&place, "bob@example.org").await, "free");
        let db = place.open().await;
        let mut tx = db.begin_read().await.unwrap();
        let bob = accounts::store::find_user_by_email(&mut tx, "bob@example.org").await.unwrap().unwrap();
        assert!(bob.password_hash.unwrap().starts_with("$argon2id$"));
        drop(tx);

        create(&place, &["--email", "cid@example.org", "--plan", "pro"]).await;
        assert_eq!(plan_of(&place, "cid@example.org").await, "pro");
        let (code, out, _) = said(&run(&place, &["account", "create", "--email", "dan@example.org"]).await);
        assert_eq!(code, 0);
        for part in ["account dan@example.org on plan free", "hcw_", "hcr_", "http://flatline.test/sign-in/"] {
            assert!(out.contains(part), "{part}: {out}");
        }
    }

    async fn account_create_says_why_it_does_not(engine: Engine) {
        let place = Place::new(engine).await;
        create(&place, &["--email", "ann@example.org"]).await;
        for (args, code, why) in [
            (&["--email", "ann@example.org"][..], 1, "ann@example.org has an account already"),
            (&["--email", "ANN@example.org"], 1, "ann@example.org has an account already"),
            (&["--email", "bob@example.org", "--plan", "gold"], 1, "there is no plan 'gold'; there are"),
            (&["--email", "not an address"], 1, "flatline: "),
            (&["--email", "a@b.example\r\nBcc: c@d.example"], 1, "flatline: "),
            (&["--email", "bob@example.org", "--password-stdin"], 1, "at least 8 characters"),
            (&[], 2, "--email"),
        ] {
            let args = [&["account", "create"], args].concat();
            let output = program(&place, &[]).args(&args).stdin(Stdio::null()).output().await.unwrap();
            let (found, out, err) = said(&output);
            assert_eq!((found, out.as_str()), (code, ""), "{args:?}: {err}");
            assert!(err.contains(why), "{args:?}: {err}");
        }
        let db = place.open().await;
        let mut tx = db.begin_read().await.unwrap();
        assert_eq!(accounts::store::list_accounts(&mut tx).await.unwrap().len(), 1);
    }

    async fn account_plan_changes_the_plan_and_what_it_allows(engine: Engine) {
        let place = Place::new(engine).await;
        create(&place, &["--email", "ann@example.org"]).await;
        let (code, out, _) = said(&run(&place, &["account", "plan", "Ann@example.org", "business"]).await);
        assert_eq!((code, out.as_str()), (0, "ann@example.org is on plan business\n"));
        assert_eq!(plan_of(&place, "ann@example.org").await, "business");
        for (email, plan, why) in [
            ("ann@example.org", "gold", "there is no plan 'gold'; there are"),
            ("bob@example.org", "pro", "bob@example.org has no account"),
        ] {
            let (code, out, err) = said(&run(&place, &["account", "plan", email, plan]).await);
            assert_eq!((code, out.as_str()), (1, ""));
            assert!(err.contains(why), "{err}");
        }
        assert_eq!(plan_of(&place, "ann@example.org").await, "business");
    }

    async fn a_lost_second_factor_is_reset_once_and_its_user_is_told(engine: Engine) {
        let place = Place::new(engine).await;
        create(&place, &["--email", "ann@example.org"]).await;
        let reset = ["account", "reset-second-factor", "Ann@example.org"];
        let (code, _, why) = said(&run(&place, &reset).await);
        assert_eq!((code, why.as_str()), (1, "flatline: ann@example.org has no second factor\n"));
        let (code, _, why) = said(&run(&place, &["account", "reset-second-factor", "bob@example.org"]).await);
        assert_eq!((code, why.as_str()), (1, "flatline: bob@example.org has no account\n"));

        let db = place.open().await;
        let mut tx = db.begin_write().await.unwrap();
        let now = Clock::System.now();
        let ann = accounts::store::find_user_by_email(&mut tx, "ann@example.org").await.unwrap().unwrap();
        let app = Authenticator::draw().unwrap();
        assert!(second_factor::turn_on(&mut tx, ann.id, &app, &app.code(now), now).await.unwrap().is_some());
        let origin = Origin { user_agent: String::new(), address: String::new() };
        let session = sessions::begin(&mut tx, ann.id, &origin, now).await.unwrap();
        tx.commit().await.unwrap();

        let (code, out, log) = said(&run(&place, &reset).await);
        let done = "ann@example.org signs in without a second factor; all sessions ended, and a letter says so\n";
        assert_eq!((code, out.as_str()), (0, done));
        assert!(log.contains(&format!("the second factor was reset on the command line user={}", ann.id)), "{log}");
        let mut tx = db.begin_read().await.unwrap();
        assert!(second_factor::store::find(&mut tx, ann.id).await.unwrap().is_none());
        assert!(sessions::find(&mut tx, &session, Clock::System.now()).await.unwrap().is_none());
        const LETTERS: &Statement = &Statement { name: "LETTERS", text: "SELECT recipient, facts FROM letters WHERE account_id = $1" };
        let letters: Vec<(String, String)> = tx.query(LETTERS).bind(ann.account_id).all().await.unwrap();
        assert_eq!((letters.len(), letters[0].0.as_str()), (1, "ann@example.org"));
        assert!(letters[0].1.contains("second_factor_reset"), "{}", letters[0].1);
        assert_eq!(said(&run(&place, &reset).await).0, 1, "once");
    }

    async fn the_doctor_finds_counters_that_lie(engine: Engine) {
        let place = Place::new(engine).await;
        let owner = create(&place, &["--email", "ann@example.org"]).await;
        let mut process = Process::start(&place, &[]).await;
        let client = process.client.with_key(owner["api_key"].as_str().unwrap());
        let uuid = client.check(&json!({"name": "backup"})).await;
        assert_eq!(client.ping(&uuid, "/start").await.status, 200);
        assert!(process.terminate().await.success());
        let healthy = said(&run(&place, &["doctor"]).await);
        assert_eq!((healthy.0, healthy.1.as_str()), (0, "every counter agrees with its rows\n"));
        let db = place.open().await;
        for (statement, finding) in [
            (MISCOUNT, ": 3 checks counted, 1 there\n"),
            (MISCOUNT_RUNS, "1 checks count other open runs than there are\n"),
        ] {
            assert_eq!(crate::races::rows::change(&db, statement, &[2]).await, 1);
            let (code, out, _) = said(&run(&place, &["doctor"]).await);
            assert_eq!(code, 1);
            assert!(out.ends_with(finding), "{out}");
            crate::races::rows::change(&db, statement, &[-2]).await;
        }
        assert_eq!(run(&place, &["doctor"]).await.status.code(), Some(0));
    }

    async fn a_backup_under_load_holds_what_was_acknowledged_before_and_opens(engine: Engine) {
        let place = place_for_backup(engine).await;
        let owner = create(&place, &["--email", "ann@example.org"]).await;
        let process = Process::start(&place, &[]).await;
        let client = process.client.with_key(owner["api_key"].as_str().unwrap());
        let uuid = client.check(&json!({"name": "backup"})).await;
        for _ in 0..50 {
            assert_eq!(client.ping_with(&uuid, "", b"before").await.status, 200);
        }
        let (caller, check) = (client.clone(), uuid.clone());
        let load = tokio::spawn(async move {
            while caller.ping_with(&check, "", b"meanwhile").await.status == 200 {}
        });
        let file = place.folder.path().join("backup of today");
        let (code, out, err) = said(&run(&place, &["backup", file.to_str().unwrap()]).await);
        load.abort();
        assert_eq!((code, out), (0, format!("wrote {}\n", file.display())), "{err}");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

        let before = std::fs::read(&file).unwrap();
        let (code, out, err) = said(&run(&place, &["backup", file.to_str().unwrap()]).await);
        assert_eq!((code, out.as_str()), (1, ""));
        assert!(err.contains("exists"), "{err}");
        assert!(std::fs::read(&file).unwrap() == before, "a file that is there is not touched");
        let missing = place.folder.path().join("no/such/folder/backup");
        assert_eq!(run(&place, &["backup", missing.to_str().unwrap()]).await.status.code(), Some(1));

        let restored = restored(engine, &file).await;
        let mut tx = restored.begin_read().await.unwrap();
        let check = flatline::checks::store::find(&mut tx, uuid.parse().unwrap()).await.unwrap().unwrap();
        let entries = log::store::list(&mut tx, check.id, 0, 100_000).await.unwrap();
        assert_eq!(entries.len(), usize::try_from(check.state.n_pings).unwrap());
        assert!(entries.len() >= 50);
        assert_eq!(log::store::find_body(&mut tx, check.id, 50).await.unwrap().as_deref(), Some(&b"before"[..]));
        drop(tx);
        assert_eq!(flatline::cli::examine(&restored).await.unwrap(), Vec::<String>::new());
    }
}

/// A PostgreSQL database of its own, since a dump takes a whole one.
async fn place_for_backup(engine: Engine) -> Place {
    let mut place = Place::new(engine).await;
    if engine == Engine::Postgres {
        place.url = database().await;
    }
    place
}

async fn database() -> String {
    let base = variable("FLATLINE_TEST_POSTGRES_URL").unwrap();
    let name = format!("d{}", flatline::id::uuid().simple());
    let options: sqlx::postgres::PgConnectOptions = base.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    let create = format!("CREATE DATABASE {name}");
    sqlx::query(sqlx::AssertSqlSafe(create)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    format!("{}/{name}", base.rsplit_once('/').unwrap().0)
}

/// The database that a backup holds, opened by the program's own code.
async fn restored(engine: Engine, file: &Path) -> Db {
    let url = match engine {
        Engine::Sqlite => format!("sqlite://{}", file.display()),
        Engine::Postgres => {
            let url = database().await;
            let mut restore = tokio::process::Command::new("pg_restore");
            let restored =
                restore.args(["--no-owner", "--exit-on-error", "--dbname", &url]).arg(file).output();
            let restored = restored.await.unwrap();
            assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
            url
        }
    };
    Db::open(&url.parse().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_setting_that_cannot_be_used_stops_every_command_and_is_named() {
    let place = Place::new(Engine::Sqlite).await;
    for (name, value) in [
        ("LISTEN", "8000"),
        ("SITE_URL", "watch.example.org"),
        ("PING_URL", "ftp://watch.example.org"),
        ("SMTP_URL", "http://mail.example.org"),
        ("MAIL_FROM", "nobody"),
        ("BOUNCE_ADDRESS", "nobody"),
        ("BOUNCE_ADDRESS", "with+plus@example.org"),
        ("SIGNUP", "maybe"),
        ("DEFAULT_PLAN", "gold"),
        ("PLANS_FILE", "/does/not/exist.toml"),
        ("PING_BODY_LIMIT", "None"),
        ("PING_BODY_LIMIT", "-1"),
        ("PING_BODY_LIMIT", "10kB"),
        ("SWEEP_INTERVAL", "0s"),
        ("TRUSTED_PROXIES", "10.0.0.0/33"),
        ("CLIENT_IP_HEADER", "X Real IP"),
        ("PRIVATE_TARGETS", "lan"),
        ("METRICS_KEY", "short"),
        ("SMTP_LISTEN", "25"),
        ("LOG", "info,=x=y"),
        ("DATABASE_URL", "mysql://root:hunter2@db/flatline"),
    ] {
        let output =
            program(&place, &[(name, value)]).arg("serve").stdin(Stdio::null()).output().await.unwrap();
        let (code, out, err) = said(&output);
        assert_eq!((code, out.as_str()), (1, ""), "{name}={value}: {err}");
        assert!(err.contains(&format!("FLATLINE_{name}")), "{name}={value}: {err}");
        assert!(!err.contains("hunter2"), "{err}");
    }
}

#[tokio::test]
async fn an_address_that_is_taken_stops_the_start() {
    let place = Place::new(Engine::Sqlite).await;
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = program(&place, &[("LISTEN", &address)]).output().await.unwrap();
    let (code, _, err) = said(&output);
    assert_eq!(code, 1);
    assert!(err.contains(&format!("cannot listen on {address}")), "{err}");
}

#[tokio::test]
async fn help_and_version_need_no_settings_and_name_every_command() {
    let place = Place::new(Engine::Sqlite).await;
    let bad = [("LISTEN", "nowhere")];
    let help = program(&place, &bad).arg("--help").output().await.unwrap();
    let (code, out, _) = said(&help);
    assert_eq!(code, 0);
    for part in ["serve", "account", "import", "backup", "doctor", "--version", "FLATLINE_"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let help = program(&place, &bad).args(["account", "create", "--help"]).output().await.unwrap();
    for part in ["--email", "--password-stdin", "--plan", "--json"] {
        assert!(said(&help).1.contains(part), "{part}");
    }
    let version = program(&place, &bad).arg("--version").output().await.unwrap();
    let (code, out, _) = said(&version);
    assert_eq!(code, 0);
    assert!(out.starts_with(&format!("flatline {}", env!("CARGO_PKG_VERSION"))), "{out}");
    let unknown = program(&place, &[]).arg("frobnicate").output().await.unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

on_both! {
    async fn demo_fills_a_new_database_as_the_jobs_would_have_and_leaves_any_other_alone(engine: Engine) {
        let place = Place::new(engine).await;
        // The job that is silent had its last run up to 55 hours ago, by the time of the day.
        let output = run(&place, &["demo", "--days", "3"]).await;
        let (code, stdout, stderr) = said(&output);
        assert_eq!(code, 0, "{stderr}");
        assert!(stdout.starts_with("60 checks, ") && stdout.contains("/sign-in/"), "{stdout}");
        assert!(stderr.ends_with("flatline: 0 days to go\n"), "{stderr}");
        let db = place.open().await;
        assert_eq!(flatline::cli::examine(&db).await.unwrap(), Vec::<String>::new());
        let mut tx = db.begin_read().await.unwrap();
        let user = accounts::store::find_user_by_email(&mut tx, "demo@example.org").await.unwrap().unwrap();
        let project = accounts::store::list_memberships(&mut tx, user.id).await.unwrap().remove(0).project;
        let checks = flatline::checks::store::list(&mut tx, project.id).await.unwrap();
        let named = |name: &str| checks.iter().find(|check| check.settings.name == name).unwrap();
        assert_eq!(checks.len(), 60);
        for (name, status) in [
            ("Offsite backup", Status::Down),
            ("Payment queue", Status::Up),
            ("Badge reader import", Status::Paused),
            ("Rain gauge", Status::New),
        ] {
            assert_eq!(named(name).state.status, status, "{name}");
        }
        assert!(named("Metrics compaction").is_running());
        let waiting = flatline::alerts::store::list_claimable(&mut tx, Clock::System.now(), 10).await.unwrap();
        assert!(waiting.is_empty(), "nothing is left to send");
        drop(tx);
        let (code, stdout, stderr) = said(&run(&place, &["demo", "--days", "1"]).await);
        assert_eq!((code, stdout.as_str()), (1, ""));
        assert!(stderr.contains("holds accounts already; a demonstration needs a database of its own"), "{stderr}");
    }
}
