//! `/usage`: what the signed-in user's account uses of its plan, what is left, when it begins anew, and which pings
//! were refused. Mails about a used-up quota lead here.
//!
//! It only shows: each figure is the counter that its guard or limiter decides by, and refused pings are those that
//! this process remembers.

mod refused;

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use refused::{RefusedRow, rows};

use super::mark::Mark;
use super::shell::Shell;
use super::visitor::Visitor;
use super::when::{Stamp, Wall};
use super::{WebFailure, page};
use crate::accounts::sessions::SignedIn;
use crate::accounts::{self, Account, Membership};
use crate::alerts::words::clock::short;
use crate::app::App;
use crate::checks::holdings::{Named, store as holdings};
use crate::config::Plan;
use crate::db::{self, ReadTx};
use crate::time::{Span, Time};
use crate::usage::{self, KeyUsage, Line};

/// From this share of a limit on the page warns, in percent.
const NEARLY_PERCENT: i64 = 80;

#[derive(Template)]
#[template(path = "web/usage.html")]
struct Usage {
    shell: Shell,
    headline: String,
    is_tight: bool,
    about: String,
    /// What becomes of alerts that the month has no room for.
    note: Option<Note>,
    gauges: Vec<Gauge>,
    keys: Vec<KeyRow>,
    floor: Option<String>,
    refused: Vec<RefusedRow>,
    plans: Vec<PlanRow>,
}

struct Note {
    title: String,
    more: String,
}

/// One count against its limit.
struct Gauge {
    label: String,
    text: String,
    hint: String,
    /// Of the limit, where there is one.
    meter: Option<Meter>,
}

struct Meter {
    used: i64,
    limit: i64,
    /// As SVG takes it.
    width: String,
    is_tight: bool,
}

struct KeyRow {
    project: String,
    name: String,
    hint: String,
    minute: String,
    day: String,
    resets: Option<Stamp>,
}

