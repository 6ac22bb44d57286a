//! `flatline demo`: a month of made-up jobs, played into a new database.
//!
//! The pings of [`crate::demo`] are recorded and their silences swept by the same functions as in service, five minutes
//! of the month at a time, so what the pages show is what would have happened. Only sending is pretended. A database
//! with an account in it is left alone.

use std::process::ExitCode;

use uuid::Uuid;

use super::{Failure, open, say};
use crate::accounts;
use crate::alerts::deliver;
use crate::alerts::send::{Kind, Outcome};
use crate::alerts::store::Claimed;
use crate::alerts::{self, NewChannel};
use crate::checks::{self, Check, Created};
use crate::config::Settings;
use crate::db::{self, Db, WriteTx};
use crate::demo::{self, DAY, Days, Event, Fate, JOBS};
use crate::error::{Error, Result};
use crate::id;
use crate::mail::Address;
use crate::pings::{self, Ping};
use crate::signup::{self, Applicant};
use crate::sweep;
use crate::sweep::witness;
use crate::time::{Clock, Span, Time};
use crate::{pause, sweep::store as gaps};

const STEP: Span = Span::minutes(5);
/// Where the made-up people are: their nightly jobs are planned by its clock.
const ZONE: &str = "Europe/Riga";
/// A channel that has stopped working, told of what carries this tag.
const BROKEN_CHANNEL: &str = "https://chat.example.org/hooks/old-room";
const BROKEN_CHANNEL_TAG: &str = "web";
const WORKING_CHANNEL: &str = "https://chat.example.org/hooks/on-call";

/// The made-up account while its month is played.
struct Stage {
    checks: Vec<Check>,
    broken_channel: i64,
}

pub async fn run(settings: &Settings, email: &str, days: u16) -> std::result::Result<ExitCode, Failure> {
    let email = Address::parse(&email.to_lowercase())?;
    let db = open(settings).await?;
    let now = Clock::System.now();
    let accounts = db::read!(db, |tx| accounts::store::list_accounts(tx).await)?;
    if !accounts.is_empty() {
        return Err(Failure(format!(
            "{} holds accounts already; a demonstration needs a database of its own (FLATLINE_DATABASE_URL)",
            settings.database_url
        )));
    }
    let span = Days::before(now, days);
    let events = span.events();
    let token = play(&db, settings, &email, span, &events).await?;
    say(&format!("{} checks, {} pings in {days} days", JOBS.len(), events.len()));
    say("start         flatline serve, within a few minutes: from now on nothing pings");
    say(&format!("sign in once  {}/sign-in/{token}", settings.site_url));
    Ok(ExitCode::SUCCESS)
}

/// Plays the month and returns the token of a link that signs in.
async fn play(db: &Db, settings: &Settings, email: &Address, days: Days, events: &[Event]) -> Result<String> {
    let Days { starts_at: start, ends_at: now } = days;
    let applicant = Applicant { email: email.clone(), password_hash: None, plan: None, may_operate: true };
    let (stage, user_id) = db::write!(db, |tx| {
        let new = signup::sign_up(tx, &settings.plans, &settings.default_plan, &applicant, start).await?;
        accounts::store::set_zone(tx, new.user_id, ZONE).await?;
        let stage = set(tx, settings, new.project, start).await?;
        Ok::<_, Error>((stage, new.user_id))
    })?;
    let (mut rest, mut from) = (events, start);
    while from < now {
        let until = (from + DAY).min(now);
        let (today, later) = rest.split_at(rest.partition_point(|event| event.at <= until));
        db::write!(db, |tx| play_day(tx, settings, &stage, today, (from, until), days).await)?;
        (rest, from) = (later, until);
        eprintln!("flatline: {} days to go", (now - until).0 / DAY.0);
    }
    db::write!(db, |tx| {
        forget_unseen(tx, now).await?;
        witness::stamp(tx, now).await?;
        signup::sign_in_link(tx, user_id, signup::SIGN_IN_LINK_LIFE, now).await
    })
}

