//! The log of a check as a table: pings, changes of its state and times in which Flatline was not watching, newest
//! first, with what the runs printed.

use std::collections::HashMap;

use super::output::output;
use crate::alerts::words::clock::short;
use crate::checks::deadline::GAP_EXCUSES;
use crate::checks::history::store::{self as history_store, Head, Wanted};
use crate::checks::log::{Entry, store as log_store};
use crate::checks::{self, Check, Gap, Signal, Status, StoredFlip, history};
use crate::db::ReadTx;
use crate::error::Result;
use crate::http::web::mark::Mark;
use crate::http::web::shown;
use crate::http::web::when::{Stamp, Wall};
use crate::sweep::store as sweep_store;
use crate::time::Time;

/// Pings on one page of the log.
const PAGE: i64 = 40;
/// Changes that are looked at.
pub const FLIPS: i64 = 300;

/// What a log can be narrowed to: the word in the address, and for people.
pub const KINDS: [(&str, &str); 5] =
    [("", "All"), ("runs", "Runs"), ("failures", "Failures"), ("notes", "Logs"), ("changes", "Changes")];

/// What was read for one page of the log.
pub struct Read {
    entries: Vec<Entry>,
    heads: Vec<Head>,
    flips: Vec<StoredFlip>,
    /// Spans in which Flatline was not watching.
    gaps: Vec<Gap>,
    /// Where the next page begins, if there is one.
    pub older: Option<i64>,
}

/// A line of the log.
pub struct Row {
    pub at: Time,
    pub when: Stamp,
    /// The class of the line, if it is a change.
    pub tone: &'static str,
    /// The class of its word.
    pub word_tone: &'static str,
    pub mark: Mark,
    pub word: String,
    pub took: String,
    pub what: String,
    pub body: Option<Body>,
}

/// What the run printed.
pub struct Body {
    pub n: i64,
    pub bytes: i64,
    pub html: String,
    /// Whether there is more than is shown here.
    pub is_cut: bool,
}

/// Reads one page; `flips` are the newest of the check, newest first.
///
/// # Errors
/// The database's.
pub async fn read(
    tx: &mut ReadTx,
    check: &Check,
    kind: &str,
    before: Option<i64>,
    flips: &[StoredFlip],
) -> Result<Read> {
    let all = kind.is_empty();
    let wanted = Wanted {
        runs: all || kind == "runs",
        failures: all || kind == "runs" || kind == "failures",
        notes: all || kind == "notes",
    };
    let below = before.unwrap_or(i64::MAX);
    let mut entries = history_store::list_entries(tx, check.id, below, wanted, PAGE + 1).await?;
    let more = entries.len() > PAGE as usize;
    entries.truncate(PAGE as usize);
    let heads = match (entries.last(), entries.first()) {
        (Some(first), Some(last)) => history_store::list_heads(tx, check.id, first.n, last.n).await?,
        _ => Vec::new(),
    };
    let oldest = entries.last().filter(|_| more).map(|entry| entry.received_at);
    let newest = match before {
        Some(n) => log_store::find(tx, check.id, n).await?.map(|entry| entry.received_at),
        None => None,
    };
    let changes = kind == "changes";
    let is_here = |at: Time| {
        changes || (oldest.is_none_or(|oldest| at >= oldest) && newest.is_none_or(|newest| at < newest))
    };
    let is_shown = |flip: &&StoredFlip| {
        (all || changes || (kind == "failures" && flip.new_status == Status::Down))
            && is_here(flip.flipped_at)
    };
    let flips = flips.iter().filter(is_shown).cloned().collect();
    let mut gaps = Vec::new();
    if all || changes {
        let since = oldest.filter(|_| !changes).unwrap_or(check.created_at);
        gaps = history::merged(&sweep_store::list_gaps(tx, since).await?);
        let is_long = |gap: &Gap| gap.ended_at - gap.started_at >= GAP_EXCUSES;
        gaps.retain(|gap| is_long(gap) && gap.ended_at > check.created_at && is_here(gap.ended_at));
    }
    let older = entries.last().filter(|_| more).map(|entry| entry.n);
    Ok(Read { entries, heads, flips, gaps, older })
}

