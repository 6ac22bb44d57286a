//! Passkeys by as many as come at the same moment: a challenge, a count of signatures, the places of one user, and the
//! end of a passkey.

use flatline::accounts::passkeys::{self, Asked, Credential};
use flatline::accounts::{self, User};
use flatline::db::Statement;

use super::ground::{Ground, Setting, count, jitter, on_all, race, rounds};
use crate::support::passkey::{Said, SoftPasskey};
use crate::web::browser::{Browser, token_in};
use crate::web::passkeys::{ORIGIN, answered, ask, made};

const OWNER: &str = "owner@example.org";
const CALLERS: usize = 10;
/// As many as the ground's limits let one user have.
const MOST: usize = 4;

const COUNT_SESSIONS: &Statement =
    &Statement { name: "COUNT_SESSIONS", text: "SELECT COUNT(*) AS number FROM sessions" };
const END_SESSIONS: &Statement = &Statement { name: "END_SESSIONS", text: "DELETE FROM sessions" };

#[derive(sqlx::FromRow)]
struct Number {
    number: i64,
}

async fn sessions(ground: &Ground) -> i64 {
    let mut tx = ground.db.begin_read().await.unwrap();
    tx.query(COUNT_SESSIONS).maybe::<Number>().await.unwrap().unwrap().number
}

async fn owner(ground: &Ground) -> User {
    let mut tx = ground.db.begin_read().await.unwrap();
    accounts::store::find_user_by_email(&mut tx, OWNER).await.unwrap().unwrap()
}

/// A passkey of the owner's, as if it had been added.
async fn add(ground: &Ground) -> SoftPasskey {
    let (user, now) = (owner(ground).await, ground.app.clock.now());
    let passkey = SoftPasskey::new(user.uuid.as_bytes());
    let made = Credential { id: passkey.credential.clone(), public_key: passkey.public_key(), sign_count: 0 };
    let mut tx = ground.db.begin_write().await.unwrap();
    let challenge = passkeys::ask(&mut tx, b"browser", Some(user.id), now).await.unwrap();
    let asked = Asked { challenge: &challenge, browser: b"browser" };
    let added = passkeys::add(&mut tx, &user, &asked, &Ok(made), ("Laptop", 100), now).await.unwrap();
    assert_eq!(added, Ok(passkeys::Added::Done));
    tx.commit().await.unwrap();
    passkey
}

async fn remove_all(ground: &Ground) {
    let user = owner(ground).await;
    let mut tx = ground.db.begin_write().await.unwrap();
    for one in passkeys::store::list(&mut tx, user.id).await.unwrap() {
        passkeys::remove(&mut tx, user.id, one.uuid).await.unwrap().unwrap();
    }
    tx.commit().await.unwrap();
}

/// The same browser once more, at the server of the `index`th caller.
fn again(ground: &Ground, browser: &Browser, index: usize) -> Browser {
    let copy = Browser::at(&ground.client(index));
    for pair in browser.cookies().split("; ") {
        let (name, value) = pair.split_once('=').unwrap();
        copy.plant(name, value);
    }
    copy
}

/// A form about to be sent, with the browser that sends it.
type Ready = (Browser, &'static str, Vec<(&'static str, String)>);

async fn send_at_once(ready: &[Ready]) -> Vec<u16> {
    race(ready.len(), |index| {
        let (browser, path, fields) = ready[index].clone();
        async move {
            jitter().await;
            let fields: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            browser.post(path, &fields).await.status
        }
    })
    .await
}

/// A guest's browser with the answer to its challenge.
async fn answering(ground: &Ground, passkey: &SoftPasskey, count: u32, index: usize) -> Ready {
    let browser = Browser::at(&ground.client(index));
    let challenge = ask(&browser).await;
    let mut fields =
        answered(&passkey.answer(&Said { count, ..Said::new("webauthn.get", &challenge, ORIGIN) }));
    fields.push(("token", token_in(&browser.open("/sign-in").await).unwrap()));
    (browser, "/sign-in/passkey", fields)
}

