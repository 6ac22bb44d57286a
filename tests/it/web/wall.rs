//! The wall: a project on a screen, for members and by its secret address.

use flatline::accounts::Role;
use flatline::time::Span;
use serde_json::json;

use super::browser::Browser;
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";

fn wall(world: &World) -> String {
    format!("/projects/{}/wall", world.owner.project)
}

fn secret_in(html: &str) -> Option<String> {
    let rest = html.split("http://flatline.test/wall/").nth(1)?;
    rest.split('<').next().map(str::to_owned)
}

on_both! {
    async fn trouble_is_loud_and_has_its_reason(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        assert!(browser.open(&wall(&world)).await.contains("<h1>No check yet</h1>"));
        let up = world.client.check(&json!({"name": "steady", "timeout": 86400})).await;
        let failed = world.client.check(&json!({"name": "<b>broken</b>"})).await;
        for (check, signal) in [(&up, ""), (&failed, "/7")] {
            assert_eq!(world.client.ping(check, signal).await.status, 200);
        }
        let html = browser.open(&wall(&world)).await;
        assert!(html.contains("<h1>1 down, 1 up</h1>") && html.contains("<title>(1 down) My project"), "{html}");
        let (loud, quiet) = html.split_once("aria-label=\"The rest\"").unwrap();
        assert!(loud.contains("Ended with exit status 7.") && loud.contains("&#60;b&#62;broken"), "{loud}");
        assert!(quiet.contains("steady") && !html.contains("<b>broken"), "{quiet}");
        assert!(!html.contains("http-equiv"), "it is not loaded anew unasked");
        let asked = browser.get(&format!("{}?refresh=60", wall(&world))).await;
        assert_eq!(asked.header("refresh"), Some("60"));
    }

    async fn its_secret_address_opens_this_page_and_no_other(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let check = world.client.check(&json!({"name": "steady"})).await;
        let browser = Browser::signed_in(&world, OWNER).await;
        assert_eq!(secret_in(&browser.open(&wall(&world)).await), None);
        let make = format!("{}/address", wall(&world));
        assert_eq!(browser.post_from(&wall(&world), &make, &[]).await.status, 303);
        let first = secret_in(&browser.open(&wall(&world)).await).unwrap();
        assert_eq!(first.len(), 40);
        let nobody = Browser::new(&world);
        let html = nobody.open(&format!("/wall/{first}")).await;
        assert!(html.contains("steady") && html.contains("<h1>1 new</h1>"), "{html}");
        assert!(!html.contains("/checks/") && !html.contains(&check) && !html.contains(&world.owner.project.to_string()), "{html}");
        assert!(!html.contains("<form") && secret_in(&html).is_none(), "{html}");

        assert_eq!(browser.post_from(&wall(&world), &make, &[]).await.status, 303);
        let second = secret_in(&browser.open(&wall(&world)).await).unwrap();
        assert_eq!(nobody.get(&format!("/wall/{first}")).await.status, 404);
        assert_eq!(nobody.get(&format!("/wall/{second}")).await.status, 200);
        assert_eq!(browser.post_from(&wall(&world), &format!("{make}/end"), &[]).await.status, 303);
        assert_eq!(nobody.get(&format!("/wall/{second}")).await.status, 404);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_only_look_sees_the_wall_but_not_its_address() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let owner = Browser::signed_in(&world, OWNER).await;
    owner.post_from(&wall(&world), &format!("{}/address", wall(&world)), &[]).await;
    world.sign_up("readonly@example.org", "free").await;
    world.add_member("readonly@example.org", Role::Readonly).await;
    let reader = Browser::signed_in(&world, "readonly@example.org").await;
    let html = reader.open(&wall(&world)).await;
    assert!(secret_in(&html).is_none() && !html.contains("<form"), "{html}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_by_the_secret_address_are_the_owner_s() {
    let world = World::new(Engine::Sqlite, "unlimited").await;
    let owner = Browser::signed_in(&world, OWNER).await;
    owner.post_from("/account", "/account/zone", &[("zone", "Europe/Riga")]).await;
    owner.post_from(&wall(&world), &format!("{}/address", wall(&world)), &[]).await;
    let secret = secret_in(&owner.open(&wall(&world)).await).unwrap();
    world.advance(Span::minutes(1));
    let html = Browser::new(&world).open(&format!("/wall/{secret}")).await;
    assert!(html.contains(">05:13</time> Europe/Riga"), "{html}");
}
