//! `/projects/<uuid>/wall` and `/wall/<key>`: all checks of a project on a screen that nobody sits at.
//!
//! Trouble is large and has its reason, the rest is small. The second address is for a screen where nobody signs in;
//! it opens this one page, shows no address of a check and leads nowhere. Times are in the zone of whoever looks, there
//! in that of the account's owner.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use super::checks::row::{self, Row};
use super::live::{Part, Standing};
use super::shown::Shown;
use super::visitor::{Need, Posted, Visitor};
use super::when::{Stamp, Wall as Clock};
use super::{WebFailure, live_page, to};
use crate::accounts::walls;
use crate::app::App;
use crate::checks::history::store as history_store;
use crate::db::{self, ReadTx};
use crate::time::Time;

/// How often a wall without a script asks again, where that was wished, in seconds.
const REFRESH: i64 = 60;
/// With more quiet checks than this they are shown smaller, so that a screen holds them.
const FEW: usize = 24;

#[derive(Template)]
#[template(path = "web/wall.html", blocks = ["live"])]
struct Wall {
    title: String,
    headline: String,
    project_name: String,
    /// Where news is told.
    events: String,
    /// The project's page, for its members.
    back: Option<String>,
    trouble: Vec<Row>,
    rest: Vec<Row>,
    at: Stamp,
    zone: String,
    standing: Standing,
    refreshes: bool,
    sharing: Option<Sharing>,
}

/// The address without signing in, for members who may change it.
struct Sharing {
    project: Uuid,
    url: Option<String>,
    token: String,
}

impl Wall {
    fn is_down(&self) -> bool {
        self.trouble.iter().any(|row| row.shown == Shown::Down)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct View {
    refresh: Option<String>,
}

/// What a wall shows, as it was read.
struct Seen {
    past: row::Past,
    version: String,
    clock: Clock,
}

async fn see(tx: &mut ReadTx, project_id: i64, zone: &str, now: Time) -> Result<Seen, WebFailure> {
    let clock = Clock::new(zone, now);
    let past = row::read(tx, project_id, &clock).await?;
    Ok(Seen { past, version: history_store::version(tx, project_id).await?, clock })
}

/// What stands around the tiles.
struct Frame {
    project_name: String,
    events: String,
    back: Option<String>,
    sharing: Option<Sharing>,
}

fn render(seen: Seen, frame: Frame, view: &View, part: &Part) -> Response {
    let Seen { past, version, clock } = seen;
    let Frame { project_name, events, back, sharing } = frame;
    let mut rows = row::rows(&past, &clock);
    rows.sort_by(|one, other| (one.shown, &one.sort_name).cmp(&(other.shown, &other.sort_name)));
    let again = rows.iter().filter_map(Row::changes_at).filter(|at| *at > clock.now).min();
    let headline = headline(&rows);
    let (trouble, rest): (Vec<Row>, Vec<Row>) =
        rows.into_iter().partition(|row| matches!(row.shown, Shown::Down | Shown::Late));
    let down = trouble.iter().filter(|row| row.shown == Shown::Down).count();
    let refreshes = view.refresh.is_some();
    let wall = Wall {
        title: if down > 0 { format!("({down} down) {project_name}") } else { project_name.clone() },
        headline,
        project_name,
        events,
        back,
        trouble,
        rest,
        at: clock.clock_stamp(clock.now),
        zone: clock.zone_name().to_owned(),
        standing: Standing { version, now: clock.now, again },
        refreshes,
        sharing,
    };
    let mut response = live_page(part, &wall, &wall.as_live());
    let headers = response.headers_mut();
    if refreshes {
        headers.insert(header::REFRESH, HeaderValue::from(REFRESH));
    }
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
    response
}

/// `3 down, 1 late, 8 up`: the counts that are not zero.
fn headline(rows: &[Row]) -> String {
    let said = |shown: Shown| {
        let number = rows.iter().filter(|row| row.shown == shown).count();
        (number > 0).then(|| format!("{number} {}", shown.word()))
    };
    let parts: Vec<String> = Shown::ALL.into_iter().filter_map(said).collect();
    match rows.len() {
        0 => "No check yet".to_owned(),
        all if parts.len() == 1 && rows[0].shown == Shown::Up => format!("All {all} up"),
        _ => parts.join(", "),
    }
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    Query(view): Query<View>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (opened, seen, key) = db::read!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Look, now).await?;
        let id = opened.membership.project.id;
        let seen = see(tx, id, &opened.signed_in.user.zone, now).await?;
        let key = walls::store::find_key(tx, id).await?;
        Ok::<_, WebFailure>((opened, seen, key))
    })?;
    let url = key.map(|key| format!("{}/wall/{key}", app.urls.site));
    let sharing = Sharing { project, url, token: visitor.form_token() };
    let frame = Frame {
        project_name: opened.membership.project.name,
        events: format!("/projects/{project}/events"),
        back: Some(format!("/projects/{project}")),
        sharing: opened.membership.role.may_change().then_some(sharing),
    };
    Ok(render(seen, frame, &view, &visitor.part))
}

pub async fn show_by_key(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    Query(view): Query<View>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (shown, seen) = db::read!(app.db, |tx| {
        let shown = walls::find(tx, &key).await?.ok_or(WebFailure::NotFound)?;
        let seen = see(tx, shown.project.id, &shown.zone, now).await?;
        Ok::<_, WebFailure>((shown, seen))
    })?;
    let events = format!("/wall/{key}/events");
    let frame = Frame { project_name: shown.project.name, events, back: None, sharing: None };
    Ok(render(seen, frame, &view, &visitor.part))
}

/// Makes the address, or another one in its place.
pub async fn make_address(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let key = crate::id::token();
    db::write!(app.db, |tx| {
        let opened = posted.visitor.open(tx, project, Need::Change, now).await?;
        walls::open(tx, opened.membership.project.id, &key).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/projects/{project}/wall#sharing")))
}

pub async fn end_address(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    db::write!(app.db, |tx| {
        let opened = posted.visitor.open(tx, project, Need::Change, now).await?;
        walls::close(tx, opened.membership.project.id).await?;
        Ok::<_, WebFailure>(())
    })?;
    Ok(to(&format!("/projects/{project}/wall#sharing")))
}
