//! Every SQL constant is prepared on both migrated engines, and the two schemas are the same.

use std::collections::BTreeSet;

use crate::support::{Engine, Place};
use flatline::db::{self, Statement};

/// Every store with its statements; [`no_store_is_missing`] compares the list with the files.
pub const STORES: &[(&str, &[&Statement])] = &[
    ("accounts/emails/store.rs", flatline::accounts::emails::store::STATEMENTS),
    ("accounts/origins/store.rs", flatline::accounts::origins::store::STATEMENTS),
    ("accounts/passkeys/store.rs", flatline::accounts::passkeys::store::STATEMENTS),
    ("accounts/projects/store.rs", flatline::accounts::projects::store::STATEMENTS),
    ("accounts/second_factor/store.rs", flatline::accounts::second_factor::store::STATEMENTS),
    ("accounts/sessions/store.rs", flatline::accounts::sessions::store::STATEMENTS),
    ("accounts/store.rs", flatline::accounts::store::STATEMENTS),
    ("accounts/team/store.rs", flatline::accounts::team::store::STATEMENTS),
    ("accounts/walls/store.rs", flatline::accounts::walls::store::STATEMENTS),
    ("alerts/attempts/store.rs", flatline::alerts::attempts::store::STATEMENTS),
    ("alerts/flips/store.rs", flatline::alerts::flips::store::STATEMENTS),
    ("alerts/letters/store.rs", flatline::alerts::letters::store::STATEMENTS),
    ("alerts/log/store.rs", flatline::alerts::log::store::STATEMENTS),
    ("alerts/moves/store.rs", flatline::alerts::moves::store::STATEMENTS),
    ("alerts/returned/store.rs", flatline::alerts::returned::store::STATEMENTS),
    ("alerts/setup/store.rs", flatline::alerts::setup::store::STATEMENTS),
    ("alerts/store.rs", flatline::alerts::store::STATEMENTS),
    ("checks/flips/store.rs", flatline::checks::flips::store::STATEMENTS),
    ("checks/group/store.rs", flatline::checks::group::store::STATEMENTS),
    ("checks/history/store.rs", flatline::checks::history::store::STATEMENTS),
    ("checks/holdings/store.rs", flatline::checks::holdings::store::STATEMENTS),
    ("checks/log/store.rs", flatline::checks::log::store::STATEMENTS),
    ("checks/store.rs", flatline::checks::store::STATEMENTS),
    ("checks/unique_key/store.rs", flatline::checks::unique_key::store::STATEMENTS),
    ("import/store.rs", flatline::import::store::STATEMENTS),
    ("rate/store.rs", flatline::rate::store::STATEMENTS),
    ("sweep/store.rs", flatline::sweep::store::STATEMENTS),
];

/// Changes of checks after which they are still what was seen of them: what is locked was not changed, what a
/// transaction locked for an edit has another revision already, and nobody remembers the unique key.
const UNSEEN: &[&str] = &["LOCK_CHECK", "LOCK_CHECK_AT", "WRITE_SETTINGS", "SET_UNIQUE_KEY"];

/// Those who decide by what they saw of a check hold the write to these two numbers.
#[test]
fn every_change_of_a_check_moves_its_revision_or_its_sequence() {
    let moves = |text: &str| {
        ["rev = rev + 1", "seq = seq + 1", "seq = $3 + 1", "seq = new.column3 + 1", "seq = new.column12"]
            .iter()
            .any(|term| text.contains(term))
    };
    let statements = STORES.iter().flat_map(|(_, statements)| *statements);
    let changes: Vec<_> =
        statements.filter(|statement| statement.text.starts_with("UPDATE checks SET")).collect();
    let still: Vec<_> =
        changes.iter().filter(|statement| !moves(statement.text)).map(|one| one.name).collect();
    assert_eq!(still, UNSEEN);
    assert!(changes.len() > 15, "{}", changes.len());
}

async fn prepare_all(engine: Engine) {
    let db = Place::new(engine).await.open().await;
    let mut failures = Vec::new();
    for (store, statements) in STORES {
        for statement in *statements {
            if let Err(error) = db.prepare(statement).await {
                failures.push(format!("{store}: {}: {error}", statement.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn every_statement_can_be_prepared_on_sqlite() {
    prepare_all(Engine::Sqlite).await;
}

#[tokio::test]
async fn every_statement_can_be_prepared_on_postgres() {
    prepare_all(Engine::Postgres).await;
}

#[test]
fn no_store_is_missing() {
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeSet::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "store.rs") {
                found.insert(path.strip_prefix(&source).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    let listed: BTreeSet<String> = STORES.iter().map(|(store, _)| (*store).to_owned()).collect();
    assert_eq!(found, listed);
}

#[tokio::test]
async fn both_schemas_have_the_same_tables_and_columns() {
    let mut schemas = Vec::new();
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let place = Place::new(engine).await;
        schemas.push(place.open().await.columns().await.unwrap());
    }
    assert!(schemas[0].len() > 100, "the columns were found");
    assert_eq!(schemas[0], schemas[1]);
}

#[tokio::test]
async fn a_database_newer_than_the_program_is_refused_and_says_what_to_do() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let place = Place::new(engine).await;
        db::pretend_newer(&place.open().await).await.unwrap();
        let error = db::Db::open(&place.url.parse().unwrap()).await.err().expect("it is refused");
        assert!(error.to_string().contains("written by a newer flatline"), "{error}");
    }
}
