//! `/checks/<key>`: one check. The verdict first, then what happened, and what can be done.

mod body;
mod deeds;
mod hints;
mod log;
pub mod moving;
mod output;
mod plot;
mod told;
mod verdict;

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

pub use body::{download, show as show_body};
pub use deeds::{copy, delete, pause, resume};

use log::{KINDS, Row};
use plot::{Plot, Runs};
use told::{TOLD_MAX, ToldRow};
use verdict::{Culprit, Verdict};

use super::channels;
use super::live::Standing;
use super::mark::Mark;
use super::shell::Shell;
use super::shown::{self, Shown};
use super::visitor::{Need, Opened, Visitor};
use super::when::{Stamp, Wall, coarse};
use super::{WebFailure, edit, live_page};
use crate::alerts::attempts::{self, Attempt};
use crate::alerts::log::{Told, store as told_store};
use crate::alerts::words::clock::short;
use crate::alerts::words::name_of;
use crate::alerts::{self, Channel};
use crate::app::App;
use crate::checks::history::{self, Downtime, store as history_store};
use crate::checks::log::{Entry, store as log_store};
use crate::checks::{Check, Gap, Kind, Status, StoredFlip, UniqueKey};
use crate::db::{self, ReadTx};
use crate::http::named::Named;
use crate::sweep::store as sweep_store;
use crate::time::{Span, Time};

/// Days that the plot can show.
const PLOT_DAYS: [i64; 3] = [14, 30, 90];
const RUNS_MAX: i64 = 400;
const NEXT: usize = 5;
/// Months of downtime, this one included.
const MONTHS: usize = 3;

#[derive(Template)]
#[template(path = "web/check.html", blocks = ["live"])]
struct Page {
    shell: Shell,
    key: UniqueKey,
    name: String,
    title: String,
    project: Uuid,
    tags: Vec<String>,
    description: String,
    verdict: Verdict,
    standing: Standing,
    is_paused: bool,
    may_change: bool,
    address: Option<Address>,
    /// What would help.
    hints: Vec<String>,
    plot: Option<Plot>,
    days: i64,
    told: Vec<ToldRow>,
    kind: String,
    rows: Vec<Row>,
    older: Option<i64>,
    schedule: String,
    allowed: String,
    next: Vec<(Stamp, String)>,
    months: Vec<Month>,
    unwatched: Option<String>,
    channels: Vec<ChannelRow>,
}

/// How the check is pinged; only for those who may.
struct Address {
    url: String,
    by_name: Option<String>,
    mail: Option<String>,
}

struct Month {
    name: String,
    down: String,
    times: String,
    up: String,
}

struct ChannelRow {
    name: String,
    tone: &'static str,
    mark: Mark,
    word: &'static str,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct View {
    days: String,
    kind: String,
    before: String,
}

/// All that the page shows, as it was read.
struct Seen {
    opened: Opened,
    check: Check,
    wall: Wall,
    flips: Vec<StoredFlip>,
    outcomes: Vec<Entry>,
    log: log::Read,
    told: Vec<Told>,
    attempts: Vec<Attempt>,
    channels: Vec<Channel>,
    gaps: Vec<Gap>,
    last_body: Vec<u8>,
    version: String,
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    Query(view): Query<View>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let days = view.days.parse().ok().filter(|days| PLOT_DAYS.contains(days)).unwrap_or(PLOT_DAYS[0]);
    let seen = db::read!(app.db, |tx| see(tx, &visitor, check, &view, days, now).await)?;
    let shell = Shell::of_project(&app, &visitor, &seen.opened, "Checks");
    let template = build(&app, shell, seen, view.kind, days);
    Ok(live_page(&visitor.part, &template, &template.as_live()))
}

async fn see(
    tx: &mut ReadTx,
    visitor: &Visitor,
    check: Named,
    view: &View,
    days: i64,
    now: Time,
) -> Result<Seen, WebFailure> {
    let (opened, check) = visitor.open_check(tx, check, Need::Look, now).await?;
    let wall = Wall::new(&opened.signed_in.user.zone, now);
    let flips = log::flips(tx, &check).await?;
    let since = wall.day_begins(wall.day(now) - days + 1);
    let (_, months_from) = months(&wall).pop().unwrap_or((now, now));
    let assigned = alerts::store::list_assigned_to_check(tx, check.id).await?;
    let mut channels = alerts::store::list_channels(tx, check.project_id).await?;
    channels.retain(|channel| assigned.iter().any(|one| one.channel_uuid == channel.uuid));
    let standing_ping =
        flips.first().filter(|flip| flip.new_status == Status::Down).and_then(|flip| flip.ping_n);
    let last_body = match standing_ping {
        Some(n) => log_store::find_body(tx, check.id, n).await?.unwrap_or_default(),
        None => Vec::new(),
    };
    Ok(Seen {
        outcomes: history_store::list_outcomes(tx, check.id, since, RUNS_MAX).await?,
        log: log::read(tx, &check, &view.kind, view.before.parse().ok(), &flips).await?,
        told: told_store::list_told(tx, check.id, TOLD_MAX).await?,
        attempts: attempts::store::list_of_check(tx, check.id, TOLD_MAX).await?,
        gaps: sweep_store::list_gaps(tx, since.min(months_from)).await?,
        version: history_store::version(tx, check.project_id).await?,
        opened,
        check,
        wall,
        flips,
        channels,
        last_body,
    })
}

