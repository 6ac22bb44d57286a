//! What a running Healthchecks, or a Flatline, tells over its Management API (version 3), as a [`Source`] of the one
//! project that the API key opens.
//!
//! The API does not tell the project's uuid and name, its other keys, and on Healthchecks no settings of channels; what
//! is known besides comes in [`Ask`]. Each answer is read whole and believed only as far as it has the right shape.

use std::collections::HashMap;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::channel::{self, Read};
use super::check::{self, Past};
use super::{OldCheck, OldKey, OldProject, Source, SourceError, badges};
use crate::checks::{Kind, Settings, Status};
use crate::id;
use crate::net::{Fetch, Fetched};
use crate::schedule::Schedule;
use crate::time::{Span, Time};

/// What to ask, and of whom.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The site's address.
    pub url: Url,
    /// A read-write key.
    pub api_key: String,
    /// The project's ping key, which the API does not tell.
    pub ping_key: Option<String>,
    /// The project's name, which the API does not tell.
    pub name: String,
    /// The longest that one answer may take.
    pub limit: Span,
}

/// Reads a server. `progress` hears, in words for a person, how far it is and what it waits for.
///
/// # Errors
/// A sentence that names the address and says what is wrong with its answer.
pub async fn read(ask: &Ask, progress: &(dyn Fn(&str) + Sync)) -> Result<Source, SourceError> {
    let server = Server::new(ask, progress)?;
    let mut project =
        OldProject { name: ask.name.clone(), ping_key: ask.ping_key.clone(), ..OldProject::default() };
    if ask.ping_key.is_none() {
        project
            .left
            .push("the ping key, for slug URLs: the API does not tell it; give --ping-key".to_owned());
    }
    let hint = ask.api_key.chars().take(8).collect();
    let digest = id::digest(&ask.api_key);
    project.keys.push(OldKey { readonly: false, hint, digest, origin: None });
    server.channels(&mut project).await?;
    let listed: Checks = server.json("checks/").await?;
    let all = listed.checks.len();
    for (done, check) in listed.checks.into_iter().enumerate() {
        if done > 0 && done % 50 == 0 {
            progress(&format!("read {done} of {all} checks"));
        }
        match server.check(check).await? {
            Ok(check) => project.checks.push(check),
            Err(why) => project.left.push(why),
        }
    }
    let badges: Badges = server.json("badges/").await?;
    let address = |(tag, urls): (&String, &BadgeUrls)| badges::of_url(tag, &urls.svg3);
    project.badges = badges.badges.iter().filter_map(address).collect();
    Ok(Source { projects: vec![project] })
}

#[derive(Deserialize)]
struct Checks {
    checks: Vec<CheckAnswer>,
}

/// A check as a read-write key sees it; fields that old versions lack have their defaults.
#[derive(Deserialize)]
struct CheckAnswer {
    name: String,
    ping_url: String,
    badge_url: Option<String>,
    #[serde(default)]
    slug: String,
    tags: String,
    #[serde(default)]
    desc: String,
    grace: i64,
    timeout: Option<i64>,
    schedule: Option<String>,
    tz: Option<String>,
    n_pings: i64,
    status: String,
    #[serde(default)]
    started: bool,
    last_ping: Option<String>,
    last_duration: Option<i64>,
    #[serde(default)]
    channels: String,
    #[serde(default)]
    manual_resume: bool,
    #[serde(default)]
    methods: String,
    #[serde(default)]
    filter_subject: bool,
    #[serde(default)]
    filter_body: bool,
    #[serde(default)]
    filter_http_body: bool,
    #[serde(default)]
    filter_default_fail: bool,
    #[serde(default)]
    start_kw: String,
    #[serde(default)]
    success_kw: String,
    #[serde(default)]
    failure_kw: String,
}

#[derive(Deserialize)]
struct Pings {
    pings: Vec<Ping>,
}

