//! The second factor: set up, asked for at every sign-in, used once, and not to be guessed or locked.

use flatline::accounts::second_factor::Authenticator;
use flatline::time::Span;

use super::browser::{Browser, token_in, value_in};
use super::sign_in::set_password;
use crate::support::{Engine, World, on_both, sign_in_token};

const OWNER: &str = "owner@example.org";
pub const PAGE: &str = "/account/second-factor";

/// Turns the factor on in a browser that is freshly signed in; the app, and the recovery codes.
pub async fn turn_on(
    world: &World,
    browser: &Browser,
    proof: &[(&str, &str)],
) -> (Authenticator, Vec<String>) {
    let html = browser.open(PAGE).await;
    let secret = value_in(&html, "secret").expect("a secret");
    assert!(
        html.contains("<svg class=\"qr\"") && html.contains(&format!("<code class=\"line\">{secret}</code>"))
    );
    let app = Authenticator::read(&secret).expect("the secret is one");
    let code = app.code(world.clock.now());
    let fields = [&[("secret", secret.as_str()), ("code", code.as_str())], proof].concat();
    let answer = browser.post_from(PAGE, PAGE, &fields).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    (app, codes_in(&answer.text()))
}

fn codes_in(html: &str) -> Vec<String> {
    let codes = html.split("<li><code>").skip(1).filter_map(|rest| rest.split("</code>").next());
    codes.map(str::to_owned).collect()
}

/// A browser that passed the first step.
pub async fn first_step(world: &World) -> Browser {
    let browser = Browser::new(world);
    let path = format!("/sign-in/{}", sign_in_token(&world.app, OWNER).await);
    browser.open(&path).await;
    let answer = browser.submit(&path, &[]).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in/code?next=%2F")));
    assert_eq!(browser.get("/account").await.status, 303, "nothing is open yet");
    browser
}

pub async fn second_step(browser: &Browser, code: &str) -> u16 {
    browser.submit("/sign-in/code", &[("code", code)]).await.status
}

