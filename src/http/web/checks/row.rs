//! One check in the list.

use std::collections::HashMap;

use super::bars::Bars;
use crate::alerts::words::clock::short;
use crate::alerts::words::name_of;
use crate::checks::history::{self, Day, Missed, Turn, store as history_store};
use crate::checks::{self, Check, Gap, Kind, StoredFlip, UniqueKey};
use crate::db::ReadTx;
use crate::error::Result;
use crate::http::web::mark::Mark;
use crate::http::web::shown::{self, Shown};
use crate::http::web::when::{Stamp, Wall};
use crate::sweep::store::{self as sweep_store, ProjectUnseen};
use crate::time::{Span, Time};

/// Days that a list looks back.
const DAYS: i64 = 30;

/// All that a project's list shows, as it was read.
pub struct Past {
    pub checks: Vec<Check>,
    turns: Vec<Turn>,
    standing: Vec<StoredFlip>,
    pub unseen: Vec<ProjectUnseen>,
    gaps: Vec<Gap>,
}

/// A line of the list.
pub struct Row {
    pub key: UniqueKey,
    pub name: String,
    pub sort_name: String,
    pub tags: Vec<String>,
    pub shown: Shown,
    pub since: String,
    pub reason: Option<String>,
    pub schedule: String,
    pub grace: String,
    pub bars: Bars,
    pub last: Option<Stamp>,
    /// What the last ping was, where it was no success.
    pub last_kind: &'static str,
    pub last_at: Option<Time>,
    pub next_at: Option<Time>,
    /// When it went down, where it is down.
    pub down_at: Option<Time>,
}

impl Row {
    pub fn mark(&self) -> Mark {
        self.shown.mark()
    }

    /// When it will be shown otherwise, if nothing comes: it is late from then on.
    pub fn changes_at(&self) -> Option<Time> {
        self.next_at.filter(|_| matches!(self.shown, Shown::Up | Shown::Running))
    }

    /// Where it stands in a list: equal as long as it need not be moved.
    pub fn order(&self) -> String {
        format!("{} {}", self.shown.word(), self.sort_name)
    }

    /// The class of the line: only trouble has one.
    pub fn tone(&self) -> &'static str {
        match self.shown {
            Shown::Down => "bad",
            Shown::Late => "warn",
            _ => "",
        }
    }
}

/// Reads a project's checks with their last thirty days.
///
/// # Errors
/// The database's.
pub async fn read(tx: &mut ReadTx, project_id: i64, wall: &Wall) -> Result<Past> {
    let since = wall.day_begins(wall.day(wall.now) - DAYS + 1);
    Ok(Past {
        checks: checks::holdings::store::list_glances(tx, project_id).await?,
        turns: history_store::list_turns(tx, project_id, since).await?,
        standing: history_store::list_standing(tx, project_id).await?,
        unseen: sweep_store::list_unseen_of_project(tx, project_id, since).await?,
        gaps: sweep_store::list_gaps(tx, since).await?,
    })
}

/// The lines, in the order of the checks.
pub fn rows(past: &Past, wall: &Wall) -> Vec<Row> {
    let today = wall.day(wall.now);
    let begins: Vec<Time> = (0..=DAYS).map(|day| wall.day_begins(today - DAYS + 1 + day)).collect();
    let blind = history::blind_days(&begins, &past.gaps, wall.now);
    let turns = past.turns.chunk_by(|one, next| one.check_id == next.check_id);
    let turns: HashMap<i64, &[Turn]> = turns.map(|of_one| (of_one[0].check_id, of_one)).collect();
    let mut unseen: HashMap<i64, Vec<Time>> = HashMap::new();
    for slot in &past.unseen {
        unseen.entry(slot.check_id).or_default().push(slot.slot_at);
    }
    let standing: HashMap<i64, &StoredFlip> =
        past.standing.iter().map(|flip| (flip.check_id, flip)).collect();
    let mut again = Again::default();
    let lines = past.checks.iter().map(|check| {
        let turns = turns.get(&check.id).copied().unwrap_or_default();
        let slots = unseen.get(&check.id).map(Vec::as_slice).unwrap_or_default();
        let late = check.is_late(wall.now);
        let missed = Missed { slots, days: &blind };
        let days = history::days(&begins, turns, missed, check.state.status, late, wall.now);
        row(check, again.bars(days), again.schedule(check, wall), standing.get(&check.id).copied(), wall)
    });
    lines.collect()
}

/// What many checks of a list have in common, made once.
#[derive(Default)]
struct Again<'a> {
    bars: HashMap<Vec<Day>, Bars>,
    schedules: HashMap<(Kind, Span, &'a str, &'a str), String>,
}

impl<'a> Again<'a> {
    fn bars(&mut self, days: Vec<Day>) -> Bars {
        self.bars.entry(days).or_insert_with_key(|days| Bars::draw(days)).clone()
    }

    fn schedule(&mut self, check: &'a Check, wall: &Wall) -> String {
        let checks::Settings { kind, period_ms, schedule, zone, .. } = &check.settings;
        let said = self.schedules.entry((*kind, *period_ms, schedule, zone));
        said.or_insert_with(|| shown::schedule(check, wall)).clone()
    }
}

fn row(check: &Check, bars: Bars, schedule: String, standing: Option<&StoredFlip>, wall: &Wall) -> Row {
    let shown = Shown::of(check, wall);
    let (settings, state) = (&check.settings, &check.state);
    let name = name_of(check);
    let last_at = [state.last_ping_at, state.last_start_at].into_iter().flatten().max();
    Row {
        key: UniqueKey::of(check.uuid),
        sort_name: name.to_lowercase(),
        tags: settings.tags.split_whitespace().map(str::to_owned).collect(),
        shown,
        since: shown::since(check, shown, standing, wall),
        reason: shown::reason(check, shown, standing, wall),
        schedule,
        grace: grace(settings),
        bars,
        last: last_at.map(|at| wall.stamp(at)),
        last_kind: last_kind(check, shown, standing),
        last_at,
        next_at: state.expected_at,
        down_at: standing.filter(|_| shown == Shown::Down).map(|flip| flip.flipped_at),
        name,
    }
}

fn last_kind(check: &Check, shown: Shown, standing: Option<&StoredFlip>) -> &'static str {
    let (state, has_failed) = (&check.state, |flip: &StoredFlip| flip.ping_n.is_some());
    match shown {
        _ if state.last_start_at > state.last_ping_at => "start",
        Shown::Down if standing.is_some_and(has_failed) => "fail",
        _ => "",
    }
}

fn grace(settings: &checks::Settings) -> String {
    let grace = format!("{} grace", short(settings.grace_ms));
    match (settings.kind, settings.manual_resume) {
        (Kind::Simple | Kind::Cron | Kind::OnCalendar, false) => grace,
        (_, true) => format!("{grace}, resumes by hand"),
    }
}

/// The last span in which Flatline was not watching and a slot of these checks could not be seen.
pub fn last_gap(unseen: &[ProjectUnseen], wall: &Wall) -> Option<(Time, Time)> {
    let newest = unseen.last()?;
    (wall.now - newest.gap_ended_at < Span::hours(24 * 7))
        .then_some((newest.gap_started_at, newest.gap_ended_at))
}
