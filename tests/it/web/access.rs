//! Who may ask for what: every route of the pages as each of the cast, in one table that is complete because the
//! routes are read from the source.

use std::collections::BTreeSet;

use flatline::accounts::Role;
use serde_json::json;

use super::browser::Browser;
use crate::source::routes;
use crate::support::{Engine, World};

/// The uuid of nothing.
const NOTHING: &str = "00000000-0000-4000-8000-000000000000";

/// Owner, manager, member, read-only member, stranger, nobody.
type Statuses = [u16; 6];

/// Method, route, the fields of a form, and what each of the cast gets.
type Line = (&'static str, &'static str, &'static [(&'static str, &'static str)], Statuses);

/// An answer that does not end.
const STREAM: u16 = 0;
const ANYBODY_ELSE: &str = "stranger@example.org";
const CAST: [&str; 5] =
    ["owner@example.org", "manager@example.org", "member@example.org", "readonly@example.org", ANYBODY_ELSE];

const TABLE: &[Line] = &[
    ("GET", "/", &[], [303; 6]),
    ("GET", "/sign-in", &[], [303, 303, 303, 303, 303, 200]),
    ("POST", "/sign-in", &[("email", "x")], [422; 6]),
    ("GET", "/sign-in/code", &[], [303; 6]),
    ("POST", "/sign-in/code", &[("code", "123456")], [303; 6]),
    ("POST", "/sign-in/passkey", &[], [422; 6]),
    ("POST", "/sign-in/passkey/begin", &[], [200; 6]),
    ("GET", "/sign-in/{token}", &[], [410; 6]),
    ("POST", "/sign-in/{token}", &[], [410; 6]),
    ("GET", "/sign-up", &[], [200; 6]),
    ("POST", "/sign-up", &[("email", "x")], [422; 6]),
    ("GET", "/sign-up/{token}", &[], [410; 6]),
    ("POST", "/sign-up/{token}", &[], [410; 6]),
    ("POST", "/sign-out", &[], [303; 6]),
    ("GET", "/account", &[], [200, 200, 200, 200, 200, 303]),
    ("POST", "/account/password", &[("new", "short")], [422, 422, 422, 422, 422, 303]),
    ("POST", "/account/email", &[("email", "x")], [422, 422, 422, 422, 422, 303]),
    ("GET", "/account/email/{token}", &[], [410, 410, 410, 410, 410, 303]),
    ("POST", "/account/email/{token}", &[], [410, 410, 410, 410, 410, 303]),
    ("GET", "/account/second-factor", &[], [200, 200, 200, 200, 200, 303]),
    ("POST", "/account/second-factor", &[], [303; 6]),
    ("POST", "/account/second-factor/codes", &[], [303; 6]),
    ("POST", "/account/second-factor/off", &[], [303; 6]),
    ("GET", "/account/passkeys", &[], [200, 200, 200, 200, 200, 303]),
    ("POST", "/account/passkeys", &[("name", "x")], [422, 422, 422, 422, 422, 303]),
    ("POST", "/account/passkeys/new", &[("name", "x")], [200, 200, 200, 200, 200, 303]),
    ("POST", "/account/passkeys/{passkey}/name", &[("name", "x")], [404, 404, 404, 404, 404, 303]),
    ("POST", "/account/passkeys/{passkey}/remove", &[], [404, 404, 404, 404, 404, 303]),
    ("POST", "/account/export", &[], [200, 200, 200, 200, 200, 303]),
    ("GET", "/account/delete", &[], [200, 200, 200, 200, 200, 303]),
    ("POST", "/account/zone", &[("zone", "Nowhere")], [422, 422, 422, 422, 422, 303]),
    ("POST", "/account/sessions/{session}/end", &[], [404, 404, 404, 404, 404, 303]),
    ("POST", "/account/sessions/end-others", &[], [303; 6]),
    ("GET", "/usage", &[], [200, 200, 200, 200, 200, 303]),
    ("GET", "/invitations/{token}", &[], [410; 6]),
    ("POST", "/invitations/{token}", &[], [410; 6]),
    ("GET", "/projects", &[], [200, 200, 200, 200, 200, 303]),
    ("POST", "/projects", &[("name", " ")], [422, 422, 422, 422, 422, 303]),
    ("POST", "/projects/restore", &[("project", NOTHING)], [404, 404, 404, 404, 404, 303]),
    ("GET", "/projects/{project}", &[], [200, 200, 200, 200, 404, 303]),
    ("POST", "/projects/{project}/bulk", &[("do", "pause")], [303, 303, 303, 403, 404, 303]),
    ("POST", "/projects/{project}/restore", &[("at", "1")], [404, 404, 404, 403, 404, 303]),
    ("GET", "/projects/{project}/new-check", &[], [200, 200, 200, 403, 404, 303]),
    ("POST", "/projects/{project}/new-check", &[], [422, 422, 422, 403, 404, 303]),
    ("GET", "/projects/{project}/team", &[], [200, 200, 200, 200, 404, 303]),
    ("POST", "/projects/{project}/team/invitations", &[("email", "x")], [422, 422, 403, 403, 404, 303]),
    ("POST", "/projects/{project}/team/invitations/{invitation}/revoke", &[], [404, 404, 403, 403, 404, 303]),
    ("POST", "/projects/{project}/team/members/{member}/role", &[], [404, 404, 403, 403, 404, 303]),
    ("POST", "/projects/{project}/team/members/{member}/remove", &[], [404, 404, 403, 403, 404, 303]),
    ("POST", "/projects/{project}/team/offer", &[("member", NOTHING)], [404, 403, 403, 403, 404, 303]),
    ("POST", "/projects/{project}/team/withdraw", &[], [404, 404, 404, 404, 404, 303]),
    ("POST", "/projects/{project}/team/accept", &[], [404, 404, 404, 404, 404, 303]),
    ("GET", "/projects/{project}/settings", &[], [200, 200, 200, 403, 404, 303]),
    ("POST", "/projects/{project}/settings/name", &[], [422, 422, 422, 403, 404, 303]),
    ("POST", "/projects/{project}/settings/ping-key", &[], [303, 303, 303, 403, 404, 303]),
    ("POST", "/projects/{project}/settings/ping-key/remove", &[], [303, 303, 303, 403, 404, 303]),
    ("POST", "/projects/{project}/settings/keys", &[], [422, 422, 422, 403, 404, 303]),
    ("POST", "/projects/{project}/settings/keys/{key}/revoke", &[], [404, 404, 404, 403, 404, 303]),
    ("POST", "/projects/{project}/settings/delete", &[], [303, 403, 403, 403, 404, 303]),
    ("POST", "/projects/{project}/team/leave", &[], [400, 303, 303, 303, 404, 303]),
    // Of those who may listen the answer does not end; it is read in `live`.
    ("GET", "/projects/{project}/events", &[], [STREAM, STREAM, STREAM, STREAM, 404, 303]),
    ("GET", "/projects/{project}/wall", &[], [200, 200, 200, 200, 404, 303]),
    ("POST", "/projects/{project}/wall/address", &[], [303, 303, 303, 403, 404, 303]),
    ("POST", "/projects/{project}/wall/address/end", &[], [303, 303, 303, 403, 404, 303]),
    ("GET", "/wall/{key}", &[], [404; 6]),
    ("GET", "/wall/{key}/events", &[], [404; 6]),
    ("GET", "/projects/{project}/badges", &[], [200, 200, 200, 200, 404, 303]),
    ("GET", "/projects/{project}/channels", &[], [200, 200, 200, 200, 404, 303]),
    ("GET", "/projects/{project}/new-channel/{kind}", &[], [200, 200, 200, 403, 404, 303]),
    ("POST", "/projects/{project}/new-channel/{kind}", &[], [422, 422, 422, 403, 404, 303]),
    ("GET", "/channels/{channel}", &[], [200, 200, 200, 403, 404, 303]),
    ("POST", "/channels/{channel}", &[], [422, 422, 422, 403, 404, 303]),
    ("POST", "/channels/{channel}/test", &[], [303, 303, 303, 403, 404, 303]),
    ("POST", "/channels/{channel}/ask", &[], [303, 303, 303, 403, 404, 303]),
    ("POST", "/channels/{channel}/delete", &[], [303, 303, 303, 403, 404, 303]),
    ("GET", "/checks/{check}", &[], [200, 200, 200, 200, 404, 303]),
    ("POST", "/checks/{check}/pause", &[], [303, 303, 303, 403, 404, 303]),
    ("POST", "/checks/{check}/resume", &[], [303, 303, 303, 403, 404, 303]),
    ("POST", "/checks/{check}/copy", &[], [303, 303, 303, 403, 404, 303]),
    ("GET", "/checks/{check}/log/{n}", &[], [200, 200, 200, 200, 404, 303]),
    ("GET", "/checks/{check}/log/{n}/body", &[], [200, 200, 200, 200, 404, 303]),
    ("GET", "/checks/{check}/edit", &[], [200, 200, 200, 403, 404, 303]),
    ("POST", "/checks/{check}/edit", &[], [422, 422, 422, 403, 404, 303]),
    ("GET", "/checks/{check}/move", &[], [200, 200, 200, 403, 404, 303]),
    ("POST", "/checks/{check}/move", &[], [422, 422, 422, 403, 404, 303]),
    ("POST", "/checks/{check}/delete", &[], [303, 303, 303, 403, 404, 303]),
    ("GET", "/docs", &[], [200; 6]),
    ("GET", "/docs/api", &[], [200; 6]),
    ("GET", "/docs/{page}", &[], [200; 6]),
    ("GET", "/static/{file}", &[], [404; 6]),
    ("GET", "/mail/{verb}/{token}", &[], [404; 6]),
    ("POST", "/mail/{verb}/{token}", &[], [404; 6]),
    // The owner's account runs the instance.
    ("POST", "/account/delete", &[], [400, 200, 200, 200, 200, 303]),
];

/// Routes after which the cast's project is not what it was; each is asked in a world of its own.
const ENDINGS: [&str; 3] =
    ["/projects/{project}/settings/delete", "/projects/{project}/team/leave", "/account/delete"];

#[test]
fn every_route_has_its_line() {
    let listed: BTreeSet<(String, String)> =
        TABLE.iter().map(|(method, route, ..)| ((*method).to_owned(), (*route).to_owned())).collect();
    assert_eq!(routes("src/http/web"), listed);
}

/// A world with a member of each role in the owner's project.
async fn world() -> World {
    // At a site where browsers know passkeys.
    let world = World::with(Engine::Sqlite, "unlimited", &[("SITE_URL", "http://localhost")]).await;
    for email in &CAST[1..] {
        world.sign_up(email, "free").await;
    }
    for (email, role) in CAST[1..4].iter().zip([Role::Manager, Role::Member, Role::Readonly]) {
        world.add_member(email, role).await;
    }
    world
}

/// A channel of the owner's project.
async fn channel(world: &World) -> String {
    world.channel("email", &json!({"address": "ops@example.org"})).await.uuid.to_string()
}

/// The route with what it names filled in.
fn path(world: &World, route: &str, check: &str, channel: &str) -> String {
    route
        .replace("{channel}", channel)
        .replace("{kind}", "email")
        .replace("{project}", &world.owner.project.to_string())
        .replace("{check}", check)
        .replace("{page}", "shell")
        .replace("{n}", "1")
        .replace("{session}", NOTHING)
        .replace("{passkey}", NOTHING)
        .replace("{invitation}", NOTHING)
        .replace("{member}", NOTHING)
        .replace("{key}", NOTHING)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_the_cast_gets_what_the_table_says() {
    let mut world = world().await;
    let mut wrong = Vec::new();
    let (last, first): (Vec<&Line>, Vec<&Line>) = TABLE.iter().partition(|line| ENDINGS.contains(&line.1));
    for (method, route, fields, statuses) in first.into_iter().chain(last) {
        if ENDINGS.contains(route) {
            world = self::world().await;
        }
        // The owner last, who may end it all.
        for (who, expected) in statuses.iter().enumerate().rev().filter(|(_, expected)| **expected != STREAM)
        {
            // A check for each attempt, since some end it.
            let check = world.client.check(&json!({"name": "watched"})).await;
            assert_eq!(world.client.ping_with(&check, "", b"output").await.status, 200);
            let path = path(&world, route, &check, &channel(&world).await);
            let (browser, from) = match CAST.get(who) {
                Some(email) => (Browser::signed_in(&world, email).await, "/account"),
                None => (Browser::new(&world), "/sign-in"),
            };
            let answer = match *method {
                "GET" => browser.get(&path).await,
                _ => browser.post_from(from, &path, fields).await,
            };
            if answer.status != *expected {
                let who = CAST.get(who).unwrap_or(&"nobody");
                wrong.push(format!("{method} {route} as {who}: {} and not {expected}", answer.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_form_is_taken_without_the_token_of_this_very_browser() {
    let world = world().await;
    let check = world.client.check(&json!({"name": "watched"})).await;
    let channel = channel(&world).await;
    let owner = Browser::signed_in(&world, CAST[0]).await;
    let stranger = Browser::signed_in(&world, ANYBODY_ELSE).await;
    let foreign = super::browser::token_in(&stranger.open("/account").await).expect("a token");
    let mut wrong = Vec::new();
    // Links in mails carry a signature in the place of a token.
    for (_, route, fields, _) in TABLE.iter().filter(|line| line.0 == "POST" && !line.1.starts_with("/mail/"))
    {
        let path = path(&world, route, &check, &channel);
        for token in ["", "AAAA", foreign.as_str()] {
            let mut all = vec![("token", token)];
            all.extend(*fields);
            let answer = owner.post(&path, &all).await;
            if answer.status != 403 {
                wrong.push(format!("{route} with '{token}': {}", answer.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_forbids_frames_foreign_hosts_and_inline_code() {
    let world = world().await;
    let check = world.client.check(&json!({"name": "watched"})).await;
    let channel = channel(&world).await;
    let owner = Browser::signed_in(&world, CAST[0]).await;
    for (_, route, ..) in TABLE.iter().filter(|line| line.0 == "GET" && line.3[0] != STREAM) {
        let path = path(&world, route, &check, &channel);
        let answer = owner.get(&path).await;
        if answer.header("content-type").is_none_or(|kind| !kind.starts_with("text/html")) {
            continue;
        }
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{route}"
        );
        assert!(!policy.contains("unsafe"), "{route}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{route}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{route}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{route}");
        let html = answer.text();
        assert!(
            !html.contains("style=\"") && !html.contains("<style") && !html.contains("javascript:"),
            "{route}"
        );
    }
}
