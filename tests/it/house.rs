//! The rules of the house that the compiler cannot keep: where SQL and engine names may stand, how long a file may be,
//! what a page may not contain.
//!
//! Each rule is a function from a file to what it finds there, so that a table can show what it catches.

use crate::source::{Source, files};

const MOST_LINES: usize = 500;

#[track_caller]
fn none_found(findings: impl Iterator<Item = String>) {
    let findings: Vec<_> = findings.collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// What a rule finds in files, each line with its file.
fn found(files: &[Source], rule: fn(&Source) -> Vec<String>) -> impl Iterator<Item = String> {
    files
        .iter()
        .flat_map(move |file| rule(file).into_iter().map(move |line| format!("{}: {line}", file.path)))
}

#[test]
fn sql_stands_in_stores_and_engines_are_named_in_db_alone() {
    let sources = files("src", &[".rs"]);
    none_found(found(&sources, sql_outside_stores).chain(found(&sources, engines_outside_db)));
}

fn in_db(file: &Source) -> bool {
    file.path.starts_with("src/db/") || file.path == "src/db.rs"
}

fn sql_outside_stores(file: &Source) -> Vec<String> {
    if in_db(file) || file.path.ends_with("/store.rs") {
        return Vec::new();
    }
    string_literals(&file.words()).into_iter().filter(|text| is_sql(text)).collect()
}

/// The string literals, without those that doc comments become.
fn string_literals(words: &[String]) -> Vec<String> {
    let literals =
        words.iter().enumerate().filter(|(_, word)| word.ends_with(['"', '#']) && word.contains('"'));
    let said = literals.filter(|(at, _)| *at < 2 || words[at - 2] != "doc");
    said.map(|(_, word)| word.trim_start_matches(['b', 'c', 'r', '#']).trim_matches(['"', '#']).to_owned())
        .collect()
}

/// A statement, or the head of one, in capitals or in small letters; a sentence such as "Select a plan" is none.
fn is_sql(text: &str) -> bool {
    const PAIRS: [(&str, &str); 10] = [
        ("SELECT", ""),
        ("INSERT", "INTO"),
        ("UPDATE", "SET"),
        ("DELETE", "FROM"),
        ("CREATE", "TABLE"),
        ("CREATE", "INDEX"),
        ("ALTER", "TABLE"),
        ("DROP", "TABLE"),
        ("WITH", "SELECT"),
        ("PRAGMA", ""),
    ];
    let words: Vec<_> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    let Some((first, rest)) = words.split_first() else { return false };
    PAIRS.iter().any(|(verb, second)| {
        let capitals = first == verb && (second.is_empty() || rest.contains(second));
        let small = *first == verb.to_lowercase()
            && rest.contains(
                &if second.is_empty() { "from".to_owned() } else { second.to_lowercase() }.as_str(),
            );
        capitals || small
    })
}

fn engines_outside_db(file: &Source) -> Vec<String> {
    let is_engine = |word: &String| {
        let typed = word.starts_with("Pg") && word.chars().nth(2).is_some_and(char::is_uppercase);
        let named =
            word.starts_with(char::is_alphabetic) && (word.contains("Sqlite") || word.contains("Postgres"));
        !word.contains('"') && (typed || named || word == "sqlite" || word == "postgres")
    };
    if in_db(file) { Vec::new() } else { file.words().into_iter().filter(is_engine).collect() }
}

#[test]
fn no_file_is_longer_than_a_reader_likes() {
    let folders = ["src", "tests", "benches", "templates", "static", "migrations"];
    let endings = [".rs", ".html", ".txt", ".css", ".js", ".mjs", ".py", ".sh", ".sql"];
    none_found(folders.iter().flat_map(|folder| files(folder, &endings)).filter_map(|file| {
        let lines = file.text.lines().count();
        (lines > MOST_LINES).then(|| format!("{}: {lines} lines", file.path))
    }));
}

#[test]
fn pages_hold_no_inline_code_and_nothing_that_an_ad_blocker_knows() {
    let pages = files("templates", &[".html"]);
    let loaded = files("static", &[".css", ".js"]);
    none_found(
        found(&pages, inline_code)
            .chain(found(&pages, blocked_in_page))
            .chain(found(&loaded, blocked_in_static)),
    );
}

/// The attributes of a template with their values, names in small letters.
fn attributes(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for quote in ['"', '\''] {
        for (at, mark) in text.match_indices(&format!("={quote}")) {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "-_:@.".contains(c);
            let name = text[..at].rsplit(|c| !is_name(c)).next().unwrap_or_default();
            let value = text[at + mark.len()..].split(quote).next().unwrap_or_default();
            found.push((name.to_ascii_lowercase(), value.to_owned()));
        }
    }
    found
}

/// Mail is the exception for styles: its readers throw style sheets away.
fn inline_code(page: &Source) -> Vec<String> {
    let is_mail = page.path.starts_with("templates/mail/");
    let small = page.text.to_ascii_lowercase();
    let mut findings = Vec::new();
    for (name, value) in attributes(&page.text) {
        let handler = name.len() > 3 && name.starts_with("on") && name.chars().all(char::is_alphanumeric);
        if handler
            || (name == "style" && !is_mail)
            || value.trim_start().to_ascii_lowercase().starts_with("javascript:")
        {
            findings.push(format!("{name}=\"{value}\""));
        }
    }
    if small.contains("<style") && !is_mail {
        findings.push("<style>".to_owned());
    }
    let tags = small.split("<script").skip(1).filter_map(|tag| tag.split('>').next());
    findings.extend(tags.filter(|tag| !tag.contains("src=")).map(|tag| format!("<script{tag}>")));
    findings
}

const BLOCKED_WORDS: [&str; 11] = [
    "ad",
    "ads",
    "adv",
    "advert",
    "sponsor",
    "sponsored",
    "promo",
    "cookie",
    "cookies",
    "consent",
    "newsletter",
];
const BLOCKED_FIRST_WORDS: [&str; 2] = ["share", "social"];
const BLOCKED_IN_URLS: [&str; 9] = [
    "/ping?",
    "/log?",
    "/api/collect",
    "/api/events",
    "/api/v1/metrics",
    "beacon",
    "Beacon",
    "analytics",
    "tracking",
];

/// A class or id that filter lists hide: one of its words, or its first word with others behind it.
fn is_blocked_name(name: &str) -> bool {
    let small = name.to_ascii_lowercase();
    let mut words = small.split(['-', '_']);
    words.clone().any(|word| BLOCKED_WORDS.contains(&word))
        || (words.next().is_some_and(|first| BLOCKED_FIRST_WORDS.contains(&first)) && words.next().is_some())
}

fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').filter(|name| !name.is_empty())
}

