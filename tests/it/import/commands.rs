//! `flatline import` as an operator uses it: what it says, what it does, its exit codes.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::AsyncWriteExt;

use super::{FILE, KEY, SECRET};
use crate::support::{Engine, Place, Process, on_both, program};

async fn run(place: &Place, args: &[&str], input: &str) -> (i32, String, String) {
    let mut command = program(place, &[]);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

async fn import(place: &Place, args: &[&str]) -> (i32, String, String) {
    run(place, &[&["import", "healthchecks"], args].concat(), "").await
}

async fn account(place: &Place, email: &str, plan: &str) -> Value {
    let args = ["account", "create", "--json", "--email", email, "--plan", plan];
    serde_json::from_str(&run(place, &args, "").await.1).unwrap()
}

on_both! {
    async fn it_shows_first_then_does_it_then_finds_nothing_to_do(engine: Engine) {
        let place = Place::new(engine).await;
        account(&place, "alice@example.org", "unlimited").await;
        account(&place, "bob@example.org", "free").await;
        let from = ["--file", FILE, "--secret-key", SECRET];
        let (code, out, err) = import(&place, &from).await;
        assert_eq!((code, err.as_str()), (0, ""));
        for line in [
            "Main -> new project of alice@example.org\n  checks           40 to bring\n  channels         4 to bring\n",
            "Other -> new project of bob@example.org\n",
            "not brought: project 'Limited': carol@example.org has no account here; make one with",
            "\nNothing was changed; add --yes to do this.\n",
        ] {
            assert!(out.contains(line), "{line}: {out}");
        }
        let process = Process::start(&place, &[]).await;
        let client = process.client.with_key(KEY);
        assert_eq!(client.get("checks/").await.status, 401, "nothing was changed");
        let (code, out, err) = import(&place, &[&from[..], &["--yes"]].concat()).await;
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.contains("brought 40 checks to 'Main' of alice@example.org\n"), "{out}");
        assert_eq!(client.get("checks/").await.json()["checks"].as_array().unwrap().len(), 40);
        let (code, out, _) = import(&place, &[&from[..], &["--yes"]].concat()).await;
        assert_eq!(code, 0);
        assert!(out.ends_with("Everything is here already; nothing was changed.\n"), "{out}");
        let (code, out, _) = run(&place, &["doctor"], "").await;
        assert_eq!((code, out.as_str()), (0, "every counter agrees with its rows\n"));
    }

    async fn what_does_not_fit_or_belongs_to_others_is_refused_and_nothing_is_done(engine: Engine) {
        let place = Place::new(engine).await;
        account(&place, "alice@example.org", "free").await;
        let main = ["--file", FILE, "--only", "Main", "--yes"];
        let (code, _, err) = import(&place, &main).await;
        assert_eq!(code, 1);
        assert!(err.starts_with("flatline: nothing was changed:\n  alice@example.org: 40 checks are to be brought"), "{err}");
        account(&place, "bob@example.org", "unlimited").await;
        let to_bob = [&main[..], &["--account", "Bob@example.org"]].concat();
        assert_eq!(import(&place, &to_bob).await.0, 0);
        run(&place, &["account", "plan", "alice@example.org", "unlimited"], "").await;
        let (code, _, err) = import(&place, &[&main[..], &["--account", "alice@example.org"]].concat()).await;
        assert_eq!(code, 1);
        for part in [
            "nothing was changed",
            "project 'Main' (b881a543-aff0-4787-8772-bcec6f0db0e0): it belongs to another account here",
            "check 'Nightly backup' (0003fefd-a84b-4031-80eb-c4f84378e516): it belongs to another account here",
        ] {
            assert!(err.contains(part), "{part}: {err}");
        }
        assert!(import(&place, &main).await.1.ends_with("Everything is here already; nothing was changed.\n"));
    }

    async fn everything_can_go_into_a_project_that_is_here(engine: Engine) {
        let place = Place::new(engine).await;
        let alice = account(&place, "alice@example.org", "unlimited").await;
        let project = alice["project"].as_str().unwrap();
        let args = ["--file", FILE, "--secret-key", "-", "--only", "Other", "--project", project, "--yes"];
        let all = [&["import", "healthchecks"], &args[..]].concat();
        let (code, out, err) = run(&place, &all, &format!("{SECRET}\n")).await;
        assert_eq!((code, err.as_str()), (0, ""));
        assert!(out.contains("Other -> project 'My project' of alice@example.org\n"), "{out}");
        assert!(out.contains("not brought: the ping key: project 'My project' here has one of its own"), "{out}");
        let process = Process::start(&place, &[]).await;
        for key in [alice["api_key"].as_str().unwrap(), "hcw_frF2ZRhbBn18boNrjNm6GjmCP26v"] {
            let checks = process.client.with_key(key).get("checks/").await.json();
            assert_eq!(checks["checks"][0]["name"], "Other one");
        }
        assert!(run(&place, &all, &format!("{SECRET}\n")).await.1.ends_with("nothing was changed.\n"));
    }
}

