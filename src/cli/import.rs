//! `flatline import`: shows what would come here from another server, and brings it if asked to.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use uuid::Uuid;

use super::{Failure, open, say};
use crate::accounts::{self, Project};
use crate::config::Settings;
use crate::db::{self, Db, ReadTx};
use crate::error::{Error, Result};
use crate::import::bring::{self, Brought};
use crate::import::plan::{self, Plan, Target};
use crate::import::{OldProject, Source, file, server};
use crate::time::{Clock, Span, Time};

/// Checks brought between two lines of progress.
const STEP: usize = 100;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring checks, channels and keys from Healthchecks, so that nothing changes but the host name.
    ///
    /// Shows what it would do and changes nothing, until it is told --yes. Brings what checks watch and how (uuids,
    /// slugs, tags, schedules, keywords, status, last pings, status changes), project names, ping keys, API keys,
    /// addresses of badges, and channels of the kinds that exist here. The logs of pings stay behind, and so do people:
    /// they sign in here with accounts of their own. What was brought before is left as it is, so it can be run again.
    /// Nobody is alerted by a move; a check that is overdue by then is expected anew.
    /// Reading a database of PostgreSQL or MySQL is not possible: use --url.
    Healthchecks(Box<Healthchecks>),
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("source").required(true))]
pub struct Healthchecks {
    /// The server's SQLite file; it is only read.
    #[arg(long, group = "source")]
    file: Option<PathBuf>,
    /// The address of a running server; brings the project that the API key opens.
    #[arg(long, group = "source", requires = "api_key")]
    url: Option<url::Url>,
    /// With --url: a read-write key of the project. With --file: any key of that server, as proof that --secret-key is
    /// the right one. `-` reads it from standard input.
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// With --url: the project's ping key, which the server does not tell.
    #[arg(long, value_name = "KEY", conflicts_with = "file")]
    ping_key: Option<String>,
    /// With --file: the server's SECRET_KEY. Keys that it stored hashed, and badges of tags, need it. It is kept here, to
    /// recognise those keys. `-` reads it from standard input.
    #[arg(long, value_name = "SECRET", conflicts_with = "url")]
    secret_key: Option<String>,
    /// Mail address of the account here that gets everything; without it each project goes to its owner's.
    #[arg(long, value_name = "EMAIL")]
    account: Option<String>,
    /// Uuid of a project here that gets everything, instead of projects like those there.
    #[arg(long, value_name = "UUID")]
    project: Option<Uuid>,
    /// Bring this project only, by its name or uuid there; can be given several times.
    #[arg(long, value_name = "PROJECT", conflicts_with = "url")]
    only: Vec<String>,
    /// With --url: what the new project is called.
    #[arg(long, default_value = "Healthchecks", conflicts_with = "file")]
    name: String,
    /// With --url: the longest that one answer may take, in seconds.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=600))]
    timeout: u32,
    /// Do it.
    #[arg(long)]
    yes: bool,
}

pub async fn run(command: Command, settings: &Settings) -> Result<ExitCode, Failure> {
    let Command::Healthchecks(mut args) = command;
    for given in [&mut args.api_key, &mut args.secret_key].into_iter().flatten().filter(|given| *given == "-")
    {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        *given = line.trim_end_matches(['\r', '\n']).to_owned();
    }
    let source = read(&args).await?;
    let db = open(settings).await?;
    let now = Clock::System.now();
    import(&db, settings, &args, &source, now).await
}

