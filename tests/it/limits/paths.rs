//! Every path that reaches the count of checks: found in the source, so that none is missing, and raced.

use std::collections::BTreeSet;
use std::path::Path as File;
use std::pin::Pin;
use std::sync::Arc;

use flatline::accounts::{self, Project, Role, projects, team};
use flatline::app::App;
use flatline::checks::{self, Settings};
use flatline::db::AsDatabase;
use flatline::id;
use flatline::import::bring::{self, Brought};
use flatline::import::{OldCheck, file};
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::races::examine;
use super::{PLANS, plans_file};
use crate::source::{Function, functions};
use crate::support::{Client, Engine, World, on_both};
use crate::web::browser::Browser;

/// Callers of one race.
const CALLERS: usize = 12;

type Asking = Pin<Box<dyn Future<Output = u16> + Send>>;

/// Whoever makes checks, or gets them: by key, by ping, in a browser, by an import, from another account.
#[derive(Clone)]
struct Maker {
    app: Arc<App>,
    client: Client,
    browser: Browser,
    ping_key: String,
    project: Project,
    /// A check that is there and can be copied.
    template: String,
    /// A project of another account, and its checks, which the browser's user may move.
    away: Uuid,
    movable: Vec<String>,
    /// Projects of another account, with one check each, that are offered to the browser's user.
    offered: Vec<Uuid>,
    /// Checks of another server.
    foreign: Arc<Vec<OldCheck>>,
}

/// A way to a check more, with a number that no other caller has.
type Path = fn(Maker, usize) -> Asking;

/// A path that takes one from the plan's count of checks, and the statuses of one that was taken and one that was
/// refused.
struct Row {
    /// The file and function where an edge enters it.
    at: &'static str,
    name: &'static str,
    path: Path,
    taken: u16,
    refused: u16,
}

const fn row(at: &'static str, name: &'static str, path: Path, taken: u16, refused: u16) -> Row {
    Row { at, name, path, taken, refused }
}

/// Raced below, in this order; the last leaves checks in other projects.
const RACED: &[Row] = &[
    row("http/api/checks.rs create", "the API's create", by_api, 201, 403),
    row("http/api/checks.rs create", "the API's create with unique", by_unique, 201, 403),
    row("http/ping.rs make", "create=1", by_ping, 201, 404),
    row("http/web/edit/mod.rs make", "the form", by_form, 303, 422),
    row("http/web/check/deeds.rs copy", "the copy of another", by_copy, 303, 400),
    row("http/web/check/moving.rs carry_out", "a check that is moved", by_move, 303, 422),
    row("http/web/checks/bulk.rs change", "checks that are moved together", by_bulk, 303, 400),
    row("cli/import.rs carry_out", "the import of a file or from a server", by_import, 201, 403),
    row("http/web/team/deeds.rs accept", "a project that is taken over", by_transfer, 303, 400),
];

/// Shown by other tests: what brings several checks back at once, and what has an account of its own.
const SHOWN: &[(&str, &str)] = &[
    ("http/web/checks/bulk.rs restore", "what_was_deleted_comes_back_once_and_only_into_room"),
    ("http/web/projects.rs restore", "what_was_deleted_comes_back_once_and_only_into_room"),
    ("http/web/sign_up.rs open_account", "an_account_is_made_by_whoever_reads_the_mail"),
    ("cli/demo.rs set", "demo_fills_a_new_database_as_the_jobs_would_have_and_leaves_any_other_alone"),
];

/// The functions that come to the count, from its own on, but for those of the edges.
fn behind_the_edges(all: &[Function]) -> Vec<&Function> {
    let is_inside =
        |one: &&Function| !["http/", "cli/", "smtp/"].iter().any(|edge| one.file.starts_with(edge));
    let mut reached: Vec<&Function> = all
        .iter()
        .filter(|one| one.file == "accounts/mod.rs" && one.name.starts_with("take_check"))
        .collect();
    let mut seen = 0;
    while seen < reached.len() {
        let callee = reached[seen];
        seen += 1;
        for caller in all.iter().filter(is_inside).filter(|one| one.calls(callee)) {
            if !reached.iter().any(|one| std::ptr::eq(*one, caller)) {
                reached.push(caller);
            }
        }
    }
    reached
}

#[test]
fn every_path_to_the_count_has_a_row() {
    let all = functions();
    let reached = behind_the_edges(&all);
    let names: BTreeSet<String> = reached.iter().map(|one| format!("{} {}", one.file, one.name)).collect();
    // Those that the search has to find, or it finds nothing.
    for known in ["checks/mod.rs find_or_create", "moving.rs move_checks", "removal.rs restore_project"] {
        assert!(names.contains(known), "{known}: {names:?}");
    }
    let is_reached = |one: &Function| names.contains(&format!("{} {}", one.file, one.name));
    let edges = all.iter().filter(|one| !is_reached(one) && reached.iter().any(|callee| one.calls(callee)));
    let edges: BTreeSet<String> = edges.map(|one| format!("{} {}", one.file, one.name)).collect();
    let rows = RACED.iter().map(|row| row.at).chain(SHOWN.iter().map(|(at, _)| *at));
    assert_eq!(edges, rows.map(str::to_owned).collect());
}

