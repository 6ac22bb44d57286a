//! The modules stand in layers, and each uses only modules of earlier layers.
//!
//! An edge is any path into another module of the crate: `crate::a::b`, a grouped import, a `super` that leaves its
//! top-level module, wherever it stands, macro calls and unit tests included. Forward to a later layer, sideways
//! within one, or to a module without a layer it fails; so a new module is first given its place here.

use std::collections::BTreeSet;

use crate::source::{Source, files};

/// Each line may use the lines before it, and nothing on its own.
const LAYERS: &[&[&str]] = &[
    &["time"],
    &["id"],
    &["error"],
    &["config"],
    &["db", "net", "mail", "metrics"],
    &["schedule", "caller"],
    &["rate"],
    &["accounts"],
    &["checks"],
    &["badges"],
    &["alerts"],
    &["pings", "sweep", "signup", "import", "plans", "pause", "provision", "removal", "usage", "export"],
    &["retention", "reports", "demo", "moving"],
    &["recorder"],
    &["app"],
    &["jobs", "http", "smtp", "cli"],
    &["serve"],
];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

#[test]
fn modules_use_only_earlier_layers() {
    let sources = files("src", &[".rs"]);
    assert!(sources.iter().any(|source| source.path == "src/lib.rs"), "src was not found");
    let broken: Vec<_> = sources.iter().flat_map(broken_edges).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// What is wrong with a file's place and paths, one line each. `lib.rs` and `main.rs` stand on everything.
fn broken_edges(source: &Source) -> Vec<String> {
    let module = source.module();
    let Some(own) = module.first() else { return Vec::new() };
    let Some(own_layer) = layer(own) else {
        return vec![format!("{}: `{own}` is in no layer", source.path)];
    };
    let used = used_modules(&source.words(), module.len());
    used.into_iter()
        .filter(|name| name != own)
        .filter_map(|name| match layer(&name) {
            None => Some(format!("{}: `{name}` is in no layer", source.path)),
            Some(layer) if layer == own_layer => Some(format!("{}: sideways to `{name}`", source.path)),
            Some(layer) if layer > own_layer => Some(format!("{}: forward to `{name}`", source.path)),
            Some(_) => None,
        })
        .collect()
}

/// The crate's top-level names that a file's paths reach; from its outermost level `depth` `super`s lead to the root.
fn used_modules(words: &[String], depth: usize) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let mut braces = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match word.as_str() {
            "{" => braces.push(at >= 2 && words[at - 2] == "mod"),
            "}" => drop(braces.pop()),
            "crate" if next_is(words, at, "::") => reach(words, at + 2, 0, &mut used),
            "super" => {
                reach(words, at, depth + braces.iter().filter(|is_module| **is_module).count(), &mut used)
            }
            _ => {}
        }
    }
    used
}

/// Follows the path, or each path of the group, that goes on at `at`, and takes the name it names in the root;
/// `up` is how many levels the root is away. A chain of `super`s that is too short stays below the root.
fn reach(words: &[String], at: usize, up: usize, used: &mut BTreeSet<String>) {
    match words.get(at).map(String::as_str) {
        Some("{") => group_starts(words, at).into_iter().for_each(|start| reach(words, start, up, used)),
        Some("super") if up > 0 && next_is(words, at, "::") => reach(words, at + 2, up - 1, used),
        Some(name) if up == 0 => drop(used.insert(name.to_owned())),
        _ => {}
    }
}

/// Where the members of the group that opens at `open` begin.
fn group_starts(words: &[String], open: usize) -> Vec<usize> {
    let mut starts = vec![open + 1];
    let mut nesting = 0;
    for (at, word) in words.iter().enumerate().skip(open) {
        match word.as_str() {
            "{" => nesting += 1,
            "}" => nesting -= 1,
            "," if nesting == 1 => starts.push(at + 1),
            _ => {}
        }
        if nesting == 0 {
            break;
        }
    }
    starts.retain(|start| words.get(*start).is_some_and(|word| word != "}"));
    starts
}

