//! Pings in groups: they leave what the same pings leave one by one, and a look refuses only what would be refused.

use flatline::checks::log::{self, Entry};
use flatline::checks::state::State;
use flatline::checks::{self, Check, Created, Kind, Settings, Signal};
use flatline::id;
use flatline::pings::{self, Outcome, Ping};
use flatline::time::{Span, Time};
use uuid::Uuid;

use crate::support::{Chance, Engine, START, World, on_both};

const CHECKS: usize = 12;
const PINGS: usize = 600;

/// A ping of the check at `place` of a row of checks.
fn ping(place: usize, chance: &mut Chance, received_at: Time) -> (usize, Ping) {
    let rids = [None, None, Some(Uuid::from_u128(7)), Some(Uuid::from_u128(8))];
    let signals = [
        Signal::Success,
        Signal::Success,
        Signal::Success,
        Signal::Success,
        Signal::Start,
        Signal::Fail,
        Signal::Log,
    ];
    let signal = signals[chance.below(signals.len())];
    let body = if chance.below(4) == 0 { b"it says START here".to_vec() } else { Vec::new() };
    let ping = Ping {
        check: Uuid::nil(),
        signal,
        letter: None,
        rid: if signal == Signal::Log { None } else { rids[chance.below(rids.len())] },
        exit_status: (signal == Signal::Fail).then_some(3),
        scheme: "http",
        remote_addr: Some("203.0.113.9".into()),
        method: ["GET", "POST"][chance.below(2)].into(),
        user_agent: "curl/8.5.0".into(),
        body,
        received_at,
    };
    (place, ping)
}

async fn make_checks(world: &World) -> Vec<Check> {
    let settings = |place: usize| Settings {
        name: format!("job {place}"),
        period_ms: Span::hours(1),
        kind: if place == 3 { Kind::Cron } else { Kind::Simple },
        methods: if place == 4 { "POST" } else { "" }.to_owned(),
        filter_http_body: place == 5,
        start_kw: "START".to_owned(),
        ..Settings::default()
    };
    make(world, (0..CHECKS).map(settings)).await
}

/// Makes checks in the first account's project.
pub async fn make(world: &World, all: impl Iterator<Item = Settings>) -> Vec<Check> {
    let mut tx = world.app.db.begin_write().await.unwrap();
    let project =
        flatline::accounts::store::find_project_by_uuid(&mut tx, world.owner.project).await.unwrap().unwrap();
    let account = world.app.lock_account(&mut tx, project.account_id).await.unwrap();
    let mut made = Vec::new();
    for settings in all {
        let ids = (id::uuid(), id::uuid());
        let created = checks::create(&mut tx, &account, project.id, &settings, ids, START).await.unwrap();
        let Created::Check(check) = created else { panic!("there is room") };
        made.push(*check);
    }
    tx.commit().await.unwrap();
    made
}

async fn record(world: &World, group: &[Ping]) -> Vec<Outcome> {
    let mut tx = world.app.db.begin_write().await.unwrap();
    let recorded = pings::record(&mut tx, &world.app.settings.plans, group, None).await.unwrap();
    tx.commit().await.unwrap();
    recorded.outcomes
}

/// What is left of a check, without what tells it from another.
async fn left(world: &World, check: &Check) -> (State, Vec<Entry>, Vec<Option<Vec<u8>>>) {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let row = checks::store::find(&mut tx, check.uuid).await.unwrap().unwrap();
    let mut entries = log::store::list(&mut tx, check.id, 0, 1000).await.unwrap();
    let mut bodies = Vec::new();
    for entry in &mut entries {
        bodies.push(log::store::find_body(&mut tx, check.id, entry.n).await.unwrap());
        entry.check_id = 0;
    }
    (row.state, entries, bodies)
}

