//! What a run needs around it: databases, servers as processes of their own, and what the kernel says they cost.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Failure;
use crate::seed::{self, Seed};

/// Accounts are on one of two plans: the first refuses nothing, the second every repeat for hours.
const PLANS: &str = "\
[open]
min_interval_seconds = 0
log_entries = 100
checks = \"none\"
api_per_minute = 2000
[floored]
min_interval_seconds = 7200
log_entries = 100
checks = \"none\"
api_per_minute = 2000
";
/// Milliseconds that a tick of `/proc/<pid>/stat` stands for on Linux.
const TICK_MS: f64 = 10.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A private PostgreSQL that waits for the disk; ended with the run.
pub struct Postgres {
    folder: PathBuf,
    pub url: String,
}

impl Postgres {
    pub fn start(folder: &Path) -> Result<Self, Failure> {
        let settings = ["fsync=on", "full_page_writes=on", "synchronous_commit=on", "max_wal_size=4GB"];
        let output = service().arg("start").arg(folder).args(settings).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err("PostgreSQL could not be started".into());
        }
        let url = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        Ok(Self { folder: folder.to_owned(), url })
    }

    fn processor_ms(&self) -> f64 {
        let pid = std::fs::read_to_string(self.folder.join("pid")).unwrap_or_default();
        pid.trim()
            .parse()
            .map_or(0.0, |pid| processor_ms(pid) + children_of(pid).map(processor_ms).sum::<f64>())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(service().arg("stop").arg(&self.folder).status());
    }
}

fn service() -> Command {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/services/postgres"))
}

/// A database of the program, and where its data folder is.
pub struct Database {
    pub engine: Engine,
    pub url: String,
    folder: PathBuf,
    /// Of the account that refuses nothing, and of the other one.
    pub api_keys: Vec<String>,
}

/// How many checks a database holds of each kind; those with a floor are numbered after the others.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub open: u64,
    pub floored: u64,
    /// Log rows behind each check.
    pub logged: u64,
}

impl Database {
    /// Makes an empty database with two accounts and fills it.
    pub async fn make(
        engine: Engine,
        url: &str,
        folder: &Path,
        size: Size,
        now_ms: i64,
    ) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("plans.toml"), PLANS)?;
        let mut database =
            Self { engine, url: url.to_owned(), folder: folder.to_owned(), api_keys: Vec::new() };
        let shares = [("open", 1, size.open, 0), ("floored", 1 + size.open, size.floored, 7_200_000)];
        for (plan, first, count, floor_ms) in shares {
            let account = database.create_account(plan)?;
            let text = |key: &str| account[key].as_str().unwrap_or_default().to_owned();
            database.api_keys.push(text("api_key"));
            if count > 0 {
                let logged = size.logged;
                let seed = Seed { project: text("project"), first, count, logged, floor_ms, now_ms };
                seed::fill(url, &seed).await?;
            }
        }
        Ok(database)
    }

    fn create_account(&self, plan: &str) -> Result<serde_json::Value, Failure> {
        let email = format!("{plan}@example.org");
        let output =
            self.program(&["account", "create", "--json", "--plan", plan, "--email", &email]).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn variables(&self) -> [(&'static str, String); 4] {
        [
            ("FLATLINE_DATABASE_URL", self.url.clone()),
            ("FLATLINE_DATA_DIR", self.folder.display().to_string()),
            ("FLATLINE_PLANS_FILE", self.folder.join("plans.toml").display().to_string()),
            ("FLATLINE_LISTEN", "127.0.0.1:0".to_owned()),
        ]
    }

    /// The same for a part of the program that is run in this process.
    pub fn settings(&self) -> Result<flatline::config::Settings, Failure> {
        let variables = self.variables();
        let read =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        Ok(flatline::config::Settings::read(read)?)
    }

    /// A command of the program on this database.
    pub fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flatline"));
        command.args(arguments).env_remove("NOTIFY_SOCKET").envs(self.variables());
        command
    }

    /// Starts a server on it and waits until it listens.
    pub fn serve(&self) -> Result<Server, Failure> {
        let mut child = self.program(&["serve"]).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("the server's log is not there")?;
        let mut lines = BufReader::new(stderr).lines();
        let mut said = String::new();
        for line in lines.by_ref() {
            let line = line?;
            if let Some((_, rest)) = line.split_once("address=") {
                let address = rest.split(' ').next().unwrap_or_default().parse()?;
                // Its later words are read, so that it never blocks on a full pipe; errors are worth seeing.
                std::thread::spawn(move || {
                    lines
                        .map_while(Result::ok)
                        .filter(|line| line.contains("ERROR"))
                        .take(5)
                        .for_each(|line| eprintln!("{line}"));
                });
                return Ok(Server { child, address });
            }
            said.push_str(&line);
        }
        Err(format!("the server did not start: {said}").into())
    }

    /// Processor time that the engine outside of the server used so far, in milliseconds.
    pub fn engine_ms(&self, postgres: &Postgres) -> f64 {
        if self.engine == Engine::Postgres { postgres.processor_ms() } else { 0.0 }
    }
}

/// A running `flatline serve`; ended with the value.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Processor time used so far, in milliseconds.
    pub fn processor_ms(&self) -> f64 {
        processor_ms(self.child.id())
    }

    /// Resident memory now and at its highest, in megabytes.
    pub fn resident_mb(&self) -> (f64, f64) {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kilobytes = line.and_then(|line| line.trim_start_matches(':').split_whitespace().next());
            kilobytes
                .and_then(|text| text.parse::<f64>().ok())
                .map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
        };
        (of("VmRSS"), of("VmHWM"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status());
        drop(self.child.wait());
    }
}

/// Processor time that this process used so far, in milliseconds.
pub fn own_processor_ms() -> f64 {
    processor_ms(std::process::id())
}

/// User and system time of a process and of its children that ended.
fn processor_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name may hold spaces; what follows it does not. The times are fields 14 to 17.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    rest.split_whitespace().skip(11).take(4).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>()
        * TICK_MS
}

fn children_of(parent: u32) -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(move |pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1).and_then(|field| field.parse().ok()) == Some(parent)
    })
}
