//! The program `flatline`.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use flatline::cli::{self, Args, Command};
use flatline::config::Settings;
use flatline::serve;
use tracing_subscriber::EnvFilter;

/// A group of pings is made of very many small pieces, which threads hand to each other and all free at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    let settings = match Settings::from_env() {
        Ok(settings) => settings,
        Err(error) => return fail(&error.to_string()),
    };
    if let Err(reason) = log(&settings) {
        return fail(&reason);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&error.to_string()),
    };
    runtime.block_on(async {
        match args.command.unwrap_or(Command::Serve) {
            Command::Serve => match serve::serve(settings).await {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => fail(&error.to_string()),
            },
            command => cli::run(command, settings).await,
        }
    })
}

fn fail(reason: &str) -> ExitCode {
    eprintln!("flatline: {reason}");
    ExitCode::FAILURE
}

/// Logs to standard error, so that standard output holds only what a command was asked for.
fn log(settings: &Settings) -> Result<(), String> {
    // The scheduler tells at "info" that it exists; whoever wants to hear it names it.
    let filter = format!("tokio_cron_scheduler=warn,{}", settings.log_filter);
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("FLATLINE_LOG: {error}"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    if settings.log_json {
        builder.json().init()
    } else {
        builder.init()
    }
    Ok(())
}
