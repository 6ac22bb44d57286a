//! Making accounts on the web: by a letter, and the operator's by a proof of the machine.

use super::browser::Browser;
use crate::support::{Engine, World, on_both};

on_both! {
    async fn an_account_is_made_by_whoever_reads_the_mail(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::new(&world);
        let new = browser.submit("/sign-up", &[("email", "new@example.org")]).await;
        let known = browser.submit("/sign-up", &[("email", "owner@example.org")]).await;
        assert_eq!((new.status, known.status), (200, 200));
        assert_eq!(new.text().replace("new@", ""), known.text().replace("owner@", ""), "no difference");
        world.tick().await;
        let letters = world.outbox().await;
        let link = letters.iter().find_map(|letter| letter.split("/sign-up/").nth(1)).expect("a link")[..40].to_owned();
        assert!(letters.iter().any(|letter| letter.contains("/sign-in/")), "the owner gets a sign-in link");

        let path = format!("/sign-up/{link}");
        assert!(browser.open(&path).await.contains("value=\"new@example.org\""));
        assert_eq!(browser.submit(&path, &[("password", "short")]).await.status, 422);
        assert_eq!(browser.submit(&path, &[("password", "long enough")]).await.status, 303);
        let home = browser.get("/").await;
        let page = browser.open(home.header("location").expect("a project")).await;
        assert!(page.contains("my-first-check") && page.contains("Waiting for the first ping"), "{page}");
        assert_eq!(Browser::new(&world).get(&path).await.status, 410, "the link is used");
        let again = Browser::new(&world);
        let answer = again.submit("/sign-in", &[("email", "new@example.org"), ("password", "long enough")]).await;
        assert_eq!(answer.status, 303);
    }

    async fn a_closed_instance_takes_no_sign_ups(engine: Engine) {
        let world = World::with(engine, "unlimited", &[("SIGNUP", "closed")]).await;
        let browser = Browser::new(&world);
        assert_eq!(browser.get("/sign-up").await.status, 403);
        let answer = browser.post_from("/sign-in", "/sign-up", &[("email", "new@example.org")]).await;
        assert_eq!(answer.status, 403);
        world.tick().await;
        assert!(world.outbox().await.is_empty());
        assert!(!browser.open("/sign-in").await.contains("/sign-up"));
    }
}
