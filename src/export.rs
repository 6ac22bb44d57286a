//! All that an account holds, as one JSON text that is made piece by piece: its projects with members, keys by name,
//! channels and checks, and each check's flips and log.
//!
//! [`Export::next`] reads one piece from the transaction it is given, so that a slow reader holds neither a transaction
//! nor more than a piece in memory, however long the log. Pieces are of different moments: what changes meanwhile may
//! be there or not, but nothing stands there twice. Secrets are left out ([`LEFT_OUT`]).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::accounts::{self, Project, User};
use crate::alerts;
use crate::alerts::send::email;
use crate::checks::json::{Access, CheckJson, Urls};
use crate::checks::log::Entry;
use crate::checks::{self, StoredFlip};
use crate::db::ReadTx;
use crate::error::{Error, Result};
use crate::time::Time;

/// What the text says that it does not hold.
const LEFT_OUT: [&str; 3] = [
    "the password, sessions, codes of the second factor, and keys of passkeys",
    "API keys, of which only digests are stored",
    "URLs and headers of webhooks, which often hold secrets",
];
/// A piece ends once it is longer than this, in bytes.
const PIECE_BYTES: usize = 256 * 1024;
/// Rows read at once.
const PAGE: i64 = 500;

/// What is still to be written, last first.
pub struct Export {
    user: User,
    urls: Urls,
    now: Time,
    left: Vec<Part>,
}

enum Part {
    Text(&'static str),
    Head,
    Project { id: i64, is_first: bool },
    Check { id: i64, is_first: bool },
    Flips { check_id: i64, above: i64 },
    Log { check_id: i64, above: i64 },
}

impl Export {
    /// The export of a user's account; nothing is read before the first piece.
    pub fn new(user: User, urls: Urls, now: Time) -> Self {
        Self { user, urls, now, left: vec![Part::Head] }
    }

    /// The next piece of the text; `None` when it is whole.
    ///
    /// # Errors
    /// The database's; the text is worth nothing then.
    pub async fn next(&mut self, tx: &mut ReadTx) -> Result<Option<String>> {
        let mut piece = String::new();
        while piece.len() < PIECE_BYTES {
            match self.left.pop() {
                None => break,
                Some(Part::Text(text)) => piece.push_str(text),
                Some(Part::Head) => self.head(tx, &mut piece).await?,
                Some(Part::Project { id, is_first }) => self.project(tx, id, is_first, &mut piece).await?,
                Some(Part::Check { id, is_first }) => self.check(tx, id, is_first, &mut piece).await?,
                Some(Part::Flips { check_id, above }) => self.flips(tx, check_id, above, &mut piece).await?,
                Some(Part::Log { check_id, above }) => self.log(tx, check_id, above, &mut piece).await?,
            }
        }
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }

    async fn head(&mut self, tx: &mut ReadTx, piece: &mut String) -> Result<()> {
        let user = &self.user;
        let account = accounts::store::find_account(tx, user.account_id).await?.ok_or(Error::NotFound)?;
        let factor = accounts::second_factor::store::find(tx, user.id).await?;
        let passkeys = accounts::passkeys::store::list(tx, user.id).await?;
        let memberships = accounts::store::list_memberships(tx, user.id).await?;
        let membership = |one: &accounts::Membership| json!({"uuid": one.project.uuid, "name": one.project.name, "role": one.role.word()});
        let passkey = |one: &accounts::passkeys::Passkey| {
            let used = one.last_used_at.map(Time::iso_seconds);
            json!({"name": one.name, "created_at": one.created_at.iso_seconds(), "last_used_at": used})
        };
        let head = json!({
            "site": self.urls.site,
            "exported_at": self.now.iso_seconds(),
            "left_out": LEFT_OUT,
            "user": {
                "uuid": user.uuid,
                "email": user.email,
                "zone": user.zone,
                "second_factor_since": factor.map(|factor| factor.created_at.iso_seconds()),
                "passkeys": passkeys.iter().map(passkey).collect::<Vec<_>>(),
            },
            "account": {
                "uuid": account.uuid,
                "plan": account.plan,
                "checks_used": account.checks_used,
                "alerts_used": account.alerts_used_at(self.now),
            },
            "member_of": memberships.iter().map(membership).collect::<Vec<_>>(),
        });
        open(piece, &head, "projects");
        let owned = memberships.iter().filter(|one| one.project.account_id == user.account_id);
        let ids: Vec<i64> = owned.map(|one| one.project.id).collect();
        self.left.push(Part::Text("]}\n"));
        self.queue(&ids, |id, is_first| Part::Project { id, is_first });
        Ok(())
    }

    /// Queues a part for each id, in their order.
    fn queue(&mut self, ids: &[i64], part: impl Fn(i64, bool) -> Part) {
        self.left.extend(ids.iter().enumerate().rev().map(|(index, id)| part(*id, index == 0)));
    }

    async fn project(&mut self, tx: &mut ReadTx, id: i64, is_first: bool, piece: &mut String) -> Result<()> {
        let found = accounts::store::find_project(tx, id).await?;
        // One that was deleted meanwhile keeps its place, so that commas stand between things.
        let head = match found {
            Some(project) => project_json(tx, &project).await?,
            None => json!({"deleted": true}),
        };
        comma(piece, is_first);
        open(piece, &head, "checks");
        let ids: Vec<i64> = checks::store::list(tx, id).await?.iter().map(|check| check.id).collect();
        self.left.push(Part::Text("]}"));
        self.queue(&ids, |id, is_first| Part::Check { id, is_first });
        Ok(())
    }

