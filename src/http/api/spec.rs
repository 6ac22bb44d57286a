//! The fields of a posted check: types, limits and the contract's words for what is wrong with them. Pure.
//!
//! Fields are judged in the order of their names, and only the first that fails is reported, so that the same
//! body always gets the same answer.

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;

use crate::checks::{Kind, Likeness, Settings};
use crate::schedule::Zone;
use crate::time::Span;

const SECONDS_MIN: i64 = 60;
const SECONDS_MAX: i64 = 31_536_000;
const TAGS_MAX: usize = 500;
const UNIQUE_FIELDS: [&str; 5] = ["name", "slug", "tags", "timeout", "grace"];

/// What a body asks for; `None` where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub channels: Option<String>,
    pub desc: Option<String>,
    pub failure_kw: Option<String>,
    pub filter_subject: Option<bool>,
    pub filter_body: Option<bool>,
    pub filter_http_body: Option<bool>,
    pub filter_default_fail: Option<bool>,
    pub grace: Option<Span>,
    pub manual_resume: Option<bool>,
    pub methods: Option<String>,
    pub name: Option<String>,
    pub schedule: Option<String>,
    pub slug: Option<String>,
    pub start_kw: Option<String>,
    pub subject: Option<String>,
    pub subject_fail: Option<String>,
    pub success_kw: Option<String>,
    pub tags: Option<String>,
    pub timeout: Option<Span>,
    pub tz: Option<String>,
    pub unique: Vec<&'static str>,
}

/// Reads the members of one body, naming what is wrong.
struct Reader<'a>(&'a Map<String, Value>);

impl Spec {
    /// Reads a body.
    ///
    /// # Errors
    /// The contract's sentence about the first field that fails.
    pub fn read(body: &Map<String, Value>) -> Result<Self, String> {
        let from = Reader(body);
        Ok(Self {
            channels: from.text("channels", usize::MAX)?,
            desc: from.text("desc", usize::MAX)?,
            failure_kw: from.text("failure_kw", 200)?,
            filter_subject: from.flag("filter_subject")?,
            filter_body: from.flag("filter_body")?,
            filter_http_body: from.flag("filter_http_body")?,
            filter_default_fail: from.flag("filter_default_fail")?,
            grace: from.seconds("grace")?,
            manual_resume: from.flag("manual_resume")?,
            methods: from.methods()?,
            name: from.text("name", 100)?,
            schedule: from.schedule()?,
            slug: from.slug()?,
            start_kw: from.text("start_kw", 200)?,
            subject: from.text("subject", 200)?,
            subject_fail: from.text("subject_fail", 200)?,
            success_kw: from.text("success_kw", 200)?,
            tags: from.text("tags", TAGS_MAX)?,
            timeout: from.seconds("timeout")?,
            tz: from.zone()?,
            unique: from.unique()?,
        })
    }

    /// Writes what was asked for over `settings`; what was not mentioned stays. `version` is the API's.
    pub fn apply(&self, settings: &mut Settings, version: u8) {
        if let Some(name) = &self.name {
            settings.name.clone_from(name);
            if version < 3 {
                settings.slug = slug_of(name);
            }
        }
        set(&mut settings.slug, self.slug.as_ref());
        set(&mut settings.tags, self.tags.as_ref());
        set(&mut settings.description, self.desc.as_ref());
        set(&mut settings.methods, self.methods.as_ref());
        set(&mut settings.manual_resume, self.manual_resume.as_ref());
        set(&mut settings.grace_ms, self.grace.as_ref());
        set(&mut settings.zone, self.tz.as_ref());
        self.apply_schedule(settings);
        self.apply_keywords(settings);
    }

    /// What to look for before a check is made: the fields that `unique` lists, if it lists any and all are there.
    pub fn likeness(&self) -> Option<Likeness> {
        let mut like = Likeness::default();
        for field in &self.unique {
            match *field {
                "name" => like.name = Some(self.name.clone()?),
                "slug" => like.slug = Some(self.slug.clone()?),
                "tags" => like.tags = Some(self.tags.clone()?),
                "timeout" => like.period = Some(self.timeout?),
                _ => like.grace = Some(self.grace?),
            }
        }
        (!self.unique.is_empty()).then_some(like)
    }

