//! Jobs that keep their times, and what was written about them; time passes by hand, in steps of ten seconds.

use std::collections::{BTreeMap, BTreeSet};

use flatline::alerts::letters::Facts;
use flatline::checks::{self, Check, Gap, Settings};
use flatline::db::Statement;
use flatline::pings::Outcome;
use flatline::schedule::{Kind, Schedule};
use flatline::signup::NewAccount;
use flatline::time::{Span, Time};
use flatline::{accounts, id};
use futures_util::future::join_all;
use uuid::Uuid;

use crate::support::{World, success};

const STEP: Span = Span::seconds(10);

/// Kind, period in seconds or expression, grace in seconds. No grace is longer than [`LONGEST_GRACE`].
const MIX: [(Kind, &str, i64); 10] = [
    (Kind::Simple, "60", 60),
    (Kind::Simple, "60", 120),
    (Kind::Simple, "120", 60),
    (Kind::Simple, "300", 120),
    (Kind::Simple, "600", 300),
    (Kind::Simple, "1800", 1200),
    (Kind::Cron, "* * * * *", 60),
    (Kind::Cron, "*/5 * * * *", 120),
    (Kind::Cron, "*/30 * * * *", 900),
    (Kind::OnCalendar, "*:0/10", 600),
];
pub const LONGEST_GRACE: Span = Span::minutes(20);
/// In this time every job of the mix that fell silent in an outage has missed what came after.
pub const LONGEST_SILENCE: Span = Span::minutes(55);

const COUNT_DOWNS: &Statement = &Statement {
    name: "COUNT_DOWNS",
    text: "SELECT check_id, COUNT(*) AS number FROM flips WHERE new_status = 'down' GROUP BY check_id",
};
const LIST_UNSEEN: &Statement =
    &Statement { name: "LIST_UNSEEN", text: "SELECT check_id, slot_at FROM unseen ORDER BY id" };
const LIST_LETTERS: &Statement =
    &Statement { name: "LIST_LETTERS", text: "SELECT account_id, facts FROM letters ORDER BY id" };
const LIST_GAPS: &Statement =
    &Statement { name: "LIST_GAPS", text: "SELECT started_at, ended_at FROM gaps ORDER BY id" };

#[derive(sqlx::FromRow)]
struct Downs {
    check_id: i64,
    number: i64,
}

#[derive(sqlx::FromRow)]
struct Unseen {
    check_id: i64,
    slot_at: Time,
}

#[derive(sqlx::FromRow)]
struct StoredLetter {
    account_id: i64,
    facts: String,
}

/// A letter about slots that could not be judged.
pub struct Letter {
    pub account_id: i64,
    pub checks: BTreeSet<Uuid>,
}

/// One job and its check.
pub struct Job {
    pub check: Check,
    schedule: Schedule,
    /// How long after its time it reports, well within its grace.
    late: Span,
    next: Time,
    pub is_silent: bool,
    /// When its pings were taken.
    heard: Vec<Time>,
}

pub struct Crowd {
    pub jobs: Vec<Job>,
}

fn settings(number: usize) -> Settings {
    let (kind, text, grace) = MIX[number % MIX.len()];
    let mut settings = Settings { name: format!("job {number}"), kind, ..Settings::default() };
    settings.grace_ms = Span::seconds(grace);
    match kind {
        Kind::Simple => settings.period_ms = Span::seconds(text.parse().expect("a number")),
        Kind::Cron | Kind::OnCalendar => text.clone_into(&mut settings.schedule),
    }
    settings
}

impl Crowd {
    /// Makes that many checks for each account; all its jobs report for the first time within a minute.
    pub async fn new(world: &World, owners: &[(&NewAccount, usize)]) -> Self {
        let now = world.clock.now();
        let mut jobs = Vec::new();
        let mut tx = world.app.db.begin_write().await.expect("a write");
        for (owner, number) in owners {
            let key = accounts::find_key(&mut tx, &owner.api_key).await.expect("a read").expect("a key");
            let project = accounts::store::find_project(&mut tx, key.project_id).await;
            let project = project.expect("a read").expect("a project");
            let account = world.app.account(&mut tx, project.account_id).await.expect("an account");
            for number in 0..*number {
                let settings = settings(number);
                let ids = (id::uuid(), id::uuid());
                let made = checks::create(&mut tx, &account, project.id, &settings, ids, now).await;
                let checks::Created::Check(check) = made.expect("a write") else { panic!("no room") };
                let place = i64::try_from(number).expect("a small number");
                jobs.push(Job {
                    schedule: settings.schedule().expect("a schedule"),
                    check: *check,
                    late: Span::seconds(place % 3 * 10),
                    next: now + Span::seconds(10 + place % 6 * 10),
                    is_silent: false,
                    heard: Vec::new(),
                });
            }
        }
        tx.commit().await.expect("it is stored");
        Self { jobs }
    }

    /// Lets time pass while the program runs: it stamps, hears the jobs whose time has come, and sweeps.
    pub async fn live(&mut self, world: &World, span: Span) {
        let until = world.clock.now() + span;
        while world.clock.now() < until {
            world.clock.advance(STEP);
            world.app.stamp().await.expect("the stamp is taken");
            self.report(world).await;
            world.app.sweep().await.expect("the sweep runs");
            if world.clock.now().as_seconds() % 30 == 0 {
                world.app.care().await.expect("the care runs");
            }
        }
    }

