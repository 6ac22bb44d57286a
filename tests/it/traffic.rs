//! Pings as they are seen in the wild, replayed byte for byte: old clients, odd bodies, proxies, bots.
//!
//! `data/pings.jsonl` holds a request each and what must come of it. The program believes proxies in 10.0.0.0/8 and
//! takes pings at the root of a host of their own, as the rows' URLs have it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flatline::accounts::{self, Project};
use flatline::checks::log::{self, Entry};
use flatline::checks::{self, Check, Created, Settings, Signal};
use flatline::id;
use serde::Deserialize;
use serde_json::Value;

use crate::support::{Engine, START, Wire, World, on_both};

const ROWS: &str = include_str!("data/pings.jsonl");
const UUID: &str = "3f2b8c1e-6a4d-4c1b-9e7f-0a1b2c3d4e5f";
const PING_KEY: &str = "pk_9aZ3x_TestKey-000001";
const BODY_LIMIT: usize = 100_000;
const AGENT_CHARS: usize = 200;

#[derive(Deserialize)]
struct Row {
    id: String,
    name: String,
    method: String,
    path: String,
    #[serde(default)]
    query: Value,
    #[serde(default)]
    http: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    no_host: bool,
    #[serde(default)]
    body: Value,
    #[serde(default)]
    body_b64: Option<String>,
    #[serde(default)]
    body_parts: Vec<Value>,
    /// The whole request, where its form is the point.
    #[serde(default)]
    raw: Option<String>,
    #[serde(default)]
    peer: Option<IpAddr>,
    #[serde(default)]
    repeat: Option<usize>,
    expect: Expected,
}

#[derive(Deserialize)]
struct Expected {
    /// One status, or one for each repetition.
    status: Value,
    /// What the log says, or `none` where nothing may be recorded.
    kind: String,
    #[serde(default)]
    exit_status: Option<i64>,
    #[serde(default)]
    rid: Option<String>,
    #[serde(default)]
    remote_addr: Option<String>,
}

/// A text as it stands, or a prefix and a text repeated up to a length in bytes.
fn text_of(value: &Value) -> Vec<u8> {
    let Value::Object(made) = value else {
        return value.as_str().unwrap_or_default().as_bytes().to_vec();
    };
    let part = |name: &str| made.get(name).and_then(Value::as_str).unwrap_or_default().as_bytes();
    let length = usize::try_from(made["len"].as_u64().unwrap()).unwrap();
    part("prefix").iter().chain(part("text").iter().cycle()).take(length).copied().collect()
}

impl Row {
    fn body(&self) -> Vec<u8> {
        if let Some(encoded) = &self.body_b64 {
            return STANDARD.decode(encoded).unwrap();
        }
        let mut body = text_of(&self.body);
        for part in &self.body_parts {
            match part.get("b64").and_then(Value::as_str) {
                Some(encoded) => body.extend(STANDARD.decode(encoded).unwrap()),
                None => {
                    let byte = u8::try_from(part["byte"].as_u64().unwrap()).unwrap();
                    let length = usize::try_from(part["len"].as_u64().unwrap()).unwrap();
                    body.extend(std::iter::repeat_n(byte, length));
                }
            }
        }
        body
    }

