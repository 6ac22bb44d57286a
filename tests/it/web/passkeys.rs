//! Passkeys on the pages: added, used once, renamed, removed, limited, and refused in words that tell nothing.

use flatline::accounts::passkeys::Assertion;
use flatline::accounts::second_factor::Authenticator;
use flatline::db::Statement;
use flatline::time::Span;
use serde_json::{Value, json};

use super::browser::{Browser, token_in, value_in};
use super::sign_in::set_password;
use crate::support::passkey::{Said, SoftPasskey, base64url};
use crate::support::{Answer, Engine, World, on_both};

const OWNER: &str = "owner@example.org";
const OTHER: &str = "other@example.org";
const PAGE: &str = "/account/passkeys";
pub const ORIGIN: &str = "http://localhost";
pub const CREATE: &str = "webauthn.create";
pub const GET: &str = "webauthn.get";
const REFUSED: &str = "This passkey was not taken. Try once more, or sign in another way.";

const LEFT: &Statement = &Statement {
    name: "LEFT",
    text: "SELECT (SELECT COUNT(*) FROM passkeys) + (SELECT COUNT(*) FROM passkey_challenges) AS number",
};

#[derive(sqlx::FromRow)]
struct Number {
    number: i64,
}

async fn world(engine: Engine) -> World {
    World::with(engine, "unlimited", &[("SITE_URL", ORIGIN)]).await
}

