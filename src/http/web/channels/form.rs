//! `/projects/<uuid>/new-channel/<kind>` and `/channels/<uuid>`: one form for making and changing a channel.
//!
//! Its fields come from the channel's kind. The form carries the revision it was filled from; if somebody saved
//! meanwhile nothing is written and the page shows both versions. Of the checks it tells, only what was ticked or
//! unticked here changes, so nothing that others did meanwhile is taken back.

use std::collections::BTreeSet;
use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use uuid::Uuid;

use super::deeds::open;
use super::standing::{LastResult, result};
use crate::accounts;
use crate::alerts::send::form::{Fault, Input};
use crate::alerts::send::{Kind, Told};
use crate::alerts::setup::store::{self as setup_store, Choice};
use crate::alerts::setup::{self, Judged, Wish, Written};
use crate::alerts::{self, Channel};
use crate::app::App;
use crate::db::{self, ReadTx, WriteTx};
use crate::http::web::fields::{Difference, Fields};
use crate::http::web::limits::{Attempt, spend};
use crate::http::web::mark::Mark;
use crate::http::web::shell::Shell;
use crate::http::web::visitor::{Need, Opened, Posted, Visitor};
use crate::http::web::when::Wall;
use crate::http::web::{WebFailure, page, to};
use crate::id;
use crate::time::Time;

#[derive(Template)]
#[template(path = "web/channel.html")]
struct Form {
    shell: Shell,
    /// The channel that is changed; `None` for a new one.
    uuid: Option<Uuid>,
    action: String,
    back: String,
    title: String,
    kind: &'static Kind,
    rev: i64,
    typed: Typed,
    groups: Vec<Group>,
    choices: Vec<Choice>,
    fault: Option<Fault>,
    differences: Option<Vec<Difference>>,
    result: Option<LastResult>,
    done: Option<Done>,
    is_unconfirmed: bool,
}

/// What was just done to the channel, in words.
struct Done {
    failed: bool,
    words: String,
}

/// Fields under one heading.
struct Group {
    legend: &'static str,
    fields: Vec<Filled>,
}

/// A field with what was typed.
struct Filled {
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    input: Input,
    value: String,
}

/// What the form holds.
#[derive(Clone, Debug)]
struct Typed {
    name: String,
    /// In the order of the kind's fields.
    values: Vec<String>,
    down: bool,
    up: bool,
    told: BTreeSet<Uuid>,
    /// The checks that were ticked when the form was served.
    told_before: BTreeSet<Uuid>,
}

impl Typed {
    fn new(kind: &Kind, choices: &[Choice]) -> Self {
        let told: BTreeSet<Uuid> = choices.iter().map(|choice| choice.uuid).collect();
        let (values, told_before) = (kind.typed(None), BTreeSet::new());
        Self { name: String::new(), values, down: true, up: true, told, told_before }
    }

    fn of(kind: &Kind, channel: &Channel, choices: &[Choice]) -> Self {
        let told: BTreeSet<Uuid> = choices.iter().filter(|one| one.is_told).map(|one| one.uuid).collect();
        Self {
            name: channel.name.clone(),
            values: kind.typed(Some(&channel.config)),
            down: channel.on_down,
            up: channel.on_up,
            told_before: told.clone(),
            told,
        }
    }

    fn of_fields(kind: &Kind, fields: &Fields) -> Self {
        let uuids = |name| fields.all(name).filter_map(|uuid| uuid.parse().ok()).collect();
        Self {
            name: fields.trimmed("name").to_owned(),
            values: kind.fields.iter().map(|field| fields.get(field.name).to_owned()).collect(),
            down: fields.has("down"),
            up: fields.has("up"),
            told: uuids("check"),
            told_before: uuids("checked"),
        }
    }

    fn is_told(&self, choice: &Choice) -> bool {
        self.told.contains(&choice.uuid)
    }

    fn judge(&self, kind: &'static Kind, seen: &Seen, uuid: Uuid, now: Time) -> Result<Judged, Fault> {
        let value = |name: &str| {
            let at = kind.fields.iter().position(|field| field.name == name);
            at.map_or("", |at| self.values[at].as_str())
        };
        let told = Told { down: self.down, up: self.up };
        let wish = Wish { uuid, kind, name: self.name.clone(), config: kind.config(value)?, told };
        if !kind.decides && !self.down && !self.up {
            return Err(Fault::at("down", "Tick at least one: a channel that is told nothing is of no use."));
        }
        setup::judge(wish, seen.opened.membership.project.id, seen.channel.as_ref(), &seen.owner, now)
    }

    fn groups(&self, kind: &Kind) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (field, value) in kind.fields.iter().zip(&self.values) {
            let filled = Filled {
                name: field.name,
                label: field.label,
                hint: field.hint,
                input: field.input,
                value: value.clone(),
            };
            match groups.last_mut().filter(|group| group.legend == field.group) {
                Some(group) => group.fields.push(filled),
                None => groups.push(Group { legend: field.group, fields: vec![filled] }),
            }
        }
        groups
    }
}

