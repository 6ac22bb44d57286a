//! What Healthchecks wrote into its SQLite file, as a [`Source`]. The file is only read.
//!
//! Versions differ in the columns they have; one that is missing stands for the value it had before there was such a
//! column. Bodies and logs of pings are not looked at, however large they are.

use std::collections::HashMap;
use std::path::Path;

use base16ct::lower;
use uuid::Uuid;

use super::channel::{self, Read};
use super::check::{self, Past};
use super::{OldCheck, OldKey, OldProject, Source, SourceError, badges};
use crate::accounts::origins;
use crate::checks::{Change, Kind, Settings, Status};
use crate::db::{Foreign, ForeignError, ForeignRow};
use crate::id;
use crate::time::{Span, Time};

/// Tables without which it is not Healthchecks' file.
const TABLES: [&str; 6] =
    ["accounts_project", "auth_user", "api_check", "api_channel", "api_channel_checks", "api_flip"];

/// What the file does not hold, but its owner knows.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The server's `SECRET_KEY`; without it keys that are stored hashed, and badges, cannot be brought.
    pub secret: Option<String>,
    /// One of its API keys, as proof that the secret is the right one.
    pub api_key: Option<String>,
}

/// Reads a file.
///
/// # Errors
/// A sentence that says what is wrong with the file, or with what the owner knows.
pub async fn read(path: &Path, known: &Known) -> Result<Source, SourceError> {
    let wrong = |why: String| SourceError(format!("{}: {why}", path.display()));
    let tables = Tables::read(path).await.map_err(|error| wrong(error.to_string()))?.map_err(wrong)?;
    if let Some(key) = &known.api_key {
        prove(&tables, known, key)?;
    }
    let projects = tables.projects.iter().map(|row| tables.project(row, known)).collect::<Option<_>>();
    Ok(Source { projects: projects.ok_or_else(|| wrong("a project has no uuid".to_owned()))? })
}

/// The tables, whole.
struct Tables {
    projects: Vec<ForeignRow>,
    users: Vec<ForeignRow>,
    members: Vec<ForeignRow>,
    checks: Vec<ForeignRow>,
    channels: Vec<ForeignRow>,
    assigned: Vec<ForeignRow>,
    flips: Vec<ForeignRow>,
    /// The latest success of each check.
    successes: HashMap<i64, Time>,
}

impl Tables {
    /// The outer error is the file's, the inner one that it holds something else.
    async fn read(path: &Path) -> Result<Result<Self, String>, ForeignError> {
        let mut file = Foreign::open(path).await?;
        let there = file.tables().await?;
        let has = |table: &str| there.iter().any(|one| one == table);
        if let Some(missing) = TABLES.iter().find(|table| !has(table)) {
            return Ok(Err(format!("it is no database of Healthchecks: it has no table {missing}")));
        }
        let members = if has("accounts_member") { file.rows("accounts_member").await? } else { Vec::new() };
        let pings = if has("api_ping") {
            file.latest("api_ping", "owner_id, kind", "created").await?
        } else {
            Vec::new()
        };
        let is_success = |row: &&ForeignRow| row.text("kind").is_none_or(|kind| kind.is_empty());
        let success = |row: &ForeignRow| Some((row.integer("owner_id")?, time(row, "created")?));
        let mut successes = HashMap::new();
        for (check, at) in pings.iter().filter(is_success).filter_map(success) {
            successes.entry(check).and_modify(|latest: &mut Time| *latest = at.max(*latest)).or_insert(at);
        }
        Ok(Ok(Self {
            projects: file.rows("accounts_project").await?,
            users: file.rows("auth_user").await?,
            members,
            checks: file.rows("api_check").await?,
            channels: file.rows("api_channel").await?,
            assigned: file.rows("api_channel_checks").await?,
            flips: file.rows("api_flip").await?,
            successes,
        }))
    }