    fn apply_schedule(&self, settings: &mut Settings) {
        if let Some(schedule) = &self.schedule {
            settings.kind = kind_of(schedule);
            settings.schedule.clone_from(schedule);
        } else if let Some(timeout) = self.timeout {
            settings.kind = Kind::Simple;
            settings.period_ms = timeout;
        }
    }

    fn apply_keywords(&self, settings: &mut Settings) {
        set(&mut settings.start_kw, self.start_kw.as_ref());
        set(&mut settings.success_kw, self.subject.as_ref());
        set(&mut settings.failure_kw, self.subject_fail.as_ref());
        if self.subject.is_some() || self.subject_fail.is_some() {
            settings.filter_subject = !settings.success_kw.is_empty() || !settings.failure_kw.is_empty();
        }
        set(&mut settings.success_kw, self.success_kw.as_ref());
        set(&mut settings.failure_kw, self.failure_kw.as_ref());
        set(&mut settings.filter_subject, self.filter_subject.as_ref());
        set(&mut settings.filter_body, self.filter_body.as_ref());
        set(&mut settings.filter_http_body, self.filter_http_body.as_ref());
        set(&mut settings.filter_default_fail, self.filter_default_fail.as_ref());
    }
}

fn set<T: Clone>(to: &mut T, from: Option<&T>) {
    if let Some(from) = from {
        to.clone_from(from);
    }
}

/// One line of five items is cron, everything else OnCalendar.
fn kind_of(schedule: &str) -> Kind {
    let is_line = !schedule.trim().contains('\n');
    if is_line && schedule.split_whitespace().count() == 5 { Kind::Cron } else { Kind::OnCalendar }
}