fn blocked_in_page(page: &Source) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, value) in attributes(&page.text) {
        match name.as_str() {
            "class" | "id" => {
                findings.extend(names_in(&value).filter(|name| is_blocked_name(name)).map(str::to_owned))
            }
            "href" | "src" | "srcset" | "action" | "formaction" => findings.extend(blocked_urls(&value)),
            name if name.starts_with("data-") => findings.extend(blocked_urls(&value)),
            _ => {}
        }
    }
    findings
}

fn blocked_urls(text: &str) -> impl Iterator<Item = String> {
    BLOCKED_IN_URLS.iter().filter(|part| text.contains(**part)).map(|part| (*part).to_owned())
}

/// In a style sheet or script a name is what follows `.` or `#`; the file's own name is part of a URL.
fn blocked_in_static(file: &Source) -> Vec<String> {
    let after_marks =
        file.text.split(['.', '#']).skip(1).filter(|rest| rest.starts_with(|c: char| !c.is_whitespace()));
    let names = after_marks.filter_map(|rest| names_in(rest).next().filter(|name| rest.starts_with(name)));
    let own_name = file.path.split(['/', '.']);
    let mut findings: Vec<_> =
        names.chain(own_name).filter(|name| is_blocked_name(name)).map(str::to_owned).collect();
    findings.extend(blocked_urls(&file.text));
    findings
}