on_all! {
    async fn of_ten_that_bring_one_answer_one_gets_in(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let passkey = add(&ground).await;
        for round in 0..rounds() {
            let (browser, path, fields) = answering(&ground, &passkey, 0, 0).await;
            let ready: Vec<Ready> =
                (0..CALLERS).map(|index| (again(&ground, &browser, index), path, fields.clone())).collect();
            let statuses = send_at_once(&ready).await;
            assert_eq!((count(&statuses, 303), count(&statuses, 422)), (1, CALLERS - 1), "round {round}: {statuses:?}");
            assert_eq!(sessions(&ground).await, round as i64 + 1);
        }
        ground.end().await;
    }

    async fn of_ten_answers_with_one_count_one_gets_in(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let passkey = add(&ground).await;
        for round in 0..rounds() {
            let mut ready = Vec::new();
            for index in 0..CALLERS {
                ready.push(answering(&ground, &passkey, round as u32 + 1, index).await);
            }
            let statuses = send_at_once(&ready).await;
            assert_eq!((count(&statuses, 303), count(&statuses, 422)), (1, CALLERS - 1), "round {round}: {statuses:?}");
        }
        ground.end().await;
    }

    async fn of_ten_new_ones_as_many_are_added_as_there_may_be(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let user = owner(&ground).await;
        let browser = Browser::signed_in_at(&ground.app, &ground.client(0), OWNER).await;
        let token = token_in(&browser.open("/account").await).unwrap();
        for round in 0..rounds() {
            let mut ready: Vec<Ready> = Vec::new();
            for index in 0..CALLERS {
                let path = "/account/passkeys/new";
                let answer = browser.post(path, &[("token", &token), ("name", "Laptop")]).await;
                let html = answer.text();
                let challenge = html.split("&#34;challenge&#34;:&#34;").nth(1).unwrap().split("&#34;").next().unwrap();
                let said = Said::new("webauthn.create", challenge, ORIGIN);
                let mut fields = made(&SoftPasskey::new(user.uuid.as_bytes()), &said, "Laptop");
                fields.push(("token", token.clone()));
                ready.push((again(&ground, &browser, index), "/account/passkeys", fields));
            }
            let statuses = send_at_once(&ready).await;
            assert_eq!((count(&statuses, 303), count(&statuses, 422)), (MOST, CALLERS - MOST), "round {round}: {statuses:?}");
            let mut tx = ground.db.begin_read().await.unwrap();
            assert_eq!(passkeys::store::list(&mut tx, user.id).await.unwrap().len(), MOST);
            drop(tx);
            ground.end().await;
            remove_all(&ground).await;
        }
        ground.end().await;
    }

    async fn nobody_stays_signed_in_with_a_passkey_that_is_removed_meanwhile(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        for round in 0..rounds() {
            let passkey = add(&ground).await;
            let remover = Browser::signed_in_at(&ground.app, &ground.client(0), OWNER).await;
            let html = remover.open("/account/passkeys").await;
            let uuid = html.split("/account/passkeys/").nth(1).unwrap().split('/').next().unwrap();
            let (path, token) = (format!("/account/passkeys/{uuid}/remove"), token_in(&html).unwrap());
            let mut ready = Vec::new();
            for index in 0..CALLERS {
                ready.push(answering(&ground, &passkey, 0, index).await);
            }
            let removing = async {
                jitter().await;
                remover.post(&path, &[("token", &token)]).await.status
            };
            let (removed, statuses) = tokio::join!(removing, send_at_once(&ready));
            assert_eq!(removed, 303);
            assert_eq!(count(&statuses, 303) + count(&statuses, 422), CALLERS, "round {round}: {statuses:?}");
            assert_eq!(sessions(&ground).await, 1, "round {round}: the remover's own");
            ground.change(END_SESSIONS, &[]).await;
        }
        ground.end().await;
    }
}
