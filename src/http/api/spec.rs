//! The fields of a posted check: types, limits, and what they make of its settings. Pure.
//!
//! The type is also the schema that the API's description shows, and [`fields`] judges bodies by it, field by field
//! in the order written here.

use serde::Deserialize;
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization;
use utoipa::ToSchema;
use utoipa::openapi::Object;
use utoipa::openapi::schema::Type;

use super::fields;
use crate::checks::{Kind, Likeness, Settings};
use crate::schedule::Zone;
use crate::time::Span;

/// What a posted check asks for. What is left out stays as it is, or gets its default in a new check.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[schema(as = CheckFields)]
pub struct Spec {
    /// The channels that hear of it: `*` for all of the project, empty for none, else uuids or exact names with
    /// commas between them.
    #[schema(nullable = false)]
    pub channels: Option<String>,
    /// A description, for people.
    #[schema(nullable = false)]
    pub desc: Option<String>,
    /// Words with commas between them; one of them in a filtered text means failure.
    #[schema(nullable = false, max_length = 200)]
    pub failure_kw: Option<String>,
    /// Whether mails' subjects are searched for the keywords.
    #[schema(nullable = false)]
    pub filter_subject: Option<bool>,
    /// Whether mails' texts are searched for the keywords.
    #[schema(nullable = false)]
    pub filter_body: Option<bool>,
    /// Whether the bodies of HTTP pings are searched for the keywords.
    #[schema(nullable = false)]
    pub filter_http_body: Option<bool>,
    /// Whether a filtered text without any keyword means failure; else it is ignored.
    #[schema(nullable = false)]
    pub filter_default_fail: Option<bool>,
    /// How late a ping, or how long a run, may be before it is an alarm, in seconds.
    #[schema(nullable = false, minimum = 60, maximum = 31_536_000)]
    pub grace: Option<i64>,
    /// Whether a paused check stays so when it is pinged.
    #[schema(nullable = false)]
    pub manual_resume: Option<bool>,
    #[schema(schema_with = methods, required = false)]
    pub methods: Option<String>,
    #[schema(nullable = false, max_length = 100)]
    pub name: Option<String>,
    /// A cron expression of five items, or OnCalendar expressions, one a line.
    #[schema(
        nullable = false,
        max_length = 100,
        format = "schedule",
        examples("15 4 * * *", "Mon..Fri 9:00")
    )]
    pub schedule: Option<String>,
    /// The name in ping URLs.
    #[schema(nullable = false, max_length = 100, pattern = "^[a-z0-9_-]*$", format = "slug")]
    pub slug: Option<String>,
    /// Words with commas between them; one of them in a filtered text means that a run began.
    #[schema(nullable = false, max_length = 200)]
    pub start_kw: Option<String>,
    /// An older name of `success_kw` that turns `filter_subject` on.
    #[schema(nullable = false, max_length = 200, deprecated)]
    pub subject: Option<String>,
    /// An older name of `failure_kw` that turns `filter_subject` on.
    #[schema(nullable = false, max_length = 200, deprecated)]
    pub subject_fail: Option<String>,
    /// Words with commas between them; one of them in a filtered text means success.
    #[schema(nullable = false, max_length = 200)]
    pub success_kw: Option<String>,
    /// Tags with spaces between them.
    #[schema(nullable = false, max_length = 500)]
    pub tags: Option<String>,
    /// How often a ping is expected, in seconds. Without a `schedule` it makes the check a simple one.
    #[schema(nullable = false, minimum = 60, maximum = 31_536_000)]
    pub timeout: Option<i64>,
    /// The IANA time zone of the schedule.
    #[schema(nullable = false, format = "timezone", examples("Europe/Berlin"))]
    pub tz: Option<String>,
    /// When a check is made: the fields in which one that is already there has to be equal to be changed instead.
    #[schema(nullable = false, inline)]
    pub unique: Option<Vec<Unique>>,
}

fn methods() -> Object {
    let words = Object::builder().schema_type(Type::String).enum_values(Some(["", "POST"]));
    words.description(Some("The HTTP methods that count as pings: empty for all, or `POST`.")).build()
}

/// A field that `unique` may list.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Unique {
    Name,
    Slug,
    Tags,
    Timeout,
    Grace,
}

impl Spec {
    /// Reads a body.
    ///
    /// # Errors
    /// The contract's sentence about the first field that fails.
    pub fn read(body: &Map<String, Value>) -> Result<Self, String> {
        let mut spec: Self = fields::read(body).map_err(|what| format!("json validation error: {what}"))?;
        // Renamed zones are stored under today's name.
        if let Some(zone) = spec.tz.as_deref().and_then(|name| Zone::parse(name).ok()) {
            spec.tz = Some(zone.name().to_owned());
        }
        Ok(spec)
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
        set(&mut settings.grace_ms, self.grace.map(Span::seconds).as_ref());
        set(&mut settings.zone, self.tz.as_ref());
        self.apply_schedule(settings);
        self.apply_keywords(settings);
    }

    /// What to look for before a check is made: the fields that `unique` lists, if it lists any and all are there.
    pub fn likeness(&self) -> Option<Likeness> {
        let mut like = Likeness::default();
        let unique = self.unique.as_ref().filter(|unique| !unique.is_empty())?;
        for field in unique {
            match field {
                Unique::Name => like.name = Some(self.name.clone()?),
                Unique::Slug => like.slug = Some(self.slug.clone()?),
                Unique::Tags => like.tags = Some(self.tags.clone()?),
                Unique::Timeout => like.period = Some(Span::seconds(self.timeout?)),
                Unique::Grace => like.grace = Some(Span::seconds(self.grace?)),
            }
        }
        Some(like)
    }

    fn apply_schedule(&self, settings: &mut Settings) {
        if let Some(schedule) = &self.schedule {
            settings.kind = kind_of(schedule);
            settings.schedule.clone_from(schedule);
        } else if let Some(timeout) = self.timeout {
            settings.kind = Kind::Simple;
            settings.period_ms = Span::seconds(timeout);
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
pub fn kind_of(schedule: &str) -> Kind {
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