struct PlanRow {
    name: String,
    is_own: bool,
    /// Values in the order of the table's columns.
    values: Vec<(&'static str, String)>,
}

/// All that the page shows, as it was read.
struct Seen {
    signed_in: SignedIn,
    memberships: Vec<Membership>,
    account: Account,
    usage: usage::Usage,
    checks: Vec<Named>,
}

async fn see(tx: &mut ReadTx, app: &App, visitor: &Visitor, now: Time) -> Result<Seen, WebFailure> {
    let (signed_in, memberships) = visitor.signed_in(tx, now).await?;
    let account = app.account(tx, signed_in.user.account_id).await?;
    Ok(Seen {
        usage: usage::usage(tx, &app.rates, &account, now).await?,
        checks: holdings::list_named(tx, account.id).await?,
        signed_in,
        memberships,
        account,
    })
}

pub async fn show(State(app): State<Arc<App>>, visitor: Visitor) -> Result<Response, WebFailure> {
    let now = app.clock.now();
    let seen = db::read!(app.db, |tx| see(tx, &app, &visitor, now).await)?;
    let wall = Wall::new(&seen.signed_in.user.zone, now);
    let (plan, figures) = (&seen.account.plan, &seen.usage);
    let keys = figures
        .projects
        .iter()
        .flat_map(|project| project.keys.iter().filter_map(|key| key_row(&project.name, key, &wall)));
    let template = Usage {
        headline: headline(figures),
        is_tight: is_tight(&figures.alerts) || is_tight(&figures.checks),
        about: about(plan, figures.projects.len(), &seen.signed_in.user.email),
        note: note(figures, &wall),
        gauges: gauges(plan, figures, &seen.checks, &wall),
        keys: keys.collect(),
        floor: Some(plan.floor).filter(|floor| *floor > Span::ZERO).map(short),
        refused: rows(&app.recorder, &seen.checks, &wall),
        plans: plan_rows(&app, plan),
        shell: Shell::of_account(&app, &visitor, &seen.signed_in, &seen.memberships),
    };
    Ok(page(StatusCode::OK, &template))
}

fn is_tight(line: &Line) -> bool {
    line.limit.is_some_and(|limit| line.used.saturating_mul(100) >= limit.saturating_mul(NEARLY_PERCENT))
}

/// The one sentence that is true now.
fn headline(figures: &usage::Usage) -> String {
    let full = |line: &Line| line.left() == Some(0);
    let of = |line: &Line| match line.limit {
        Some(limit) => format!("{} of {}", grouped(line.used), grouped(limit)),
        None => grouped(line.used),
    };
    let (alerts, checks) = (&figures.alerts, &figures.checks);
    match () {
        () if full(alerts) => format!("All {} alerts of this month are used", grouped(alerts.used)),
        () if full(checks) => format!("All {} checks are used", grouped(checks.used)),
        () if is_tight(alerts) => format!("Alerts are nearly used up: {}", of(alerts)),
        () if is_tight(checks) => format!("Checks are nearly used up: {}", of(checks)),
        () if alerts.limit.is_none() && checks.limit.is_none() => {
            "Nothing limits your checks or alerts".to_owned()
        }
        () => format!("{} checks and {} alerts are used", of(checks), of(alerts)),
    }
}

fn about(plan: &Plan, projects: usize, email: &str) -> String {
    let own = if projects == 1 { "the project".to_owned() } else { format!("all {projects} projects") };
    format!("Plan {}, for {own} of {email}.", plan.name)
}

/// The note about alerts where they run short: how long they last at the pace of this month, and what comes then.
fn note(figures: &usage::Usage, wall: &Wall) -> Option<Note> {
    let line = &figures.alerts;
    let (left, resets_at) = (line.left()?, line.resets_at?);
    if !is_tight(line) && figures.alerts_held == 0 {
        return None;
    }
    let after = format!(
        "A DOWN that has no room is kept as “held: quota”, shown on its check's page, and sent on {} if it is still \
         true then. Whoever was sent a DOWN is sent its UP in any case.",
        wall.date(resets_at)
    );
    let title = match (left, figures.alerts_held) {
        (0, 0) => "No alert is left for this month.".to_owned(),
        (0, held) => format!("No alert is left for this month, and {} held.", waiting(held)),
        (1, _) => "1 alert is left for this month.".to_owned(),
        (left, _) => format!("{} alerts are left for this month.", grouped(left)),
    };
    let pace = lasts_until(line, resets_at, wall.now).filter(|at| left > 0 && *at < resets_at);
    let pace = pace.map(|at| format!("At the pace of this month they last until about {}. ", wall.date(at)));
    Some(Note { title, more: format!("{}{after}", pace.unwrap_or_default()) })
}

fn waiting(held: i64) -> String {
    if held == 1 { "1 is".to_owned() } else { format!("{} are", grouped(held)) }
}

/// When the line is used up if it goes on as it did since its month began.
fn lasts_until(line: &Line, resets_at: Time, now: Time) -> Option<Time> {
    let begun = accounts::month_start(accounts::month(resets_at - Span::seconds(1)));
    let (elapsed, left) = ((now - begun).0, line.left()?);
    (line.used > 0).then(|| now + Span::millis(elapsed.saturating_mul(left) / line.used))
}

fn gauges(plan: &Plan, figures: &usage::Usage, checks: &[Named], wall: &Wall) -> Vec<Gauge> {
    let begins = figures.alerts.resets_at.map(|at| wall.clock(at)).unwrap_or_default();
    let mut gauges = vec![
        gauge(
            "Alerts this month",
            &figures.alerts,
            format!("A message counts once, however often it is tried. The count begins anew {begins}."),
        ),
        gauge("Checks", &figures.checks, per_project(figures, checks)),
    ];
    for project in &figures.projects {
        let hint = "With open invitations.".to_owned();
        gauges.push(gauge(&format!("Members of {}", project.name), &project.members, hint));
    }
    gauges.push(Gauge {
        label: "Log entries per check".to_owned(),
        text: format!("{} kept", grouped(plan.log_entries)),
        hint: "With each new entry of a full log its oldest goes. Downtime figures stay.".to_owned(),
        meter: None,
    });
    gauges
}

fn per_project(figures: &usage::Usage, checks: &[Named]) -> String {
    let of = |uuid| checks.iter().filter(|check| check.project == uuid).count();
    let each: Vec<String> =
        figures.projects.iter().map(|one| format!("{} {}", one.name, of(one.uuid))).collect();
    let each = if each.len() > 1 { format!("{}. ", each.join(", ")) } else { String::new() };
    format!("{each}At the limit only creating is refused; nothing is ever switched off.")
}

fn gauge(label: &str, line: &Line, hint: String) -> Gauge {
    let text = match line.limit {
        Some(limit) => format!("{} of {}", grouped(line.used), grouped(limit)),
        None => format!("{}, no limit", grouped(line.used)),
    };
    let meter = line.limit.map(|limit| {
        let permille = (line.used.saturating_mul(1000) / limit.max(1)).clamp(0, 1000);
        let width = format!("{}.{}%", permille / 10, permille % 10);
        Meter { used: line.used.min(limit), limit, width, is_tight: is_tight(line) }
    });
    Gauge { label: label.to_owned(), text, hint, meter }
}

/// The row of a key whose calls are limited.
fn key_row(project: &str, key: &KeyUsage, wall: &Wall) -> Option<KeyRow> {
    let of = |line: &Option<Line>| match line {
        Some(Line { used, limit: Some(limit), .. }) => format!("{} of {}", grouped(*used), grouped(*limit)),
        _ => "no limit".to_owned(),
    };
    if key.minute.is_none() && key.day.is_none() {
        return None;
    }
    let resets = key.day.filter(|line| line.used > 0).and_then(|line| line.resets_at);
    Some(KeyRow {
        project: project.to_owned(),
        name: key.name.clone(),
        hint: key.hint.clone(),
        minute: of(&key.minute),
        day: of(&key.day),
        resets: resets.map(|at| wall.stamp(at)),
    })
}

/// All plans, the smallest first.
fn plan_rows(app: &App, own: &Plan) -> Vec<PlanRow> {
    let mut plans: Vec<&Plan> = app.settings.plans.iter().collect();
    plans.sort_by_key(|plan| plan.checks.unwrap_or(i64::MAX));
    plans.into_iter().map(|plan| plan_row(plan, own)).collect()
}

fn plan_row(plan: &Plan, own: &Plan) -> PlanRow {
    let limit = |value: Option<i64>| value.map_or_else(|| "no limit".to_owned(), grouped);
    let floor = if plan.floor == Span::ZERO { "none".to_owned() } else { short(plan.floor) };
    PlanRow {
        is_own: plan.name == own.name,
        name: plan.name.clone(),
        values: vec![
            ("Checks", limit(plan.checks)),
            ("Alerts a month", limit(plan.alerts_per_month)),
            ("Members", limit(plan.members)),
            ("Between pings", floor),
            ("Log entries", grouped(plan.log_entries)),
            ("API a minute", limit(plan.api_per_minute)),
            ("API a day", limit(plan.api_per_day)),
        ],
    }
}

/// `12,306`.
fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = if number < 0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_grouped_by_thousands() {
        let said = [(0, "0"), (999, "999"), (1_000, "1,000"), (12_306, "12,306"), (1_234_567, "1,234,567")];
        for (number, text) in said {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn alerts_last_as_long_as_the_pace_of_the_month_says() {
        let at = |text: &str| Time::parse(text).unwrap();
        let resets_at = at("2026-04-01T00:00:00Z");
        let line = |used| Line { used, limit: Some(500), resets_at: Some(resets_at) };
        let now = at("2026-03-21T00:00:00Z");
        assert_eq!(lasts_until(&line(400), resets_at, now), Some(at("2026-03-26T00:00:00Z")));
        assert_eq!(lasts_until(&line(0), resets_at, now), None);
    }
}