on_both! {
    async fn password_and_link_both_ask_for_a_code_that_works_once(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let browser = Browser::signed_in(&world, OWNER).await;
        let (app, _) = turn_on(&world, &browser, &[]).await;
        set_password(&world, OWNER, "correct horse").await;
        let page = browser.open(PAGE).await;
        assert!(page.contains("A second factor is on") && !page.contains(&app.text()), "not shown again");
        assert!(!browser.open("/account").await.contains(&app.text()));

        let used = app.code(world.clock.now());
        let by_link = first_step(&world).await;
        assert_eq!(second_step(&by_link, &used).await, 422, "it was used to turn the factor on");
        world.advance(Span::seconds(30));
        let code = app.code(world.clock.now());
        assert_eq!(second_step(&by_link, &code).await, 303);
        by_link.open("/account").await;

        let by_password = Browser::new(&world);
        let fields = [("email", OWNER), ("password", "correct horse"), ("next", "/account#zone")];
        let answer = by_password.submit("/sign-in", &fields).await;
        assert_eq!(answer.header("location"), Some("/sign-in/code?next=%2Faccount%23zone"));
        let html = by_password.open("/sign-in/code?next=%2Faccount%23zone").await;
        assert!(html.contains("Signing in as owner@example.org.") && html.contains("value=\"/account#zone\""));
        assert_eq!(second_step(&by_password, &code).await, 422, "the other browser used it");
        assert_eq!(by_password.get("/account").await.status, 303);
        world.advance(Span::seconds(30));
        let code = app.code(world.clock.now());
        let answer = by_password.post_from("/sign-in/code", "/sign-in/code", &[("code", &code), ("next", "/account")]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/account")));
        by_password.open("/account").await;
        assert!(!by_password.cookies().contains("flatline_step"), "{}", by_password.cookies());
    }

    async fn one_comes_back_to_pages_of_this_site_alone_after_the_code_too(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let (app, _) = turn_on(&world, &Browser::signed_in(&world, OWNER).await, &[]).await;
        world.advance(Span::seconds(30));
        let browser = first_step(&world).await;
        let fields = [("code", app.code(world.clock.now())), ("next", "//evil.example".to_owned())];
        let fields = fields.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
        let answer = browser.submit("/sign-in/code", &fields).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    }

    async fn each_recovery_code_works_once_and_new_ones_take_their_place(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let (app, codes) = turn_on(&world, &owner, &[]).await;
        assert_eq!(codes.len(), 10);
        assert!(codes.iter().all(|code| code.len() == 19), "{codes:?}");
        assert_eq!(second_step(&first_step(&world).await, &codes[0].to_uppercase().replace('-', " ")).await, 303);
        assert_eq!(second_step(&first_step(&world).await, &codes[0]).await, 422);
        assert!(owner.open("/account").await.contains("9 recovery codes are left."));

        world.advance(Span::seconds(30));
        let path = format!("{PAGE}/codes");
        assert_eq!(owner.post_from(PAGE, &path, &[("code", "000000000")]).await.status, 422);
        let renewed = owner.post_from(PAGE, &path, &[("code", &app.code(world.clock.now()))]).await;
        let renewed = codes_in(&renewed.text());
        assert_eq!(renewed.len(), 10);
        assert_eq!(second_step(&first_step(&world).await, &codes[1]).await, 422, "the old ones are gone");
        assert_eq!(second_step(&first_step(&world).await, &renewed[1]).await, 303);
    }

    async fn it_is_turned_off_with_a_code_and_only_so(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let (_, codes) = turn_on(&world, &owner, &[]).await;
        let off = format!("{PAGE}/off");
        assert_eq!(owner.post_from(PAGE, &off, &[("code", "123456")]).await.status, 422);
        assert!(owner.open(PAGE).await.contains("A second factor is on"));
        let waiting = first_step(&world).await;
        assert_eq!(owner.post_from(PAGE, &off, &[("code", &codes[3])]).await.status, 303);
        assert!(owner.open(PAGE).await.contains("Set up a second factor"));
        assert_eq!(waiting.get("/sign-in/code").await.header("location"), Some("/sign-in"), "it begins again");
        Browser::signed_in(&world, OWNER).await.open("/account").await;
    }

    async fn setting_it_up_takes_a_proof_and_a_right_code_and_ends_other_sessions(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let (one, two) = (Browser::signed_in(&world, OWNER).await, Browser::signed_in(&world, OWNER).await);
        let secret = value_in(&one.open(PAGE).await, "secret").expect("a secret");
        let code = Authenticator::read(&secret).expect("a secret").code(world.clock.now());
        let wrong = one.post_from(PAGE, PAGE, &[("secret", &secret), ("code", "000000")]).await;
        assert_eq!(wrong.status, 422);
        assert_eq!(value_in(&wrong.text(), "secret"), Some(secret.clone()), "the app keeps its entry");

        world.advance(Span::minutes(31));
        let fields = [("secret", secret.as_str()), ("code", code.as_str())];
        let stale = one.post_from("/account", PAGE, &fields).await;
        assert_eq!(stale.status, 422);
        assert!(stale.text().contains("takes a sign-in of the last half hour"), "{}", stale.text());
        set_password(&world, OWNER, "correct horse").await;
        let code = Authenticator::read(&secret).expect("a secret").code(world.clock.now());
        let fields = [("secret", secret.as_str()), ("code", code.as_str()), ("proof", "wrong horse")];
        let wrong = one.post_from(PAGE, PAGE, &fields).await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.text().contains("This is not the password that was set."), "{}", wrong.text());
        let fields = [("secret", secret.as_str()), ("code", code.as_str()), ("proof", "correct horse")];
        assert_eq!(one.post_from(PAGE, PAGE, &fields).await.status, 200);
        assert_eq!(two.get("/account").await.status, 303, "that session began without the factor");
    }

    async fn a_sign_in_that_waits_ends_after_five_minutes_and_with_a_new_password(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let (app, _) = turn_on(&world, &owner, &[]).await;
        let late = first_step(&world).await;
        world.advance(Span::minutes(5));
        assert_eq!(late.get("/sign-in/code").await.header("location"), Some("/sign-in"));
        let waiting = first_step(&world).await;
        waiting.open("/sign-in/code").await;
        let fields = [("new", "long enough")];
        assert_eq!(owner.post_from("/account", "/account/password", &fields).await.status, 303);
        let token = token_in(&waiting.open("/sign-in").await).expect("a token");
        let fields = [("token", token.as_str()), ("code", &app.code(world.clock.now()))];
        let answer = waiting.post("/sign-in/code", &fields).await;
        assert_eq!(answer.header("location"), Some("/sign-in"));
        assert_eq!(waiting.get("/account").await.status, 303);
    }

    async fn guessing_is_limited_and_locks_no_owner_out(engine: Engine) {
        let limits = "[limits]\nsecond_factor_per_minute = 3\nsecond_factor_user_per_day = 4\n";
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a file");
        std::fs::write(file.path(), limits).expect("it is written");
        let path = file.path().display().to_string();
        let world = World::with(engine, "unlimited", &[("PLANS_FILE", &path)]).await;
        let (app, codes) = turn_on(&world, &Browser::signed_in(&world, OWNER).await, &[]).await;
        let thief = first_step(&world).await;
        for _ in 0..3 {
            assert_eq!(second_step(&thief, "000000").await, 422);
        }
        assert_eq!(second_step(&thief, "000000").await, 429, "the minute");
        world.advance(Span::minutes(2));
        assert_eq!(second_step(&thief, "000000").await, 422);
        assert_eq!(second_step(&thief, "000000").await, 429, "the user's day, over all addresses");
        let owner = first_step(&world).await;
        assert_eq!(second_step(&owner, &app.code(world.clock.now())).await, 429);
        assert_eq!(second_step(&owner, &codes[0]).await, 303, "a recovery code always lets the owner in");
    }

    async fn a_second_step_that_somebody_planted_opens_nothing(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let (app, _) = turn_on(&world, &Browser::signed_in(&world, OWNER).await, &[]).await;
        world.advance(Span::seconds(30));
        let browser = Browser::new(&world);
        browser.plant("flatline_step", "planted0planted0planted0planted0planted0");
        browser.open("/sign-in").await;
        let answer = browser.post_from("/sign-in", "/sign-in/code", &[("code", &app.code(world.clock.now()))]).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in")));
        assert_eq!(browser.get("/account").await.status, 303);
    }
}
