//! Letters about what a user signs in with: one for each change, through a real mail server, and none for what fails.

use flatline::accounts::second_factor::Authenticator;
use flatline::time::Span;

use super::browser::Browser;
use super::second_factor::{PAGE, first_step, second_step, turn_on};
use crate::mail::{Server, parse};
use crate::support::{Engine, World, on_both};

const OWNER: &str = "owner@example.org";

/// The code of the authenticator's next step of time.
fn next_code(world: &World, app: &Authenticator) -> String {
    world.advance(Span::seconds(30));
    app.code(world.clock.now())
}

on_both! {
    async fn each_change_of_what_one_signs_in_with_is_told_by_mail(engine: Engine) {
        let server = Server::new();
        let settings = [("SMTP_URL", server.url.as_str()), ("MAIL_FROM", "alerts@flatline.test")];
        let world = World::with(engine, "unlimited", &settings).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let told = async |count: usize, subject: &str| {
            world.tick().await;
            let letters = server.letters_when(count).await;
            assert_eq!(letters.len(), count);
            let mut parsed = letters.iter().map(|letter| parse(letter).into_owned());
            let letter = parsed.find(|letter| letter.subject() == Some(subject)).expect(subject);
            assert_eq!(letter.to().and_then(|to| to.first()).and_then(|to| to.address()), Some(OWNER));
            letter.body_text(0).unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let password = [("new", "correct horse")];
        assert_eq!(owner.post_from("/account", "/account/password", &password).await.status, 303);
        let text = told(1, "Your password was changed at flatline.test").await;
        assert!(text.contains("owner@example.org signs in at flatline.test with a new password."), "{text}");

        let proof = [("proof", "correct horse")];
        let (app, codes) = turn_on(&world, &owner, &proof).await;
        told(2, "A second factor was turned on at flatline.test").await;

        let browser = first_step(&world).await;
        assert_eq!(second_step(&browser, "000000000").await, 422);
        assert_eq!(second_step(&browser, &codes[0]).await, 303);
        let text = told(3, "A recovery code was used at flatline.test").await;
        assert!(text.contains("A recovery code signed somebody in at flatline.test as owner@example.org. 9 codes are left."), "{text}");
        assert_eq!(second_step(&first_step(&world).await, &next_code(&world, &app)).await, 303, "an app's code is no news");

        let renew = format!("{PAGE}/codes");
        assert_eq!(owner.post_from(PAGE, &renew, &[("code", "000000")]).await.status, 422);
        assert_eq!(owner.post_from(PAGE, &renew, &[("code", &next_code(&world, &app))]).await.status, 200);
        told(4, "Your recovery codes were renewed at flatline.test").await;

        let off = format!("{PAGE}/off");
        assert_eq!(owner.post_from(PAGE, &off, &[("code", &next_code(&world, &app))]).await.status, 303);
        let text = told(5, "Your second factor was turned off at flatline.test").await;
        assert!(text.contains("If it was not you, set a new password"), "{text}");
        assert!(text.contains("http://flatline.test/account"), "{text}");
    }
}
