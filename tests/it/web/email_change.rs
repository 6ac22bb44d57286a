//! Another address to sign in with: proved by a letter, told to the old one, and saying nothing to strangers.

use flatline::time::Span;

use super::browser::{Browser, token_in};
use super::sign_in::set_password;
use crate::support::{Answer, Engine, World, on_both, sign_in_token};

const OWNER: &str = "owner@example.org";
const OTHER: &str = "other@example.org";

async fn ask(browser: &Browser, email: &str, proof: &str) -> Answer {
    browser.post_from("/account", "/account/email", &[("email", email), ("proof", proof)]).await
}

/// The address of the newest letter's link.
async fn link(world: &World, to: &str) -> String {
    world.tick().await;
    let letters = world.outbox().await;
    let to = format!("To: {to}");
    let letter = letters.iter().find(|letter| letter.contains(&to) && letter.contains("/account/email/"));
    let rest = letter.expect("a letter").split("/account/email/").nth(1).expect("a link");
    format!("/account/email/{}", &rest[..40])
}

on_both! {
    async fn the_new_address_proves_itself_and_the_old_one_is_told(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        set_password(&world, OWNER, "correct horse").await;
        let (owner, elsewhere) = (Browser::signed_in(&world, OWNER).await, Browser::signed_in(&world, OWNER).await);
        let old_link = format!("/sign-in/{}", sign_in_token(&world.app, OWNER).await);
        let wrong = ask(&owner, "New@example.org", "wrong horse").await;
        assert_eq!(wrong.status, 422);
        assert!(wrong.text().contains("value=\"New@example.org\""), "what was typed is kept");
        let asked = ask(&owner, "New@example.org", "correct horse").await;
        assert_eq!(asked.status, 200);
        assert!(asked.text().contains("A letter to new@example.org is on its way."), "{}", asked.text());
        assert!(asked.text().contains("Signed in as owner@example.org"), "nothing changed yet");

        let path = link(&world, "new@example.org").await;
        for _ in 0..3 {
            assert!(owner.open(&path).await.contains("Sign in with new@example.org from now on?"));
        }
        assert_eq!(owner.submit(&path, &[]).await.header("location"), Some("/account"));
        assert!(owner.open("/account").await.contains("Signed in as new@example.org"));
        assert_eq!(elsewhere.get("/account").await.status, 303, "other sessions end");
        assert_eq!(Browser::new(&world).get(&old_link).await.status, 410, "old links end");
        assert_eq!(owner.get(&path).await.status, 410);
        world.tick().await;
        let letters = world.outbox().await;
        let told = letters.iter().find(|letter| letter.contains("To: owner@example.org")).expect("a letter");
        assert!(told.contains("You sign in with new@example.org from now on."), "{told}");
        let fresh = Browser::new(&world);
        let fields = |email| [("email", email), ("password", "correct horse")];
        assert_eq!(fresh.submit("/sign-in", &fields(OWNER)).await.status, 422);
        assert_eq!(fresh.submit("/sign-in", &fields("new@example.org")).await.status, 303);
    }

    async fn whether_an_address_has_an_account_is_told_to_its_reader_alone(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.sign_up(OTHER, "free").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let free = ask(&owner, "new@example.org", "").await;
        let taken = ask(&owner, OTHER, "").await;
        assert_eq!((free.status, taken.status), (200, 200));
        let strip = |answer: &Answer, email: &str| {
            let text = answer.text();
            let token = token_in(&text).expect("a token");
            let tokens: Vec<&str> = text.split("value=\"").filter_map(|rest| rest.split('"').next()).collect();
            assert!(tokens.contains(&token.as_str()));
            text.replace(&token, "").replace(email, "")
        };
        assert_eq!(strip(&free, "new@example.org"), strip(&taken, OTHER), "no difference");
        world.tick().await;
        let letters = world.outbox().await;
        let told = letters.iter().find(|letter| letter.contains("To: other@example.org")).expect("a letter");
        assert!(told.contains("It has an account of its own already") || told.contains("has an account of its"), "{told}");
        assert!(!told.contains("/account/email/"), "it leads nowhere");
    }

    async fn the_link_is_worth_something_to_the_asking_user_alone(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        world.sign_up(OTHER, "free").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        ask(&owner, "mistyped@example.org", "").await;
        let path = link(&world, "mistyped@example.org").await;
        let next = format!("/sign-in?next={}", path.replace('/', "%2F"));
        assert_eq!(Browser::new(&world).get(&path).await.header("location"), Some(next.as_str()));
        let other = Browser::signed_in(&world, OTHER).await;
        assert_eq!(other.get(&path).await.status, 410);
        assert_eq!(other.post_from("/account", &path, &[]).await.status, 410);
        assert!(other.open("/account").await.contains("Signed in as other@example.org"));
        owner.open(&path).await;
        world.advance(Span::hours(24));
        assert_eq!(owner.get(&path).await.status, 410, "a day is enough");
    }

    async fn of_two_wishes_the_later_counts_and_a_new_password_ends_it(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        ask(&owner, "first@example.org", "").await;
        let first = link(&world, "first@example.org").await;
        ask(&owner, "second@example.org", "").await;
        let second = link(&world, "second@example.org").await;
        assert_eq!(owner.get(&first).await.status, 410);
        owner.open(&second).await;
        assert_eq!(owner.post_from("/account", "/account/password", &[("new", "long enough")]).await.status, 303);
        assert_eq!(owner.get(&second).await.status, 410);
    }

    async fn an_address_that_is_taken_meanwhile_stays_with_who_took_it(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        ask(&owner, OTHER, "").await;
        let path = link(&world, OTHER).await;
        world.sign_up(OTHER, "free").await;
        let answer = owner.submit(&path, &[]).await;
        assert_eq!(answer.status, 400);
        assert!(answer.text().contains("other@example.org has an account by now"), "{}", answer.text());
        assert!(owner.open("/account").await.contains("Signed in as owner@example.org"));
        owner.open(&path).await;
    }

    async fn letters_to_one_address_are_few_and_a_sign_in_without_a_password_must_be_fresh(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let statuses = [
            ask(&owner, OTHER, "").await.status,
            ask(&owner, OTHER, "").await.status,
            ask(&owner, OTHER, "").await.status,
            ask(&owner, "another@example.org", "").await.status,
            ask(&owner, OWNER, "").await.status,
        ];
        assert_eq!(statuses, [200, 200, 429, 200, 422]);
        world.advance(Span::minutes(30));
        let stale = ask(&owner, "late@example.org", "").await;
        assert_eq!(stale.status, 422);
        assert!(stale.text().contains("Changing the address takes a sign-in of the last half hour"), "{}", stale.text());
    }
}
