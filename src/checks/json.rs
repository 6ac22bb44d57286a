//! A check as programs see it: the Management API's shape, field by field (`CONTRACT` 3.2). Also what a
//! webhook's `$JSON` holds.

use base16ct::lower;
use serde::Serialize;
use sha1::{Digest, Sha1};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{Check, Kind, Status};
use crate::time::Time;

/// Where links in answers point to; neither ends with a slash.
#[derive(Clone, Debug)]
pub struct Urls {
    pub site: String,
    pub ping: String,
}

/// Which of the two shapes.
#[derive(Clone, Debug)]
pub enum Access {
    /// With the uuid, its URLs, and the uuids of the assigned channels, sorted and comma-joined.
    Full {
        channels: String,
    },
    Readonly,
}

/// The shape; keys in the contract's order.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Check)]
pub struct CheckJson {
    name: String,
    slug: String,
    tags: String,
    desc: String,
    grace: i64,
    n_pings: i64,
    #[schema(inline)]
    status: Shown,
    started: bool,
    last_ping: Option<String>,
    next_ping: Option<String>,
    manual_resume: bool,
    methods: String,
    subject: String,
    subject_fail: String,
    start_kw: String,
    success_kw: String,
    failure_kw: String,
    filter_subject: bool,
    filter_body: bool,
    filter_http_body: bool,
    filter_default_fail: bool,
    badge_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_duration: Option<i64>,
    #[serde(flatten)]
    identity: Identity,
    #[serde(flatten)]
    schedule: Schedule,
}

/// A key that may write sees the first form, one that may only read the second.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Identity {
    Full {
        uuid: Uuid,
        ping_url: String,
        update_url: String,
        pause_url: String,
        resume_url: String,
        channels: String,
    },
    Readonly {
        unique_key: String,
    },
}

/// A period in seconds, or an expression in a time zone.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum Schedule {
    Simple { timeout: i64 },
    Expression { schedule: String, tz: String },
}

/// The status that is shown: the stored one, `grace` while a success is late, and in version 1 `started` while a run
/// may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Shown {
    New,
    Up,
    Grace,
    Down,
    Paused,
    Started,
}

/// The key under which read-only access names a check: SHA-1 over the first half of its uuid.
pub fn unique_key(uuid: Uuid) -> String {
    let half = &uuid.simple().to_string()[..16];
    lower::encode_string(&Sha1::digest(half.as_bytes()))
}

impl Access {
    /// The full shape of a check with these channels.
    pub fn full(channels: impl IntoIterator<Item = Uuid>) -> Self {
        let mut channels: Vec<String> = channels.into_iter().map(|channel| channel.to_string()).collect();
        channels.sort();
        Self::Full { channels: channels.join(",") }
    }
}

impl Shown {
    fn of(check: &Check, version: u8, now: Time) -> Self {
        match check.state.status {
            _ if version == 1 && check.is_within_run(now) => Self::Started,
            _ if check.is_late(now) => Self::Grace,
            Status::New => Self::New,
            Status::Up => Self::Up,
            Status::Down => Self::Down,
            Status::Paused => Self::Paused,
        }
    }
}

impl CheckJson {
    /// Shapes a check for version `version` of the API.
    pub fn new(check: &Check, access: Access, urls: &Urls, version: u8, now: Time) -> Self {
        let (settings, state) = (&check.settings, &check.state);
        let subject = |keywords: &str| {
            if settings.filter_subject { keywords.to_owned() } else { String::new() }
        };
        let started = check.is_running();
        Self {
            name: settings.name.clone(),
            slug: settings.slug.clone(),
            tags: settings.tags.clone(),
            desc: settings.description.clone(),
            grace: settings.grace_ms.as_seconds(),
            n_pings: state.n_pings,
            status: Shown::of(check, version, now),
            started,
            last_ping: state.last_ping_at.map(Time::iso_seconds),
            next_ping: next_ping(check).map(Time::iso_seconds),
            manual_resume: settings.manual_resume,
            methods: settings.methods.clone(),
            subject: subject(&settings.success_kw),
            subject_fail: subject(&settings.failure_kw),
            start_kw: settings.start_kw.clone(),
            success_kw: settings.success_kw.clone(),
            failure_kw: settings.failure_kw.clone(),
            filter_subject: settings.filter_subject,
            filter_body: settings.filter_body,
            filter_http_body: settings.filter_http_body,
            filter_default_fail: settings.filter_default_fail,
            badge_url: format!("{}/b/2/{}.svg", urls.site, check.badge_key),
            last_duration: state.last_duration_ms.map(crate::time::Span::as_seconds),
            identity: Identity::new(check, access, urls, version),
            schedule: match settings.kind {
                Kind::Simple => Schedule::Simple { timeout: settings.period_ms.as_seconds() },
                Kind::Cron | Kind::OnCalendar => {
                    Schedule::Expression { schedule: settings.schedule.clone(), tz: settings.zone.clone() }
                }
            },
        }
    }
}

/// When the grace begins: the next slot, or the start of the run under way if that is earlier.
fn next_ping(check: &Check) -> Option<Time> {
    let state = &check.state;
    let running = state.last_start_at.filter(|_| state.status != Status::Down);
    [state.expected_at, running].into_iter().flatten().min()
}

impl Identity {
    fn new(check: &Check, access: Access, urls: &Urls, version: u8) -> Self {
        let uuid = check.uuid;
        match access {
            Access::Readonly => Self::Readonly { unique_key: unique_key(uuid) },
            Access::Full { channels } => {
                let update_url = format!("{}/api/v{version}/checks/{uuid}", urls.site);
                Self::Full {
                    uuid,
                    ping_url: format!("{}/{uuid}", urls.ping),
                    pause_url: format!("{update_url}/pause"),
                    resume_url: format!("{update_url}/resume"),
                    update_url,
                    channels,
                }
            }
        }
    }
}