impl Form {
    fn fault_at(&self, field: &str) -> Option<&str> {
        self.fault.as_ref().filter(|fault| fault.field == field).map(|fault| fault.words.as_str())
    }

    /// The field that the summary leads to.
    fn first_wrong(&self) -> &str {
        let first = self.kind.fields.first().map_or("name", |field| field.name);
        self.fault.as_ref().map(|fault| fault.field).filter(|field| !field.is_empty()).unwrap_or(first)
    }
}

/// What the form is shown and judged by.
struct Seen {
    opened: Opened,
    channel: Option<Channel>,
    choices: Vec<Choice>,
    /// The account owner's address, which need not agree.
    owner: String,
}

/// What the address names: a new channel of a project, or one that is there.
#[derive(Clone, Copy)]
enum Named {
    New(Uuid),
    Channel(Uuid),
}

async fn see(tx: &mut ReadTx, visitor: &Visitor, named: Named, now: Time) -> Result<Seen, WebFailure> {
    let (opened, channel) = match named {
        Named::New(project) => (visitor.open(tx, project, Need::Change, now).await?, None),
        Named::Channel(channel) => {
            let (opened, channel) = open(tx, visitor, channel, now).await?;
            (opened, Some(channel))
        }
    };
    let project = &opened.membership.project;
    let id = channel.as_ref().map_or(0, |channel| channel.id);
    let choices = setup_store::list_choices(tx, project.id, id).await?;
    let owner = accounts::owner_email(tx, project.account_id).await?;
    Ok(Seen { opened, channel, choices, owner })
}

/// The form on its way to the page.
struct Draft {
    kind: &'static Kind,
    typed: Typed,
    /// The revision that it was filled from.
    rev: Option<i64>,
    fault: Option<Fault>,
    differences: Option<Vec<Difference>>,
    done: Option<Done>,
}

impl Draft {
    fn new(kind: &'static Kind, typed: Typed) -> Self {
        Self { kind, typed, rev: None, fault: None, differences: None, done: None }
    }
}

fn render(app: &App, visitor: &Visitor, seen: Seen, draft: Draft, now: Time) -> Response {
    let Seen { opened, channel, choices, .. } = seen;
    let Draft { kind, typed, rev, fault, differences, done } = draft;
    let status = match (&differences, &fault) {
        (Some(_), _) => StatusCode::CONFLICT,
        (None, Some(_)) => StatusCode::UNPROCESSABLE_ENTITY,
        (None, None) => StatusCode::OK,
    };
    let project = opened.membership.project.uuid;
    let wall = Wall::new(&opened.signed_in.user.zone, now);
    let (action, title) = match &channel {
        Some(channel) => (format!("/channels/{}", channel.uuid), channel.display_name()),
        None => {
            (format!("/projects/{project}/new-channel/{}", kind.name), format!("New channel: {}", kind.title))
        }
    };
    let form = Form {
        shell: Shell::of_project(app, visitor, &opened, "Channels"),
        uuid: channel.as_ref().map(|channel| channel.uuid),
        action,
        back: format!("/projects/{project}/channels"),
        title,
        kind,
        rev: rev.or(channel.as_ref().map(|channel| channel.rev)).unwrap_or(0),
        groups: typed.groups(kind),
        typed,
        choices,
        fault,
        differences,
        result: channel.as_ref().map(|channel| result(channel, None, &wall)),
        done,
        is_unconfirmed: channel.as_ref().is_some_and(|channel| channel.verified_at.is_none()),
    };
    page(status, &form)
}

pub async fn show_new(
    State(app): State<Arc<App>>,
    Path((project, kind)): Path<(Uuid, String)>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &visitor, Named::New(project), now).await)?;
    let kind = Kind::find(&kind).ok_or(WebFailure::NotFound)?;
    let typed = Typed::new(kind, &seen.choices);
    Ok(render(&app, &visitor, seen, Draft::new(kind, typed), now))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct View {
    tested: Option<String>,
    asked: Option<String>,
    saved: Option<String>,
}

impl View {
    fn done(&self, channel: &Channel) -> Option<Done> {
        let failed = !channel.last_error.is_empty();
        let words = match self {
            Self { tested: Some(_), .. } if failed => {
                format!("The test did not arrive. {}", channel.last_error)
            }
            Self { tested: Some(_), .. } => format!("The test was sent. {}", channel.last_answer),
            Self { asked: Some(_), .. } => "A letter with a link is on its way.".to_owned(),
            Self { saved: Some(_), .. } if channel.verified_at.is_none() => {
                "Saved. A letter asks the owner of the address; nothing is sent before the answer.".to_owned()
            }
            Self { saved: Some(_), .. } => "Saved. Send a test to see that it arrives.".to_owned(),
            _ => return None,
        };
        Some(Done { failed: failed && self.tested.is_some(), words })
    }
}

