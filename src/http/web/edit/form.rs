//! The form of a check: what was typed, and the settings it means.
//!
//! [`Typed`] is text, as the page shows it; [`Typed::settings`] judges it and says at which field what has to be
//! mended. Nothing is saved in part.

use uuid::Uuid;

use crate::checks::{Kind, Settings};
use crate::http::web::fields::Fields;
use crate::http::web::shown::capital;
use crate::schedule::Zone;
use crate::time::Span;

const NAME_CHARS: usize = 100;
const SLUG_CHARS: usize = 100;
const TAGS_CHARS: usize = 500;
const DESCRIPTION_CHARS: usize = 20_000;
const KEYWORDS_CHARS: usize = 200;
const SPAN_MIN: Span = Span::seconds(60);
const SPAN_MAX: Span = Span::hours(24 * 365);
/// Units of a span, largest last: the word in the form, and its seconds.
pub const UNITS: [(&str, i64); 4] = [("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86_400)];

/// What is wrong with a field: its name in the form, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complaint {
    pub field: &'static str,
    pub words: String,
}

/// The form's fields as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub name: String,
    pub slug: String,
    pub tags: String,
    pub description: String,
    pub kind: String,
    pub every: String,
    pub every_unit: String,
    pub cron: String,
    pub calendar: String,
    pub zone: String,
    pub grace: String,
    pub grace_unit: String,
    pub post_only: bool,
    pub in_http: bool,
    pub in_subject: bool,
    pub in_body: bool,
    pub failure_kw: String,
    pub success_kw: String,
    pub start_kw: String,
    pub default_fail: bool,
    pub manual_resume: bool,
    pub channels: Vec<Uuid>,
}

/// A span as a number of the largest unit that divides it.
fn in_units(span: Span) -> (String, String) {
    let seconds = span.as_seconds();
    let fits = UNITS.iter().rev().find(|(_, length)| seconds % length == 0 && seconds >= *length);
    let (unit, length) = fits.copied().unwrap_or(UNITS[0]);
    ((seconds / length).to_string(), unit.to_owned())
}

fn in_span(number: &str, unit: &str) -> Result<Span, String> {
    let length = UNITS.iter().find(|(one, _)| *one == unit).map_or(60, |(_, length)| *length);
    let number: i64 = number.trim().parse().map_err(|_| "Write a whole number, such as 10.".to_owned())?;
    let span = Span::seconds(number.checked_mul(length).unwrap_or(i64::MAX));
    if (SPAN_MIN..=SPAN_MAX).contains(&span) {
        Ok(span)
    } else {
        Err("Between 1 minute and 365 days.".to_owned())
    }
}

impl Typed {
    /// The form filled from stored settings.
    pub fn of_settings(settings: &Settings, channels: Vec<Uuid>) -> Self {
        let (every, every_unit) = in_units(settings.period_ms);
        let (grace, grace_unit) = in_units(settings.grace_ms);
        let of_kind = |kind: Kind, other: &str| {
            if settings.kind == kind { settings.schedule.clone() } else { other.to_owned() }
        };
        Self {
            name: settings.name.clone(),
            slug: settings.slug.clone(),
            tags: settings.tags.clone(),
            description: settings.description.clone(),
            kind: settings.kind.word().to_owned(),
            every,
            every_unit,
            cron: of_kind(Kind::Cron, "30 2 * * *"),
            calendar: of_kind(Kind::OnCalendar, "*-*-* 02:30"),
            zone: settings.zone.clone(),
            grace,
            grace_unit,
            post_only: settings.methods == "POST",
            in_http: settings.filter_http_body,
            in_subject: settings.filter_subject,
            in_body: settings.filter_body,
            failure_kw: settings.failure_kw.clone(),
            success_kw: settings.success_kw.clone(),
            start_kw: settings.start_kw.clone(),
            default_fail: settings.filter_default_fail,
            manual_resume: settings.manual_resume,
            channels,
        }
    }

    /// The form as it was posted.
    pub fn of_fields(fields: &Fields) -> Self {
        let text = |name: &str| fields.trimmed(name).to_owned();
        Self {
            name: text("name"),
            slug: text("slug"),
            tags: fields.get("tags").split_whitespace().collect::<Vec<_>>().join(" "),
            description: fields.get("description").trim_end().to_owned(),
            kind: text("kind"),
            every: text("every"),
            every_unit: text("every_unit"),
            cron: text("cron"),
            calendar: text("calendar"),
            zone: text("zone"),
            grace: text("grace"),
            grace_unit: text("grace_unit"),
            post_only: fields.get("methods") == "POST",
            in_http: fields.has("in_http"),
            in_subject: fields.has("in_subject"),
            in_body: fields.has("in_body"),
            failure_kw: text("failure_kw"),
            success_kw: text("success_kw"),
            start_kw: text("start_kw"),
            default_fail: fields.has("default_fail"),
            manual_resume: fields.has("manual_resume"),
            channels: fields.all("channel").filter_map(|uuid| uuid.parse().ok()).collect(),
        }
    }

    /// Whether any rule about keywords is set, so that the page shows them.
    pub fn has_rules(&self) -> bool {
        self.in_http || self.in_subject || self.in_body
    }