#[derive(Deserialize)]
struct Ping {
    #[serde(rename = "type")]
    kind: String,
    date: String,
    #[serde(default)]
    rid: Option<Uuid>,
}

#[derive(Deserialize)]
struct Flips {
    flips: Vec<Flip>,
}

#[derive(Deserialize)]
struct Flip {
    timestamp: String,
}

#[derive(Deserialize)]
struct Channels {
    channels: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: Uuid,
    #[serde(default)]
    name: String,
    kind: String,
}

/// A channel with its settings: what Flatline tells in addition.
#[derive(Deserialize)]
struct ChannelAnswer {
    config: Value,
    down: bool,
    up: bool,
    verified: bool,
    disabled: bool,
}

#[derive(Deserialize)]
struct Badges {
    badges: HashMap<String, BadgeUrls>,
}

#[derive(Deserialize)]
struct BadgeUrls {
    #[serde(default)]
    svg3: String,
}

struct Server<'a> {
    base: String,
    fetch: Fetch,
    progress: &'a (dyn Fn(&str) + Sync),
}

impl<'a> Server<'a> {
    fn new(ask: &Ask, progress: &'a (dyn Fn(&str) + Sync)) -> Result<Self, SourceError> {
        let wrong = |why: String| SourceError(why);
        let mut key = HeaderValue::from_str(&ask.api_key)
            .map_err(|_| wrong("the API key holds characters that no key has".to_owned()))?;
        key.set_sensitive(true);
        let headers = HeaderMap::from_iter([(HeaderName::from_static("x-api-key"), key)]);
        let fetch = Fetch::new(ask.limit, headers).map_err(|error| wrong(error.to_string()))?;
        let base = format!("{}/api/v3/", ask.url.as_str().trim_end_matches('/'));
        Ok(Self { base, fetch, progress })
    }

    async fn get(&self, path: &str) -> Result<Fetched, SourceError> {
        let wrong = |why: &dyn std::fmt::Display| SourceError(format!("{}{path}: {why}", self.base));
        let url = Url::parse(&format!("{}{path}", self.base)).map_err(|error| wrong(&error))?;
        let waiting = |status: u16, span: Span| {
            let seconds = span.as_seconds_up();
            (self.progress)(&format!("the server answered {status}; asking again in {seconds} s"));
        };
        self.fetch.get(&url, waiting).await.map_err(|error| wrong(&error))
    }

    async fn json<T: serde::de::DeserializeOwned>(&self, path: &str) -> Result<T, SourceError> {
        let wrong = |why: &str| SourceError(format!("{}{path}: {why}", self.base));
        let Fetched { status, body } = self.get(path).await?;
        match status {
            200 => serde_json::from_slice(&body).map_err(|error| {
                wrong(&format!(
                    "the answer is not the Management API's ({error}); is this the site's address?"
                ))
            }),
            401 | 403 => Err(wrong("the server does not know this API key; it must be a read-write key")),
            300..=399 => Err(wrong("the server points elsewhere; give the address it points to")),
            404 => Err(wrong("there is no Management API; is this the site's address?")),
            status => Err(wrong(&format!("the server answered {status}"))),
        }
    }

    /// The channels whose settings can be read.
    async fn channels(&self, project: &mut OldProject) -> Result<(), SourceError> {
        let listed: Channels = self.json("channels/").await?;
        for one in listed.channels {
            let Fetched { status, body } = self.get(&format!("channels/{}", one.id)).await?;
            let told = (status == 200).then(|| serde_json::from_slice::<ChannelAnswer>(&body).ok()).flatten();
            let Some(told) = told else {
                let Listed { name, kind, .. } = one;
                project.left.push(format!(
                    "channel '{name}' ({kind}): the API does not tell its settings; use --file"
                ));
                continue;
            };
            let read = Read {
                uuid: one.id,
                kind: one.kind,
                name: one.name,
                value: String::new(),
                is_confirmed: told.verified,
                is_disabled: told.disabled,
            };
            match channel::checked(&read, &told.config, told.down, told.up) {
                Ok(channel) => project.channels.push(channel),
                Err(why) => project.left.push(why),
            }
        }
        Ok(())
    }