fn build(app: &App, shell: Shell, seen: Seen, kind: String, days: i64) -> Page {
    let Seen {
        opened,
        check,
        wall,
        flips,
        outcomes,
        log,
        told,
        attempts,
        channels,
        gaps,
        last_body,
        version,
    } = seen;
    let standing = flips.first().filter(|flip| flip.new_status == check.state.told_status);
    let culprit = Culprit::of(standing, &outcomes, &last_body);
    let verdict = verdict::verdict(&check, standing, culprit, &wall);
    let name = name_of(&check);
    let may_change = opened.membership.role.may_change();
    let gaps_since_made: Vec<Gap> = gaps.into_iter().filter(|gap| gap.ended_at > check.created_at).collect();
    let (months, unwatched) = downtime(&check, &flips, &gaps_since_made, &wall);
    Page {
        title: if verdict.shown == Shown::Down { format!("(down) {name}") } else { name.clone() },
        key: UniqueKey::of(check.uuid),
        project: opened.membership.project.uuid,
        tags: check.settings.tags.split_whitespace().map(str::to_owned).collect(),
        description: check.settings.description.clone(),
        standing: Standing { version, now: wall.now, again: again(&check, verdict.shown, &wall) },
        is_paused: check.state.status == Status::Paused,
        may_change,
        address: may_change.then(|| address(app, &opened, &check)),
        hints: app
            .recorder
            .refused(check.uuid)
            .map(|refused| hints::refused(&refused, &wall))
            .into_iter()
            .chain(hints::hours_off(&check, &outcomes))
            .collect(),
        plot: plot::plot(Runs { outcomes: &outcomes, flips: &flips, gaps: &gaps_since_made, days }, &wall),
        days,
        told: told::rows(told, &attempts, &wall),
        kind: KINDS
            .iter()
            .find(|(word, _)| *word == kind)
            .map(|(word, _)| (*word).to_owned())
            .unwrap_or_default(),
        older: log.older,
        rows: log::rows(log, &wall),
        schedule: shown::schedule(&check, &wall),
        allowed: allowed(&check),
        next: next(&check, &wall),
        months,
        unwatched,
        channels: channels.iter().map(channel_row).collect(),
        verdict,
        name,
        shell,
    }
}

/// When the page says something else even if nothing comes.
fn again(check: &Check, shown: Shown, wall: &Wall) -> Option<Time> {
    match shown {
        Shown::Down | Shown::Late | Shown::Running => Some(wall.now + Span::minutes(1)),
        Shown::Up => check.state.expected_at.filter(|at| *at > wall.now),
        Shown::New | Shown::Paused => None,
    }
}

fn address(app: &App, opened: &Opened, check: &Check) -> Address {
    let slug = &check.settings.slug;
    let key = opened.membership.project.ping_key.as_ref().filter(|_| !slug.is_empty());
    Address {
        url: format!("{}/{}", app.settings.ping_url, check.uuid),
        by_name: key.map(|key| format!("{}/{key}/{slug}", app.settings.ping_url)),
        mail: app.settings.email_domain.as_ref().map(|domain| format!("{}@{domain}", check.uuid)),
    }
}

fn allowed(check: &Check) -> String {
    let is_simple = check.settings.kind == Kind::Simple;
    edit::allowed(check.settings.grace_ms, if is_simple { check.floor_ms } else { Span::ZERO })
}

/// The next instants at which a ping is expected, each with how far away it is.
fn next(check: &Check, wall: &Wall) -> Vec<(Stamp, String)> {
    let away = |at: Time| if at > wall.now { format!("in {}", coarse(at - wall.now)) } else { wall.near(at) };
    let said = |at: Time| (wall.clock_stamp(at), away(at));
    match check.settings.schedule() {
        Ok(schedule) if check.settings.kind != Kind::Simple => {
            schedule.slots(wall.now).take(NEXT).map(said).collect()
        }
        _ => check.state.expected_at.map(said).into_iter().collect(),
    }
}

/// Beginnings and ends of the last months on the wall, newest first.
fn months(wall: &Wall) -> Vec<(Time, Time)> {
    let mut months = Vec::new();
    let mut end = wall.now;
    let mut begins = wall.month_begins(wall.now);
    while months.len() < MONTHS {
        months.push((end, begins));
        end = begins;
        begins = wall.month_begins(begins - Span::hours(1));
    }
    months
}

fn downtime(check: &Check, flips: &[StoredFlip], gaps: &[Gap], wall: &Wall) -> (Vec<Month>, Option<String>) {
    let oldest_first: Vec<StoredFlip> = flips.iter().rev().cloned().collect();
    let mut unwatched = Span::ZERO;
    let rows = months(wall)
        .into_iter()
        .filter(|(end, _)| *end > check.created_at)
        .map(|(end, begins)| {
            let from = begins.max(check.created_at);
            unwatched = unwatched + history::covered(from, end, gaps);
            let time = history::downtime(from, end, &oldest_first, check.state.status, gaps, wall.now);
            month(wall.month(begins), time)
        })
        .collect();
    let words = (unwatched > Span::ZERO)
        .then(|| format!("Leaves out {} in which Flatline was not watching.", short(unwatched)));
    (rows, words)
}

fn month(name: String, time: Downtime) -> Month {
    let up = match time.judged.0 {
        0 => "–".to_owned(),
        judged => {
            // Rounded down: 100 % is said only of a month without a second of downtime.
            let hundredths = (judged - time.span.0).saturating_mul(10_000) / judged;
            match hundredths {
                10_000 => "100 %".to_owned(),
                other => format!("{}.{:02} %", other / 100, other % 100),
            }
        }
    };
    let times = match time.times {
        0 => String::new(),
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    let down = if time.span == Span::ZERO { "none".to_owned() } else { short(time.span) };
    Month { name, down, times, up }
}

fn channel_row(channel: &Channel) -> ChannelRow {
    let (tone, mark, word) = channels::Standing::of(channel).shown();
    ChannelRow { name: channel.display_name(), tone, mark, word }
}
