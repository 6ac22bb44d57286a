//! Making accounts on the web: by a letter, and the operator's by a proof of the machine.

use flatline::db::Statement;
use flatline::{accounts, signup};

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

    async fn the_operators_account_is_claimed_from_the_machine_or_with_the_token_alone(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        release(&world).await;
        let token = signup::claim_token(&world.app.secret);
        let proxied = |path: &str| {
            let (client, path) = (world.client.without_key(), path.to_owned());
            async move { client.send("GET", &path, &[("X-Forwarded-For", "203.0.113.9")], Vec::new()).await.text() }
        };
        assert!(proxied("/sign-up").await.contains("This instance has no operator yet."));
        assert!(!proxied("/sign-up").await.contains("type=\"password\""), "loopback behind a proxy proves nothing");
        assert!(!proxied("/sign-up?claim=0123456789abcdef0123456789abcdef01234567").await.contains("type=\"password\""));
        assert!(proxied(&format!("/sign-up?claim={token}")).await.contains("Your account becomes the operator"));
        let named = world.client.without_key().send("GET", "/sign-up", &[("Host", "flatline.test")], Vec::new()).await;
        assert!(!named.text().contains("type=\"password\""), "another site's page can ask a browser here for that");

        let browser = Browser::new(&world);
        assert!(browser.open("/sign-up").await.contains("Your account becomes the operator"), "the machine itself");
        let fields = [("email", "op@example.org"), ("password", "long enough"), ("claim", "")];
        assert_eq!(browser.submit("/sign-up", &fields).await.status, 303);
        assert_eq!(operator(&world).await, plan_of(&world, "op@example.org").await.0);
        assert_eq!(plan_of(&world, "op@example.org").await.1, "unlimited");

        assert!(!proxied(&format!("/sign-up?claim={token}")).await.contains("type=\"password\""), "it is claimed");
        let late = Browser::new(&world);
        let fields = [("email", "late@example.org"), ("password", "long enough"), ("claim", &token)];
        let answer = late.submit("/sign-up", &fields).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text().contains("Look into your mail"), "an ordinary sign-up");
    }

    async fn a_wrong_token_makes_an_ordinary_sign_up_of_it_even_when_closed(engine: Engine) {
        let world = World::with(engine, "unlimited", &[("SIGNUP", "closed")]).await;
        release(&world).await;
        let guest = world.client.without_key();
        let headers = [("X-Forwarded-For", "203.0.113.9")];
        let page = guest.send("GET", "/sign-up?claim=wrong", &headers, Vec::new()).await;
        assert_eq!(page.status, 403);
        assert!(page.text().contains("No new accounts here"));
        let token = signup::claim_token(&world.app.secret);
        let page = guest.send("GET", &format!("/sign-up?claim={token}"), &headers, Vec::new()).await;
        assert_eq!(page.status, 200, "closed to strangers, not to its operator");
        assert_ne!(token, signup::claim_token(b"another instance"));
    }
}

const RELEASE: &Statement =
    &Statement { name: "RELEASE", text: "UPDATE instance SET operator_id = NULL WHERE id = 1" };

/// Makes an instance that nobody runs.
async fn release(world: &World) {
    let mut tx = world.app.db.begin_write().await.unwrap();
    assert_eq!(tx.change(RELEASE).count().await.unwrap(), 1);
    tx.commit().await.unwrap();
}

async fn operator(world: &World) -> i64 {
    let mut tx = world.app.db.begin_read().await.unwrap();
    accounts::store::find_instance(&mut tx).await.unwrap().unwrap().operator_id.unwrap()
}

/// The account of a user, and its plan.
async fn plan_of(world: &World, email: &str) -> (i64, String) {
    let mut tx = world.app.db.begin_read().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, email).await.unwrap().unwrap();
    let account = accounts::store::find_account(&mut tx, user.account_id).await.unwrap().unwrap();
    (account.id, account.plan)
}