    /// The settings that are meant. What the form hides for this kind of schedule stays as in `base`.
    ///
    /// # Errors
    /// Every field that has to be mended.
    pub fn settings(&self, base: &Settings) -> Result<Settings, Vec<Complaint>> {
        let mut wrong = Vec::new();
        self.check_texts(&mut wrong);
        let mut settings = Settings {
            name: self.name.clone(),
            slug: self.slug.clone(),
            tags: self.tags.clone(),
            description: self.description.clone(),
            methods: if self.post_only { "POST".to_owned() } else { String::new() },
            manual_resume: self.manual_resume,
            filter_subject: self.in_subject,
            filter_body: self.in_body,
            filter_http_body: self.in_http,
            filter_default_fail: self.default_fail,
            start_kw: self.start_kw.clone(),
            success_kw: self.success_kw.clone(),
            failure_kw: self.failure_kw.clone(),
            ..base.clone()
        };
        match in_span(&self.grace, &self.grace_unit) {
            Ok(grace) => settings.grace_ms = grace,
            Err(words) => wrong.push(Complaint { field: "grace", words }),
        }
        self.read_schedule(&mut settings, &mut wrong);
        if wrong.is_empty() { Ok(settings) } else { Err(wrong) }
    }

    fn check_texts(&self, wrong: &mut Vec<Complaint>) {
        let lengths = [
            ("name", &self.name, NAME_CHARS),
            ("slug", &self.slug, SLUG_CHARS),
            ("tags", &self.tags, TAGS_CHARS),
            ("description", &self.description, DESCRIPTION_CHARS),
            ("failure_kw", &self.failure_kw, KEYWORDS_CHARS),
            ("success_kw", &self.success_kw, KEYWORDS_CHARS),
            ("start_kw", &self.start_kw, KEYWORDS_CHARS),
        ];
        for (field, text, most) in lengths {
            let chars = text.chars().count();
            if chars > most {
                let words = format!("At most {most} characters; these are {chars}.");
                wrong.push(Complaint { field, words });
            }
        }
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
        if !self.slug.chars().all(allowed) {
            let words = "Small letters a to z, digits, - and _ only, such as nightly-backup.".to_owned();
            wrong.push(Complaint { field: "slug", words });
        }
    }

    fn read_schedule(&self, settings: &mut Settings, wrong: &mut Vec<Complaint>) {
        let Some(kind) = Kind::from_word(&self.kind) else {
            wrong.push(Complaint { field: "kind", words: "Choose a kind of schedule.".to_owned() });
            return;
        };
        settings.kind = kind;
        let field = match kind {
            Kind::Simple => {
                match in_span(&self.every, &self.every_unit) {
                    Ok(period) => settings.period_ms = period,
                    Err(words) => wrong.push(Complaint { field: "every", words }),
                }
                return;
            }
            Kind::Cron => "cron",
            Kind::OnCalendar => "calendar",
        };
        settings.schedule = if kind == Kind::Cron { self.cron.clone() } else { self.calendar.clone() };
        // With a zone that is none the expression is read in the one before, so that both are complained of at once.
        let zone = Zone::parse(&self.zone);
        if let Ok(zone) = &zone {
            zone.name().clone_into(&mut settings.zone);
        }
        match settings.schedule() {
            Ok(schedule) if schedule.never_runs() => {
                let words = "It names a day that never comes, so it would never run.".to_owned();
                wrong.push(Complaint { field, words });
            }
            Ok(_) => {}
            Err(words) => wrong.push(Complaint { field, words: capital(&words) }),
        }
        if let Err(error) = zone {
            wrong.push(Complaint { field: "zone", words: capital(&error.to_string()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed() -> Typed {
        Typed::of_settings(&Settings { name: "x".into(), ..Settings::default() }, Vec::new())
    }

    #[test]
    fn a_form_gives_back_the_settings_it_was_filled_from() {
        let settings = Settings {
            name: "Backup".into(),
            tags: "a b".into(),
            kind: Kind::Cron,
            schedule: "30 2 * * *".into(),
            zone: "Europe/Riga".into(),
            grace_ms: Span::seconds(90),
            methods: "POST".into(),
            failure_kw: "error".into(),
            filter_http_body: true,
            ..Settings::default()
        };
        let typed = Typed::of_settings(&settings, Vec::new());
        assert_eq!((typed.grace.as_str(), typed.grace_unit.as_str()), ("90", "seconds"));
        assert_eq!((typed.every.as_str(), typed.every_unit.as_str()), ("1", "days"));
        assert_eq!(typed.settings(&settings).unwrap(), settings);
    }

    #[test]
    fn each_field_says_what_has_to_be_mended() {
        let wrong = Typed {
            name: "x".repeat(101),
            slug: "Big".into(),
            grace: "ten".into(),
            kind: "cron".into(),
            cron: "61 * * * *".into(),
            ..typed()
        };
        let fields: Vec<&str> =
            wrong.settings(&Settings::default()).unwrap_err().iter().map(|one| one.field).collect();
        assert_eq!(fields, ["name", "slug", "grace", "cron"]);
        let both = Typed {
            kind: "oncalendar".into(),
            calendar: "never".into(),
            zone: "Mars/Base".into(),
            ..typed()
        };
        let fields: Vec<&str> =
            both.settings(&Settings::default()).unwrap_err().iter().map(|one| one.field).collect();
        assert_eq!(fields, ["calendar", "zone"]);
        let short = Typed { every: "59".into(), every_unit: "seconds".into(), ..typed() };
        assert_eq!(short.settings(&Settings::default()).unwrap_err()[0].field, "every");
    }
}
