//! Limiters on the real engines: windows under races, what a chain spends, and what a crash leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flatline::db::Db;
use flatline::error::{Error, Result};
use flatline::rate::{self, Limit, Limiter, Refusal, Standing, Verdict, Window, enforce, enforce_all, store};
use flatline::time::{CLOCK_SLACK, Span, Time};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::support::{Engine, Place, START, is_long, on_both};

const DAY: Span = Span::hours(24);

fn limit(scope: &'static str, limit: i64, length: Span) -> Limit {
    Limit { scope, subject: b"subject".to_vec(), window: Window { limit, length } }
}

fn per_minute(n: i64) -> Limit {
    limit("minute", n, Span::minutes(1))
}

/// Asks once; a database that has no connection free in time is asked again, since nothing was spent.
async fn ask(db: &Db, limit: &Limit, now: Time) -> Verdict {
    for _ in 0..20 {
        match limit.spend(db, now).await {
            Ok(verdict) => return verdict,
            Err(Error::Database(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the database gave no answer in twenty attempts");
}

fn is_accepted(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Accepted(_))
}

/// How many of so many asked at once are accepted, spread over the handles.
async fn burst(dbs: &[Db], limit: &Limit, asked: usize, now: Time) -> usize {
    let mut asking = JoinSet::new();
    for index in 0..asked {
        let (db, limit) = (dbs[index % dbs.len()].clone(), limit.clone());
        asking.spawn(async move { ask(&db, &limit, now).await });
    }
    asking.join_all().await.iter().filter(|verdict| is_accepted(verdict)).count()
}

/// Rounds in which several ask at once, each by a clock of its own that runs up to half a minute behind or ahead of
/// the others, while time goes on in uneven steps; returns when the accepted ones were.
async fn stream(dbs: &[Db], limit: &Limit, rounds: usize) -> Vec<Time> {
    let (mut accepted, mut base) = (Vec::new(), START);
    for round in 0..rounds {
        base = base + Span::millis([0, 1, 14_000, 900, 8_100, 10, 2_700][round % 7]);
        let mut asking = JoinSet::new();
        for (worker, db) in dbs.iter().cycle().take(dbs.len().max(6)).enumerate() {
            let (db, limit) = (db.clone(), limit.clone());
            let now = base + Span::millis([0, 29_000, 31, 17_500, 800, 5_000][(worker + round * 5) % 6]);
            asking.spawn(async move { is_accepted(&ask(&db, &limit, now).await).then_some(now) });
        }
        accepted.extend(asking.join_all().await.into_iter().flatten());
    }
    accepted
}

/// Asks again and again, each time through another handle, and sees what was accepted: never more than the limit in
/// any window, and as many in any window and a sixtieth.
async fn press(dbs: &[Db], limit: &Limit) {
    let (length, most) = (limit.window.length, usize::try_from(limit.window.limit).unwrap());
    let (step, mut accepted) = (Span::millis(777), Vec::new());
    for turn in 0..240 {
        let now = START + Span::millis(step.0 * turn);
        if is_accepted(&ask(&dbs[turn as usize % dbs.len()], limit, now).await) {
            accepted.push(now);
        }
    }
    assert_eq!(most_in_any_span(&accepted, length), most);
    for turn in 0..150 {
        let from = START + Span::millis(step.0 * turn);
        // Pressure comes in steps: the last may be one step short of the span's end.
        let until = from + length + Span::millis(length.0 / 60) + step;
        let within = accepted.iter().filter(|at| **at >= from && **at <= until).count();
        assert!(within >= most, "{within} from {from:?}");
    }
}

fn most_in_any_span(accepted: &[Time], length: Span) -> usize {
    let within = |from: &Time| accepted.iter().filter(|at| **at >= *from && **at <= *from + length).count();
    accepted.iter().map(within).max().unwrap_or(0)
}

async fn handles(place: &Place, number: usize) -> Vec<Db> {
    let mut dbs = Vec::new();
    for _ in 0..number {
        dbs.push(place.open().await);
    }
    dbs
}

on_both! {
    async fn of_a_burst_of_two_hundred_exactly_the_limit_is_accepted(engine: Engine) {
        let place = Place::new(engine).await;
        let dbs = handles(&place, 1).await;
        assert_eq!(burst(&dbs, &per_minute(20), 200, START).await, 20);
        assert_eq!(burst(&dbs, &per_minute(20), 200, START + Span::seconds(60)).await, 0);
        assert_eq!(burst(&dbs, &per_minute(20), 200, START + Span::seconds(61)).await, 20);
    }

    async fn a_loop_gets_the_limit_in_every_window_and_never_more(engine: Engine) {
        let place = Place::new(engine).await;
        press(&handles(&place, 1).await, &per_minute(10)).await;
    }

    async fn a_random_stream_is_never_let_through_more_often_than_the_limit(engine: Engine) {
        let place = Place::new(engine).await;
        let accepted = stream(&handles(&place, 1).await, &per_minute(7), if is_long() { 400 } else { 60 }).await;
        assert_eq!(most_in_any_span(&accepted, Span::minutes(1)), 7);
    }

    async fn who_is_stopped_by_the_minute_for_an_hour_has_spent_nothing_of_the_day(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let chain = [per_minute(1), limit("day", 100, DAY)];
        let mut accepted = 0;
        for second in 0..600 {
            let now = START + Span::seconds(second * 6);
            accepted += i64::from(is_accepted(&enforce(&db, &chain, now).await.unwrap()));
        }
        assert!((54..=60).contains(&accepted), "{accepted}");
        assert_eq!(left(&db, &chain[1], START + Span::hours(1)).await, 100 - accepted);
    }

    async fn all_are_spent_although_the_first_refused(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let chain = [per_minute(1), limit("address", 100, Span::minutes(1))];
        for round in 0..5 {
            let verdict = enforce_all(&db, &chain, START).await.unwrap();
            assert_eq!(is_accepted(&verdict), round == 0);
        }
        assert_eq!(left(&db, &chain[1], START).await, 95);
    }

    async fn what_a_failed_request_spent_stays_spent(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        assert!(is_accepted(&ask(&db, &per_minute(5), START).await));
        let mut handler = db.begin_write().await.unwrap();
        store::forget_ahead(&mut handler, START).await.unwrap();
        drop(handler);
        assert_eq!(left(&db, &per_minute(5), START).await, 4);
    }

    async fn a_transaction_cut_off_after_any_of_its_statements_leaves_the_count_as_it_was(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let limit = per_minute(5);
        assert!(is_accepted(&ask(&db, &limit, START).await));
        for statements in 1..=2 {
            let mut tx = db.begin_write().await.unwrap();
            let locked = store::lock(&mut tx, &limit, START).await.unwrap();
            assert_eq!(locked.spent.counts, [1]);
            if statements == 2 {
                let spent = rate::window::Spent { last_at: Some(START), counts: vec![2] };
                store::write(&mut tx, &limit, locked.rev, &spent).await.unwrap();
            }
            drop(tx);
            assert_eq!(left(&db, &limit, START).await, 4);
        }
        assert!(is_accepted(&ask(&db, &limit, START).await));
        assert_eq!(left(&db, &limit, START).await, 3);
    }

    async fn the_same_state_refuses_a_thousand_times_in_the_same_words(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        assert_eq!(burst(std::slice::from_ref(&db), &per_minute(3), 3, START).await, 3);
        let now = START + Span::seconds(20);
        let refusal = Refusal {
            scope: "minute",
            limit: 3,
            reset: Span::seconds(41),
            retry_after: Span::seconds(41),
        };
        for _ in 0..1000 {
            assert_eq!(per_minute(3).spend(&db, now).await.unwrap(), Verdict::Refused(refusal));
        }
        assert_eq!(left(&db, &per_minute(3), now).await, 0);
    }

    async fn a_restart_forgets_nothing(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        assert_eq!(burst(std::slice::from_ref(&db), &per_minute(3), 2, START).await, 2);
        db.close().await;
        assert_eq!(left(&place.open().await, &per_minute(3), START).await, 1);
    }

    async fn rows_go_when_they_say_nothing_any_more_and_not_before(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        for subject in 0..30 {
            let limit = Limit { subject: vec![subject], ..per_minute(1) };
            assert!(is_accepted(&ask(&db, &limit, START).await));
        }
        assert_eq!(rate::prune(&db, START + Span::millis(120_999)).await.unwrap(), 0);
        assert_eq!(rate::prune(&db, START + Span::seconds(121)).await.unwrap(), 30);
        assert_eq!(rate::prune(&db, START + DAY).await.unwrap(), 0);
    }

    async fn what_was_counted_under_a_clock_set_ahead_does_not_count(engine: Engine) {
        let place = Place::new(engine).await;
        let db = place.open().await;
        let ahead = START + Span::hours(24 * 365);
        assert_eq!(burst(std::slice::from_ref(&db), &per_minute(1), 3, ahead).await, 1);
        assert!(is_accepted(&ask(&db, &per_minute(1), START).await), "it counts as not set");
        assert!(!is_accepted(&ask(&db, &per_minute(1), START).await));

        let other = Limit { subject: b"other".to_vec(), ..per_minute(1) };
        assert!(is_accepted(&ask(&db, &other, ahead).await));
        let mut tx = db.begin_write().await.unwrap();
        store::forget_ahead(&mut tx, START - CLOCK_SLACK).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(rate::prune(&db, ahead + DAY).await.unwrap(), 1, "only the row of an instant ahead is gone");
    }
}

/// How many a limit has left, for looking at only.
async fn left(db: &Db, limit: &Limit, now: Time) -> i64 {
    let mut tx = db.begin_read().await.unwrap();
    limit.look(&mut tx, now).await.unwrap().remaining
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_sets_of_connections_to_one_postgres_share_every_window() {
    let place = Place::new(Engine::Postgres).await;
    let dbs = handles(&place, 3).await;
    assert_eq!(burst(&dbs, &per_minute(20), 200, START).await, 20);
    press(&dbs, &Limit { subject: b"pressed".to_vec(), ..per_minute(10) }).await;
    let other = Limit { subject: b"other".to_vec(), ..per_minute(7) };
    let accepted = stream(&dbs, &other, if is_long() { 400 } else { 60 }).await;
    assert_eq!(most_in_any_span(&accepted, Span::minutes(1)), 7);
}

/// A limiter that waits until another one has answered, if it is told to.
struct Scripted {
    scope: &'static str,
    refuses: bool,
    waits_for: Option<Arc<Notify>>,
    answered: Arc<Notify>,
    spent: AtomicUsize,
}

impl Scripted {
    fn new(scope: &'static str, refuses: bool) -> Self {
        let answered = Arc::new(Notify::new());
        Self { scope, refuses, waits_for: None, answered, spent: AtomicUsize::new(0) }
    }

    fn spent(&self) -> usize {
        self.spent.load(Ordering::SeqCst)
    }
}

impl Limiter for Scripted {
    async fn spend(&self, _db: &Db, _now: Time) -> Result<Verdict> {
        if let Some(other) = &self.waits_for {
            other.notified().await;
        }
        self.spent.fetch_add(1, Ordering::SeqCst);
        self.answered.notify_one();
        let (scope, limit, reset) = (self.scope, 1, Span::seconds(1));
        Ok(if self.refuses {
            Verdict::Refused(Refusal { scope, limit, reset, retry_after: reset })
        } else {
            Verdict::Accepted(Some(Standing { scope, limit, remaining: 0, reset }))
        })
    }
}

fn scope(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted(standing) => standing.map_or("", |standing| standing.scope),
        Verdict::Refused(refusal) => refusal.scope,
    }
}

#[tokio::test]
async fn the_first_refusal_of_the_list_is_reported_though_its_answer_comes_last() {
    let db = Place::new(Engine::Sqlite).await.open().await;
    let mut limiters = ["first", "second", "third"].map(|scope| Scripted::new(scope, true));
    limiters[0].waits_for = Some(Arc::clone(&limiters[1].answered));
    limiters[1].waits_for = Some(Arc::clone(&limiters[2].answered));
    assert_eq!(scope(&enforce_all(&db, &limiters, START).await.unwrap()), "first");
    assert_eq!(limiters.each_ref().map(Scripted::spent), [1, 1, 1]);

    limiters[0].refuses = false;
    assert_eq!(scope(&enforce_all(&db, &limiters, START).await.unwrap()), "second");
    assert_eq!(limiters.each_ref().map(Scripted::spent), [2, 2, 2]);
}

#[tokio::test]
async fn in_order_nothing_is_asked_behind_a_refusal() {
    let db = Place::new(Engine::Sqlite).await.open().await;
    let limiters = [("first", false), ("second", true), ("third", true)];
    let limiters = limiters.map(|(scope, refuses)| Scripted::new(scope, refuses));
    assert_eq!(scope(&enforce(&db, &limiters, START).await.unwrap()), "second");
    assert_eq!(limiters.each_ref().map(Scripted::spent), [1, 1, 0]);
}

#[tokio::test]
async fn a_database_that_cannot_count_refuses_nothing_and_accepts_nothing() {
    let db = Place::new(Engine::Sqlite).await.open().await;
    db.close().await;
    assert!(per_minute(1).spend(&db, START).await.is_err());
    assert!(enforce(&db, &[per_minute(1)], START).await.is_err());
    assert!(enforce_all(&db, &[per_minute(1)], START).await.is_err());
}
