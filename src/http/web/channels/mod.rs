//! `/projects/<uuid>/channels`: where a project's alerts go, and whether they arrive; what fails stands first.
//!
//! Kinds are data (`alerts::send`): neither this screen nor its templates name one. An address may hold a secret, so
//! members who may only look see names and results alone.

mod deeds;
mod form;
mod standing;

use std::collections::HashMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

pub use deeds::{ask, delete, test};
pub use form::{create, save, show as show_one, show_new};
pub use standing::Standing;

use standing::LastResult;

use super::mark::Mark;
use super::shell::Shell;
use super::visitor::{Need, Visitor};
use super::when::Wall;
use super::{WebFailure, page};
use crate::alerts::send::{KINDS, Kind};
use crate::alerts::setup::store::{self as setup_store, Waiting};
use crate::alerts::{self, Channel};
use crate::app::App;
use crate::checks;
use crate::db;

#[derive(Template)]
#[template(path = "web/channels.html")]
struct Channels {
    shell: Shell,
    project: Uuid,
    project_name: String,
    headline: Headline,
    may_change: bool,
    rows: Vec<Row>,
    kinds: &'static [Kind],
    was_deleted: bool,
}

/// The one sentence that is true now.
struct Headline {
    tone: &'static str,
    mark: Option<Mark>,
    text: String,
}

struct Row {
    uuid: Uuid,
    title: String,
    /// What stands below the title: where it goes, or its kind.
    sub: String,
    standing: Standing,
    used_by: String,
    result: LastResult,
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    axum::extract::Query(view): axum::extract::Query<View>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (opened, channels, uses, number, waiting) = db::read!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Look, now).await?;
        let project_id = opened.membership.project.id;
        Ok::<_, WebFailure>((
            opened,
            alerts::store::list_channels(tx, project_id).await?,
            setup_store::list_uses(tx, project_id).await?,
            checks::store::count_in_project(tx, project_id).await?,
            setup_store::list_waiting(tx, project_id).await?,
        ))
    })?;
    let wall = Wall::new(&opened.signed_in.user.zone, now);
    let may_change = opened.membership.role.may_change();
    let uses: HashMap<i64, i64> = uses.into_iter().map(|one| (one.channel_id, one.checks)).collect();
    let waiting: HashMap<i64, Waiting> = waiting.into_iter().map(|one| (one.channel_id, one)).collect();
    let row = |channel: &Channel| {
        let used = uses.get(&channel.id).copied().unwrap_or(0);
        row(channel, used_by(used, number), waiting.get(&channel.id), may_change, &wall)
    };
    let mut rows: Vec<Row> = channels.iter().map(row).collect();
    rows.sort_by_key(|row| row.standing);
    let template = Channels {
        project,
        project_name: opened.membership.project.name.clone(),
        headline: headline(&rows),
        may_change,
        rows,
        kinds: KINDS,
        was_deleted: view.deleted.is_some(),
        shell: Shell::of_project(&app, &visitor, &opened, "Channels"),
    };
    Ok(page(StatusCode::OK, &template))
}

#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
pub struct View {
    deleted: Option<String>,
}

fn row(channel: &Channel, used_by: String, waiting: Option<&Waiting>, may_change: bool, wall: &Wall) -> Row {
    let (place, kind) = (channel.place(), channel.kind_title().to_owned());
    let is_named = !channel.name.is_empty() && channel.name != place;
    let (title, sub) = match (may_change, is_named) {
        (true, true) if place.is_empty() => (channel.name.clone(), kind),
        (true, true) => (channel.name.clone(), format!("{kind}, {place}")),
        (true, false) => (kind, place),
        (false, true) => (channel.name.clone(), kind),
        (false, false) => (kind, String::new()),
    };
    let standing = Standing::of(channel);
    Row {
        uuid: channel.uuid,
        title,
        sub,
        standing,
        used_by,
        result: standing::result(channel, waiting, wall),
    }
}

fn used_by(used: i64, all: i64) -> String {
    match used {
        0 => "no check".to_owned(),
        1 if all == 1 => "the one check".to_owned(),
        used if used == all => format!("all {all} checks"),
        used => format!("{used} of {all} checks"),
    }
}

fn headline(rows: &[Row]) -> Headline {
    let number = |standing: Standing| rows.iter().filter(|row| row.standing == standing).count();
    let some = |number: usize, what: &str| match (number, rows.len()) {
        (_, 1) => format!("The one channel is {what}"),
        (1, all) => format!("One of {all} channels is {what}"),
        (number, all) if number == all => format!("All {all} channels are {what}"),
        (number, all) => format!("{number} of {all} channels are {what}"),
    };
    let worst = [Standing::Failing, Standing::Off, Standing::Unconfirmed];
    if let Some(standing) = worst.into_iter().find(|standing| number(*standing) > 0) {
        let (tone, mark, word) = standing.shown();
        return Headline { tone, mark: Some(mark), text: some(number(standing), word) };
    }
    let text = match rows.len() {
        0 => return Headline { tone: "", mark: None, text: "Nobody is told yet".to_owned() },
        1 => "The one channel is ready".to_owned(),
        all => format!("All {all} channels are ready"),
    };
    Headline { tone: "is-up", mark: Some(Mark::Tick), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_that_use_a_channel_are_counted_in_words() {
        assert_eq!(used_by(0, 3), "no check");
        assert_eq!(used_by(1, 1), "the one check");
        assert_eq!(used_by(3, 3), "all 3 checks");
        assert_eq!(used_by(1, 3), "1 of 3 checks");
    }
}
