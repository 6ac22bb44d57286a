//! `/projects/<uuid>/badges`: the badges of a project and of each tag, with the addresses and snippets that show them
//! elsewhere. The pictures themselves are `http::badge`'s.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use super::mark::Mark;
use super::shell::Shell;
use super::visitor::{Need, Visitor};
use super::{WebFailure, page};
use crate::app::App;
use crate::badges::{self, ALL, States};
use crate::checks;
use crate::db;

/// What a badge can be had as: the ending of its address, and for people.
const FORMATS: [(&str, &str); 3] = [("svg", "Picture"), ("json", "JSON"), ("shields", "Shields JSON")];

#[derive(Template)]
#[template(path = "web/badges.html")]
struct Badges {
    shell: Shell,
    project_name: String,
    format: &'static str,
    states: &'static str,
    rows: Vec<Row>,
}

struct Row {
    /// The tag; `None` for the whole project.
    tag: Option<String>,
    url: String,
    /// The picture's address on this host, whatever the host is called here.
    picture: String,
    markdown: String,
    html: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct View {
    format: String,
    states: String,
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    Query(view): Query<View>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (opened, checks) = db::read!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Look, now).await?;
        let checks = checks::store::list(tx, opened.membership.project.id).await?;
        Ok::<_, WebFailure>((opened, checks))
    })?;
    let known = FORMATS.iter().map(|(format, _)| *format).find(|format| *format == view.format);
    let format = known.unwrap_or(FORMATS[0].0);
    let (word, states) = if view.states == "2" { ("2", States::UpDown) } else { ("3", States::UpLateDown) };
    let tags = badges::tags(checks.iter().map(|check| &check.settings));
    let row = |tag: &str| {
        let project = &opened.membership.project;
        let path = |format: &str| badges::path(&app.secret, project.badge_key, tag, states, format);
        let url = format!("{}{}", app.urls.site, path(format));
        let label = if tag == ALL { project.name.as_str() } else { tag };
        Row {
            tag: (tag != ALL).then(|| tag.to_owned()),
            picture: path("svg"),
            markdown: format!("![{}]({url})", badges::in_markdown(label)),
            html: format!("<img src=\"{url}\" alt=\"{}\">", badges::escape(label)),
            url,
        }
    };
    let template = Badges {
        project_name: opened.membership.project.name.clone(),
        format,
        states: word,
        rows: std::iter::once(ALL).chain(tags).map(row).collect(),
        shell: Shell::of_project(&app, &visitor, &opened, "Badges"),
    };
    Ok(page(StatusCode::OK, &template))
}