on_both! {
    async fn a_group_leaves_what_the_same_pings_leave_one_by_one(engine: Engine) {
        let world = World::new(engine, "pro").await;
        let (grouped, alone) = (make_checks(&world).await, make_checks(&world).await);
        let mut chance = Chance(42);
        let (mut now, mut sent, mut looked_at) = (START, 0, 0);
        while sent < PINGS {
            let size = 1 + chance.below(40);
            let mut drawn = Vec::new();
            for _ in 0..size {
                now = now + Span::millis(chance.below(4000) as i64);
                drawn.push(ping(chance.below(CHECKS), &mut chance, now));
            }
            let of = |checks: &[Check]| -> Vec<Ping> {
                drawn.iter().map(|(place, ping)| Ping { check: checks[*place].uuid, ..ping.clone() }).collect()
            };
            let outcomes = record(&world, &of(&grouped)).await;
            for (ping, outcome) in of(&alone).iter().zip(outcomes) {
                let one = std::slice::from_ref(ping);
                let mut tx = world.app.db.begin_read().await.unwrap();
                let look = pings::refuse(&mut tx, one).await.unwrap().remove(0);
                drop(tx);
                assert_eq!(record(&world, one).await, std::slice::from_ref(&outcome), "{ping:?}");
                if let Some(refusal) = look {
                    looked_at += 1;
                    assert_eq!(refusal, outcome, "{ping:?}");
                }
            }
            sent += size;
        }
        assert!(looked_at > 50, "a look refused {looked_at}");
        let mut logged = 0;
        for (grouped, alone) in grouped.iter().zip(&alone) {
            let (one, other) = (left(&world, grouped).await, left(&world, alone).await);
            logged += one.1.len();
            assert_eq!(one, other);
        }
        assert!(logged > 100, "{logged} were logged");
    }

    async fn a_group_knows_the_checks_that_do_not_exist(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let checks = make_checks(&world).await;
        let mut chance = Chance(1);
        let mut group: Vec<Ping> = (0..20).map(|_| ping(0, &mut chance, START).1).collect();
        for (place, ping) in group.iter_mut().enumerate() {
            ping.signal = Signal::Success;
            ping.rid = None;
            ping.check = if place % 2 == 0 { checks[0].uuid } else { Uuid::from_u128(place as u128) };
        }
        let mut tx = world.app.db.begin_read().await.unwrap();
        let looks = pings::refuse(&mut tx, &group).await.unwrap();
        drop(tx);
        let outcomes = record(&world, &group).await;
        for (place, (outcome, look)) in outcomes.iter().zip(looks).enumerate() {
            assert_eq!(*outcome == Outcome::Unknown, place % 2 == 1, "{place}: {outcome:?}");
            assert_eq!(look, (place % 2 == 1).then_some(Outcome::Unknown), "{place}");
        }
        let numbers: Vec<i64> = left(&world, &checks[0]).await.1.iter().map(|entry| entry.n).collect();
        assert_eq!(numbers, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    }

    async fn what_is_deleted_for_good_takes_its_log_along_and_no_other(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let checks = make_checks(&world).await;
        let mut chance = Chance(2);
        let plain = |place: usize, chance: &mut Chance| Ping {
            check: checks[place].uuid,
            signal: Signal::Success,
            rid: None,
            ..ping(place, chance, START).1
        };
        let group: Vec<Ping> = (0..30).map(|turn| plain(turn % 3, &mut chance)).collect();
        record(&world, &group).await;
        let deleted = world.client.delete(&format!("checks/{}", checks[1].uuid)).await;
        assert_eq!(deleted.status, 200);
        world.advance(Span::hours(24 * 365));
        world.app.care().await.unwrap();
        let mut tx = world.app.db.begin_read().await.unwrap();
        let mut logged = Vec::new();
        for check in &checks[..3] {
            logged.push(log::store::list(&mut tx, check.id, 0, 1000).await.unwrap().len());
        }
        assert_eq!(logged, [10, 0, 10]);
    }
}