/// The slug that versions 1 and 2 make of a name.
pub fn slug_of(name: &str) -> String {
    let ascii = name.nfkd().filter(char::is_ascii).map(|letter| letter.to_ascii_lowercase());
    let mut slug = String::new();
    for letter in ascii {
        match letter {
            'a'..='z' | '0'..='9' | '_' => slug.push(letter),
            '-' | ' ' | '\t' | '\n' | '\r' if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    slug.trim_matches(['-', '_']).to_owned()
}

fn wrong(field: &str, what: &str) -> String {
    format!("json validation error: {field} {what}")
}

impl Reader<'_> {
    fn text(&self, field: &str, chars_max: usize) -> Result<Option<String>, String> {
        let Some(value) = self.0.get(field) else { return Ok(None) };
        let text = value.as_str().ok_or_else(|| wrong(field, "is not a string"))?;
        if text.chars().count() > chars_max {
            return Err(wrong(field, "is too long"));
        }
        if text.contains('\0') {
            // PostgreSQL cannot store it, and no text needs it.
            return Err(wrong(field, "contains a NUL character"));
        }
        Ok(Some(text.to_owned()))
    }

    fn flag(&self, field: &str) -> Result<Option<bool>, String> {
        let Some(value) = self.0.get(field) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| wrong(field, "is not a boolean"))
    }

    fn seconds(&self, field: &str) -> Result<Option<Span>, String> {
        let Some(value) = self.0.get(field) else { return Ok(None) };
        let seconds = match value {
            Value::Bool(flag) => i64::from(*flag),
            Value::Number(number) if number.is_i64() || number.is_u64() => {
                number.as_i64().unwrap_or(i64::MAX)
            }
            // An integer too large for 64 bits is still a number, and too large.
            Value::Number(number) if number.to_string().bytes().all(|byte| byte.is_ascii_digit()) => i64::MAX,
            _ => return Err(wrong(field, "is not a number")),
        };
        match seconds {
            ..SECONDS_MIN => Err(wrong(field, "is too small")),
            SECONDS_MIN..=SECONDS_MAX => Ok(Some(Span::seconds(seconds))),
            _ => Err(wrong(field, "is too large")),
        }
    }

    fn methods(&self) -> Result<Option<String>, String> {
        match self.0.get("methods") {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() || text == "POST" => Ok(Some(text.clone())),
            Some(_) => Err(wrong("methods", "has unexpected value")),
        }
    }

    fn slug(&self) -> Result<Option<String>, String> {
        let slug = self.text("slug", 100)?;
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        match slug {
            Some(slug) if !slug.bytes().all(allowed) => Err(wrong("slug", "does not match pattern")),
            slug => Ok(slug),
        }
    }

    fn schedule(&self) -> Result<Option<String>, String> {
        let Some(text) = self.text("schedule", 100)? else { return Ok(None) };
        let settings = Settings { kind: kind_of(&text), schedule: text.clone(), ..Settings::default() };
        match settings.schedule() {
            Ok(schedule) if !schedule.never_runs() => Ok(Some(text)),
            _ => Err(wrong("schedule", "is not a valid cron or OnCalendar expression")),
        }
    }

    /// Renamed zones are stored under today's name.
    fn zone(&self) -> Result<Option<String>, String> {
        let Some(name) = self.text("tz", usize::MAX)? else { return Ok(None) };
        let zone = Zone::parse(&name).map_err(|_| wrong("tz", "is not a valid timezone"))?;
        Ok(Some(zone.name().to_owned()))
    }

    fn unique(&self) -> Result<Vec<&'static str>, String> {
        let Some(value) = self.0.get("unique") else { return Ok(Vec::new()) };
        let items = value.as_array().ok_or_else(|| wrong("unique", "is not an array"))?;
        items
            .iter()
            .map(|item| {
                let known = UNIQUE_FIELDS.iter().find(|field| item.as_str() == Some(field));
                known.copied().ok_or_else(|| wrong("an item in 'unique'", "has unexpected value"))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: Value) -> Result<Spec, String> {
        Spec::read(body.as_object().unwrap())
    }

    #[test]
    fn each_field_is_refused_in_the_contracts_words() {
        let cases = [
            (json!({"name": 1}), "name is not a string"),
            (json!({"name": null}), "name is not a string"),
            (json!({"name": "x".repeat(101)}), "name is too long"),
            (json!({"tags": "x".repeat(501)}), "tags is too long"),
            (json!({"slug": "Big"}), "slug does not match pattern"),
            (json!({"timeout": "60"}), "timeout is not a number"),
            (json!({"timeout": 60.0}), "timeout is not a number"),
            (json!({"timeout": true}), "timeout is too small"),
            (json!({"timeout": 59}), "timeout is too small"),
            (json!({"grace": 31_536_001}), "grace is too large"),
            (json!({"methods": "GET"}), "methods has unexpected value"),
            (json!({"methods": 1}), "methods has unexpected value"),
            (json!({"manual_resume": 1}), "manual_resume is not a boolean"),
            (json!({"unique": "name"}), "unique is not an array"),
            (json!({"unique": ["desc"]}), "an item in 'unique' has unexpected value"),
            (json!({"name": "a\u{0}b"}), "name contains a NUL character"),
        ];
        for (body, says) in cases {
            assert_eq!(read(body).unwrap_err(), format!("json validation error: {says}"));
        }
    }

    #[test]
    fn the_first_field_in_order_is_reported() {
        let error = read(json!({"tags": 1, "grace": 1, "channels": 1})).unwrap_err();
        assert_eq!(error, "json validation error: channels is not a string");
    }

    #[test]
    fn old_versions_make_the_slug_of_the_name_and_an_explicit_one_wins() {
        let mut settings = Settings::default();
        read(json!({"name": "Sauvegarde Zürich – nuit!"})).unwrap().apply(&mut settings, 2);
        assert_eq!(settings.slug, "sauvegarde-zurich-nuit");
        read(json!({"name": "New", "slug": "kept"})).unwrap().apply(&mut settings, 1);
        assert_eq!(settings.slug, "kept");
        read(json!({"name": "Third"})).unwrap().apply(&mut settings, 3);
        assert_eq!((settings.name.as_str(), settings.slug.as_str()), ("Third", "kept"));
    }

    #[test]
    fn subject_keywords_turn_the_subject_filter_on_unless_it_is_named() {
        let mut settings = Settings::default();
        read(json!({"subject": "done"})).unwrap().apply(&mut settings, 3);
        assert!(settings.filter_subject && settings.success_kw == "done");
        read(json!({"subject": "", "subject_fail": ""})).unwrap().apply(&mut settings, 3);
        assert!(!settings.filter_subject);
        read(json!({"subject": "x", "filter_subject": false})).unwrap().apply(&mut settings, 3);
        assert!(!settings.filter_subject);
    }
}