fn next_is(words: &[String], at: usize, word: &str) -> bool {
    words.get(at + 1).is_some_and(|next| next == word)
}

/// The judgement on a snippet as if it stood at `path`, without the path.
fn judge(path: &str, text: &str) -> Vec<String> {
    let lines = broken_edges(&Source::new(path, text));
    lines.into_iter().map(|line| line.trim_start_matches(path).trim_start_matches(": ").to_owned()).collect()
}

#[test]
fn an_edge_that_breaks_the_layers_is_found_however_it_is_written() {
    let table: &[(&str, &str, &[&str])] = &[
        ("src/checks/mod.rs", "use crate::alerts;", &["forward to `alerts`"]),
        ("src/checks/mod.rs", "use crate::{time::Time, http::api::Page};", &["forward to `http`"]),
        ("src/checks/mod.rs", "use {crate::{db::{self, Db}, app}, std::fmt};", &["forward to `app`"]),
        ("src/checks/mod.rs", "fn f() { crate::pings::take(1) }", &["forward to `pings`"]),
        ("src/checks/mod.rs", "fn f() { g!({ x: crate::pings::X }) }", &["forward to `pings`"]),
        ("src/checks/mod.rs", "macro_rules! m { () => { $crate::cli::run() } }", &["forward to `cli`"]),
        ("src/checks/mod.rs", "pub use super::alerts::flipped;", &["forward to `alerts`"]),
        ("src/checks/store.rs", "use super::super::{alerts, time};", &["forward to `alerts`"]),
        ("src/checks/store.rs", "use super::{State, super::alerts};", &["forward to `alerts`"]),
        ("src/checks/mod.rs", "mod tests { use super::super::alerts::X; }", &["forward to `alerts`"]),
        ("src/checks/mod.rs", "#[cfg(test)] mod tests { use crate::serve; }", &["forward to `serve`"]),
        ("src/sweep.rs", "use crate::pings::Ping;", &["sideways to `pings`"]),
        ("src/http/mod.rs", "use crate::{jobs, smtp};", &["sideways to `jobs`", "sideways to `smtp`"]),
        ("src/id.rs", "use crate::error::Error;", &["forward to `error`"]),
        ("src/checks/mod.rs", "use crate::shortcuts::x;", &["`shortcuts` is in no layer"]),
        ("src/checks/mod.rs", "use crate::*;", &["`*` is in no layer"]),
        ("src/shortcuts.rs", "", &["`shortcuts` is in no layer"]),
        ("src/shortcuts/deep/mod.rs", "", &["`shortcuts` is in no layer"]),
    ];
    for (path, text, expected) in table {
        assert_eq!(judge(path, text), *expected, "{path}: {text}");
    }
}

#[test]
fn an_edge_that_keeps_the_layers_is_left_alone() {
    let table = [
        (
            "src/checks/mod.rs",
            "use crate::{accounts::{Account, Plan}, db::WriteTx, time::Time}; use axum::http;",
        ),
        (
            "src/checks/store.rs",
            "use super::State; use crate::checks::state::step; use super::super::time::Time;",
        ),
        (
            "src/checks/state.rs",
            "pub(crate) fn f() {} mod tests { use super::*; use super::super::alerts::Within; }",
        ),
        (
            "src/checks/mod.rs",
            "// use crate::http;\n/// See `crate::alerts`.\nfn f() { g(\"crate::alerts\", '{') }",
        ),
        ("src/error.rs", "use crate::{id, time::Time};"),
        ("src/lib.rs", "pub mod http; mod tests { use super::*; }"),
        ("src/main.rs", "fn main() { flatline::serve::run() }"),
    ];
    for (path, text) in table {
        assert_eq!(judge(path, text), Vec::<String>::new(), "{path}: {text}");
    }
}
