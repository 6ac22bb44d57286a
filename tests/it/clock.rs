//! The clock is wrong, and is put right: nothing stays silent for what was stored under the wrong one, and nothing is
//! reported for the jump (DESIGN 3, "Clocks").

use std::collections::BTreeMap;

use flatline::checks::{Reason, Status};
use flatline::db::Statement;
use flatline::time::Span;
use serde_json::json;

use crate::outage::crowd::{Crowd, LONGEST_SILENCE, gaps};
use crate::outage::{skip, told, watched};
use crate::races::rows;
use crate::support::{Engine, Receiver, START, World, on_both};

const WRONG_BY: Span = Span::hours(8);

const SET_INSTANTS: &Statement = &Statement {
    name: "SET_INSTANTS",
    text: "UPDATE checks SET last_ping_at = $2, last_log_at = $2, last_ignored_at = $2, seq = seq + 1 WHERE id = $1",
};
const SET_ASIDE: &Statement = &Statement {
    name: "SET_ASIDE",
    text: "UPDATE checks SET wake_at = wake_at + 3600000, fault = 'the test' WHERE id = $1",
};

on_both! {
    /// b043: the clock was 8 hours ahead for a while; the next ping re-arms the check at now + period, and one that
    /// stays silent goes down after period and grace, not after 8 hours.
    async fn no_check_stays_silent_after_the_clock_was_put_right(engine: Engine) {
        let receiver = Receiver::new().await;
        let world = World::new(engine, "unlimited").await;
        let silent = watched(&world, &receiver, json!({"name": "silent", "timeout": 300, "grace": 60})).await;
        let living = watched(&world, &receiver, json!({"name": "living", "timeout": 300, "grace": 60})).await;
        world.clock.advance(WRONG_BY);
        world.tick().await;
        for uuid in [&silent, &living] {
            world.client.ping(uuid, "/start").await;
            world.client.ping(uuid, "/log").await;
            world.client.ping(uuid, "").await;
        }
        world.pass(Span::minutes(2)).await;
        world.clock.advance(Span::ZERO - WRONG_BY);
        world.tick().await;
        assert!(gaps(&world).await.iter().all(|gap| gap.ended_at <= world.clock.now()), "no gap lies ahead");

        let put_right = world.clock.now();
        let row = rows::row(&world.app.db, &silent).await.state;
        assert_eq!((row.last_ping_at, row.last_log_at), (Some(put_right), Some(put_right)));
        assert_eq!(row.deadline_at, Some(put_right + Span::seconds(360)));

        world.pass(Span::seconds(200)).await;
        assert_eq!(world.client.ping(&living, "").await.status, 200);
        let pinged = world.clock.now();
        assert_eq!(rows::row(&world.app.db, &living).await.state.expected_at, Some(pinged + Span::seconds(300)));
        world.pass(Span::seconds(160)).await;
        world.tick().await;
        assert_eq!(world.client.status(&silent).await, "down");
        assert_eq!(world.client.status(&living).await, "up");
        assert_eq!(told(&receiver), ["down"]);
        let flip = rows::flips(&world.app.db, &silent).await.pop().expect("a flip");
        assert_eq!((flip.reason, flip.flipped_at), (Reason::Timeout, put_right + Span::seconds(360)));
    }

    async fn jobs_outlive_a_clock_that_is_set_back(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.clock.advance(WRONG_BY);
        world.app.stamp().await.expect("the stamp is taken");
        let owner = world.owner.clone();
        let mut crowd = Crowd::new(&world, &[(&owner, 140)]).await;
        crowd.live(&world, Span::minutes(10)).await;
        world.clock.advance(Span::ZERO - WRONG_BY);
        crowd.shift(world.clock.now(), Span::ZERO - WRONG_BY);
        crowd.silence(7);
        crowd.live(&world, LONGEST_SILENCE).await;
        assert_eq!(crowd.downs(&world).await, crowd.silent());
    }

    /// The program was stopped under the wrong clock and started under the right one.
    async fn the_clock_is_put_right_while_the_program_is_stopped(engine: Engine) {
        let mut world = World::new(engine, "unlimited").await;
        world.clock.advance(WRONG_BY);
        world.app.stamp().await.expect("the stamp is taken");
        let owner = world.owner.clone();
        let mut crowd = Crowd::new(&world, &[(&owner, 30)]).await;
        crowd.live(&world, Span::minutes(10)).await;
        world.stop().await;
        world.clock.advance(Span::minutes(5) - WRONG_BY);
        world.start().await;
        crowd.shift(world.clock.now(), Span::ZERO - WRONG_BY);
        crowd.miss(world.clock.now());
        crowd.live(&world, LONGEST_SILENCE).await;
        assert_eq!(crowd.downs(&world).await, BTreeMap::new());
    }

    /// What is up to 60 s ahead is believed, what is further ahead is not.
    async fn the_floor_does_not_count_from_an_instant_far_ahead(engine: Engine) {
        let world = World::new(engine, "pro").await;
        let uuid = world.client.check(&json!({"timeout": 3600})).await;
        world.client.ping(&uuid, "").await;
        skip(&world, Span::minutes(10)).await;
        let (id, now) = (rows::row(&world.app.db, &uuid).await.id, world.clock.now());
        for (ahead, status) in [(60_000, 429), (60_001, 200)] {
            for signal in ["", "/log"] {
                rows::change(&world.app.db, SET_INSTANTS, &[id, now.0 + ahead]).await;
                assert_eq!(world.client.ping(&uuid, signal).await.status, status, "{ahead} {signal}");
            }
        }
        assert_eq!(rows::row(&world.app.db, &uuid).await.state.last_ping_at, Some(now + Span::millis(60_001)));
        world.client.ping(&uuid, "").await;
        let answer = world.client.ping(&uuid, "").await;
        assert_eq!((answer.status, answer.json()["retry_after"].clone()), (429, json!(60)));
    }

    /// A run that began under the wrong clock is over its grace after the grace, and has a duration.
    async fn runs_are_put_right_with_the_clock(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let hung = world.client.check(&json!({"name": "hung", "timeout": 86_400, "grace": 60})).await;
        let ends = world.client.check(&json!({"name": "ends", "timeout": 86_400, "grace": 60})).await;
        world.clock.advance(WRONG_BY);
        world.app.stamp().await.expect("the stamp is taken");
        for uuid in [&hung, &ends] {
            world.client.ping(uuid, "/start").await;
        }
        world.clock.advance(Span::ZERO - WRONG_BY);
        world.tick().await;
        world.pass(Span::seconds(40)).await;
        world.client.ping(&ends, "").await;
        assert_eq!(world.client.read(&ends).await["last_duration"], json!(40));
        world.pass(Span::seconds(20)).await;
        world.tick().await;
        let flips = rows::flips(&world.app.db, &hung).await;
        let told: Vec<_> = flips.iter().map(|flip| (flip.new_status, flip.reason, flip.flipped_at)).collect();
        assert_eq!(told, [(Status::Down, Reason::Run, START + Span::seconds(60))]);
    }

    /// What was put off under the wrong clock is looked at again under the right one.
    async fn what_was_put_off_is_looked_at_again(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"timeout": 60, "grace": 60})).await;
        world.client.ping(&uuid, "").await;
        let id = rows::row(&world.app.db, &uuid).await.id;
        rows::change(&world.app.db, SET_ASIDE, &[id]).await;
        world.clock.advance(WRONG_BY);
        world.app.stamp().await.expect("the stamp is taken");
        world.clock.advance(Span::ZERO - WRONG_BY);
        world.tick().await;
        world.pass(Span::seconds(120)).await;
        world.tick().await;
        world.pass(Span::seconds(120)).await;
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "down");
    }
}
