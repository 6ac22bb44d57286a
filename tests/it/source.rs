//! Reads the crate's own files for the tests that hold them to a rule.
//!
//! Rust is read as tokens, as the compiler's lexer sees them: a rule is never fooled by a comment or a string, and
//! looks into macro calls too. Nothing here knows a rule; `layering` and `house` do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A file of the checkout: its path from the root, with `/`, and its text.
#[derive(Clone, Debug)]
pub struct Source {
    pub path: String,
    pub text: String,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The [`words`] of a Rust file.
    pub fn words(&self) -> Vec<String> {
        words(self.text.parse().unwrap_or_else(|error| panic!("{}: {error}", self.path)))
    }

    /// Where the module of a file under `src/` stands: `src/http/api/mod.rs` is `["http", "api"]`, the root `[]`.
    pub fn module(&self) -> Vec<String> {
        let inner = self.path.strip_prefix("src/").and_then(|path| path.strip_suffix(".rs"));
        let mut names: Vec<_> = inner.unwrap_or_default().split('/').map(str::to_owned).collect();
        if names.last().is_some_and(|name| matches!(name.as_str(), "mod" | "lib" | "main")) {
            names.pop();
        }
        names
    }
}

/// All files under a folder of the checkout whose names end in one of `endings`; none if it does not exist.
pub fn files(folder: &str, endings: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            let name =
                path.strip_prefix(root).expect("it was found under the root").to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
                found.push(Source { path: name, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    const NOT_OURS: [&str; 2] = ["node_modules", "__pycache__"];
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.file_name().is_none_or(|name| !NOT_OURS.iter().any(|not| name == *not)))
        .collect()
}

/// Method and path of every `.route(..)` under a folder, methods in capitals.
pub fn routes(folder: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for file in files(folder, &[".rs"]) {
        let words = file.words();
        let starts = words.windows(3).enumerate().filter(|(_, words)| words[..] == [".", "route", "("]);
        for (at, _) in starts {
            let path = words[at + 3].trim_matches('"');
            let mut depth = 1;
            let inside = words[at + 3..].windows(2).take_while(|words| {
                depth += match words[0].as_str() {
                    "(" => 1,
                    ")" => -1,
                    _ => 0,
                };
                depth > 0
            });
            let is_method = |word: &str| ["get", "post", "put", "delete", "patch", "any"].contains(&word);
            let methods = inside.filter(|words| words[1] == "(" && is_method(&words[0]));
            found.extend(methods.map(|words| (words[0].to_uppercase(), path.to_owned())));
        }
    }
    found
}

/// A function of the crate, unit tests left out, with the words of its body.
#[derive(Debug)]
pub struct Function {
    /// Its file, from `src/` on.
    pub file: String,
    /// The last name of its module.
    module: String,
    pub name: String,
    body: Vec<String>,
    /// The words of its file's imports.
    imports: Vec<String>,
}

impl Function {
    /// Whether its body calls `other`: by its name in the same file or where that is imported, else by its module's name
    /// and its own. Methods are not followed.
    pub fn calls(&self, other: &Self) -> bool {
        let is_imported = || {
            let mut imports = self.imports.split(|word| word == ";");
            imports.any(|one| one.contains(&other.module) && one.contains(&other.name))
        };
        let heads =
            self.body.windows(2).enumerate().filter(|(_, words)| words[0] == other.name && words[1] == "(");
        heads.map(|(at, _)| &self.body[at.saturating_sub(2)..at]).any(|before| match before {
            [.., module, path] if path == "::" => *module == other.module,
            [.., word] if word == "." || word == "fn" => false,
            _ => self.file == other.file || is_imported(),
        })
    }
}

/// All functions under `src/`.
pub fn functions() -> Vec<Function> {
    let mut found = Vec::new();
    for file in files("src", &[".rs"]) {
        let stream: TokenStream = file.text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.path));
        let mut own = Vec::new();
        collect(stream, &mut own);
        let words = file.words();
        let mut imports = Vec::new();
        for (at, _) in words.iter().enumerate().filter(|(_, word)| *word == "use") {
            imports.extend(words[at..].iter().take_while(|word| *word != ";").cloned());
            imports.push(";".to_owned());
        }
        let name = file.path.trim_start_matches("src/").to_owned();
        let module = file.module().pop().unwrap_or_default();
        found.extend(own.into_iter().map(|(function, body)| Function {
            file: name.clone(),
            module: module.clone(),
            name: function,
            body,
            imports: imports.clone(),
        }));
    }
    found
}

/// Names and bodies of the functions in a stream, those in `mod tests` left out.
fn collect(tokens: TokenStream, found: &mut Vec<(String, Vec<String>)>) {
    let (mut name, mut last) = (None, String::new());
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                if last == "fn" || last == "mod" {
                    name = Some((last == "fn", ident.to_string()));
                }
                last = ident.to_string();
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => match name.take() {
                Some((true, function)) => found.push((function, words(group.stream()))),
                Some((false, module)) if module == "tests" => {}
                _ => collect(group.stream(), found),
            },
            TokenTree::Punct(punct) if punct.as_char() == ';' => name = None,
            _ => last.clear(),
        }
    }
}

/// The tokens of a stream one by one, brackets and literals as they are written, `::` as one word.
fn words(tokens: TokenStream) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                words.push(open.to_owned());
                words.extend(self::words(group.stream()));
                words.push(close.to_owned());
            }
            TokenTree::Punct(punct)
                if punct.as_char() == ':' && words.last().is_some_and(|last| last == ":") =>
            {
                *words.last_mut().expect("it was just looked at") = "::".to_owned();
            }
            token => words.push(token.to_string()),
        }
    }
    words
}