    /// `None` if the row cannot be a project.
    fn project(&self, row: &ForeignRow, known: &Known) -> Option<OldProject> {
        let id = row.integer("id")?;
        let owner = self.users.iter().find(|user| user.integer("id") == row.integer("owner_id"));
        let mut project = OldProject {
            uuid: Some(uuid(row, "code")?),
            name: row.text("name").unwrap_or_default(),
            owner: owner.and_then(|owner| owner.text("email")).map(|email| email.to_lowercase()),
            ping_key: row.text("ping_key").filter(|key| !key.is_empty()),
            ..OldProject::default()
        };
        for (column, readonly) in [("api_key", false), ("api_key_readonly", true)] {
            match key(row, column, readonly, known) {
                Some(Ok(key)) => project.keys.push(key),
                Some(Err(why)) => project.left.push(why),
                None => {}
            }
        }
        let of_project = |one: &&ForeignRow| one.integer("project_id") == Some(id);
        for channel in self.channels.iter().filter(of_project).filter_map(read_channel) {
            match channel::translate(&channel) {
                Ok(channel) => project.channels.push(channel),
                Err(why) => project.left.push(why),
            }
        }
        for row in self.checks.iter().filter(of_project) {
            match self.check(row) {
                Ok(check) => project.checks.push(check),
                Err(why) => project.left.push(why),
            }
        }
        match (row.text("badge_key"), &known.secret) {
            (Some(key), Some(secret)) => {
                project.badges = badges::of_project(secret.as_bytes(), &key, &project.checks);
            }
            _ => {
                project.left.push("badges of tags: their addresses are signed; give --secret-key".to_owned())
            }
        }
        match self.members.iter().filter(of_project).count() {
            0 => {}
            members => project.left.push(format!("{members} members: invite them again")),
        }
        Some(project)
    }

    fn check(&self, row: &ForeignRow) -> Result<OldCheck, String> {
        let name = row.text("name").unwrap_or_default();
        let stays = |why: &str| format!("check '{name}': {why}");
        let (Some(id), Some(uuid)) = (row.integer("id"), uuid(row, "code")) else {
            return Err(stays("it has no uuid"));
        };
        let settings = check::settings(read_settings(row)).map_err(|why| stays(&why))?;
        let past = Past {
            status: row.text("status").and_then(|word| check::status(&word)),
            n_pings: row.integer("n_pings").unwrap_or(0),
            last_ping_at: time(row, "last_ping"),
            last_success_at: self.successes.get(&id).copied(),
            last_start_at: time(row, "last_start"),
            last_start_rid: self::uuid(row, "last_start_rid"),
            last_duration: row.integer("last_duration").map(|micros| Span::millis(micros / 1000)),
        };
        let of_check = |column: &'static str| move |one: &&ForeignRow| one.integer(column) == Some(id);
        let channel = |row: &ForeignRow| {
            let channel = row.integer("channel_id");
            self.channels
                .iter()
                .find(|one| one.integer("id") == channel)
                .and_then(|one| self::uuid(one, "code"))
        };
        Ok(OldCheck {
            uuid,
            badge_key: self::uuid(row, "badge_key").unwrap_or_else(id::uuid),
            created_at: time(row, "created"),
            settings,
            state: past.state(),
            flips: self.flips.iter().filter(of_check("owner_id")).filter_map(flip).collect(),
            channels: self.assigned.iter().filter(of_check("check_id")).filter_map(channel).collect(),
        })
    }
}

/// Whether the secret and the API key belong together.
fn prove(tables: &Tables, known: &Known, key: &str) -> Result<(), SourceError> {
    let secret = known.secret.as_deref().unwrap_or_default();
    let digest = lower::encode_string(&origins::digest(secret.as_bytes(), key));
    let stored =
        |row: &ForeignRow| ["api_key", "api_key_readonly"].map(|column| row.text(column).unwrap_or_default());
    let matches =
        |stored: String| stored == key || stored.split_once('.').is_some_and(|(_, kept)| kept == digest);
    if tables.projects.iter().flat_map(stored).any(matches) {
        return Ok(());
    }
    let what =
        if known.secret.is_some() { "the secret key and the API key do not" } else { "the API key does not" };
    Err(SourceError(format!("{what} belong to that database: no project there has such a key")))
}

