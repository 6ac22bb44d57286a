//! `/docs/api`: the API's description for people, made of the very JSON that programs read. It needs no account and
//! never changes while the program runs.

use std::fmt::Write;
use std::sync::LazyLock;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::Value;

use crate::http::api::openapi::description;

#[derive(Template)]
#[template(path = "web/api_reference.html")]
struct Page {
    about: Prose,
    parts: Vec<Part>,
    shapes: Vec<Shape>,
}

/// A text in which some words are code.
type Prose = Vec<Run>;

struct Run {
    text: String,
    is_code: bool,
}

/// Operations on one kind of thing.
struct Part {
    name: String,
    about: Prose,
    operations: Vec<Operation>,
}

struct Operation {
    id: String,
    method: String,
    path: String,
    summary: String,
    about: Prose,
    keys: &'static str,
    /// What the path, the query and the headers may hold.
    parameters: Vec<Row>,
    /// The shape of the body.
    body: Option<String>,
    answers: Vec<Answer>,
}

struct Answer {
    status: String,
    about: Prose,
    /// The shape of the body; empty where there is none.
    shape: String,
    headers: Vec<String>,
}

/// A type of bodies and answers.
struct Shape {
    name: String,
    about: Prose,
    rows: Vec<Row>,
}

/// A field or a parameter.
struct Row {
    name: String,
    kind: String,
    is_required: bool,
    about: Prose,
}

pub async fn show() -> Response {
    static PAGE: LazyLock<Page> =
        LazyLock::new(|| Page::of(&serde_json::to_value(description()).unwrap_or_default()));
    super::page(StatusCode::OK, &*PAGE)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A text with its code, which stands between backticks.
fn prose(text: &str) -> Prose {
    let runs = text.split('`').enumerate().filter(|(_, text)| !text.is_empty());
    runs.map(|(at, text)| Run { text: text.to_owned(), is_code: at % 2 == 1 }).collect()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

impl Page {
    fn of(json: &Value) -> Self {
        let base = text(&json["servers"][0]["url"]);
        let part = |tag: &Value| Part {
            name: text(&tag["name"]),
            about: prose(&text(&tag["description"])),
            operations: operations(json, &base, &tag["name"]),
        };
        let shape = |(name, schema): (&String, &Value)| Shape {
            name: name.clone(),
            about: prose(&text(&schema["description"])),
            rows: rows(json, schema),
        };
        Self {
            about: prose(&text(&json["info"]["description"])),
            parts: items(&json["tags"]).map(part).collect(),
            shapes: members(&json["components"]["schemas"]).map(shape).collect(),
        }
    }
}

fn operations(json: &Value, base: &str, tag: &Value) -> Vec<Operation> {
    let all = members(&json["paths"])
        .flat_map(|(path, item)| members(item).map(move |(method, operation)| (path, method, operation)));
    let of_tag = all.filter(|(_, _, operation)| items(&operation["tags"]).any(|one| one == tag));
    of_tag
        .map(|(path, method, operation)| Operation {
            id: text(&operation["operationId"]),
            method: method.to_uppercase(),
            path: format!("{base}{path}"),
            summary: text(&operation["summary"]),
            about: prose(&text(&operation["description"])),
            keys: keys(&operation["security"]),
            parameters: items(&operation["parameters"]).map(parameter).collect(),
            body: members(&operation["requestBody"]["content"])
                .map(|(_, content)| kind(&content["schema"]))
                .next(),
            answers: members(&operation["responses"]).map(answer).collect(),
        })
        .collect()
}

/// Which keys open an operation, in words.
fn keys(security: &Value) -> &'static str {
    let takes = |name: &str| items(security).any(|key| key.get(name).is_some());
    match (takes("key"), takes("readonly_key"), takes("metrics_key")) {
        (_, true, _) => "Any key of the project.",
        (true, ..) => "A key that may write.",
        (.., true) => "The operator's key.",
        _ => "No key.",
    }
}

fn parameter(parameter: &Value) -> Row {
    let place = text(&parameter["in"]);
    let mut kind = kind(&parameter["schema"]);
    let _ = write!(kind, ", in the {place}");
    Row {
        name: text(&parameter["name"]),
        kind,
        is_required: parameter["required"] == true,
        about: prose(&text(&parameter["description"])),
    }
}

fn answer((status, answer): (&String, &Value)) -> Answer {
    let shape = members(&answer["content"]).map(|(media, content)| match media.as_str() {
        "application/json" => kind(&content["schema"]),
        media => media.to_owned(),
    });
    Answer {
        status: status.clone(),
        about: prose(&text(&answer["description"])),
        shape: shape.collect::<Vec<_>>().join(" or "),
        // What browsers are told is the same everywhere, and said above.
        headers: members(&answer["headers"])
            .map(|(name, _)| name.clone())
            .filter(|name| !name.starts_with("Access-Control-"))
            .collect(),
    }
}

/// The fields of a type, with those of the types that it is made of.
fn rows(json: &Value, schema: &Value) -> Vec<Row> {
    if let Some(name) = schema["$ref"].as_str().and_then(|to| to.rsplit('/').next()) {
        return rows(json, &json["components"]["schemas"][name]);
    }
    let is_required = |name: &str| items(&schema["required"]).any(|one| one == name);
    let row = |(name, field): (&String, &Value)| Row {
        name: name.clone(),
        kind: kind(field),
        is_required: is_required(name),
        about: prose(&about(field)),
    };
    let mut found: Vec<Row> = members(&schema["properties"]).map(row).collect();
    found.extend(items(&schema["allOf"]).flat_map(|part| rows(json, part)));
    let one_of = items(&schema["oneOf"]).flat_map(|part| rows(json, part));
    // Which of them are there depends on the others.
    found.extend(one_of.map(|row| Row { is_required: false, ..row }));
    found
}

/// A schema in a few words.
fn kind(schema: &Value) -> String {
    if let Some(to) = schema["$ref"].as_str() {
        return to.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let words: Vec<&str> = match &schema["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let choices: Vec<String> = items(&schema["enum"]).map(Value::to_string).collect();
    let alternatives: Vec<String> = items(&schema["oneOf"]).map(kind).collect();
    match words.as_slice() {
        _ if !choices.is_empty() => choices.join(" or "),
        _ if !alternatives.is_empty() => alternatives.join(" or "),
        ["array"] => format!("array of {}", kind(&schema["items"])),
        ["object"] if schema["additionalProperties"].is_object() => {
            format!("object of {}", kind(&schema["additionalProperties"]))
        }
        [] => "any".to_owned(),
        words => words.join(" or "),
    }
}

/// What a field means, and the limits of its value.
fn about(field: &Value) -> String {
    let mut about = text(&field["description"]);
    if let Some(most) = field["maxLength"].as_u64() {
        let _ = write!(about, " At most {most} characters.");
    }
    if let (Some(least), Some(most)) = (field["minimum"].as_i64(), field["maximum"].as_i64()) {
        let _ = write!(about, " {least} to {most}.");
    }
    if field["deprecated"] == true {
        about.push_str(" Deprecated.");
    }
    about.trim_start().to_owned()
}
