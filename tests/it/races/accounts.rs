//! What works once, by as many as come at the same moment: codes, links, an address, the operator's account.

use flatline::accounts::second_factor::{self, Authenticator};
use flatline::accounts::{self, emails, password};
use flatline::db::Statement;
use flatline::signup;

use super::ground::{Ground, Setting, count, jitter, on_all, race};
use super::rows::number;
use crate::support::{is_long, sign_up};
use crate::web::browser::Browser;

const OWNER: &str = "owner@example.org";
const CALLERS: usize = 20;

const RELEASE: &Statement =
    &Statement { name: "RELEASE", text: "UPDATE instance SET operator_id = NULL WHERE id = 1" };
const COUNT_ON_PLAN: &Statement = &Statement {
    name: "COUNT_ON_PLAN",
    text: "SELECT COUNT(*) AS number FROM accounts WHERE plan = 'unlimited'",
};
const COUNT_SESSIONS: &Statement =
    &Statement { name: "COUNT_SESSIONS", text: "SELECT COUNT(*) AS number FROM sessions" };

fn turns() -> usize {
    if is_long() { 50 } else { 2 }
}

async fn owner(ground: &Ground) -> accounts::User {
    let mut tx = ground.db.begin_read().await.unwrap();
    accounts::store::find_user_by_email(&mut tx, OWNER).await.unwrap().unwrap()
}

/// Turns the owner's factor on; the app, and its recovery codes.
async fn turn_on(ground: &Ground) -> (Authenticator, Vec<String>) {
    let (user, app, now) = (owner(ground).await, Authenticator::draw().unwrap(), ground.app.clock.now());
    let mut tx = ground.db.begin_write().await.unwrap();
    second_factor::store::delete(&mut tx, user.id).await.unwrap();
    let earlier = now - flatline::time::Span::seconds(30);
    let codes = second_factor::turn_on(&mut tx, user.id, &app, &app.code(earlier), earlier).await.unwrap();
    tx.commit().await.unwrap();
    (app, codes.unwrap())
}

/// Browsers at all servers that passed the first step.
async fn waiting(ground: &Ground) -> Vec<Browser> {
    let mut browsers = Vec::new();
    for index in 0..CALLERS {
        let browser = Browser::at(&ground.client(index));
        let path = format!("/sign-in/{}", crate::support::sign_in_token(&ground.app, OWNER).await);
        let answer = browser.submit(&path, &[]).await;
        assert_eq!(answer.header("location"), Some("/sign-in/code?next=%2F"));
        browsers.push(browser);
    }
    browsers
}

/// Sends one code from all browsers at once; the statuses.
async fn try_code(browsers: &[Browser], code: &str) -> Vec<u16> {
    race(browsers.len(), |index| {
        let (browser, code) = (browsers[index].clone(), code.to_owned());
        async move { browser.submit("/sign-in/code", &[("code", &code)]).await.status }
    })
    .await
}