    fn request(&self) -> Vec<u8> {
        if let Some(raw) = &self.raw {
            return raw.replace("{uuid}", UUID).into_bytes();
        }
        let query = String::from_utf8(text_of(&self.query)).unwrap();
        let mark = if query.is_empty() { "" } else { "?" };
        let version = self.http.as_deref().unwrap_or("1.1");
        let path = self.path.replace("{uuid}", UUID);
        let mut head = format!("{} {path}{mark}{query} HTTP/{version}\r\n", self.method);
        if !self.no_host && !self.headers.iter().any(|(name, _)| name == "Host") {
            head.push_str("Host: ping.example.test\r\n");
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let names = |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        let body = self.body();
        let chunked = names("Transfer-Encoding");
        if !chunked && !body.is_empty() && !names("Content-Length") {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        let mut request = format!("{head}\r\n").into_bytes();
        if chunked {
            request.extend(format!("{:x}\r\n", body.len()).into_bytes());
            request.extend(&body);
            request.extend(b"\r\n0\r\n\r\n");
        } else {
            request.extend(&body);
        }
        request
    }

    fn statuses(&self) -> Vec<u16> {
        let status = |value: &Value| u16::try_from(value.as_u64().unwrap()).unwrap();
        match &self.expect.status {
            Value::Array(each) => each.iter().map(status).collect(),
            one => vec![status(one); self.repeat.unwrap_or(1)],
        }
    }

    fn peer(&self) -> IpAddr {
        self.peer.unwrap_or_else(|| "203.0.113.7".parse().unwrap())
    }

    fn agent(&self) -> String {
        let sent = self.headers.iter().find(|(name, _)| name == "User-Agent");
        sent.map(|(_, agent)| agent.chars().take(AGENT_CHARS).collect()).unwrap_or_default()
    }
}

/// The project that the rows speak of: a check with the known uuid, one with a slug, two that share one.
async fn project(world: &World) -> i64 {
    let mut tx = world.app.db.begin_write().await.unwrap();
    let owner =
        accounts::store::find_project_by_ping_key(&mut tx, &world.owner.ping_key).await.unwrap().unwrap();
    let project = Project {
        id: 0,
        uuid: id::uuid(),
        name: "traffic".to_owned(),
        ping_key: Some(PING_KEY.to_owned()),
        badge_key: id::uuid(),
        ..owner
    };
    let project_id = accounts::store::create_project(&mut tx, &project, START).await.unwrap();
    let account = world.app.account(&mut tx, project.account_id).await.unwrap();
    for (uuid, slug) in [
        (UUID.parse().unwrap(), ""),
        (id::uuid(), "nightly-backup"),
        (id::uuid(), "db-dump"),
        (id::uuid(), "db-dump"),
    ] {
        let settings = Settings { slug: slug.to_owned(), ..Settings::default() };
        let ids = (uuid, id::uuid());
        let created = checks::create(&mut tx, &account, project_id, &settings, ids, START).await.unwrap();
        assert!(matches!(created, Created::Check(_)));
    }
    tx.commit().await.unwrap();
    project_id
}

/// Every check with the number of its pings.
async fn counts(world: &World, project_id: i64) -> (Vec<Check>, BTreeMap<i64, i64>) {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let checks = checks::store::list(&mut tx, project_id).await.unwrap();
    let counts = checks.iter().map(|check| (check.id, check.state.n_pings)).collect();
    (checks, counts)
}

/// What was recorded since, with the bodies, oldest first.
async fn recorded(world: &World, project_id: i64, before: &BTreeMap<i64, i64>) -> Vec<(Entry, Vec<u8>)> {
    let (checks, _) = counts(world, project_id).await;
    let mut tx = world.app.db.begin_read().await.unwrap();
    let mut recorded = Vec::new();
    for check in checks {
        let above = before.get(&check.id).copied().unwrap_or(0);
        for entry in log::store::list(&mut tx, check.id, above, 1000).await.unwrap().into_iter().rev() {
            let body = log::store::find_body(&mut tx, check.id, entry.n).await.unwrap().unwrap_or_default();
            recorded.push((entry, body));
        }
    }
    recorded
}

/// Sends a row as often as it says and compares answers and log; returns what is wrong.
async fn replay(world: &World, project_id: i64, row: &Row) -> Vec<String> {
    let (_, before) = counts(world, project_id).await;
    let (request, mut wrong) = (row.request(), Vec::new());
    for status in row.statuses() {
        let mut wire = Wire::into(world, SocketAddr::new(row.peer(), 40_000));
        wire.say(&request).await;
        let Some(answer) = wire.hear(&row.method).await else {
            wrong.push("no answer".to_owned());
            continue;
        };
        if answer.status != status {
            wrong.push(format!("status {} {}, not {status}", answer.status, answer.text()));
        }
        if status == 200 {
            let stored = answer.header("cache-control").is_some_and(|value| value.contains("no-store"));
            let shared = answer.header("access-control-allow-origin") == Some("*");
            if !stored || !shared {
                wrong.push(format!("headers {:?}", answer.headers));
            }
        }
    }
    let recorded = recorded(world, project_id, &before).await;
    let expected = if row.expect.kind == "none" { 0 } else { row.statuses().len() };
    if recorded.len() != expected {
        wrong.push(format!("{} recorded, not {expected}", recorded.len()));
    }
    let kept: Vec<u8> = row.body().into_iter().take(BODY_LIMIT).collect();
    for (entry, body) in recorded {
        if body != kept {
            wrong.push(format!("{} bytes stored of {}", body.len(), kept.len()));
        }
        let address = row.expect.remote_addr.clone().unwrap_or_else(|| row.peer().to_string());
        let found =
            (entry.kind.word(), entry.exit_status, entry.rid.map(|rid| rid.to_string()), entry.remote_addr);
        let wanted =
            (row.expect.kind.as_str(), row.expect.exit_status, row.expect.rid.clone(), Some(address));
        if found != wanted {
            wrong.push(format!("{found:?}, not {wanted:?}"));
        }
        let agent = if row.raw.is_some() { entry.user_agent.clone() } else { row.agent() };
        if (entry.method.as_str(), &entry.user_agent) != (row.method.as_str(), &agent) {
            wrong.push(format!("logged as {} by {}", entry.method, entry.user_agent));
        }
    }
    wrong
}

on_both! {
    async fn every_ping_of_the_wild_is_answered_and_recorded_as_documented(engine: Engine) {
        let settings = [("TRUSTED_PROXIES", "10.0.0.0/8"), ("PING_URL", "http://ping.example.test")];
        let world = World::with(engine, "unlimited", &settings).await;
        let project_id = project(&world).await;
        let rows: Vec<Row> = ROWS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 139);
        let mut wrong = Vec::new();
        for row in &rows {
            let of_row = replay(&world, project_id, row).await;
            wrong.extend(of_row.into_iter().map(|what| format!("{} {}: {what}", row.id, row.name)));
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    async fn with_the_post_only_switch_what_a_bot_fetches_is_logged_and_ignored(engine: Engine) {
        let world = World::with(engine, "unlimited", &[("PING_URL", "http://ping.example.test")]).await;
        let project_id = project(&world).await;
        let (checks, _) = counts(&world, project_id).await;
        let check = checks.iter().find(|check| check.uuid.to_string() == UUID).unwrap();
        let mut tx = world.app.db.begin_write().await.unwrap();
        let post_only = |settings: &mut Settings| {
            settings.methods = "POST".to_owned();
            Ok(())
        };
        checks::edit(&mut tx, check.id, None, post_only).await.unwrap();
        tx.commit().await.unwrap();

        let rows = ROWS.lines().map(|line| serde_json::from_str::<Row>(line).unwrap());
        let bots: Vec<Row> = rows.filter(|row| row.name.starts_with("preview bot")).collect();
        assert_eq!(bots.len(), 17);
        for bot in &bots {
            let (_, before) = counts(&world, project_id).await;
            let mut wire = Wire::into(&world, SocketAddr::new(bot.peer(), 40_000));
            assert_eq!(wire.ask(bot.request()).await.unwrap().status, 200);
            let recorded = recorded(&world, project_id, &before).await;
            let seen: Vec<_> =
                recorded.iter().map(|(entry, _)| (entry.kind, entry.user_agent.clone())).collect();
            assert_eq!(seen, [(Signal::Ignored, bot.agent())]);
        }
        let (checks, _) = counts(&world, project_id).await;
        assert!(checks.iter().all(|check| check.state.status == checks::Status::New));
    }
}