    async fn report(&mut self, world: &World) {
        let now = world.clock.now();
        let due: Vec<&mut Job> =
            self.jobs.iter_mut().filter(|job| !job.is_silent && job.next <= now).collect();
        let sent = due.iter().map(|job| world.app.recorder.record(success(&job.check, now)));
        let outcomes = join_all(sent).await;
        for (job, outcome) in due.into_iter().zip(outcomes) {
            let outcome = outcome.expect("pings are taken");
            if matches!(outcome, Outcome::Recorded { .. }) {
                job.heard.push(now);
            }
            job.after(now);
        }
    }

    /// Lets the jobs report to nobody, up to an instant.
    pub fn miss(&mut self, until: Time) {
        for job in &mut self.jobs {
            while job.next <= until {
                job.after(job.next);
            }
        }
    }

    /// What the server's clock shows for the jobs' next reports, after it was moved by `span`. Those that follow a
    /// calendar follow the corrected clock.
    pub fn shift(&mut self, now: Time, span: Span) {
        for job in &mut self.jobs {
            job.next = job.next + span;
            if !matches!(job.schedule, Schedule::Simple { .. }) {
                job.after(now);
            }
        }
    }

    /// Every so many jobs never report again.
    pub fn silence(&mut self, every: usize) {
        self.jobs.iter_mut().step_by(every).for_each(|job| job.is_silent = true);
    }

    /// The slots that nobody can judge for a gap, by check: DESIGN 4, worked out from the jobs' side.
    pub fn unjudgeable(&self, gap: Gap) -> BTreeMap<i64, Time> {
        self.jobs.iter().filter_map(|job| Some((job.check.id, job.unjudgeable(gap)?))).collect()
    }

    /// The jobs whose checks went down, with how often.
    pub async fn downs(&self, world: &World) -> BTreeMap<i64, i64> {
        let mut tx = world.app.db.begin_read().await.expect("a read");
        let rows: Vec<Downs> = tx.query(COUNT_DOWNS).all().await.expect("a read");
        rows.into_iter().map(|row| (row.check_id, row.number)).collect()
    }

    /// The jobs that are silent, once each: what must have gone down.
    pub fn silent(&self) -> BTreeMap<i64, i64> {
        self.jobs.iter().filter(|job| job.is_silent).map(|job| (job.check.id, 1)).collect()
    }
}

/// The slots that were marked unseen, by check; fails if one check has two.
pub async fn unseen(world: &World) -> BTreeMap<i64, Time> {
    let mut tx = world.app.db.begin_read().await.expect("a read");
    let rows: Vec<Unseen> = tx.query(LIST_UNSEEN).all().await.expect("a read");
    let number = rows.len();
    let unseen: BTreeMap<i64, Time> = rows.into_iter().map(|row| (row.check_id, row.slot_at)).collect();
    assert_eq!(unseen.len(), number, "one slot each");
    unseen
}

/// The letters about unseen slots, in order; one that was sent no longer says which.
pub async fn letters(world: &World) -> Vec<Letter> {
    let mut tx = world.app.db.begin_read().await.expect("a read");
    let rows: Vec<StoredLetter> = tx.query(LIST_LETTERS).all().await.expect("a read");
    let letter = |row: StoredLetter| {
        let checks = match serde_json::from_str(&row.facts) {
            Ok(Facts::Unseen { slots, .. }) => slots.into_iter().map(|slot| slot.check).collect(),
            Ok(other) => panic!("{other:?}"),
            Err(_) => BTreeSet::new(),
        };
        Letter { account_id: row.account_id, checks }
    };
    rows.into_iter().map(letter).collect()
}

/// The gaps that were noted, in order.
pub async fn gaps(world: &World) -> Vec<Gap> {
    let mut tx = world.app.db.begin_read().await.expect("a read");
    tx.query(LIST_GAPS).all().await.expect("a read")
}

impl Job {
    /// Sets the next report, after one at `at`.
    fn after(&mut self, at: Time) {
        self.next = match &self.schedule {
            Schedule::Simple { period } => at + *period + self.late,
            schedule => schedule.next_after(at).expect("the mix never ends") + self.late,
        };
    }

    fn unjudgeable(&self, gap: Gap) -> Option<Time> {
        let (grace, floor) = (self.check.settings.grace_ms, self.check.floor_ms);
        let last = *self.heard.iter().rfind(|at| **at <= gap.started_at)?;
        let (expected, allowed) = match &self.schedule {
            Schedule::Simple { period } => (last + *period, grace + floor),
            schedule => {
                let refusable = last + (floor - Span::millis(1)).max(Span::ZERO);
                (schedule.next_after(refusable)?, grace)
            }
        };
        let deadline = expected + allowed;
        let touched = gap.ended_at > expected - Span::seconds(60) && gap.started_at < deadline;
        let until = deadline.max(gap.ended_at + grace.min(Span::minutes(15)));
        let heard_in_time = self.heard.iter().any(|at| *at >= gap.ended_at && *at <= until);
        (touched && !heard_in_time).then_some(expected)
    }
}