/// The options that the second step of a new passkey holds.
fn options_in(html: &str) -> Value {
    let text = html.split("data-options=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("options");
    serde_json::from_str(&text.replace("&#34;", "\"")).expect("JSON")
}

/// The form that brings a new passkey.
pub fn made(passkey: &SoftPasskey, said: &Said, name: &str) -> Vec<(&'static str, String)> {
    let (client_data, attestation) = passkey.make(said);
    vec![
        ("name", name.to_owned()),
        ("client_data", base64url(&client_data)),
        ("attestation", base64url(&attestation)),
    ]
}

/// The form that brings an answer.
pub fn answered(answer: &Assertion) -> Vec<(&'static str, String)> {
    vec![
        ("credential", base64url(&answer.credential)),
        ("client_data", base64url(&answer.client_data)),
        ("authenticator", base64url(&answer.authenticator)),
        ("signature", base64url(&answer.signature)),
        ("user_handle", base64url(&answer.user_handle)),
    ]
}

async fn post(browser: &Browser, from: &str, path: &str, fields: &[(&'static str, String)]) -> Answer {
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    browser.post_from(from, path, &fields).await
}

/// The first step of a new passkey: its options.
async fn begin(browser: &Browser, name: &str, proof: &str) -> Value {
    let path = format!("{PAGE}/new");
    let answer = browser.post_from(PAGE, &path, &[("name", name), ("proof", proof)]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    options_in(&answer.text())
}

fn text(json: &Value) -> &str {
    json.as_str().expect("text")
}

/// A passkey for the user of a browser that is freshly signed in, and what came of adding it.
async fn try_to_add(browser: &Browser, name: &str) -> (SoftPasskey, Answer) {
    let options = begin(browser, name, "").await;
    let handle = Assertion { user_handle: decode(text(&options["user"]["id"])), ..Assertion::default() };
    let passkey = SoftPasskey::new(&handle.user_handle);
    let said = Said::new(CREATE, text(&options["challenge"]), ORIGIN);
    let answer = post(browser, PAGE, PAGE, &made(&passkey, &said, name)).await;
    (passkey, answer)
}

fn decode(text: &str) -> Vec<u8> {
    use base64::Engine;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(text).expect("base64url")
}

async fn add(browser: &Browser, name: &str) -> SoftPasskey {
    let (passkey, answer) = try_to_add(browser, name).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some(PAGE)), "{}", answer.text());
    passkey
}

/// What a browser is asked for at the sign-in page; the challenge.
pub async fn ask(browser: &Browser) -> String {
    let answer = browser.post_from("/sign-in", "/sign-in/passkey/begin", &[]).await;
    assert_eq!((answer.status, answer.header("cache-control")), (200, Some("no-store")), "{}", answer.text());
    let asked = answer.json();
    let rest = json!({"rpId": "localhost", "timeout": 300_000, "userVerification": "required"});
    assert_eq!(
        (&asked["rpId"], &asked["timeout"], &asked["userVerification"]),
        (&rest["rpId"], &rest["timeout"], &rest["userVerification"])
    );
    assert_eq!(asked.as_object().expect("an object").len(), 4, "no passkey is named");
    text(&asked["challenge"]).to_owned()
}

async fn bring(browser: &Browser, answer: &Assertion) -> Answer {
    post(browser, "/sign-in", "/sign-in/passkey", &answered(answer)).await
}

async fn sign_in(world: &World, passkey: &SoftPasskey, count: u32) -> (Browser, Answer) {
    let browser = Browser::new(world);
    let said = Said { count, ..Said::new(GET, &ask(&browser).await, ORIGIN) };
    let answer = bring(&browser, &passkey.answer(&said)).await;
    (browser, answer)
}

fn assert_refused(answer: &Answer) {
    assert_eq!(answer.status, 422);
    assert!(answer.text().contains(REFUSED), "{}", answer.text());
    assert!(
        answer
            .headers
            .get_all("set-cookie")
            .iter()
            .all(|line| !line.to_str().expect("ASCII").contains("session"))
    );
}

on_both! {
    async fn a_passkey_signs_in_alone_also_where_a_second_factor_is_on(engine: Engine) {
        let world = world(engine).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        assert!(owner.open("/account").await.contains("0 passkeys"));
        let passkey = add(&owner, "Laptop").await;
        assert!(owner.open("/account").await.contains("1 passkey<"));
        let page = owner.open(PAGE).await;
        assert!(page.contains("<bdi>Laptop</bdi>") && page.contains("never"), "{page}");

        let factor = "/account/second-factor";
        let secret = value_in(&owner.open(factor).await, "secret").expect("a secret");
        let code = Authenticator::read(&secret).expect("a secret").code(world.clock.now());
        let fields = [("secret", secret.as_str()), ("code", code.as_str())];
        assert_eq!(owner.post_from(factor, factor, &fields).await.status, 200);

        let browser = Browser::new(&world);
        browser.open("/sign-in?next=%2Faccount%23zone").await;
        let guest = browser.cookies();
        let said = Said::new(GET, &ask(&browser).await, ORIGIN);
        let mut fields = answered(&passkey.answer(&said));
        fields.push(("next", "/account#zone".to_owned()));
        let answer = post(&browser, "/sign-in", "/sign-in/passkey", &fields).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/account#zone")), "{}", answer.text());
        let cookies = browser.cookies();
        assert!(cookies.starts_with("flatline_session=") && !cookies.contains(';'), "{cookies}");
        assert!(!guest.contains(cookies.trim_start_matches("flatline_session=")), "the secret is a new one");
        assert!(browser.open("/account").await.contains("Signed in as owner@example.org"));
        assert!(!owner.open(PAGE).await.contains("never"));

        let (_, answer) = sign_in(&world, &passkey, 0).await;
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "one that counts nothing goes on");
    }

    async fn an_answer_works_once_soon_and_in_the_browser_that_was_asked(engine: Engine) {
        let world = world(engine).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let passkey = add(&owner, "Laptop").await;
        let (browser, other) = (Browser::new(&world), Browser::new(&world));
        let answer = passkey.answer(&Said::new(GET, &ask(&browser).await, ORIGIN));
        assert_refused(&bring(&other, &answer).await);
        assert_eq!(browser.post("/sign-in/passkey", &[]).await.status, 403, "only from the page");
        assert_eq!(bring(&browser, &answer).await.status, 303, "the other browser could not use it up");
        assert_refused(&bring(&other, &answer).await);
        browser.post_from("/account", "/sign-out", &[]).await;
        assert_refused(&bring(&browser, &answer).await);

        let late = passkey.answer(&Said::new(GET, &ask(&other).await, ORIGIN));
        world.advance(Span::minutes(5));
        assert_refused(&bring(&other, &late).await);
        let ours = passkey.answer(&Said::new(GET, "bm8gY2hhbGxlbmdlIG9mIG91cnM", ORIGIN));
        assert_refused(&bring(&other, &ours).await);
        // A challenge for a new passkey is none for a sign-in, nor the other way.
        let options = begin(&owner, "Phone", "").await;
        let crossed = passkey.answer(&Said::new(GET, text(&options["challenge"]), ORIGIN));
        let cookie = owner.cookies();
        other.plant("flatline_session", cookie.split("flatline_session=").nth(1).expect("a session"));
        assert_refused(&post(&other, "/account", "/sign-in/passkey", &answered(&crossed)).await);
        let asked = owner.post_from("/account", "/sign-in/passkey/begin", &[]).await.json();
        let said = Said::new(CREATE, text(&asked["challenge"]), ORIGIN);
        let crossed = made(&SoftPasskey::new(&passkey.user_handle), &said, "Phone");
        assert_eq!(post(&owner, PAGE, PAGE, &crossed).await.status, 422);
        assert!(owner.open("/account").await.contains("1 passkey<"));
    }

    async fn whatever_is_wrong_is_said_alike_and_uses_the_challenge_up(engine: Engine) {
        let world = world(engine).await;
        world.sign_up(OTHER, "free").await;
        let passkey = add(&Browser::signed_in(&world, OWNER).await, "Laptop").await;
        let theirs = add(&Browser::signed_in(&world, OTHER).await, "Laptop").await;
        let unknown = SoftPasskey::new(&passkey.user_handle);
        let mut words = Vec::new();
        for case in 0..7 {
            let browser = Browser::new(&world);
            let right = Said::new(GET, &ask(&browser).await, ORIGIN);
            let mut answer = passkey.answer(&right);
            match case {
                0 => answer = passkey.answer(&Said { origin: "http://evil.example".into(), ..right.clone() }),
                1 => answer = passkey.answer(&Said { site: "evil.example".into(), ..right.clone() }),
                2 => answer = passkey.answer(&Said { flags: 0x01, ..right.clone() }),
                3 => *answer.signature.last_mut().expect("bytes") ^= 1,
                4 => answer = unknown.answer(&right),
                5 => answer = Assertion { user_handle: theirs.user_handle.clone(), ..answer },
                // Another's passkey, signed by this one's key.
                _ => answer.credential = theirs.credential.clone(),
            }
            let refused = bring(&browser, &answer).await;
            assert_refused(&refused);
            let token = token_in(&refused.text()).expect("a token");
            words.push(refused.text().replace(&token, ""));
            assert_refused(&bring(&browser, &passkey.answer(&right)).await);
        }
        words.dedup();
        assert_eq!(words.len(), 1, "no difference");
        assert_eq!(sign_in(&world, &passkey, 0).await.1.status, 303);
    }

    async fn a_count_of_signatures_only_goes_forward(engine: Engine) {
        let world = world(engine).await;
        let passkey = add(&Browser::signed_in(&world, OWNER).await, "Stick").await;
        for (count, status) in [(0, 303), (7, 303), (7, 422), (6, 422), (0, 422), (8, 303), (u32::MAX, 303), (9, 422)] {
            assert_eq!(sign_in(&world, &passkey, count).await.1.status, status, "{count}");
        }
    }

    async fn adding_one_takes_a_proof_that_still_holds(engine: Engine) {
        let world = world(engine).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let options = begin(&owner, "Early", "").await;
        assert_eq!(options["rp"], json!({"id": "localhost", "name": "Flatline"}));
        assert_eq!(options["attestation"], "none");
        assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
        world.advance(Span::minutes(31));
        let path = format!("{PAGE}/new");
        let answer = owner.post_from("/account", &path, &[("name", "Laptop")]).await;
        assert_eq!(answer.status, 422);
        assert!(answer.text().contains("Adding or removing one takes a sign-in of the last half hour"));
        set_password(&world, OWNER, "correct horse").await;
        for fields in [[("name", "Laptop"), ("proof", "wrong horse")], [("name", " "), ("proof", "correct horse")]] {
            let answer = owner.post_from(PAGE, &path, &fields).await;
            assert_eq!(answer.status, 422);
        }
        let options = begin(&owner, "Laptop", "correct horse").await;
        let fields = [("old", "correct horse"), ("new", "better horse")];
        assert_eq!(owner.post_from("/account", "/account/password", &fields).await.status, 303);
        let said = Said::new(CREATE, text(&options["challenge"]), ORIGIN);
        let passkey = SoftPasskey::new(&decode(text(&options["user"]["id"])));
        let answer = post(&owner, PAGE, PAGE, &made(&passkey, &said, "Laptop")).await;
        assert_eq!(answer.status, 422, "what was proved is no longer so");
        assert!(answer.text().contains("The answer of the browser did not hold"));

        let options = begin(&owner, "Laptop", "better horse").await;
        let said = Said::new(CREATE, text(&options["challenge"]), ORIGIN);
        let fields = made(&passkey, &said, "Laptop");
        assert_eq!(post(&owner, PAGE, PAGE, &fields).await.status, 303);
        assert_eq!(post(&owner, PAGE, PAGE, &fields).await.status, 422, "once");
        let options = begin(&owner, "Again", "better horse").await;
        assert_eq!(options["excludeCredentials"], json!([{"type": "public-key", "id": base64url(&passkey.credential)}]));
        let said = Said::new(CREATE, text(&options["challenge"]), ORIGIN);
        let answer = post(&owner, PAGE, PAGE, &made(&passkey, &said, "Again")).await;
        assert!(answer.text().contains("This passkey is known here already."));
        assert_eq!(flatline::cli::examine(&world.app.db).await.unwrap(), Vec::<String>::new());
    }

    async fn one_is_renamed_and_removed_by_its_user_alone(engine: Engine) {
        let world = world(engine).await;
        world.sign_up(OTHER, "free").await;
        let (owner, other) = (Browser::signed_in(&world, OWNER).await, Browser::signed_in(&world, OTHER).await);
        let passkey = add(&owner, "Laptop").await;
        let uuid = owner.open(PAGE).await.split("/account/passkeys/").nth(1).expect("a form").split('/').next().expect("a uuid").to_owned();
        let (name, remove) = (format!("{PAGE}/{uuid}/name"), format!("{PAGE}/{uuid}/remove"));
        assert_eq!(other.post_from(PAGE, &name, &[("name", "Mine")]).await.status, 404);
        assert_eq!(other.post_from(PAGE, &remove, &[]).await.status, 404);
        let long = "x".repeat(61);
        assert_eq!(owner.post_from(PAGE, &name, &[("name", &long)]).await.status, 422);
        assert_eq!(owner.post_from(PAGE, &name, &[("name", "<b>Desk</b>")]).await.status, 303);
        assert!(owner.open(PAGE).await.contains("<bdi>&#60;b&#62;Desk&#60;/b&#62;</bdi>"));

        let (lost, answer) = sign_in(&world, &passkey, 0).await;
        assert_eq!(answer.status, 303);
        set_password(&world, OWNER, "correct horse").await;
        assert_eq!(owner.post_from(PAGE, &remove, &[("proof", "wrong horse")]).await.status, 422);
        lost.open("/account").await;
        assert_eq!(owner.post_from(PAGE, &remove, &[("proof", "correct horse")]).await.status, 303);
        assert_eq!(lost.get("/account").await.status, 303, "what it began has ended");
        owner.open("/account").await;
        assert_refused(&sign_in(&world, &passkey, 0).await.1);
        assert_eq!(owner.post_from(PAGE, &remove, &[("proof", "correct horse")]).await.status, 404);
        world.tick().await;
        let told = world.outbox().await.concat();
        for subject in ["Subject: A passkey was added at", "Subject: A passkey was removed at"] {
            assert_eq!(told.matches(subject).count(), 1, "{subject}: {told}");
        }
        assert_eq!(flatline::cli::examine(&world.app.db).await.unwrap(), Vec::<String>::new());
    }

    async fn they_are_exported_by_name_and_leave_with_their_user(engine: Engine) {
        let world = world(engine).await;
        world.sign_up(OTHER, "free").await;
        let other = Browser::signed_in(&world, OTHER).await;
        let passkey = add(&other, "Laptop").await;
        let export = other.post_from("/account", "/account/export", &[]).await;
        let at = "2026-03-26T03:12:00+00:00";
        assert_eq!(export.json()["user"]["passkeys"], json!([{"name": "Laptop", "created_at": at, "last_used_at": null}]));
        assert!(!export.text().contains(&base64url(&passkey.credential)));
        begin(&other, "Phone", "").await;
        assert_eq!(other.post_from("/account", "/account/delete", &[]).await.status, 200);
        let mut tx = world.app.db.begin_read().await.expect("a read");
        assert_eq!(tx.query(LEFT).maybe::<Number>().await.expect("a read").expect("a row").number, 0);
        drop(tx);
        assert_refused(&sign_in(&world, &passkey, 0).await.1);
    }

    async fn steps_are_limited_by_address(engine: Engine) {
        let world = world(engine).await;
        let browser = Browser::new(&world);
        for _ in 0..60 {
            ask(&browser).await;
        }
        let refused = browser.post_from("/sign-in", "/sign-in/passkey/begin", &[]).await;
        assert_eq!(refused.status, 429);
        assert!(refused.text().contains("<title>Too often</title>"));
        let refused = browser.post_from("/sign-in", "/sign-in/passkey", &[]).await;
        assert_eq!(refused.status, 429);
        world.advance(Span::minutes(6));
        ask(&browser).await;
        let mut tx = world.app.db.begin_read().await.expect("a read");
        assert_eq!(tx.query(LEFT).maybe::<Number>().await.expect("a read").expect("a row").number, 1, "old ones are forgotten");
    }

    async fn where_browsers_know_none_nothing_is_offered(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let guest = Browser::new(&world);
        let page = guest.open("/sign-in").await;
        assert!(!page.contains("passkey"), "{page}");
        for path in ["/sign-in/passkey", "/sign-in/passkey/begin"] {
            assert_eq!(guest.post_from("/sign-in", path, &[]).await.status, 404);
        }
        let owner = Browser::signed_in(&world, OWNER).await;
        assert!(!owner.open("/account").await.contains("asskey"));
        assert!(owner.open(PAGE).await.contains("by a name and over https"));
        assert_eq!(owner.post_from(PAGE, &format!("{PAGE}/new"), &[("name", "x")]).await.status, 404);
    }
}