/// A key: in full in old databases, today its first eight secret characters and a digest of the whole.
fn key(row: &ForeignRow, column: &str, readonly: bool, known: &Known) -> Option<Result<OldKey, String>> {
    let stored = row.text(column).filter(|stored| !stored.is_empty())?;
    let Some((head, digest)) = stored.split_once('.') else {
        let hint = stored.chars().take(8).collect();
        return Some(Ok(OldKey { readonly, hint, digest: id::digest(&stored), origin: None }));
    };
    let prefix = if readonly { "hcr_" } else { "hcw_" };
    let title = format!("{prefix}{head}");
    Some(match (&known.secret, unhex(digest)) {
        (Some(secret), Some(digest)) => {
            let origin = Some(secret.as_bytes().to_vec());
            Ok(OldKey { readonly, hint: title.chars().take(8).collect(), digest, origin })
        }
        (None, Some(_)) => Err(format!("API key {title}…: it is stored hashed; give --secret-key")),
        (_, None) => Err(format!("API key {title}…: its digest cannot be read")),
    })
}

fn read_channel(row: &ForeignRow) -> Option<Read> {
    Some(Read {
        uuid: uuid(row, "code")?,
        kind: row.text("kind").unwrap_or_default(),
        name: row.text("name").unwrap_or_default(),
        value: row.text("value").unwrap_or_default(),
        is_confirmed: row.flag("email_verified"),
        is_disabled: row.flag("disabled"),
    })
}

fn read_settings(row: &ForeignRow) -> Settings {
    let standard = Settings::default();
    let text = |column: &str| row.text(column).unwrap_or_default();
    let span = |column: &str| row.integer(column).map(|micros| Span::millis(micros / 1000));
    Settings {
        name: text("name"),
        slug: text("slug"),
        tags: text("tags"),
        description: text("desc"),
        kind: Kind::from_word(&text("kind")).unwrap_or(standard.kind),
        period_ms: span("timeout").unwrap_or(standard.period_ms),
        grace_ms: span("grace").unwrap_or(standard.grace_ms),
        schedule: row.text("schedule").unwrap_or(standard.schedule),
        zone: row.text("tz").unwrap_or(standard.zone),
        methods: text("methods"),
        manual_resume: row.flag("manual_resume"),
        filter_subject: row.flag("filter_subject"),
        filter_body: row.flag("filter_body"),
        filter_http_body: row.flag("filter_http_body"),
        filter_default_fail: row.flag("filter_default_fail"),
        start_kw: text("start_kw"),
        success_kw: text("success_kw"),
        failure_kw: text("failure_kw"),
    }
}

fn flip(row: &ForeignRow) -> Option<Change> {
    let status = |column: &str| Status::from_word(&row.text(column)?);
    let reason = row.text("reason").unwrap_or_default();
    Some(check::flip(time(row, "created")?, status("old_status")?, status("new_status")?, &reason))
}

fn uuid(row: &ForeignRow, column: &str) -> Option<Uuid> {
    Uuid::parse_str(&row.text(column)?).ok()
}

/// `2026-11-30 03:37:42.557999`, in UTC.
fn time(row: &ForeignRow, column: &str) -> Option<Time> {
    Time::parse(&format!("{}Z", row.text(column)?.replace(' ', "T")))
}

/// The 32 bytes that 64 hex digits stand for.
fn unhex(text: &str) -> Option<Vec<u8>> {
    base16ct::mixed::decode_vec(text).ok().filter(|bytes| bytes.len() == 32)
}
