//! What the recorder remembers of checks is never believed against their rows: whatever becomes of a check between two
//! pings, and whoever did it, the next one comes to what it comes to where nothing is remembered.

use flatline::checks::log::{self, Entry};
use flatline::checks::state::State;
use flatline::checks::{self, Check, Settings, Signal};
use flatline::db::{Db, Statement};
use flatline::pings::{self, Outcome, Ping};
use flatline::time::Span;
use flatline::{pause, plans};

use crate::groups::make;
use crate::races::rows;
use crate::support::{Chance, Engine, START, World, on_both, success};

const CHECKS: usize = 4;
const STEPS: usize = 1200;

/// Takes the floor away; run as what it is not, a query, it goes unseen by who counts the commits of this process.
const UNFLOOR: &Statement = &Statement {
    name: "UNFLOOR",
    text: "UPDATE checks SET floor_ms = 0 WHERE id = $1 RETURNING id AS number",
};
const RENAME: &Statement =
    &Statement { name: "RENAME", text: "UPDATE projects SET name = name || '+' WHERE id <> $1" };

#[derive(sqlx::FromRow)]
struct Number {
    #[expect(dead_code, reason = "a row has to hold something")]
    number: i64,
}

/// What may happen to a check.
#[derive(Clone, Copy, Debug)]
enum Event {
    Ping(Signal),
    Edit(Span),
    Pause,
    Resume,
    Delete,
    Restore,
    Plan(&'static str),
    Sweep,
}

impl Event {
    fn draw(chance: &mut Chance) -> Self {
        match chance.below(40) {
            0..30 => Self::Ping(Signal::Success),
            30 => Self::Ping(Signal::Fail),
            31 => Self::Ping(Signal::Start),
            32 => Self::Ping(Signal::Log),
            33 => Self::Edit(Span::minutes(1 + chance.below(60) as i64)),
            34 => Self::Pause,
            35 => Self::Resume,
            36 => Self::Delete,
            37 => Self::Plan(["free", "pro", "unlimited"][chance.below(3)]),
            38 => Self::Restore,
            _ => Self::Sweep,
        }
    }
}

async fn make_checks(world: &World) -> Vec<Check> {
    let settings = |place| Settings { name: format!("job {place}"), ..Settings::default() };
    make(world, (0..CHECKS).map(settings)).await
}

/// Does to a check whatever is no ping, through `db`, as this process or another would.
async fn happen(world: &World, db: &Db, check: &Check, event: Event) {
    let now = world.clock.now();
    let mut tx = db.begin_write().await.unwrap();
    let live = checks::store::find(&mut tx, check.uuid).await.unwrap();
    match (event, live) {
        (Event::Edit(period), Some(_)) => {
            let edited = checks::edit(&mut tx, check.id, None, |settings| {
                settings.period_ms = period;
                Ok(())
            });
            edited.await.unwrap();
        }
        (Event::Pause, Some(_)) => drop(pause::pause(&mut tx, check.id, now).await.unwrap()),
        (Event::Resume, Some(_)) => drop(pause::resume(&mut tx, check.id, now).await.unwrap()),
        (Event::Delete, Some(live)) => assert!(checks::store::delete(&mut tx, &live, START).await.unwrap()),
        (Event::Restore, None) => {
            let restored = checks::store::restore(&mut tx, check.id, START, check.floor_ms).await.unwrap();
            assert!(restored.is_some());
        }
        (Event::Plan(name), _) => {
            let plan = world.app.settings.plans.get(name).unwrap();
            plans::change(&mut tx, check.account_id, plan).await.unwrap();
        }
        _ => {}
    }
    tx.commit().await.unwrap();
}

/// What is left of a check, without what tells it from another.
async fn left(world: &World, check: &Check) -> (Option<State>, Vec<Entry>) {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let row = checks::store::find(&mut tx, check.uuid).await.unwrap();
    let mut entries = log::store::list(&mut tx, check.id, 0, 10_000).await.unwrap();
    entries.iter_mut().for_each(|entry| entry.check_id = 0);
    (row.map(|row| row.state), entries)
}

async fn recorded(world: &World, ping: Ping) -> Outcome {
    world.app.recorder.record(ping).await.unwrap()
}

async fn decided(world: &World, ping: Ping) -> Outcome {
    let mut tx = world.app.db.begin_write().await.unwrap();
    let recorded = pings::record(&mut tx, &world.app.settings.plans, &[ping], None).await.unwrap();
    tx.commit().await.unwrap();
    recorded.outcomes.into_iter().next().unwrap()
}

on_both! {
    async fn whatever_happens_between_two_pings_the_second_is_decided_by_what_is_there(engine: Engine) {
        let (world, twin) = (World::new(engine, "pro").await, World::new(engine, "pro").await);
        let (checks, twins) = (make_checks(&world).await, make_checks(&twin).await);
        let other = world.place.open().await;
        let mut chance = Chance(11);
        let (mut accepted, mut refused) = (0, 0);
        for step in 0..STEPS {
            let span = Span::seconds(chance.below(60) as i64);
            world.advance(span);
            twin.advance(span);
            let now = world.clock.now();
            let place = chance.below(CHECKS);
            let (check, same) = (&checks[place], &twins[place]);
            match Event::draw(&mut chance) {
                Event::Ping(signal) => {
                    let ping = Ping { signal, ..success(check, now) };
                    let outcome = recorded(&world, ping.clone()).await;
                    let wanted = decided(&twin, Ping { check: same.uuid, ..ping }).await;
                    assert_eq!(outcome, wanted, "step {step}");
                    match outcome {
                        Outcome::Recorded { .. } => accepted += 1,
                        Outcome::TooFast { .. } => refused += 1,
                        Outcome::Merged | Outcome::Unknown => {}
                    }
                }
                Event::Sweep => {
                    world.app.sweep().await.unwrap();
                    twin.app.sweep().await.unwrap();
                }
                event => {
                    let by = if chance.below(2) == 0 { &world.app.db } else { &other };
                    happen(&world, by, check, event).await;
                    happen(&twin, &twin.app.db, same, event).await;
                }
            }
            assert_eq!(left(&world, check).await, left(&twin, same).await, "step {step}");
        }
        assert!(accepted > 200 && refused > 100, "{accepted} accepted, {refused} refused");
    }
}

#[tokio::test]
async fn a_repeat_is_refused_from_memory_until_anybody_else_has_written() {
    let world = World::new(Engine::Sqlite, "free").await;
    let other = world.place.open().await;
    let check = make_checks(&world).await.remove(0);
    let unfloor = async || {
        let mut tx = world.app.db.begin_write().await.unwrap();
        assert!(tx.query(UNFLOOR).bind(check.id).maybe::<Number>().await.unwrap().is_some());
        tx.commit().await.unwrap();
    };
    let ping = || success(&check, world.clock.now());
    let is_refused = async || matches!(recorded(&world, ping()).await, Outcome::TooFast { .. });
    for by in [&world.app.db, &other] {
        world.advance(Span::hours(1));
        world.app.stamp().await.unwrap();
        let mut tx = world.app.db.begin_write().await.unwrap();
        let free = world.app.settings.plans.get("free").unwrap();
        plans::change(&mut tx, check.account_id, free).await.unwrap();
        tx.commit().await.unwrap();
        assert!(!is_refused().await);
        assert!(is_refused().await, "by the row");
        assert!(is_refused().await, "by a look, which is remembered");
        unfloor().await;
        assert!(is_refused().await, "from memory");
        world.app.stamp().await.unwrap();
        assert!(is_refused().await, "the recorder's own commits are no news to it");
        rows::change(by, RENAME, &[0]).await;
        assert!(!is_refused().await, "somebody wrote");
    }
}
