//! No statement reads a whole table, on either engine, but for those that are listed here with the reason.
//!
//! Every statement of every store is asked about, so a new one is held to it without anybody's thinking of it. A scan of
//! a partial index is none: such an index holds what there is to do, not what exists.

use std::collections::{BTreeMap, BTreeSet};

use flatline::db::{Db, Statement};

use crate::sql::STORES;
use crate::support::{Engine, Place, on_both};

/// Statements that may read a whole table, and why that is no harm.
const WHOLE_TABLE: &[(&str, &str)] = &[
    ("COUNT_BY_ACCOUNT", "the doctor counts everything"),
    ("COUNT_BY_PLAN", "once at each start, and accounts are few beside checks"),
    (
        "COUNT_OPEN_FLIPS",
        "SQLite counts different flips in their order; the operator's metrics alone ask for it",
    ),
    ("COUNT_PASSKEY_MISMATCHES", "the doctor compares everything"),
    ("COUNT_RECORDED", "a sum over all checks, for the operator's metrics"),
    ("COUNT_RUN_MISMATCHES", "the doctor compares everything"),
    ("DROP_GAPS_AHEAD", "once after a clock was set back; gaps are few"),
    ("EXTEND_GAP", "gaps are few: one for each outage of two years"),
    ("FORGET_AHEAD", "once after a clock was set back"),
    ("LIST_ACCOUNTS", "the doctor looks at everything"),
    ("LIST_MISCOUNTED", "the doctor compares everything"),
    ("LIST_OUTDATED", "once at each start, and accounts are few beside checks"),
    ("LIST_SECRETS", "one row for each server that keys were brought from"),
];

/// The names that a statement's text gives to tables, besides their own.
fn aliases<'a>(text: &'a str, tables: &BTreeSet<String>) -> BTreeMap<&'a str, &'a str> {
    let words: Vec<&str> = text.split(|byte: char| !byte.is_alphanumeric() && byte != '_').collect();
    let renamed = |three: &&[&'a str]| three[1] == "AS" && tables.contains(three[0]);
    words.windows(3).filter(renamed).map(|three| (three[2], three[0])).collect()
}

/// Indexes that hold part of a table.
fn partial_indexes() -> BTreeSet<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/sqlite");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let partial = |line: &&str| line.starts_with("CREATE INDEX") && line.contains(" WHERE ");
    text.split(';')
        .map(str::trim)
        .flat_map(|part| part.lines().last())
        .filter(partial)
        .map(|line| line.split(' ').nth(2).unwrap().to_owned())
        .collect()
}

/// The steps of a plan that read all of a table.
async fn whole_tables(
    engine: Engine,
    db: &Db,
    statement: &Statement,
    tables: &BTreeSet<String>,
) -> Vec<String> {
    let steps = db.explain(statement).await.unwrap_or_else(|error| panic!("{}: {error}", statement.name));
    let (aliases, partial) = (aliases(statement.text, tables), partial_indexes());
    let is_whole = |step: &String| match engine {
        Engine::Postgres => step.contains("Seq Scan on "),
        Engine::Sqlite => {
            let Some(rest) = step.strip_prefix("SCAN ") else { return false };
            let name = rest.split(' ').next().unwrap_or_default();
            let index =
                rest.split("INDEX ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default();
            (tables.contains(name) || aliases.contains_key(name)) && !partial.contains(index)
        }
    };
    steps.into_iter().filter(is_whole).collect()
}

on_both! {
    async fn no_statement_reads_a_whole_table_without_a_reason(engine: Engine) {
        let db = Place::new(engine).await.open().await;
        let columns = db.columns().await.unwrap();
        let tables = columns.iter().map(|column| column.split('.').next().unwrap().to_owned()).collect();
        let mut found = Vec::new();
        let mut asked = 0;
        for (store, statements) in STORES {
            for statement in *statements {
                asked += 1;
                let steps = whole_tables(engine, &db, statement, &tables).await;
                let excused = WHOLE_TABLE.iter().any(|(name, _)| *name == statement.name);
                if !steps.is_empty() && !excused {
                    found.push(format!("{store}: {}: {}", statement.name, steps.join("; ")));
                }
            }
        }
        assert!(asked > 100, "the statements were found");
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    /// Each alert names it, also where ten thousand go out at once from a project of a million.
    async fn what_else_is_down_is_looked_for_among_what_is_down(engine: Engine) {
        let db = Place::new(engine).await.open().await;
        let statements = STORES.iter().flat_map(|(_, statements)| *statements);
        let statement = statements.copied().find(|statement| statement.name == "LIST_ALSO_DOWN").unwrap();
        let steps = db.explain(statement).await.unwrap();
        assert!(steps.iter().any(|step| step.contains("checks_down")), "{steps:?}");
    }
}

#[test]
fn the_reasons_are_for_statements_that_exist() {
    let names: BTreeSet<&str> =
        STORES.iter().flat_map(|(_, statements)| statements.iter().map(|statement| statement.name)).collect();
    for (name, why) in WHOLE_TABLE {
        assert!(names.contains(name), "{name} is no statement");
        assert!(!why.is_empty());
    }
}