#[tokio::test]
async fn a_file_or_key_that_cannot_be_used_is_named() {
    let place = Place::new(Engine::Sqlite).await;
    account(&place, "alice@example.org", "unlimited").await;
    let folder = place.folder.path();
    let path = |name: &str| folder.join(name).display().to_string();
    let whole = std::fs::read(FILE).unwrap();
    std::fs::write(path("text"), "not a database, but long enough to be looked at as one".repeat(20))
        .unwrap();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::write(path("half"), &whole[..whole.len() / 3]).unwrap();
    for (args, why) in [
        (vec!["--file", &path("missing")], "missing: it cannot be opened: "),
        (vec!["--file", &path("text")], "text: it cannot be read as a SQLite database: "),
        (
            vec!["--file", &path("empty")],
            "empty: it is no database of Healthchecks: it has no table accounts_project",
        ),
        (vec!["--file", &path("half")], "half: it cannot be read as a SQLite database: "),
        (vec!["--file", &path("flatline.db")], "it is no database of Healthchecks: it has no table"),
        (vec!["--file", FILE, "--secret-key", "wrong", "--api-key", KEY], "do not belong to that database"),
        (vec!["--file", FILE, "--api-key", KEY], "the API key does not belong to that database"),
        (vec!["--file", FILE, "--only", "Elsewhere"], "there is no project 'Elsewhere' there"),
        (vec!["--file", FILE, "--account", "eve@example.org"], "eve@example.org has no account here"),
        (
            vec!["--file", FILE, "--project", "b881a543-aff0-4787-8772-bcec6f0db0e1"],
            "there is no project b881a543",
        ),
    ] {
        let (code, _, err) = import(&place, &args).await;
        assert_eq!(code, 1, "{args:?}: {err}");
        assert!(err.contains(why), "{args:?}: {err}");
    }
    for args in [vec![], vec!["--url", "http://127.0.0.1:9"], vec!["--url", "x", "--file", FILE]] {
        assert_eq!(import(&place, &args).await.0, 2, "{args:?}");
    }
    let proven = ["--file", FILE, "--secret-key", SECRET, "--api-key", KEY];
    assert_eq!(import(&place, &proven).await.0, 0);
}

#[tokio::test]
async fn a_running_server_is_moved_by_its_address_and_key() {
    let (there, here) = (Place::new(Engine::Sqlite).await, Place::new(Engine::Sqlite).await);
    let old = account(&there, "old@example.org", "unlimited").await;
    let server = Process::start(&there, &[]).await;
    let key = old["api_key"].as_str().unwrap();
    server.client.with_key(key).check(&serde_json::json!({"name": "job", "slug": "job"})).await;
    account(&here, "new@example.org", "unlimited").await;
    let from =
        ["--url", &server.client.base, "--api-key", key, "--ping-key", old["ping_key"].as_str().unwrap()];
    let (code, _, err) = import(&here, &[&from[..], &["--yes"]].concat()).await;
    assert_eq!(code, 1);
    assert!(err.contains("the server does not tell whose it is; name the account with --account"), "{err}");
    let to = [&from[..], &["--account", "new@example.org", "--name", "Moved", "--yes"]].concat();
    let (code, out, err) = import(&here, &to).await;
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(
        out.contains("Moved -> new project of new@example.org\n  checks           1 to bring\n"),
        "{out}"
    );
    let moved = Process::start(&here, &[]).await;
    assert_eq!(moved.client.with_key(key).get("checks/?slug=job").await.json()["checks"][0]["name"], "job");
    let ping = format!("/ping/{}/job", old["ping_key"].as_str().unwrap());
    assert_eq!(moved.client.send("GET", &ping, &[], Vec::new()).await.status, 200);
    let (code, out, _) = import(&here, &[&from[..], &["--yes"]].concat()).await;
    assert_eq!(code, 0);
    assert!(out.ends_with("Everything is here already; nothing was changed.\n"), "{out}");
}
