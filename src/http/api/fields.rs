//! Posted bodies: their members are judged by the very schema that the API's description shows of them, in the
//! contract's words (`CONTRACT` 3.4). Pure.
//!
//! Fields are judged in the order in which their type lists them, and only the first that fails is reported, so
//! that the same body always gets the same answer. A member without a field is ignored, whatever it holds.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::PartialSchema;
use utoipa::openapi::schema::{ArrayItems, SchemaFormat, SchemaType, Type};
use utoipa::openapi::{Object, RefOr, Schema};

use crate::checks::Settings;
use crate::schedule::Zone;

/// Reads a body as `T`.
///
/// # Errors
/// What is wrong with the first field that fails: its name and the contract's words.
pub fn read<T: PartialSchema + DeserializeOwned>(body: &Map<String, Value>) -> Result<T, String> {
    let RefOr::T(Schema::Object(fields)) = T::schema() else {
        return Err("it is no object".to_owned());
    };
    for (field, schema) in &fields.properties {
        if let (Some(value), RefOr::T(schema)) = (body.get(field), schema) {
            judge(schema, value).map_err(|what| match what {
                Wrong::Field(what) => format!("{field} {what}"),
                Wrong::Item(what) => format!("an item in '{field}' {what}"),
            })?;
        }
    }
    // What was judged good can be read; should the two ever differ, the reader's own words say where.
    serde_json::from_value(Value::Object(body.clone())).map_err(|error| error.to_string())
}

/// What the words are about.
enum Wrong {
    Field(&'static str),
    Item(&'static str),
}

fn judge(schema: &Schema, value: &Value) -> Result<(), Wrong> {
    match schema {
        Schema::Object(rules) => judge_one(rules, value).map_err(Wrong::Field),
        Schema::Array(rules) => {
            let items = value.as_array().ok_or(Wrong::Field("is not an array"))?;
            let ArrayItems::RefOrSchema(rules) = &rules.items else { return Ok(()) };
            let RefOr::T(Schema::Object(rules)) = rules.as_ref() else { return Ok(()) };
            items.iter().try_for_each(|item| judge_one(rules, item).map_err(Wrong::Item))
        }
        _ => Ok(()),
    }
}

fn judge_one(rules: &Object, value: &Value) -> Result<(), &'static str> {
    if let Some(allowed) = &rules.enum_values {
        return if allowed.contains(value) { Ok(()) } else { Err("has unexpected value") };
    }
    match rules.schema_type {
        SchemaType::Type(Type::String) => judge_text(rules, value.as_str().ok_or("is not a string")?),
        SchemaType::Type(Type::Boolean) if !value.is_boolean() => Err("is not a boolean"),
        SchemaType::Type(Type::Integer) => judge_number(rules, whole(value).ok_or("is not a number")?),
        _ => Ok(()),
    }
}

fn judge_text(rules: &Object, text: &str) -> Result<(), &'static str> {
    if rules.max_length.is_some_and(|most| text.chars().count() > most) {
        return Err("is too long");
    }
    if text.contains('\0') {
        // PostgreSQL cannot store it, and no text needs it.
        return Err("contains a NUL character");
    }
    let Some(SchemaFormat::Custom(format)) = &rules.format else { return Ok(()) };
    match format.as_str() {
        "slug" if !is_slug(text) => Err("does not match pattern"),
        "schedule" if !is_schedule(text) => Err("is not a valid cron or OnCalendar expression"),
        "timezone" if Zone::parse(text).is_err() => Err("is not a valid timezone"),
        _ => Ok(()),
    }
}

fn judge_number(rules: &Object, number: i64) -> Result<(), &'static str> {
    let limit = |bound: &Option<utoipa::Number>| match bound {
        Some(utoipa::Number::Int(bound)) => i64::try_from(*bound).ok(),
        Some(utoipa::Number::UInt(bound)) => i64::try_from(*bound).ok(),
        _ => None,
    };
    if limit(&rules.minimum).is_some_and(|least| number < least) {
        return Err("is too small");
    }
    if limit(&rules.maximum).is_some_and(|most| number > most) {
        return Err("is too large");
    }
    Ok(())
}

/// A whole number, written as one. A boolean is the number that it is in the language of the reference.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Bool(flag) => Some(i64::from(*flag)),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            Some(number.as_i64().unwrap_or(i64::MAX))
        }
        _ => None,
    }
}

fn is_slug(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte))
}

fn is_schedule(text: &str) -> bool {
    let kind = super::spec::kind_of(text);
    let settings = Settings { kind, schedule: text.to_owned(), ..Settings::default() };
    settings.schedule().is_ok_and(|schedule| !schedule.never_runs())
}
