//! `/docs`: how to ping from what people run, and what schedules, limits and the API are. For everybody, with this
//! site's own addresses in the snippets, and for whoever is signed in those of one of their checks.
//!
//! A page is a Markdown file; each snippet is a file of its own, so that a test runs the very text that is read here. In
//! both `PING_URL`, `PING_BASE` and `SITE_URL` stand for addresses.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;

use super::visitor::Visitor;
use super::{WebFailure, api_reference, page};
use crate::accounts;
use crate::app::App;
use crate::checks::{self, Check, UniqueKey};
use crate::db::{self, ReadTx};
use crate::http::named::Named;
use crate::time::Time;

/// A page of the documentation.
struct Topic {
    /// The end of its address.
    slug: &'static str,
    /// What the list of pages calls it.
    name: &'static str,
    title: &'static str,
    text: &'static str,
}

macro_rules! topics {
    ($($slug:literal $name:literal $title:literal)+) => {
        const TOPICS: &[Topic] = &[$(Topic {
            slug: $slug,
            name: $name,
            title: $title,
            text: include_str!(concat!("../../../templates/docs/", $slug, ".md")),
        }),+];
    };
}

topics! {
    "shell" "Shell" "Ping from a shell script"
    "cron" "cron" "Ping from a crontab"
    "python" "Python" "Ping from Python"
    "go" "Go" "Ping from Go"
    "node" "Node" "Ping from Node"
    "php" "PHP" "Ping from PHP"
    "powershell" "PowerShell" "Ping from PowerShell"
    "systemd" "systemd" "Ping from a systemd unit"
    "kubernetes" "Kubernetes" "Ping from a Kubernetes CronJob"
    "github-actions" "GitHub Actions" "Ping from GitHub Actions"
    "mail" "Mail" "Ping by mail"
    "schedules" "Schedules" "When a check expects its ping"
    "limits" "Limits and plans" "What is limited, and by what"
    "programs" "Programs and the API" "Make and change checks by programs"
    "healthchecks" "From Healthchecks" "Move here from Healthchecks"
}

macro_rules! snippets {
    ($($file:literal)+) => {
        /// Every snippet by the name of its file.
        const SNIPPETS: &[(&str, &str)] =
            &[$(($file, include_str!(concat!("../../../templates/docs/snippets/", $file)))),+];
    };
}

snippets! {
    "ping.sh" "run.sh" "overlap.sh" "crontab" "ping.py" "ping.go" "ping.mjs" "ping.php" "ping.ps1"
    "nightly-backup.service" "nightly-backup.timer" "cronjob.yaml" "workflow.yml" "create.sh" "webhook.json" "import.sh"
}

#[derive(Template)]
#[template(path = "web/docs.html")]
struct Docs {
    topics: &'static [Topic],
    /// `None` on the page that lists them.
    current: Option<&'static Topic>,
    /// As HTML, made of our own text alone.
    text: String,
    is_signed_in: bool,
    /// The check whose address the snippets hold.
    check: Option<(UniqueKey, String)>,
}

impl Docs {
    fn is_current(&self, topic: &Topic) -> bool {
        self.current.is_some_and(|current| current.slug == topic.slug)
    }
}

/// Who reads, as far as the page depends on it.
struct Reader {
    is_signed_in: bool,
    check: Option<Check>,
}

pub fn routes() -> Router<Arc<App>> {
    Router::new()
        .route("/docs", get(list))
        .route("/docs/api", get(api_reference::show))
        .route("/docs/{page}", get(show))
}

async fn list(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    show_topic(&app, &visitor, None, None).await
}

async fn show(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(slug): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, WebFailure> {
    let topic = TOPICS.iter().find(|topic| topic.slug == slug).ok_or(WebFailure::NotFound)?;
    let mut asked = url::form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes());
    let check = asked.find(|(name, _)| name == "check").map(|(_, value)| Named::of(&value));
    show_topic(&app, &visitor, Some(topic), check).await
}

async fn show_topic(
    app: &App,
    visitor: &Visitor,
    topic: Option<&'static Topic>,
    asked: Option<Named>,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let Reader { is_signed_in, check } = db::read!(app.db, |tx| reader(tx, visitor, asked, now).await)?;
    let ping_url = match &check {
        Some(check) => format!("{}/{}", app.urls.ping, check.uuid),
        None => format!("{}/your-checks-uuid", app.urls.ping),
    };
    let addresses = [("PING_URL", &ping_url), ("PING_BASE", &app.urls.ping), ("SITE_URL", &app.urls.site)];
    let docs = Docs {
        topics: TOPICS,
        current: topic,
        text: topic.map(|topic| html(topic.text, &addresses)).unwrap_or_default(),
        is_signed_in,
        check: check.map(|check| (UniqueKey::of(check.uuid), check.display_name())),
    };
    Ok(page(StatusCode::OK, &docs))
}

/// The reader, with the check that was asked for, or else their first; a role that may only look sees no addresses.
async fn reader(
    tx: &mut ReadTx,
    visitor: &Visitor,
    asked: Option<Named>,
    now: Time,
) -> Result<Reader, WebFailure> {
    let Some(signed_in) = visitor.user(tx, now).await? else {
        return Ok(Reader { is_signed_in: false, check: None });
    };
    let memberships = accounts::store::list_memberships(tx, signed_in.user.id).await?;
    for membership in memberships.iter().filter(|membership| membership.role.may_change()) {
        let checks = checks::store::list(tx, membership.project.id).await?;
        let is_meant = |check: &Check| asked.is_none_or(|asked| asked.means(check.uuid));
        if let Some(check) = checks.into_iter().find(is_meant) {
            return Ok(Reader { is_signed_in: true, check: Some(check) });
        }
    }
    Ok(Reader { is_signed_in: true, check: None })
}

/// Markdown as HTML. A line `@file` stands for the snippet of that name.
fn html(text: &str, addresses: &[(&str, &String)]) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        let snippet = line.strip_prefix('@').and_then(|file| SNIPPETS.iter().find(|(name, _)| *name == file));
        match snippet {
            Some((_, code)) => whole.extend(["````\n", code, "````\n"]),
            None => whole.extend([line, "\n"]),
        }
    }
    for (word, address) in addresses {
        whole = whole.replace(word, address);
    }
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, pulldown_cmark::Parser::new(&whole));
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_snippet_is_shown_and_every_file_that_is_named_is_there() {
        let named: Vec<&str> = TOPICS.iter().flat_map(|topic| topic.text.lines()).collect();
        for (file, code) in SNIPPETS {
            assert!(named.contains(&format!("@{file}").as_str()), "{file} is on no page");
            assert!(code.ends_with('\n') && !code.contains('\t') || *file == "ping.go", "{file}");
        }
        for file in named.iter().filter_map(|line| line.strip_prefix('@')) {
            assert!(SNIPPETS.iter().any(|(name, _)| *name == file), "{file} is not there");
        }
    }

    #[test]
    fn a_page_holds_the_addresses_of_its_reader_escaped() {
        let (ping, site) = ("https://x.example/ping/<u>".to_owned(), "https://x.example".to_owned());
        let text = html("Ask `SITE_URL/api`.\n\n@ping.sh\n", &[("PING_URL", &ping), ("SITE_URL", &site)]);
        assert!(
            text.starts_with("<p>Ask <code>https://x.example/api</code>.</p>\n<pre><code>#!/bin/sh\n"),
            "{text}"
        );
        assert!(text.contains("-o /dev/null https://x.example/ping/&lt;u&gt;\n"), "{text}");
    }
}