pub async fn show(
    State(app): State<Arc<App>>,
    Path(channel): Path<Uuid>,
    Query(view): Query<View>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &visitor, Named::Channel(channel), now).await)?;
    let channel = seen.channel.as_ref().ok_or(WebFailure::NotFound)?;
    let kind = Kind::find(&channel.kind).ok_or(WebFailure::NotFound)?;
    let typed = Typed::of(kind, channel, &seen.choices);
    let done = view.done(channel);
    Ok(render(&app, &visitor, seen, Draft { done, ..Draft::new(kind, typed) }, now))
}

pub async fn create(
    State(app): State<Arc<App>>,
    Path((project, kind)): Path<(Uuid, String)>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    store(&app, Named::New(project), Some(kind), None, posted).await
}

pub async fn save(
    State(app): State<Arc<App>>,
    Path(channel): Path<Uuid>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let rev = posted.fields.get("rev").parse().unwrap_or(-1);
    store(&app, Named::Channel(channel), None, Some(rev), posted).await
}

/// Judges what was posted, spends what asking an address costs, and writes; all but the writing before the
/// transaction opens.
async fn store(
    app: &App,
    named: Named,
    kind: Option<String>,
    rev: Option<i64>,
    posted: Posted,
) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let Posted { visitor, fields } = posted;
    let seen = db::read!(app.db, |tx| see(tx, &visitor, named, now).await)?;
    let kind = kind.as_deref().or(seen.channel.as_ref().map(|channel| channel.kind.as_str()));
    let kind = kind.and_then(Kind::find).ok_or(WebFailure::NotFound)?;
    let typed = Typed::of_fields(kind, &fields);
    let uuid = seen.channel.as_ref().map_or_else(id::uuid, |channel| channel.uuid);
    let asked = match typed.judge(kind, &seen, uuid, now) {
        Ok(judged) => judged.asks,
        Err(fault) => {
            let draft = Draft { rev, fault: Some(fault), ..Draft::new(kind, typed) };
            return Ok(render(app, &visitor, seen, draft, now));
        }
    };
    if let Some(email) = &asked {
        spend(app, Attempt::Confirmation { email }, visitor.address).await?;
    }
    let (seen, written) = db::write!(app.db, |tx| {
        let seen = see(tx, &visitor, named, now).await?;
        let judged = typed.judge(kind, &seen, uuid, now);
        let mut judged = judged.map_err(|fault| crate::error::Error::invalid(fault.words))?;
        // Only the letter that was paid for is written.
        judged.asks = judged.asks.filter(|address| Some(address) == asked.as_ref());
        let project = &seen.opened.membership.project;
        let written = setup::write(tx, project, judged, rev, &seen.owner, now).await?;
        if let Written::Made(channel) | Written::Changed(channel) = &written {
            assign(tx, channel.id, &typed, &seen.choices).await?;
        }
        Ok::<_, WebFailure>((seen, written))
    })?;
    match (written, &seen.channel) {
        (Written::Made(channel) | Written::Changed(channel), _) => {
            Ok(to(&format!("/channels/{}?saved=1", channel.uuid)))
        }
        (Written::Outdated, Some(live)) => {
            let theirs = Typed::of(kind, live, &seen.choices);
            let differences = Some(differences(kind, &typed, &theirs));
            let draft = Draft { differences, ..Draft::new(kind, typed) };
            Ok(render(app, &visitor, seen, draft, now))
        }
        (Written::Outdated, None) => Err(WebFailure::NotFound),
    }
}

/// Writes what was ticked and unticked since the form was served.
async fn assign(
    tx: &mut WriteTx,
    channel_id: i64,
    typed: &Typed,
    choices: &[Choice],
) -> Result<(), WebFailure> {
    for choice in choices {
        let (now, before) = (typed.told.contains(&choice.uuid), typed.told_before.contains(&choice.uuid));
        if now && !before {
            alerts::store::assign(tx, choice.id, channel_id).await?;
        } else if before && !now {
            alerts::store::unassign(tx, choice.id, channel_id).await?;
        }
    }
    Ok(())
}

/// The fields in which two versions differ; which checks it tells is merged and no matter of versions.
fn differences(kind: &Kind, yours: &Typed, theirs: &Typed) -> Vec<Difference> {
    let flag = |set: bool| if set { "yes" } else { "no" }.to_owned();
    let mut all = vec![("Name", yours.name.clone(), theirs.name.clone())];
    let values = yours.values.iter().cloned().zip(theirs.values.iter().cloned());
    all.extend(kind.fields.iter().zip(values).map(|(field, (yours, theirs))| (field.label, yours, theirs)));
    if !kind.decides {
        all.push(("Told when down", flag(yours.down), flag(theirs.down)));
        all.push(("Told when up again", flag(yours.up), flag(theirs.up)));
    }
    Difference::of(all)
}