/// Makes the checks and channels.
async fn set(tx: &mut WriteTx, settings: &Settings, project: Uuid, now: Time) -> Result<Stage> {
    let project = accounts::store::find_project_by_uuid(tx, project).await?.ok_or(Error::NotFound)?;
    let row = accounts::store::find_account(tx, project.account_id).await?.ok_or(Error::NotFound)?;
    let account = row.account(&settings.plans);
    create_hook(tx, project.id, "On call", WORKING_CHANNEL, now).await?;
    let told = alerts::store::list_channels(tx, project.id).await?;
    let broken_channel = create_hook(tx, project.id, "Old chat room", BROKEN_CHANNEL, now).await?;
    let mut checks = Vec::with_capacity(JOBS.len());
    for job in JOBS {
        let ids = (id::uuid(), id::uuid());
        let created = checks::create(tx, &account, project.id, &job.settings(), ids, now).await?;
        let Created::Check(check) = created else { return Err(Error::internal("the plan has no room")) };
        for channel in &told {
            alerts::store::assign(tx, check.id, channel.id).await?;
        }
        if job.tags.split(' ').any(|tag| tag == BROKEN_CHANNEL_TAG) {
            alerts::store::assign(tx, check.id, broken_channel).await?;
        }
        checks.push(*check);
    }
    Ok(Stage { checks, broken_channel })
}

async fn create_hook(tx: &mut WriteTx, project_id: i64, name: &str, url: &str, now: Time) -> Result<i64> {
    let kind = Kind::find("webhook").ok_or_else(|| Error::internal("there are no webhooks"))?;
    let call = serde_json::json!({"method": "POST", "url": url});
    let config = serde_json::json!({"down": call, "up": call}).to_string();
    let checked = kind.check(&config).map_err(|fault| Error::Invalid(fault.words))?;
    let channel = NewChannel {
        uuid: id::uuid(),
        project_id,
        kind: kind.name,
        name: name.to_owned(),
        config: checked.config,
        on_down: true,
        on_up: true,
        verified_at: Some(now),
    };
    Ok(alerts::store::create_channel(tx, channel, now).await?.id)
}

/// Plays what happened after `from`, up to `until`.
async fn play_day(
    tx: &mut WriteTx,
    settings: &Settings,
    stage: &Stage,
    mut events: &[Event],
    (from, until): (Time, Time),
    days: Days,
) -> Result<()> {
    let outage = days.outage();
    let mut at = from;
    while at < until {
        let before = at;
        at = (at + STEP).min(until);
        let (due, later) = events.split_at(events.partition_point(|event| event.at <= at));
        events = later;
        let group: Vec<Ping> = due.iter().map(|event| ping(stage, event)).collect();
        pings::record(tx, &settings.plans, &group, None).await?;
        if (outage.started_at..outage.ended_at).contains(&at) {
            continue;
        }
        if (before..at).contains(&outage.ended_at) {
            gaps::note_gap(tx, outage).await?;
        }
        if (before..at).contains(&(days.ends_at - demo::PAUSED_FOR)) {
            pause_some(tx, stage, at).await?;
        }
        sweep_all(tx, at).await?;
        deliver::pretend(tx, &settings.plans, at, |delivery| outcome(stage, delivery)).await?;
    }
    Ok(())
}

fn ping(stage: &Stage, event: &Event) -> Ping {
    Ping {
        check: stage.checks[event.job].uuid,
        signal: event.signal,
        letter: None,
        rid: None,
        exit_status: event.exit_status,
        scheme: "https",
        remote_addr: Some("192.0.2.14".into()),
        method: "POST".into(),
        user_agent: "curl/8.14.1".into(),
        body: demo::body(event).into_bytes(),
        received_at: event.at,
    }
}

async fn pause_some(tx: &mut WriteTx, stage: &Stage, now: Time) -> Result<()> {
    for (check, job) in stage.checks.iter().zip(JOBS) {
        if job.fate == Fate::Paused {
            pause::pause(tx, check.id, now).await?;
        }
    }
    Ok(())
}

async fn sweep_all(tx: &mut WriteTx, now: Time) -> Result<()> {
    loop {
        let due = sweep::due(tx, now).await?;
        if due.is_empty() {
            return Ok(());
        }
        sweep::sweep(tx, &due, now).await?;
    }
}

fn outcome(stage: &Stage, delivery: &Claimed) -> Outcome {
    if delivery.channel_id == stage.broken_channel {
        return Outcome::Failed { why: "The server answered 404 Not Found.".to_owned() };
    }
    Outcome::Sent { note: "The server answered 200 OK.".to_owned() }
}

/// Nobody is written to about slots of a made-up outage.
async fn forget_unseen(tx: &mut WriteTx, now: Time) -> Result<()> {
    for account in gaps::list_untold_accounts(tx).await? {
        for slot in gaps::list_untold(tx, account.account_id).await? {
            gaps::tell_unseen(tx, slot.id, now).await?;
        }
    }
    Ok(())
}