#[test]
fn every_test_that_a_row_names_is_there() {
    let tests = crate::source::files("tests/it", &[".rs"]);
    for (at, test) in SHOWN {
        let head = format!("fn {test}(");
        assert!(tests.iter().any(|file| file.text.contains(&head)), "{at}: {test}");
    }
}

fn by_api(maker: Maker, number: usize) -> Asking {
    Box::pin(
        async move { maker.client.post("checks/", &json!({"name": format!("job {number}")})).await.status },
    )
}

fn by_unique(maker: Maker, number: usize) -> Asking {
    let spec = json!({"name": format!("job {number}"), "unique": ["name"]});
    Box::pin(async move { maker.client.post("checks/", &spec).await.status })
}

fn by_ping(maker: Maker, number: usize) -> Asking {
    Box::pin(
        async move { maker.client.ping(&maker.ping_key, &format!("/job-{number}?create=1")).await.status },
    )
}

fn by_form(maker: Maker, number: usize) -> Asking {
    Box::pin(async move {
        let (path, name) = (format!("/projects/{}/new-check", maker.project.uuid), format!("job {number}"));
        let fields = [
            ("name", name.as_str()),
            ("kind", "simple"),
            ("every", "1"),
            ("every_unit", "days"),
            ("grace", "1"),
            ("grace_unit", "hours"),
        ];
        maker.browser.submit(&path, &fields).await.status
    })
}

fn by_copy(maker: Maker, _: usize) -> Asking {
    Box::pin(async move {
        let path = format!("/checks/{}", maker.template);
        maker.browser.post_from(&path, &format!("{path}/copy"), &[]).await.status
    })
}

fn by_move(maker: Maker, number: usize) -> Asking {
    Box::pin(async move {
        let path = format!("/checks/{}/move", maker.movable[number]);
        let target = maker.project.uuid.to_string();
        maker.browser.post_from("/account", &path, &[("project", &target)]).await.status
    })
}

fn by_bulk(maker: Maker, number: usize) -> Asking {
    Box::pin(async move {
        let check = &maker.movable[CALLERS + number];
        let path = format!("/projects/{}/bulk", maker.away);
        let target = maker.project.uuid.to_string();
        let fields = [("check", check.as_str()), ("do", "move"), ("project", &target)];
        maker.browser.post_from("/account", &path, &fields).await.status
    })
}

fn by_import(maker: Maker, number: usize) -> Asking {
    Box::pin(async move {
        let (app, old) = (&maker.app, &maker.foreign[number]);
        for _ in 0..5 {
            let mut tx = app.db.begin_write().await.unwrap();
            let now = app.clock.now();
            match bring::check(&mut tx, &app.settings.plans, &maker.project, old, now).await {
                Ok(Brought::Now | Brought::ExpectedAnew) => {
                    tx.commit().await.unwrap();
                    return 201;
                }
                Ok(Brought::NoRoom) => return 403,
                Err(error) if error.asks_to_retry() => {}
                other => panic!("{other:?}"),
            }
        }
        503
    })
}

fn by_transfer(maker: Maker, number: usize) -> Asking {
    Box::pin(async move {
        let path = format!("/projects/{}/team/accept", maker.offered[number]);
        maker.browser.post_from("/account", &path, &[]).await.status
    })
}

/// A world whose owner's plan has room for three checks, one of which is there.
async fn maker(world: &World) -> Maker {
    let now = world.clock.now();
    let other = world.sign_up("other@example.org", "unlimited").await;
    let key = world.client.with_key(&other.api_key);
    let mut movable = Vec::new();
    for number in 0..2 * CALLERS {
        movable.push(key.check(&json!({"name": format!("away {number}")})).await);
    }
    let foreign = file::read(File::new(crate::import::FILE), &file::Known::default()).await.unwrap();
    let foreign = foreign.projects.into_iter().find(|project| project.checks.len() >= CALLERS).unwrap();

    let mut tx = world.app.db.begin_write().await.unwrap();
    let user = accounts::store::find_user_by_email(&mut tx, &world.owner.email).await.unwrap().unwrap();
    let theirs = accounts::store::find_user_by_email(&mut tx, &other.email).await.unwrap().unwrap();
    let away = accounts::store::find_project_by_uuid(&mut tx, other.project).await.unwrap().unwrap();
    accounts::store::create_member(&mut tx, away.id, user.id, Role::Member, now).await.unwrap();
    let account = world.app.lock_account(&mut tx, theirs.account_id).await.unwrap();
    let mut offered = Vec::new();
    for number in 0..CALLERS {
        let name = format!("offered {number}");
        let project = projects::create(&mut tx, account.id, theirs.id, &name, now).await.unwrap();
        let ids = (id::uuid(), id::uuid());
        checks::create(&mut tx, &account, project.id, &Settings::default(), ids, now).await.unwrap();
        accounts::store::create_member(&mut tx, project.id, user.id, Role::Member, now).await.unwrap();
        team::offer(&mut tx, project.id, theirs.id, user.uuid).await.unwrap().unwrap();
        offered.push(project.uuid);
    }
    let project = accounts::store::find_project_by_uuid(&mut tx, world.owner.project).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    Maker {
        app: Arc::clone(&world.app),
        client: world.client.clone(),
        browser: Browser::signed_in(world, &world.owner.email).await,
        ping_key: world.owner.ping_key.clone(),
        project,
        template: world.client.check(&json!({"name": "template"})).await,
        away: away.uuid,
        movable,
        offered,
        foreign: Arc::new(foreign.checks),
    }
}

