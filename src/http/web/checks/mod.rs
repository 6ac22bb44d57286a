//! `/projects/<uuid>`: the checks of a project, trouble first, and what can be done with several at once.

mod bars;
mod bulk;
mod filter;
pub mod row;

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use uuid::Uuid;

pub use bulk::{change, restore};

use filter::{Filter, SORTS};
use row::Row;

use super::live::Standing;
use super::mark::Mark;
use super::shell::{ProjectLink, Shell};
use super::shown::Shown;
use super::visitor::{Need, Visitor};
use super::when::{Wall, counted};
use super::{WebFailure, live_page};
use crate::app::App;
use crate::checks::history::store as history_store;
use crate::db;
use crate::removal::UNDO_LIFE;
use crate::time::Time;

#[derive(Template)]
#[template(path = "web/checks.html", blocks = ["live"])]
struct Checks {
    shell: Shell,
    project: Uuid,
    title: String,
    headline: Headline,
    may_change: bool,
    counts: Vec<Count>,
    all: usize,
    filter: Filter,
    rows: Vec<Row>,
    standing: Standing,
    gap: Option<(String, String)>,
    undo: Option<i64>,
    /// Projects that ticked checks can be moved to.
    targets: Vec<ProjectLink>,
    /// What makes the first check by one ping.
    first_line: Option<String>,
}

/// The one sentence that is true now.
struct Headline {
    mark: Option<Shown>,
    text: String,
    more: String,
}

/// A chip of the filter.
struct Count {
    shown: Shown,
    number: usize,
}

impl Checks {
    fn is_down(&self) -> bool {
        self.headline.mark == Some(Shown::Down)
    }
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    Query(filter): Query<Filter>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (opened, past, version, wall) = db::read!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Look, now).await?;
        let wall = Wall::new(&opened.signed_in.user.zone, now);
        let past = row::read(tx, opened.membership.project.id, &wall).await?;
        let version = history_store::version(tx, opened.membership.project.id).await?;
        Ok::<_, WebFailure>((opened, past, version, wall))
    })?;
    let gap = row::last_gap(&past.unseen, &wall);
    let mut rows = row::rows(&past, &wall);
    let (may_change, all) = (opened.membership.role.may_change(), rows.len());
    let headline = headline(&rows, &wall);
    let counts = Shown::ALL.map(|shown| Count { shown, number: number(&rows, shown) });
    let again = rows.iter().filter_map(Row::changes_at).filter(|at| *at > now).min();
    filter.apply(&mut rows);
    rows.retain(|row| visitor.part.has(row.key));
    let project_row = &opened.membership.project;
    let first_line = project_row
        .ping_key
        .as_ref()
        .filter(|_| may_change && all == 0)
        .map(|key| format!("curl -fsS '{}/{key}/my-first-check?create=1'", app.settings.ping_url));
    let down = counts.iter().find(|one| one.shown == Shown::Down).map_or(0, |one| one.number);
    let title =
        if down > 0 { format!("({down} down) {}", project_row.name) } else { project_row.name.clone() };
    let template = Checks {
        project,
        title,
        headline,
        may_change,
        counts: counts
            .into_iter()
            .filter(|one| one.number > 0 || Some(one.shown) == filter.status())
            .collect(),
        all,
        targets: opened.other_projects(None),
        undo: filter.deleted.as_deref().and_then(|at| undoable(at, now)),
        filter,
        rows,
        gap: gap.map(|(from, to)| (wall.clock(from), wall.clock(to))),
        first_line,
        standing: Standing { version, now, again },
        shell: Shell::of_project(&app, &visitor, &opened, "Checks"),
    };
    Ok(live_page(&visitor.part, &template, &template.as_live()))
}

/// The instant of a deletion that can still be undone.
fn undoable(at: &str, now: Time) -> Option<i64> {
    at.parse().ok().filter(|at: &i64| *at <= now.0 && now.0 < at.saturating_add(UNDO_LIFE.0))
}

fn number(rows: &[Row], shown: Shown) -> usize {
    rows.iter().filter(|row| row.shown == shown).count()
}

fn headline(rows: &[Row], wall: &Wall) -> Headline {
    let (down, late) = (number(rows, Shown::Down), number(rows, Shown::Late));
    let are = |number: usize| if number == 1 { "is" } else { "are" };
    let (mark, text) = match (down, late) {
        (0, 0) => return quiet(rows),
        (0, late) => (Shown::Late, format!("{} {} late", counted(late, "check"), are(late))),
        (down, 0) => (Shown::Down, format!("{} {} down", counted(down, "check"), are(down))),
        (down, late) => {
            (Shown::Down, format!("{} {} down, {late} {} late", counted(down, "check"), are(down), are(late)))
        }
    };
    let others = match rows.len() - down - late {
        0 => String::new(),
        1 => "The other one needs nothing.".to_owned(),
        others => format!("The other {others} need nothing."),
    };
    let newest = rows.iter().filter_map(|row| row.down_at).max();
    let newest = newest.map(|at| format!("The newest alarm: {}.", wall.near(at))).unwrap_or_default();
    Headline { mark: Some(mark), text, more: format!("{others} {newest}").trim().to_owned() }
}

/// The sentence on a good day.
fn quiet(rows: &[Row]) -> Headline {
    let (up, new, paused) = (
        number(rows, Shown::Up) + number(rows, Shown::Running),
        number(rows, Shown::New),
        number(rows, Shown::Paused),
    );
    let text = match (rows.len(), up) {
        (0, _) => "Send one ping to see it work".to_owned(),
        (1, 1) => "The one check is up".to_owned(),
        (all, up) if all == up => format!("All {all} checks are up"),
        (_, 0) if new > 0 => "Waiting for the first ping".to_owned(),
        (_, 0) => "Every check is paused".to_owned(),
        (_, up) => format!("{} {} up", counted(up, "check"), if up == 1 { "is" } else { "are" }),
    };
    let mut rest = Vec::new();
    rest.extend((new > 0).then(|| format!("{new} waiting for a first ping")));
    rest.extend((paused > 0).then(|| format!("{paused} paused")));
    let more =
        if rows.is_empty() || rest.is_empty() { String::new() } else { format!("Also {}.", rest.join(", ")) };
    Headline { mark: (up > 0).then_some(Shown::Up), text, more }
}
