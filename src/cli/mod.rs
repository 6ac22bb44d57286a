//! The command line: `flatline serve` and what an operator does beside it.
//!
//! Answers go to standard output, reasons to standard error. Exit codes: 0 done, 1 it failed (or `doctor` found
//! something), 2 the command line itself is wrong.

mod account;
mod demo;
mod doctor;
mod import;

pub use doctor::examine;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{Parser, Subcommand};

use crate::config::Settings;
use crate::db::{self, Db};
use crate::schedule::zone_data;

/// The program's version and that of the time zone rules it goes by.
fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let zones = zone_data();
        format!("{} (time zones {}, {})", env!("CARGO_PKG_VERSION"), zones.version(), zones.origin())
    })
}

/// A heartbeat monitor: jobs ping a URL, and people hear when the pings stop.
#[derive(Debug, Parser)]
#[command(
    name = "flatline",
    version = version(),
    about,
    after_help = "Settings are environment variables that begin with FLATLINE_; the README lists them."
)]
pub struct Args {
    /// What to do; `serve` if nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve until asked to stop.
    Serve,
    /// Make an account, change its plan, or let somebody in who lost the second factor.
    #[command(subcommand)]
    Account(account::Command),
    /// Bring what another server watches over to this one.
    #[command(subcommand)]
    Import(import::Command),
    /// Write a consistent copy of the database to a file, while the server goes on.
    Backup {
        /// The file to write; it must not exist. SQLite: a database. PostgreSQL: a `pg_dump` archive.
        file: PathBuf,
    },
    /// Fill a new database with a month of made-up jobs, for a look around.
    Demo {
        /// Whose account it becomes; no mail is sent while it is filled.
        #[arg(long, default_value = "demo@example.org")]
        email: String,
        /// How many days are filled.
        #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..=90))]
        days: u16,
    },
    /// Compare stored counters with the rows they count.
    Doctor,
}

/// Why a command failed, as its user reads it.
#[derive(Debug)]
pub struct Failure(pub String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Runs any command but `serve`.
pub async fn run(command: Command, settings: Settings) -> ExitCode {
    match dispatch(command, settings).await {
        Ok(code) => code,
        Err(Failure(reason)) => {
            eprintln!("flatline: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn dispatch(command: Command, settings: Settings) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve => Ok(ExitCode::SUCCESS),
        Command::Account(command) => account::run(command, &settings).await,
        Command::Import(command) => import::run(command, &settings).await,
        Command::Backup { file } => {
            Db::backup(&settings.database_url.parse::<db::Url>()?, &file).await?;
            say(&format!("wrote {}", file.display()));
            Ok(ExitCode::SUCCESS)
        }
        Command::Demo { email, days } => demo::run(&settings, &email, days).await,
        Command::Doctor => doctor::run(&open(&settings).await?).await,
    }
}

async fn open(settings: &Settings) -> Result<Db, Failure> {
    Ok(Db::open(&settings.database_url.parse()?).await?)
}

#[expect(clippy::print_stdout, reason = "a command's answer")]
fn say(line: &str) {
    println!("{line}");
}