    /// The check, or why it stays behind.
    async fn check(&self, answer: CheckAnswer) -> Result<Result<OldCheck, String>, SourceError> {
        let stays = |why: &str| format!("check '{}': {why}", answer.name);
        let Some(uuid) = last_uuid(&answer.ping_url) else { return Ok(Err(stays("it has no uuid"))) };
        let settings = match check::settings(settings(&answer)) {
            Ok(settings) => settings,
            Err(why) => return Ok(Err(stays(&why))),
        };
        let mut past = Past {
            status: check::status(&answer.status),
            n_pings: answer.n_pings,
            last_ping_at: answer.last_ping.as_deref().and_then(Time::parse),
            last_duration: answer.last_duration.map(Span::seconds),
            ..Past::default()
        };
        if answer.started || past.status == Some(Status::Down) {
            let log: Pings = self.json(&format!("checks/{uuid}/pings/")).await?;
            let latest = |kind: &str| log.pings.iter().find(|ping| ping.kind == kind);
            past.last_success_at = latest("success").and_then(|ping| Time::parse(&ping.date));
            let start = latest("start").filter(|_| answer.started);
            past.last_start_at = start.and_then(|ping| Time::parse(&ping.date));
            past.last_start_rid = start.and_then(|ping| ping.rid);
        }
        let state = past.state();
        let mut flips = Vec::new();
        if state.status != Status::New {
            // The log tells up from not up alone, so only its newest entry can be told apart: it led to today's status.
            let log: Flips = self.json(&format!("checks/{uuid}/flips/")).await?;
            let old = if state.status == Status::Up { Status::Down } else { Status::Up };
            let newest = log.flips.first().and_then(|flip| Time::parse(&flip.timestamp));
            flips.extend(newest.map(|at| check::flip(at, old, state.status, "")));
        }
        Ok(Ok(OldCheck {
            uuid,
            badge_key: answer.badge_url.as_deref().and_then(last_uuid).unwrap_or_else(id::uuid),
            created_at: None,
            settings,
            state,
            flips,
            channels: answer.channels.split(',').filter_map(|one| one.parse().ok()).collect(),
        }))
    }
}

fn settings(answer: &CheckAnswer) -> Settings {
    let standard = Settings::default();
    let zone = answer.tz.clone().unwrap_or(standard.zone);
    let kind = match &answer.schedule {
        None => Kind::Simple,
        Some(text) => Schedule::parse(text, &zone).map_or(Kind::Cron, |schedule| schedule.kind()),
    };
    Settings {
        name: plain(&answer.name),
        slug: answer.slug.clone(),
        tags: plain(&answer.tags),
        description: plain(&answer.desc),
        kind,
        period_ms: answer.timeout.map_or(standard.period_ms, Span::seconds),
        grace_ms: Span::seconds(answer.grace),
        schedule: answer.schedule.clone().unwrap_or(standard.schedule),
        zone,
        methods: answer.methods.clone(),
        manual_resume: answer.manual_resume,
        filter_subject: answer.filter_subject,
        filter_body: answer.filter_body,
        filter_http_body: answer.filter_http_body,
        filter_default_fail: answer.filter_default_fail,
        start_kw: plain(&answer.start_kw),
        success_kw: plain(&answer.success_kw),
        failure_kw: plain(&answer.failure_kw),
    }
}

/// Without NUL characters, which PostgreSQL does not store.
fn plain(text: &str) -> String {
    text.replace('\0', "")
}

/// The uuid that a URL ends in, without an ending such as `.svg`.
fn last_uuid(url: &str) -> Option<Uuid> {
    url.rsplit('/').next()?.split('.').next()?.parse().ok()
}
