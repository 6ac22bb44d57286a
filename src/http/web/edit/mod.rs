//! `/projects/<uuid>/new-check` and `/checks/<key>/edit`: one form for making and changing a check.
//!
//! The form carries the revision it was filled from. If somebody saved meanwhile nothing is written, and the page
//! shows both versions, field by field, with what was typed kept.

mod form;
mod preview;

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use uuid::Uuid;

pub use preview::allowed;

use form::{Complaint, Typed, UNITS};
use preview::{Preview, preview};

use super::fields::Difference;
use super::mark::Mark;
use super::shell::Shell;
use super::visitor::{Need, Opened, Posted, Visitor, check_path};
use super::{WebFailure, page, to};
use crate::alerts::words::name_of;
use crate::alerts::{self, Channel};
use crate::app::App;
use crate::checks::{self, Check, Created, Settings};
use crate::db::{self, ReadTx, WriteTx};
use crate::error::Error;
use crate::http::named::Named;
use crate::id;
use crate::time::{Span, Time};

#[derive(Template)]
#[template(path = "web/edit.html")]
struct Edit {
    shell: Shell,
    /// Where the form goes, and where its way back leads.
    action: String,
    back: String,
    title: String,
    rev: i64,
    typed: Typed,
    channels: Vec<Choice>,
    complaints: Vec<Complaint>,
    preview: Option<Preview>,
    /// Fields in which the stored version differs from what was typed, where somebody saved meanwhile.
    differences: Option<Vec<Difference>>,
}

/// A channel that may be told.
struct Choice {
    uuid: Uuid,
    name: String,
    kind: String,
    is_chosen: bool,
}

/// How saving ended.
enum Saved {
    Check(Uuid),
    Complaints(Vec<Complaint>),
    /// Somebody saved meanwhile.
    Outdated(Box<Check>, Vec<Uuid>),
}

impl Edit {
    fn complaint_at(&self, field: &str) -> Option<&str> {
        self.complaints.iter().find(|one| one.field == field).map(|one| one.words.as_str())
    }

    fn is_wrong(&self, field: &str) -> bool {
        self.complaint_at(field).is_some()
    }
}

/// What both forms need besides what was typed.
struct Around {
    opened: Opened,
    channels: Vec<Channel>,
    floor: Span,
}

async fn around(tx: &mut ReadTx, app: &App, opened: Opened) -> Result<Around, WebFailure> {
    let project = &opened.membership.project;
    let channels = alerts::store::list_channels(tx, project.id).await?;
    let floor = app.account(tx, project.account_id).await?.plan.floor;
    Ok(Around { opened, channels, floor })
}

/// A form on its way to the page.
struct Draft {
    check: Option<Check>,
    typed: Typed,
    complaints: Vec<Complaint>,
    differences: Option<Vec<Difference>>,
}

impl Draft {
    fn new(check: Option<Check>, typed: Typed) -> Self {
        Self { check, typed, complaints: Vec::new(), differences: None }
    }
}

fn render(app: &App, visitor: &Visitor, around: Around, draft: Draft, now: Time) -> Response {
    let Around { opened, channels, floor } = around;
    let Draft { check, typed, complaints, differences } = draft;
    let status = match (&differences, complaints.is_empty()) {
        (Some(_), _) => StatusCode::CONFLICT,
        (None, false) => StatusCode::UNPROCESSABLE_ENTITY,
        (None, true) => StatusCode::OK,
    };
    let base = check.as_ref().map(|check| check.settings.clone()).unwrap_or_default();
    let settings = typed.settings(&base);
    let project = opened.membership.project.uuid;
    let (action, back, title) = match &check {
        Some(check) => (
            format!("{}/edit", check_path(check.uuid)),
            check_path(check.uuid),
            format!("Edit “{}”", name_of(check)),
        ),
        None => {
            (format!("/projects/{project}/new-check"), format!("/projects/{project}"), "New check".to_owned())
        }
    };
    let choice = |channel: Channel| Choice {
        is_chosen: typed.channels.contains(&channel.uuid),
        uuid: channel.uuid,
        name: channel.display_name(),
        kind: channel.kind_title().to_owned(),
    };
    let template = Edit {
        shell: Shell::of_project(app, visitor, &opened, "Checks"),
        action,
        back,
        title,
        rev: check.as_ref().map_or(0, |check| check.rev),
        channels: channels.into_iter().map(choice).collect(),
        preview: settings.ok().and_then(|settings| preview(&settings, floor, now)),
        typed,
        complaints,
        differences,
    };
    page(status, &template)
}