on_all! {
    async fn of_twenty_with_one_code_of_the_app_one_gets_in(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for turn in 0..turns() {
            let (app, _) = turn_on(&ground).await;
            let browsers = waiting(&ground).await;
            let statuses = try_code(&browsers, &app.code(ground.app.clock.now())).await;
            assert_eq!((count(&statuses, 303), count(&statuses, 422)), (1, CALLERS - 1), "turn {turn}: {statuses:?}");
        }
        assert_eq!(number(&ground.db, COUNT_SESSIONS).await, turns() as i64);
        ground.end().await;
    }

    async fn of_twenty_with_one_recovery_code_one_gets_in(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for turn in 0..turns() {
            let (_, codes) = turn_on(&ground).await;
            let browsers = waiting(&ground).await;
            let statuses = try_code(&browsers, &codes[0]).await;
            assert_eq!((count(&statuses, 303), count(&statuses, 422)), (1, CALLERS - 1), "turn {turn}: {statuses:?}");
        }
        ground.end().await;
    }

    async fn a_link_to_a_new_address_works_once(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let user = owner(&ground).await;
        let browser = Browser::signed_in_at(&ground.app, &ground.client(0), OWNER).await;
        let mut tx = ground.db.begin_write().await.unwrap();
        let token = emails::ask(&mut tx, user.id, "new@example.org", ground.app.clock.now()).await.unwrap();
        tx.commit().await.unwrap();
        let path = format!("/account/email/{token}");
        let form = crate::web::browser::token_in(&browser.open(&path).await).unwrap();
        let statuses = race(CALLERS, |_| {
            let (browser, path, form) = (browser.clone(), path.clone(), form.clone());
            async move { browser.post(&path, &[("token", &form)]).await.status }
        })
        .await;
        assert_eq!((count(&statuses, 303), count(&statuses, 410)), (1, CALLERS - 1), "{statuses:?}");
        let letters = ground.app.send_letters().await.unwrap();
        assert_eq!(letters, 1, "the old address is told once");
        ground.end().await;
    }

    async fn an_address_that_several_want_goes_to_one(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for turn in 0..turns() {
            let wanted = format!("wanted-{turn}@example.org");
            let mut asking = Vec::new();
            for index in 0..6 {
                let email = format!("user-{turn}-{index}@example.org");
                sign_up(&ground.app, &email, Some("calm")).await;
                let browser = Browser::signed_in_at(&ground.app, &ground.client(index), &email).await;
                let mut tx = ground.db.begin_write().await.unwrap();
                let user = accounts::store::find_user_by_email(&mut tx, &email).await.unwrap().unwrap();
                let token = emails::ask(&mut tx, user.id, &wanted, ground.app.clock.now()).await.unwrap();
                tx.commit().await.unwrap();
                asking.push((browser, format!("/account/email/{token}")));
            }
            let statuses = race(asking.len(), |index| {
                let (browser, path) = asking[index].clone();
                async move { browser.submit(&path, &[]).await.status }
            })
            .await;
            assert_eq!((count(&statuses, 303), count(&statuses, 400)), (1, 5), "turn {turn}: {statuses:?}");
        }
        ground.end().await;
    }

    async fn of_several_who_claim_the_instance_one_runs_it(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for turn in 0..turns() {
            ground.change(RELEASE, &[]).await;
            let token = signup::claim_token(&ground.app.secret);
            let statuses = race(6, |index| {
                let (browser, token) = (Browser::at(&ground.client(index)), token.clone());
                async move {
                    let email = format!("op-{turn}-{index}@example.org");
                    let fields = [("email", email.as_str()), ("password", "long enough"), ("claim", &token)];
                    browser.post_from(&format!("/sign-up?claim={token}"), "/sign-up", &fields).await.status
                }
            })
            .await;
            // Who came when it was claimed already gets the letter of an ordinary sign-up.
            assert_eq!(count(&statuses, 303) + count(&statuses, 200), 6, "turn {turn}: {statuses:?}");
            assert!(count(&statuses, 303) >= 1, "turn {turn}: {statuses:?}");
            assert_eq!(number(&ground.db, COUNT_ON_PLAN).await, turn as i64 + 1, "one, on the operator's plan");
        }
        ground.end().await;
    }

    async fn who_signs_in_by_the_old_password_while_it_changes_has_no_session_after(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let (old, new) = (password::hash("old password").unwrap(), password::hash("new password").unwrap());
        let user = owner(&ground).await;
        for turn in 0..turns() * 3 {
            let mut tx = ground.db.begin_write().await.unwrap();
            accounts::store::set_password(&mut tx, user.id, &old).await.unwrap();
            tx.commit().await.unwrap();
            let keeper = Browser::signed_in_at(&ground.app, &ground.client(turn), OWNER).await;
            let new = new.clone();
            let (db, user_id, now) = (ground.db.clone(), user.id, ground.app.clock.now());
            let changing = tokio::spawn(async move {
                jitter().await;
                let mut tx = db.begin_write().await.unwrap();
                accounts::store::lock_user(&mut tx, user_id).await.unwrap();
                accounts::store::set_password(&mut tx, user_id, &new).await.unwrap();
                accounts::sessions::end_all_but(&mut tx, user_id, flatline::id::uuid()).await.unwrap();
                tx.commit().await.unwrap();
            });
            let seen = accounts::User { password_hash: Some(old.clone()), ..user.clone() };
            let origin = accounts::sessions::Origin { user_agent: String::new(), address: String::new() };
            let admitted = race(8, |_| {
                let (db, seen, origin) = (ground.db.clone(), seen.clone(), origin.clone());
                async move {
                    jitter().await;
                    let mut tx = db.begin_write().await.unwrap();
                    let admitted = accounts::sessions::admit(&mut tx, &seen, &origin, now).await.unwrap();
                    tx.commit().await.unwrap();
                    admitted.is_some()
                }
            })
            .await;
            changing.await.unwrap();
            assert_eq!(number(&ground.db, COUNT_SESSIONS).await, 0, "turn {turn}: {admitted:?}");
            assert_eq!(keeper.get("/account").await.status, 303);
        }
        ground.end().await;
    }
}
