//! `flatline account`: whoever can start the program on its database may make accounts, also the operator's.

use std::io::Read;
use std::process::ExitCode;

use serde::Serialize;
use uuid::Uuid;

use super::{Failure, open, say};
use crate::accounts::second_factor;
use crate::accounts::sessions;
use crate::alerts::letters;
use crate::alerts::words::security::Change;
use crate::config::Settings;
use crate::error::Error;
use crate::mail::Address;
use crate::signup::{self, Applicant};
use crate::time::Clock;
use crate::{accounts, db, plans};

#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Make an account with a project, its keys, and the address as its first channel.
    Create {
        #[arg(long)]
        email: String,
        /// Read a password from standard input; without it the account gets a link that signs in once.
        #[arg(long)]
        password_stdin: bool,
        /// The plan; the first account gets `unlimited`, others the default.
        #[arg(long)]
        plan: Option<String>,
        /// Print JSON. The keys are shown this once.
        #[arg(long)]
        json: bool,
    },
    /// Give an account another plan.
    Plan { email: String, plan: String },
    /// Turn off the second factor of who lost it; their sessions end, and a letter tells them.
    ResetSecondFactor { email: String },
}

#[derive(Serialize)]
struct Created<'a> {
    email: &'a str,
    project: Uuid,
    api_key: &'a str,
    api_key_readonly: &'a str,
    ping_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in_url: Option<String>,
}

pub async fn run(command: Command, settings: &Settings) -> Result<ExitCode, Failure> {
    match command {
        Command::Create { email, password_stdin, plan, json } => {
            create(settings, &email, password_stdin, plan, json).await
        }
        Command::Plan { email, plan } => change_plan(settings, &email, &plan).await,
        Command::ResetSecondFactor { email } => reset_second_factor(settings, &email).await,
    }
}

async fn create(
    settings: &Settings,
    email: &str,
    password_stdin: bool,
    plan: Option<String>,
    json: bool,
) -> Result<ExitCode, Failure> {
    let email = Address::parse(&email.to_lowercase())?;
    let password_hash = if password_stdin { Some(read_password()?) } else { None };
    let applicant = Applicant { email, password_hash, plan, may_operate: true };
    let db = open(settings).await?;
    let now = Clock::System.now();
    let new = db::write!(db, |tx| {
        signup::sign_up(tx, &settings.plans, &settings.default_plan, &applicant, now).await
    })?;
    let sign_in_url = new.sign_in_token.map(|token| format!("{}/sign-in/{token}", settings.site_url));
    if json {
        let created = Created {
            email: &new.email,
            project: new.project,
            api_key: &new.api_key,
            api_key_readonly: &new.api_key_readonly,
            ping_key: &new.ping_key,
            sign_in_url,
        };
        say(&serde_json::to_string(&created)?);
    } else {
        say(&format!("account {} on plan {}", new.email, new.plan));
        say(&format!("project            {}", new.project));
        say(&format!("API key            {}", new.api_key));
        say(&format!("API key, read-only {}", new.api_key_readonly));
        say(&format!("ping key           {}", new.ping_key));
        if let Some(url) = sign_in_url {
            say(&format!("sign in once at    {url}"));
        }
        say("The API keys are stored hashed and not shown again.");
    }
    Ok(ExitCode::SUCCESS)
}

fn read_password() -> Result<String, Failure> {
    let mut password = String::new();
    std::io::stdin().read_to_string(&mut password)?;
    let password = password.trim_end_matches(['\r', '\n']);
    match accounts::password::complaint(password) {
        Some(complaint) => Err(Failure(complaint)),
        None => Ok(accounts::password::hash(password)?),
    }
}

async fn change_plan(settings: &Settings, email: &str, name: &str) -> Result<ExitCode, Failure> {
    let Some(plan) = settings.plans.get(name) else {
        return Err(Failure(format!("there is no plan '{name}'; there are {}", settings.plans.names())));
    };
    let email = email.to_lowercase();
    let db = open(settings).await?;
    let changed = db::write!(db, |tx| {
        let user = accounts::store::find_user_by_email(tx, &email).await?.ok_or(Error::NotFound)?;
        plans::change(tx, user.account_id, plan).await
    });
    match changed {
        Ok(()) => {
            say(&format!("{email} is on plan {name}"));
            Ok(ExitCode::SUCCESS)
        }
        Err(Error::NotFound) => Err(Failure(format!("{email} has no account"))),
        Err(error) => Err(error.into()),
    }
}

/// Whoever asks for it must have been made sure of outside: this is the way around the factor.
async fn reset_second_factor(settings: &Settings, email: &str) -> Result<ExitCode, Failure> {
    let email = email.to_lowercase();
    let db = open(settings).await?;
    let now = Clock::System.now();
    let reset = db::write!(db, |tx| {
        let user = accounts::store::find_user_by_email(tx, &email).await?.ok_or(Error::NotFound)?;
        accounts::store::lock_user(tx, user.id).await?;
        if !second_factor::store::delete(tx, user.id).await? {
            return Ok(None);
        }
        sessions::end_all(tx, user.id).await?;
        letters::tell_change(tx, &user, Change::SecondFactorReset, now).await?;
        Ok::<_, Error>(Some(user.id))
    });
    match reset {
        Ok(Some(user)) => {
            tracing::warn!(user, "the second factor was reset on the command line");
            say(&format!(
                "{email} signs in without a second factor; all sessions ended, and a letter says so"
            ));
            Ok(ExitCode::SUCCESS)
        }
        Ok(None) => Err(Failure(format!("{email} has no second factor"))),
        Err(Error::NotFound) => Err(Failure(format!("{email} has no account"))),
        Err(error) => Err(error.into()),
    }
}