#[test]
fn sql_and_engine_names_are_found_where_they_do_not_belong() {
    let sql = |text: &str| sql_outside_stores(&Source::new("src/checks/mod.rs", text)).len();
    for text in [
        r##"fn f() { tx.query("SELECT id FROM checks") }"##,
        r##"const X: &str = r#"  UPDATE checks SET name = $1"#;"##,
        r##"fn f() { g!("insert into checks values ($1)") }"##,
        r##"const X: &str = "SELECT 1";"##,
        r##"const X: &str = "delete from checks";"##,
        r##"const X: &str = "PRAGMA data_version";"##,
        "const X: &str = \"\n    WITH due AS (SELECT 1) SELECT 2\";",
    ] {
        assert_eq!(sql(text), 1, "{text}");
    }
    for text in [
        r##"/// Runs `SELECT id FROM checks`."##,
        r##"const X: &str = "Select a plan from the list";"##,
        r##"const X: &str = "update the setting";"##,
        r##"const X: &str = "selected from the list";"##,
        r##"fn f() { update(set) }"##,
    ] {
        assert_eq!(sql(text), 0, "{text}");
    }
    let statement = r##"const X: &str = "SELECT 1";"##;
    for path in ["src/checks/store.rs", "src/http/api/store.rs", "src/db/open.rs"] {
        assert_eq!(sql_outside_stores(&Source::new(path, statement)), Vec::<String>::new());
    }

    let engines = |path: &str, text: &str| engines_outside_db(&Source::new(path, text));
    assert_eq!(
        engines("src/app.rs", "use sqlx::PgPool; fn f(e: Engine) { e == Engine::Sqlite }"),
        ["PgPool", "Sqlite"]
    );
    assert_eq!(engines("src/app.rs", "use sqlx::postgres::PostgresRow;"), ["postgres", "PostgresRow"]);
    assert_eq!(
        engines("src/app.rs", "/// Postgres\nconst X: &str = \"Sqlite\"; struct Pg; struct Pgp;"),
        [""; 0]
    );
    assert_eq!(engines("src/db/open.rs", "use sqlx::SqlitePool;"), [""; 0]);
}

#[test]
fn inline_code_and_blocked_names_are_found_in_pages() {
    let table: &[(&str, &[&str])] = &[
        (r#"<p style="color:red">"#, &[r#"style="color:red""#]),
        (r#"<p OnClick='go()'>"#, &[r#"onclick="go()""#]),
        (r#"<a href="JavaScript:go()">"#, &[r#"href="JavaScript:go()""#]),
        ("<style>p{}</style>", &["<style>"]),
        ("<script>go()</script>", &["<script>"]),
        (r#"<script defer src="/static/app.js"></script><p on="y">"#, &[]),
        (r#"<div class="row {% if a %}top-ad{% endif %}" id='cookie_bar'>"#, &["top-ad", "cookie_bar"]),
        (
            r#"<div class="share-link social shared badge advanced add"><i id="promo">"#,
            &["share-link", "promo"],
        ),
        (
            r#"<a href="/log?count=20"><img src="/x/beacon.gif"><b data-url="/ping?x">"#,
            &["/log?", "beacon", "/ping?"],
        ),
        (r#"<p>The /log?x of tracking</p><a href="/ping/{{ id }}">"#, &[]),
    ];
    for (text, expected) in table {
        let page = Source::new("templates/page.html", text);
        let mut found = inline_code(&page);
        found.extend(blocked_in_page(&page));
        found.sort_by_key(|finding| expected.iter().position(|expected| expected == finding));
        assert_eq!(found, *expected, "{text}");
    }
    let mail = Source::new("templates/mail/down.html", r#"<style>p{}</style><p style="margin:0">"#);
    assert_eq!(inline_code(&mail), [""; 0]);

    let blocked = |path: &str, text: &str| blocked_in_static(&Source::new(path, text));
    assert_eq!(
        blocked("static/app.css", "a.top-ad, #newsletter { margin: 0.5em; color: #add } .advanced {}"),
        ["top-ad", "newsletter"]
    );
    assert_eq!(blocked("static/app.js", "navigator.sendBeacon('/x')"), ["Beacon"]);
    assert_eq!(blocked("static/promo.js", "fetch('/events')"), ["promo"]);
}