    async fn check(&mut self, tx: &mut ReadTx, id: i64, is_first: bool, piece: &mut String) -> Result<()> {
        comma(piece, is_first);
        let Some(check) = checks::store::find_by_id(tx, id).await? else {
            piece.push_str("{\"deleted\":true}");
            return Ok(());
        };
        let assigned = alerts::store::list_assigned_to_check(tx, id).await?;
        let access = Access::full(assigned.into_iter().map(|row| row.channel_uuid));
        let shape = CheckJson::new(&check, access, &self.urls, 3, self.now);
        let shape = serde_json::to_value(shape).map_err(|error| Error::internal(error.to_string()))?;
        open(piece, &shape, "flips");
        self.left.push(Part::Text("]}"));
        self.left.push(Part::Log { check_id: id, above: 0 });
        self.left.push(Part::Text("],\"log\":["));
        self.left.push(Part::Flips { check_id: id, above: 0 });
        Ok(())
    }

    async fn flips(&mut self, tx: &mut ReadTx, check_id: i64, above: i64, piece: &mut String) -> Result<()> {
        let page = checks::history::store::list_flips_above(tx, check_id, above, PAGE).await?;
        for (index, flip) in page.iter().enumerate() {
            comma(piece, above == 0 && index == 0);
            piece.push_str(&flip_json(flip).to_string());
        }
        if let Some(last) = page.last() {
            self.left.push(Part::Flips { check_id, above: last.id });
        }
        Ok(())
    }

    async fn log(&mut self, tx: &mut ReadTx, check_id: i64, above: i64, piece: &mut String) -> Result<()> {
        let page = checks::history::store::list_entries_above(tx, check_id, above, PAGE).await?;
        for (index, entry) in page.iter().enumerate() {
            comma(piece, above == 0 && index == 0);
            let body = match entry.body_bytes {
                0 => None,
                _ => checks::log::store::find_body(tx, check_id, entry.n).await?,
            };
            piece.push_str(&entry_json(entry, body).to_string());
            // Bodies may be long: the rest of the page is read again.
            if piece.len() >= PIECE_BYTES {
                self.left.push(Part::Log { check_id, above: entry.n });
                return Ok(());
            }
        }
        if let Some(last) = page.last() {
            self.left.push(Part::Log { check_id, above: last.n });
        }
        Ok(())
    }
}

fn comma(piece: &mut String, is_first: bool) {
    if !is_first {
        piece.push_str(",\n");
    }
}

/// Writes an object without its closing brace, but with the beginning of one more field, a list.
fn open(piece: &mut String, object: &Value, list: &str) {
    let text = object.to_string();
    piece.push_str(text.strip_suffix('}').unwrap_or(&text));
    piece.push_str(&format!(",\"{list}\":["));
}

async fn project_json(tx: &mut ReadTx, project: &Project) -> Result<Value> {
    let members = accounts::team::store::list_members(tx, project.id).await?;
    let keys = accounts::store::list_keys(tx, project.id).await?;
    let channels = alerts::store::list_channels(tx, project.id).await?;
    let member = |one: &accounts::team::Member| json!({"email": one.email, "role": one.role.word()});
    let key = |one: &accounts::store::NamedKey| json!({"name": one.name, "begins_with": one.hint, "readonly": one.readonly});
    let channel = |one: &alerts::Channel| {
        let address = if one.kind == email::NAME { email::address_of(&one.config) } else { None };
        json!({
            "uuid": one.uuid, "kind": one.kind, "name": one.name, "address": address, "on_down": one.on_down,
            "on_up": one.on_up, "is_verified": one.verified_at.is_some(), "is_off": one.disabled_at.is_some(),
        })
    };
    Ok(json!({
        "uuid": project.uuid,
        "name": project.name,
        "members": members.iter().map(member).collect::<Vec<_>>(),
        "api_keys": keys.iter().map(key).collect::<Vec<_>>(),
        "channels": channels.iter().map(channel).collect::<Vec<_>>(),
    }))
}

fn flip_json(flip: &StoredFlip) -> Value {
    json!({
        "at": flip.flipped_at.iso_micros(),
        "from": flip.old_status.word(),
        "to": flip.new_status.word(),
        "reason": flip.reason.word(),
        "ping": flip.ping_n,
        "exit_status": flip.exit_status,
    })
}

/// A body that is no text is written in base64, and says so.
fn entry_json(entry: &Entry, body: Option<Vec<u8>>) -> Value {
    let mut json = json!({
        "n": entry.n,
        "at": entry.received_at.iso_micros(),
        "kind": entry.kind.word(),
        "scheme": entry.scheme,
        "from": entry.remote_addr,
        "method": entry.method,
        "user_agent": entry.user_agent,
        "rid": entry.rid,
        "exit_status": entry.exit_status,
        "duration_ms": entry.duration_ms.map(|span| span.0),
    });
    if let Some(bytes) = body {
        match String::from_utf8(bytes) {
            Ok(text) => json["body"] = text.into(),
            Err(error) => json["body_base64"] = STANDARD.encode(error.as_bytes()).into(),
        }
    }
    json
}
