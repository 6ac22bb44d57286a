//! The spine, end to end: a check that goes down when the pings stop.

use flatline::time::Span;
use serde_json::json;

use crate::support::{Engine, Receiver, World, on_both};

on_both! {
    async fn a_check_goes_down_when_the_pings_stop_and_up_when_they_return(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let uuid = world.client.check(&json!({"name": "backup", "timeout": 60, "grace": 60, "channels": "*"})).await;
        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        assert_eq!(world.client.status(&uuid).await, "up");

        world.pass(Span::seconds(90)).await;
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "grace");

        world.pass(Span::seconds(30)).await;
        world.tick().await;
        assert_eq!(world.client.status(&uuid).await, "down");

        assert_eq!(world.client.ping(&uuid, "").await.status, 200);
        assert_eq!(world.client.status(&uuid).await, "up");
    }
}

#[tokio::test]
async fn a_receiver_keeps_what_it_got() {
    let receiver = Receiver::new().await;
    assert!(receiver.received().is_empty());
}