/// The lines of a page, newest first; a change stands above the ping that caused it.
pub fn rows(read: Read, wall: &Wall) -> Vec<Row> {
    let mut heads: HashMap<i64, Vec<u8>> = read.heads.into_iter().map(|head| (head.n, head.head)).collect();
    let mut rows: Vec<Row> = read.flips.iter().map(|flip| change(flip, wall)).collect();
    rows.extend(read.gaps.iter().map(|gap| unwatched(gap, wall)));
    rows.extend(read.entries.iter().map(|entry| ping(entry, heads.remove(&entry.n), wall)));
    rows.sort_by_key(|row| std::cmp::Reverse(row.at));
    rows
}

fn change(flip: &StoredFlip, wall: &Wall) -> Row {
    let (tone, word_tone, mark, word) = match flip.new_status {
        Status::Down => ("flip bad", "is-down", Mark::Down, "Went down"),
        Status::Up => ("flip", "is-up", Mark::Up, "Came up"),
        Status::Paused => ("flip", "is-rest", Mark::Paused, "Paused"),
        Status::New => ("flip", "is-rest", Mark::New, "Resumed"),
    };
    let what = if flip.new_status == Status::Down { shown::down(flip, wall) } else { String::new() };
    Row {
        at: flip.flipped_at,
        when: wall.clock_stamp(flip.flipped_at),
        tone,
        word_tone,
        mark,
        word: word.to_owned(),
        took: String::new(),
        what,
        body: None,
    }
}

/// A span in which Flatline did not watch, at its end: what came later stands above it.
fn unwatched(gap: &Gap, wall: &Wall) -> Row {
    let (from, to) = (wall.clock(gap.started_at), wall.clock(gap.ended_at));
    Row {
        at: gap.ended_at,
        when: wall.clock_stamp(gap.ended_at),
        tone: "flip",
        word_tone: "is-rest",
        mark: Mark::Unseen,
        word: "not watched".to_owned(),
        took: short(gap.ended_at - gap.started_at),
        what: format!("From {from} to {to} Flatline was not watching: pings could not be taken."),
        body: None,
    }
}

/// Mark, tone and word of a ping.
pub fn kind_of(entry: &Entry) -> (Mark, &'static str, String) {
    match (entry.kind, entry.exit_status) {
        (Signal::Success, _) => (Mark::Tick, "is-up", "success".to_owned()),
        (Signal::Start, _) => (Mark::Play, "is-running", "start".to_owned()),
        (Signal::Fail, Some(status)) if status != 0 => {
            (Mark::Cross, "is-down", format!("exit status {status}"))
        }
        (Signal::Fail, _) => (Mark::Cross, "is-down", "fail".to_owned()),
        (Signal::Log, _) => (Mark::Dot, "", "log".to_owned()),
        (Signal::Ignored, _) => (Mark::Dot, "is-rest", "ignored".to_owned()),
    }
}

/// How a ping came: `POST from 192.0.2.14, curl/8.5`.
pub fn origin(entry: &Entry) -> String {
    let how = if entry.scheme == "email" { "Mail" } else { &entry.method };
    let mut text = how.to_owned();
    if let Some(address) = &entry.remote_addr {
        text.push_str(&format!(" from {address}"));
    }
    if !entry.user_agent.is_empty() {
        text.push_str(&format!(", {}", entry.user_agent));
    }
    text
}

fn ping(entry: &Entry, head: Option<Vec<u8>>, wall: &Wall) -> Row {
    let (mark, word_tone, word) = kind_of(entry);
    let body = head.map(|head| Body {
        n: entry.n,
        bytes: entry.body_bytes,
        is_cut: entry.body_bytes > i64::try_from(head.len()).unwrap_or(i64::MAX),
        html: output(&head).html,
    });
    Row {
        at: entry.received_at,
        when: wall.clock_stamp(entry.received_at),
        tone: "",
        word_tone,
        mark,
        word,
        took: entry.duration_ms.map(short).unwrap_or_default(),
        what: origin(entry),
        body,
    }
}

/// The newest changes of a check.
///
/// # Errors
/// The database's.
pub async fn flips(tx: &mut ReadTx, check: &Check) -> Result<Vec<StoredFlip>> {
    checks::flips::store::list(tx, check.id, FLIPS).await
}
