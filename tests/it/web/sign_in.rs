//! Signing in and out: passwords, links, sessions, and what must not work.

use flatline::accounts::password;
use flatline::time::Span;

use super::browser::{Browser, token_in};
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";

pub async fn set_password(world: &World, email: &str, password: &str) {
    let hash = password::hash(password).expect("it can be hashed");
    let mut tx = world.app.db.begin_write().await.expect("a write");
    let user =
        flatline::accounts::store::find_user_by_email(&mut tx, email).await.expect("read").expect("a user");
    flatline::accounts::store::set_password(&mut tx, user.id, &hash).await.expect("written");
    tx.commit().await.expect("stored");
}

on_both! {
    async fn a_password_signs_in_and_a_wrong_one_does_not(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        set_password(&world, OWNER, "correct horse").await;
        let browser = Browser::new(&world);
        assert_eq!(browser.get("/").await.header("location"), Some("/sign-in"));

        let wrong = browser.submit("/sign-in", &[("email", OWNER), ("password", "wrong horse")]).await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.text().contains("The address or the password is wrong."));
        assert!(wrong.text().contains("value=\"owner@example.org\""), "what was typed is kept");
        let unknown = browser.submit("/sign-in", &[("email", "nobody@example.org"), ("password", "x")]).await;
        assert_eq!(unknown.status, 422);
        let strip = |text: &str, email: &str| {
            let token = token_in(text).expect("a token");
            text.replace(&token, "").replace(email, "")
        };
        assert_eq!(strip(&unknown.text(), "nobody@example.org"), strip(&wrong.text(), OWNER), "no difference");

        let right = browser.submit("/sign-in", &[("email", " Owner@Example.org "), ("password", "correct horse")]).await;
        assert_eq!((right.status, right.header("location")), (303, Some("/")));
        let list = format!("/projects/{}", world.owner.project);
        assert_eq!(browser.get("/").await.header("location"), Some(list.as_str()));
        browser.open(&list).await;
    }

    async fn a_link_works_once_and_only_by_its_button(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let link = format!("/sign-in/{}", world.owner.sign_in_token.clone().expect("no password"));
        let scanner = Browser::new(&world);
        for _ in 0..3 {
            assert!(scanner.open(&link).await.contains("Sign in as owner@example.org"));
        }
        let browser = Browser::new(&world);
        assert_eq!(browser.post(&link, &[]).await.status, 403, "only from the page");
        let answer = browser.submit(&link, &[]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        assert_eq!(browser.get("/account").await.status, 200);
        assert_eq!(scanner.submit(&link, &[]).await.status, 403, "the page has no form any more");
        assert_eq!(scanner.get(&link).await.status, 410);
    }

    async fn a_mailed_link_expires_and_tells_nobody_who_has_an_account(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::new(&world);
        let known = browser.submit("/sign-in", &[("email", OWNER), ("link", "1")]).await;
        let unknown = browser.submit("/sign-in", &[("email", "nobody@example.org"), ("link", "1")]).await;
        assert_eq!((known.status, unknown.status), (200, 200));
        assert_eq!(known.text().replace(OWNER, ""), unknown.text().replace("nobody@example.org", ""));
        world.tick().await;
        let letters = world.outbox().await;
        assert_eq!(letters.len(), 1, "{letters:?}");
        let link = letters[0].split("/sign-in/").nth(1).expect("a link")[..40].to_owned();
        let path = format!("/sign-in/{link}");
        browser.open(&path).await;
        world.advance(Span::minutes(60));
        assert_eq!(browser.get(&path).await.status, 410);
    }

    async fn signing_out_ends_the_session_on_the_server(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let stolen = Browser::new(&world);
        let (name, value) = {
            let cookies = browser.cookies();
            let (name, value) = cookies.split_once('=').expect("one cookie");
            (name.to_owned(), value.to_owned())
        };
        stolen.plant(&name, &value);
        stolen.open("/account").await;
        assert_eq!(browser.post_from("/account", "/sign-out", &[]).await.status, 303);
        assert_eq!(browser.cookies(), "");
        assert_eq!(stolen.get("/account").await.header("location"), Some("/sign-in?next=%2Faccount"));
    }

    async fn sessions_are_listed_and_each_can_be_ended(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.sign_up("other@example.org", "free").await;
        let (one, two) = (Browser::signed_in(&world, OWNER).await, Browser::signed_in(&world, OWNER).await);
        let other = Browser::signed_in(&world, "other@example.org").await;
        let page = one.open("/account").await;
        assert!(page.contains("In 2 browsers."));
        let ends: Vec<String> = page
            .split("/account/sessions/")
            .skip(1)
            .filter_map(|rest| rest.split_once("/end\"").map(|(uuid, _)| uuid.to_owned()))
            .filter(|uuid| uuid.len() == 36)
            .collect();
        assert_eq!(ends.len(), 2);
        for uuid in &ends {
            let path = format!("/account/sessions/{uuid}/end");
            assert_eq!(other.post_from("/account", &path, &[]).await.status, 404, "it is not theirs");
        }
        assert_eq!(one.post_from("/account", "/account/sessions/end-others", &[]).await.status, 303);
        assert_eq!(two.get("/account").await.status, 303);
        assert!(one.open("/account").await.contains("In this browser only."));
    }

    async fn a_new_password_ends_every_other_session_and_needs_the_old_one(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let (one, two) = (Browser::signed_in(&world, OWNER).await, Browser::signed_in(&world, OWNER).await);
        let set = |old: &'static str, new: &'static str| {
            let browser = one.clone();
            async move { browser.post_from("/account", "/account/password", &[("old", old), ("new", new)]).await.status }
        };
        assert_eq!(set("", "short").await, 422);
        assert_eq!(set("", "long enough").await, 303, "there was none before");
        assert_eq!(two.get("/account").await.status, 303);
        assert_eq!(set("wrong", "another one").await, 422);
        assert_eq!(set("long enough", "another one").await, 303);
        let fresh = Browser::new(&world);
        let answer = fresh.submit("/sign-in", &[("email", OWNER), ("password", "another one")]).await;
        assert_eq!(answer.status, 303);
    }

    async fn a_secret_that_somebody_planted_is_worth_nothing_after_signing_in(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        set_password(&world, OWNER, "correct horse").await;
        let browser = Browser::new(&world);
        browser.plant("flatline_session", "planted0planted0planted0planted0planted0");
        let answer = browser.submit("/sign-in", &[("email", OWNER), ("password", "correct horse")]).await;
        assert_eq!(answer.status, 303);
        assert!(!browser.cookies().contains("planted"), "{}", browser.cookies());
        let attacker = Browser::new(&world);
        attacker.plant("flatline_session", "planted0planted0planted0planted0planted0");
        assert_eq!(attacker.get("/account").await.status, 303);
    }

    async fn one_comes_back_to_pages_of_this_site_alone(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        set_password(&world, OWNER, "correct horse").await;
        for (next, expected) in [
            ("/account", "/account"),
            ("//evil.example/x", "/"),
            ("https://evil.example", "/"),
            ("/\\evil.example", "/"),
            ("javascript:alert(1)", "/"),
        ] {
            let browser = Browser::new(&world);
            let fields = [("email", OWNER), ("password", "correct horse"), ("next", next)];
            let answer = browser.submit("/sign-in", &fields).await;
            assert_eq!(answer.header("location"), Some(expected), "{next}");
        }
    }
}

#[tokio::test]
async fn cookies_say_what_they_must_on_https_and_on_http() {
    for (site, secure) in [("https://flatline.test", true), ("http://flatline.test", false)] {
        let world = World::with(Engine::Sqlite, "unlimited", &[("SITE_URL", site)]).await;
        let link = format!("/sign-in/{}", world.owner.sign_in_token.clone().expect("no password"));
        let browser = Browser::new(&world);
        let first = browser.get(&link).await;
        let answer = browser.submit(&link, &[]).await;
        for cookie in [&first, &answer].iter().flat_map(|answer| answer.headers.get_all("set-cookie")) {
            let text = cookie.to_str().expect("ASCII");
            assert!(text.contains("; Path=/; ") && text.contains("; HttpOnly; SameSite=Lax"), "{text}");
            assert_eq!(text.starts_with("__Host-flatline_"), secure, "{text}");
            assert_eq!(text.ends_with("; Secure"), secure, "{text}");
        }
    }
}
