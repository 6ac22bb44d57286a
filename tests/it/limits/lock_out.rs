//! Signing in under attack: what wrong passwords cost those who try them, and that the owner is never locked out.

use flatline::db::Statement;
use flatline::time::Span;

use crate::races::rows::change;
use crate::support::{Answer, Client, Engine, World, is_long, on_both};
use crate::web::browser::{Browser, token_in};
use crate::web::sign_in::set_password;

const OWNER: &str = "owner@example.org";
const PASSWORD: &str = "correct horse";
const HIDE_SESSIONS: &Statement =
    &Statement { name: "HIDE_SESSIONS", text: "ALTER TABLE sessions RENAME TO hidden" };
const SHOW_SESSIONS: &Statement =
    &Statement { name: "SHOW_SESSIONS", text: "ALTER TABLE hidden RENAME TO sessions" };

async fn world(engine: Engine) -> World {
    let world = World::with(engine, "unlimited", &[("TRUSTED_PROXIES", "127.0.0.0/8")]).await;
    set_password(&world, OWNER, PASSWORD).await;
    world
}

/// Somebody at an address of their own who tries to sign in, and has looked at the form once.
struct Attacker {
    client: Client,
    cookie: String,
    token: String,
}

impl Attacker {
    async fn new(world: &World) -> Self {
        let client = world.client.without_key();
        let page = client.send("GET", "/sign-in", &[], Vec::new()).await;
        let cookie = page.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Self { client, cookie, token: token_in(&page.text()).unwrap() }
    }

    async fn try_from(&self, address: &str, password: &str) -> Answer {
        let fields = [("token", self.token.as_str()), ("email", OWNER), ("password", password)];
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let headers = [
            ("Cookie", self.cookie.as_str()),
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Forwarded-For", address),
        ];
        self.client.send("POST", "/sign-in", &headers, body.into_bytes()).await
    }
}

on_both! {
    async fn wrong_passwords_from_many_addresses_leave_the_owner_signed_in_and_a_link_to_sign_in_by(engine: Engine) {
        let world = world(engine).await;
        let inside = Browser::signed_in(&world, OWNER).await;
        let attacker = Attacker::new(&world).await;
        let mut statuses = Vec::new();
        for attempt in 0..if is_long() { 10_000 } else { 200 } {
            let address = format!("198.51.100.{}", attempt % 100);
            statuses.push(attacker.try_from(&address, "wrong").await.status);
        }
        let of = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        assert_eq!((of(422), of(429)), (20, statuses.len() - 20), "passwords that were looked at");
        assert_eq!(inside.get("/account").await.status, 200);

        let home = Browser::new(&world);
        assert_eq!(home.submit("/sign-in", &[("email", OWNER), ("password", PASSWORD)]).await.status, 429);
        assert_eq!(home.submit("/sign-in", &[("email", OWNER), ("link", "1")]).await.status, 200);
        world.tick().await;
        let letters = world.outbox().await;
        let link = letters[0].split("/sign-in/").nth(1).unwrap()[..40].to_owned();
        let path = format!("/sign-in/{link}");
        assert_eq!(home.submit(&path, &[]).await.status, 303);
        assert_eq!(home.get("/account").await.status, 200);

        world.advance(Span::seconds(61));
        let later = Browser::new(&world);
        let answer = later.submit("/sign-in", &[("email", OWNER), ("password", PASSWORD)]).await;
        assert_eq!(answer.status, 303, "it was only slowed");
    }

    async fn a_sign_in_stays_spent_that_failed_and_one_whose_handler_did(engine: Engine) {
        let world = world(engine).await;
        let attacker = Attacker::new(&world).await;
        for _ in 0..5 {
            assert_eq!(attacker.try_from("198.51.100.1", "wrong").await.status, 422);
        }
        change(&world.app.db, HIDE_SESSIONS, &[]).await;
        for _ in 0..5 {
            assert_eq!(attacker.try_from("198.51.100.1", PASSWORD).await.status, 500);
        }
        change(&world.app.db, SHOW_SESSIONS, &[]).await;
        let refused = attacker.try_from("198.51.100.1", PASSWORD).await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("61")));
        assert_eq!(attacker.try_from("198.51.100.2", PASSWORD).await.status, 303);
    }
}