async fn delete_all_but(maker: &Maker) {
    for check in maker.client.get("checks/").await.json()["checks"].as_array().unwrap() {
        let uuid = check["uuid"].as_str().unwrap();
        if uuid != maker.template {
            assert_eq!(maker.client.delete(&format!("checks/{uuid}")).await.status, 200);
        }
    }
}

/// What several take back at once: all or nothing each time, for the one who comes first.
async fn bring_back(maker: &Maker, path: &str, fields: &[(&str, &str)]) -> Vec<u16> {
    let mut asking = JoinSet::new();
    for _ in 0..8 {
        let (browser, path) = (maker.browser.clone(), path.to_owned());
        let fields: Vec<(String, String)> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        asking.spawn(async move {
            let fields: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            browser.post_from("/account", &path, &fields).await.status
        });
    }
    asking.join_all().await
}

on_both! {
    async fn what_was_deleted_comes_back_once_and_only_into_room(engine: Engine) {
        let file = plans_file(PLANS);
        let path = file.path().display().to_string();
        let world = World::with(engine, "roomy", &[("PLANS_FILE", &path)]).await;
        let maker = maker(&world).await;
        let of = |statuses: &[u16], wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
        let list = format!("/projects/{}", maker.project.uuid);
        let delete = async || {
            let bulk = format!("{list}/bulk");
            let fields = [("check", maker.template.as_str()), ("do", "delete")];
            let answer = maker.browser.post_from("/account", &bulk, &fields).await;
            answer.header("location").unwrap().split("deleted=").nth(1).unwrap().to_owned()
        };
        let at = delete().await;
        let statuses = bring_back(&maker, &format!("{list}/restore"), &[("at", &at)]).await;
        assert_eq!((of(&statuses, 303), of(&statuses, 404)), (1, 7), "{statuses:?}");
        examine(&world.place).await;

        world.advance(flatline::time::Span::seconds(1));
        let at = delete().await;
        for number in 0..3 {
            assert_eq!(by_api(maker.clone(), number).await, 201);
        }
        let statuses = bring_back(&maker, &format!("{list}/restore"), &[("at", &at)]).await;
        assert_eq!(of(&statuses, 400), 8, "there is no room: {statuses:?}");
        examine(&world.place).await;

        // The project with its three checks: back once, and not where others took the room meanwhile.
        world.advance(flatline::time::Span::seconds(1));
        let uuid = maker.project.uuid.to_string();
        let other = maker.browser.submit("/projects", &[("name", "other")]).await;
        let other = other.header("location").unwrap().to_owned();
        let end = async || maker.browser.post_from("/account", &format!("{list}/settings/delete"), &[]).await.status;
        assert_eq!(end().await, 303);
        let statuses = bring_back(&maker, "/projects/restore", &[("project", &uuid)]).await;
        assert_eq!((of(&statuses, 303), of(&statuses, 404)), (1, 7), "{statuses:?}");
        examine(&world.place).await;
        assert_eq!(end().await, 303);
        let other = Project { uuid: other.rsplit('/').next().unwrap().parse().unwrap(), ..maker.project.clone() };
        assert_eq!(by_form(Maker { project: other, ..maker.clone() }, 9).await, 303);
        let statuses = bring_back(&maker, "/projects/restore", &[("project", &uuid)]).await;
        assert_eq!(of(&statuses, 400), 8, "there is no room: {statuses:?}");
        examine(&world.place).await;
    }

    async fn on_every_path_exactly_as_many_checks_are_made_as_there_is_room_for(engine: Engine) {
        let file = plans_file(&PLANS.replace("creates_per_hour = 2", "creates_per_hour = \"none\"").replace(
            "unknown_pings_per_minute = 4",
            "unknown_pings_per_minute = \"none\"",
        ));
        let path = file.path().display().to_string();
        let world = World::with(engine, "roomy", &[("PLANS_FILE", &path)]).await;
        let maker = maker(&world).await;
        for Row { name, path, taken, refused, .. } in RACED {
            let mut asking = JoinSet::new();
            for number in 0..CALLERS {
                asking.spawn(path(maker.clone(), number));
            }
            let statuses = asking.join_all().await;
            let of = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
            assert_eq!((of(*taken), of(*refused)), (2, CALLERS - 2), "{name}: {statuses:?}");
            examine(&world.place).await;
            delete_all_but(&maker).await;
            examine(&world.place).await;
        }
    }
}
