//! The page of what is used, left, and refused.

use flatline::time::Span;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World, key_of, on_both};

const OWNER: &str = "owner@example.org";

on_both! {
    async fn what_is_used_and_left_stands_beside_its_limit(engine: Engine) {
        let world = World::new(engine, "free").await;
        for number in 0..17 {
            world.client.check(&json!({"name": format!("job {number}")})).await;
        }
        let browser = Browser::signed_in(&world, OWNER).await;
        let page = browser.open("/usage").await;
        assert!(page.contains("Checks are nearly used up: 17 of 20") && page.contains("Plan free, for the project of"));
        assert!(page.contains("aria-valuenow=\"17\" aria-valuetext=\"17 of 20\"><rect width=\"85.0%\""), "{page}");
        assert!(page.contains("0 of 500") && page.contains("The count begins anew 1 April 00:00."), "{page}");
        assert!(page.contains("1 of 3") && page.contains("17 of 60") && page.contains("17 of 5,000"), "{page}");
        assert!(page.contains("None was refused."), "{page}");
        for number in 17..20 {
            world.client.check(&json!({"name": format!("job {number}")})).await;
        }
        assert!(browser.open("/usage").await.contains("All 20 checks are used"));
    }

    async fn a_refused_ping_is_counted_with_its_reason(engine: Engine) {
        let world = World::new(engine, "free").await;
        let check = world.client.check(&json!({"name": "<b>often</b>"})).await;
        for _ in 0..4 {
            world.client.ping(&check, "").await;
        }
        let page = Browser::signed_in(&world, OWNER).await.open("/usage").await;
        assert!(page.contains("once in 5 min</strong>"), "{page}");
        let row = page.split(&format!("/checks/{}", key_of(&check))).nth(1).expect("a row");
        assert!(row.contains("data-label=\"Recorded\">1<") && row.contains("data-label=\"Refused\">3<"), "{row}");
        assert!(row.contains("It says the same more often than once in 5 min."), "{row}");
        assert!(!page.contains("<b>often"), "{page}");
        world.sign_up("other@example.org", "free").await;
        let other = Browser::signed_in(&world, "other@example.org").await.open("/usage").await;
        assert!(!other.contains(&check) && other.contains("None was refused."), "{other}");
    }

    async fn alerts_that_run_short_are_said_with_what_comes_then(engine: Engine) {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a file");
        std::fs::write(file.path(), "[free]\nalerts_per_month = 5\nmin_interval_seconds = 0\n").expect("written");
        let path = file.path().display().to_string();
        let world = World::with(engine, "free", &[("PLANS_FILE", &path)]).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let down = async |number: usize| {
            let check = world.client.check(&json!({"name": format!("job {number}"), "channels": "*"})).await;
            assert_eq!(world.client.ping(&check, "/fail").await.status, 200);
            world.tick().await;
        };
        for number in 0..4 {
            down(number).await;
        }
        let page = browser.open("/usage").await;
        assert!(page.contains("Alerts are nearly used up: 4 of 5") && page.contains("1 alert is left"), "{page}");
        for number in 4..7 {
            down(number).await;
        }
        let page = browser.open("/usage").await;
        assert!(page.contains("All 5 alerts of this month are used"), "{page}");
        assert!(page.contains("No alert is left for this month, and 2 are held."), "{page}");
        world.pass(Span::minutes(1)).await;
        assert!(page.contains("sent on 1 April if it is still true then"), "{page}");
    }

    async fn a_plan_without_limits_says_so(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let page = Browser::signed_in(&world, OWNER).await.open("/usage").await;
        assert!(page.contains("Nothing limits your checks or alerts") && page.contains("Your plan refuses no ping."), "{page}");
        assert!(page.contains("Nothing limits your API keys."), "{page}");
    }
}