async fn read(args: &Healthchecks) -> Result<Source, Failure> {
    let source = match (&args.file, &args.url) {
        (Some(path), _) => {
            let known = file::Known { secret: args.secret_key.clone(), api_key: args.api_key.clone() };
            file::read(path, &known).await?
        }
        (None, Some(url)) => {
            let ask = server::Ask {
                url: url.clone(),
                api_key: args.api_key.clone().unwrap_or_default(),
                ping_key: args.ping_key.clone(),
                name: args.name.clone(),
                limit: Span::seconds(args.timeout.into()),
            };
            server::read(&ask, &|words| eprintln!("{words}")).await?
        }
        (None, None) => return Err(Failure("give --file or --url".to_owned())),
    };
    let is = |project: &OldProject, only: &str| {
        project.name == only || project.uuid.is_some_and(|uuid| uuid.to_string() == only.to_lowercase())
    };
    if let Some(missing) = args.only.iter().find(|only| !source.projects.iter().any(|one| is(one, only))) {
        return Err(Failure(format!("there is no project '{missing}' there")));
    }
    let chosen =
        |project: &OldProject| args.only.is_empty() || args.only.iter().any(|only| is(project, only));
    Ok(Source { projects: source.projects.into_iter().filter(chosen).collect() })
}

async fn import(
    db: &Db,
    settings: &Settings,
    args: &Healthchecks,
    source: &Source,
    now: Time,
) -> Result<ExitCode, Failure> {
    let (mut refused, mut homeless) = (Vec::new(), Vec::new());
    let mut plans = Vec::new();
    for old in &source.projects {
        let found: Result<Option<Plan<'_>>> =
            db::read!(db, |tx| match target(tx, settings, args, old).await? {
                Some(target) => Ok(Some(plan::look(tx, old, target).await?)),
                None => Ok(None),
            });
        match found? {
            Some(plan) => plans.push(plan),
            None => homeless.push(homelessness(args, old)),
        }
    }
    plans.iter().for_each(show);
    if plans.is_empty() {
        return Err(Failure(format!("there is nothing to bring\n  {}", homeless.join("\n  "))));
    }
    homeless.iter().for_each(|why| say(&format!("not brought: {why}")));
    refused.extend(plans.iter().flat_map(|plan| plan.refused.iter().cloned()));
    let mut wanted: BTreeMap<i64, (&Target, usize)> = BTreeMap::new();
    for plan in &plans {
        wanted.entry(plan.target.account.id).or_insert((&plan.target, 0)).1 += plan.checks.to_bring.len();
    }
    refused.extend(wanted.values().filter_map(|(target, wanted)| plan::crowding(target, *wanted)));
    if !refused.is_empty() {
        return Err(Failure(format!("nothing was changed:\n  {}", refused.join("\n  "))));
    }
    if plans.iter().all(Plan::is_done) {
        say("Everything is here already; nothing was changed.");
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes {
        say("Nothing was changed; add --yes to do this.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut failed = 0;
    for plan in plans.iter().filter(|plan| !plan.is_done()) {
        failed += carry_out(db, settings, plan, now).await?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where a project goes: to the account that was asked for, else to that of the project here, else to its owner's.
/// `None` if there is no such account.
async fn target(
    tx: &mut ReadTx,
    settings: &Settings,
    args: &Healthchecks,
    old: &OldProject,
) -> Result<Option<Target>> {
    let project = project_here(tx, args, old).await?;
    let user = match (&args.account, &project, &old.owner) {
        (Some(email), ..) => accounts::store::find_user_by_email(tx, &email.to_lowercase()).await?,
        (None, Some(project), _) => accounts::store::find_user_of_account(tx, project.account_id).await?,
        (None, None, Some(email)) => accounts::store::find_user_by_email(tx, email).await?,
        (None, None, None) => None,
    };
    let Some(user) = user else { return Ok(None) };
    let row = accounts::store::find_account(tx, user.account_id).await?.ok_or(Error::NotFound)?;
    let account = row.account(&settings.plans);
    let (checks_used, email, user_id) = (row.checks_used, user.email, user.id);
    Ok(Some(Target { account, checks_used, email, user_id, project }))
}

/// The project here: the one that was asked for, or the one with the same uuid or, where that is unknown, the same key.
async fn project_here(tx: &mut ReadTx, args: &Healthchecks, old: &OldProject) -> Result<Option<Project>> {
    if let Some(uuid) = args.project {
        let found = accounts::store::find_project_by_uuid(tx, uuid).await?;
        return found.map(Some).ok_or_else(|| Error::invalid(format!("there is no project {uuid} here")));
    }
    if let Some(uuid) = old.uuid {
        return accounts::store::find_project_by_uuid(tx, uuid).await;
    }
    for key in &old.keys {
        if let Some(found) = accounts::store::find_key(tx, &key.digest).await? {
            return accounts::store::find_project(tx, found.project_id).await;
        }
    }
    Ok(None)
}

fn homelessness(args: &Healthchecks, old: &OldProject) -> String {
    let whose = match args.account.as_ref().or(old.owner.as_ref()) {
        Some(email) => format!("{email} has no account here; make one with `flatline account create`, or"),
        None => "the server does not tell whose it is;".to_owned(),
    };
    format!("project '{}': {whose} name the account with --account or a project with --project", old.name)
}

fn show(plan: &Plan<'_>) {
    let email = &plan.target.email;
    match &plan.target.project {
        None => say(&format!("{} -> new project of {email}", plan.old.name)),
        Some(project) => say(&format!("{} -> project '{}' of {email}", plan.old.name, project.name)),
    }
    count("checks", plan.checks.to_bring.len(), plan.checks.here);
    count("channels", plan.channels.to_bring.len(), plan.channels.here);
    count("API keys", plan.keys.to_bring.len(), plan.keys.here);
    count("badge addresses", plan.badges.to_bring.len(), plan.badges.here);
    if plan.brings_ping_key {
        count("ping key", 1, 0);
    }
    for left in &plan.left {
        say(&format!("  not brought: {left}"));
    }
}

fn count(what: &str, to_bring: usize, here: usize) {
    let here = if here > 0 { format!(", {here} here already") } else { String::new() };
    say(&format!("  {what:16} {to_bring} to bring{here}"));
}

/// Writes what a plan found; returns how many checks could not be brought.
async fn carry_out(db: &Db, settings: &Settings, plan: &Plan<'_>, now: Time) -> Result<usize, Failure> {
    let made: Result<Project> = db::write!(db, |tx| bring::project(tx, plan, now).await);
    let project = made.map_err(|error| Failure(format!("project '{}': {error}", plan.old.name)))?;
    let all = plan.checks.to_bring.len();
    let (mut brought, mut anew, mut failed) = (0, 0, 0);
    for (done, old) in plan.checks.to_bring.iter().enumerate() {
        if done > 0 && done % STEP == 0 {
            eprintln!("brought {done} of {all} checks of '{}'", project.name);
        }
        let outcome: Result<Brought> =
            db::write!(db, |tx| bring::check(tx, &settings.plans, &project, old, now).await);
        match outcome {
            Ok(Brought::Now) => brought += 1,
            Ok(Brought::ExpectedAnew) => (brought, anew) = (brought + 1, anew + 1),
            Ok(Brought::Already) => {}
            refused => {
                failed += 1;
                eprintln!("not brought: check {}: {}", old.title(), reason(refused));
            }
        }
    }
    say(&format!("brought {brought} checks to '{}' of {}", project.name, plan.target.email));
    if anew > 0 {
        say(&format!("  {anew} of them were overdue and are expected anew, from now on"));
    }
    Ok(failed)
}

/// Why a check stays behind although its plan was good: somebody came in between.
fn reason(outcome: Result<Brought>) -> String {
    match outcome {
        Ok(Brought::NoRoom) => "the plan's number of checks is used up".to_owned(),
        Ok(_) => "it belongs to another account here".to_owned(),
        Err(Error::Database(error)) if db::is_taken(&error) => {
            "its uuid is still taken here, by a check that was deleted within the last hour; undo that, or wait"
                .to_owned()
        }
        Err(error) => error.to_string(),
    }
}