pub async fn show_new(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let around = db::read!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Change, now).await?;
        around(tx, &app, opened).await
    })?;
    let all = around.channels.iter().map(|channel| channel.uuid).collect();
    let zone = around.opened.signed_in.user.zone.clone();
    let typed = Typed::of_settings(&Settings { zone, ..Settings::default() }, all);
    Ok(render(&app, &visitor, around, Draft::new(None, typed), now))
}

pub async fn create(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let Posted { visitor, fields } = posted;
    let typed = Typed::of_fields(&fields);
    let settings = typed.settings(&Settings::default());
    let ids = (id::uuid(), id::uuid());
    let (around, saved) = db::write!(app.db, |tx| {
        let opened = visitor.open(tx, project, Need::Change, now).await?;
        let around = around(tx, &app, opened).await?;
        let saved = match (&settings, fields.has("preview")) {
            (_, true) => Saved::Complaints(Vec::new()),
            (Err(complaints), false) => Saved::Complaints(complaints.clone()),
            (Ok(settings), false) => make(tx, &app, &around, settings, &typed.channels, ids, now).await?,
        };
        Ok::<_, WebFailure>((around, saved))
    })?;
    Ok(match saved {
        Saved::Check(uuid) => to(&check_path(uuid)),
        Saved::Complaints(complaints) => {
            let draft = Draft { complaints, ..Draft::new(None, typed) };
            render(&app, &visitor, around, draft, now)
        }
        Saved::Outdated(..) => return Err(WebFailure::internal("a new check cannot be outdated")),
    })
}

async fn make(
    tx: &mut WriteTx,
    app: &App,
    around: &Around,
    settings: &Settings,
    channels: &[Uuid],
    ids: (Uuid, Uuid),
    now: Time,
) -> Result<Saved, WebFailure> {
    let project = &around.opened.membership.project;
    let account = app.account(tx, project.account_id).await?;
    if let Some(complaint) = slug_taken(tx, project.id, None, &settings.slug).await? {
        return Ok(Saved::Complaints(vec![complaint]));
    }
    match checks::create(tx, &account, project.id, settings, ids, now).await? {
        Created::Check(check) | Created::Existing(check) => {
            assign(tx, check.id, &around.channels, channels).await?;
            Ok(Saved::Check(check.uuid))
        }
        Created::NoRoom => {
            let plan = &account.plan;
            let limit = plan.checks.unwrap_or(i64::MAX);
            let words = format!(
                "The plan {} has room for {limit} checks, and they are used. Delete one, or ask the operator for a larger plan.",
                plan.name
            );
            Ok(Saved::Complaints(vec![Complaint { field: "name", words }]))
        }
    }
}

/// What to say where another check of the project has the slug.
async fn slug_taken(
    tx: &mut ReadTx,
    project_id: i64,
    own: Option<i64>,
    slug: &str,
) -> Result<Option<Complaint>, WebFailure> {
    if slug.is_empty() {
        return Ok(None);
    }
    let found = checks::store::list_by_slug(tx, project_id, slug).await?;
    let other = found.iter().find(|check| Some(check.id) != own);
    Ok(other.map(|other| Complaint {
        field: "slug",
        words: format!("“{}” has this slug already. Take another.", name_of(other)),
    }))
}

async fn assign(tx: &mut WriteTx, check_id: i64, all: &[Channel], chosen: &[Uuid]) -> Result<(), WebFailure> {
    alerts::store::unassign_all(tx, check_id).await?;
    for channel in all.iter().filter(|channel| chosen.contains(&channel.uuid)) {
        alerts::store::assign(tx, check_id, channel.id).await?;
    }
    Ok(())
}

async fn assigned(tx: &mut ReadTx, check_id: i64) -> Result<Vec<Uuid>, WebFailure> {
    let rows = alerts::store::list_assigned_to_check(tx, check_id).await?;
    Ok(rows.into_iter().map(|row| row.channel_uuid).collect())
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let (around, check, channels) = db::read!(app.db, |tx| {
        let (opened, check) = visitor.open_check(tx, check, Need::Change, now).await?;
        let channels = assigned(tx, check.id).await?;
        Ok::<_, WebFailure>((around(tx, &app, opened).await?, check, channels))
    })?;
    let typed = Typed::of_settings(&check.settings, channels);
    Ok(render(&app, &visitor, around, Draft::new(Some(check), typed), now))
}

pub async fn save(
    State(app): State<Arc<App>>,
    Path(check): Path<Named>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let Posted { visitor, fields } = posted;
    let typed = Typed::of_fields(&fields);
    let rev: Option<i64> = fields.get("rev").parse().ok();
    let is_preview = fields.has("preview");
    let (around, check, saved) = db::write!(app.db, |tx| {
        let (opened, check) = visitor.open_check(tx, check, Need::Change, now).await?;
        let around = around(tx, &app, opened).await?;
        let saved = match typed.settings(&check.settings) {
            _ if is_preview => Saved::Complaints(Vec::new()),
            Err(complaints) => Saved::Complaints(complaints),
            Ok(settings) => write(tx, &around, &check, rev, settings, &typed.channels).await?,
        };
        Ok::<_, WebFailure>((around, check, saved))
    })?;
    Ok(match saved {
        Saved::Check(uuid) => to(&check_path(uuid)),
        Saved::Complaints(complaints) => {
            // What was typed still belongs to the revision that the form was filled from.
            let check = Check { rev: rev.unwrap_or(check.rev), ..check };
            let draft = Draft { complaints, ..Draft::new(Some(check), typed) };
            render(&app, &visitor, around, draft, now)
        }
        Saved::Outdated(live, channels) => {
            let theirs = Typed::of_settings(&live.settings, channels);
            let differences = Some(differences(&typed, &theirs, &around.channels));
            let draft = Draft { differences, ..Draft::new(Some(*live), typed) };
            render(&app, &visitor, around, draft, now)
        }
    })
}

async fn write(
    tx: &mut WriteTx,
    around: &Around,
    check: &Check,
    rev: Option<i64>,
    settings: Settings,
    channels: &[Uuid],
) -> Result<Saved, WebFailure> {
    let project_id = around.opened.membership.project.id;
    if let Some(complaint) = slug_taken(tx, project_id, Some(check.id), &settings.slug).await? {
        return Ok(Saved::Complaints(vec![complaint]));
    }
    let edit = |live: &mut Settings| {
        *live = settings;
        Ok(())
    };
    match checks::edit(tx, check.id, Some(rev.unwrap_or(-1)), edit).await {
        Ok(_) => {
            assign(tx, check.id, &around.channels, channels).await?;
            Ok(Saved::Check(check.uuid))
        }
        // Nothing was written: it is gone, or somebody saved since the form was filled.
        Err(Error::NotFound) => {
            let live = checks::store::find(tx, check.uuid).await?.ok_or(WebFailure::NotFound)?;
            let channels = assigned(tx, live.id).await?;
            Ok(Saved::Outdated(Box::new(live), channels))
        }
        Err(error) => Err(error.into()),
    }
}

/// The fields in which two versions differ.
fn differences(yours: &Typed, theirs: &Typed, channels: &[Channel]) -> Vec<Difference> {
    let told = |typed: &Typed| {
        let chosen = channels.iter().filter(|channel| typed.channels.contains(&channel.uuid));
        chosen.map(Channel::display_name).collect::<Vec<_>>().join(", ")
    };
    let schedule = |typed: &Typed| match typed.kind.as_str() {
        "simple" => format!("every {} {}", typed.every, typed.every_unit),
        "cron" => format!("{}, {}", typed.cron, typed.zone),
        _ => format!("{}, {}", typed.calendar, typed.zone),
    };
    let flag = |set: bool| if set { "yes" } else { "no" }.to_owned();
    let both = |field, of: &dyn Fn(&Typed) -> String| (field, of(yours), of(theirs));
    Difference::of([
        both("Name", &|typed| typed.name.clone()),
        both("Slug", &|typed| typed.slug.clone()),
        both("Tags", &|typed| typed.tags.clone()),
        both("Description", &|typed| typed.description.clone()),
        both("Schedule", &schedule),
        both("Grace", &|typed| format!("{} {}", typed.grace, typed.grace_unit)),
        both("POST only", &|typed| flag(typed.post_only)),
        both("Rules for bodies", &|typed| flag(typed.in_http)),
        both("Rules for subjects of mails", &|typed| flag(typed.in_subject)),
        both("Rules for bodies of mails", &|typed| flag(typed.in_body)),
        both("Fail, if it says", &|typed| typed.failure_kw.clone()),
        both("Success, if it says", &|typed| typed.success_kw.clone()),
        both("Start, if it says", &|typed| typed.start_kw.clone()),
        both("Fail otherwise", &|typed| flag(typed.default_fail)),
        both("Resumes by hand", &|typed| flag(typed.manual_resume)),
        both("Who is told", &told),
    ])
}
