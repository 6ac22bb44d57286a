//! The forms of kinds, as data: what is asked, and how answers become a configuration and back.
//!
//! A configuration is one JSON object. A field's name says where in it the value stands, so that a page can show
//! and read the form of any kind; what a value may be is the kind's own `check` to say, for pages and API alike.

use serde_json::{Map, Value};

use super::Kind;

/// One field of a kind's form.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The keys of the configuration that lead to the value, with dots between.
    pub name: &'static str,
    pub label: &'static str,
    /// The heading of the fields around it that share it; empty for none.
    pub group: &'static str,
    /// A line below the field; may be empty.
    pub hint: &'static str,
    pub input: Input,
}

/// How a field is filled in.
#[derive(Clone, Copy, Debug)]
pub enum Input {
    /// One line of text.
    Line,
    /// Several lines.
    Text,
    /// One of these; the first is where a new form begins.
    Choice(&'static [&'static str]),
    /// An object of texts, one `Name: value` in a line.
    Pairs,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The field's name; empty where it is the whole.
    pub field: &'static str,
    /// A sentence that names the field and says what it takes.
    pub words: String,
}

impl Fault {
    pub fn at(field: &'static str, words: impl Into<String>) -> Self {
        Self { field, words: words.into() }
    }

    pub fn whole(words: impl Into<String>) -> Self {
        Self::at("", words)
    }
}

impl Kind {
    /// The configuration that a filled-in form means, not yet checked.
    ///
    /// # Errors
    /// A line that is no pair.
    pub fn config<'a>(&self, typed: impl Fn(&str) -> &'a str) -> Result<String, Fault> {
        let mut config = Map::new();
        for field in self.fields {
            put(&mut config, field.name, field.value(typed(field.name))?);
        }
        Ok(Value::Object(config).to_string())
    }

    /// What the form of a configuration shows, in the order of the fields; that of a new one for `None`.
    pub fn typed(&self, config: Option<&str>) -> Vec<String> {
        let config: Option<Value> = config.and_then(|config| serde_json::from_str(config).ok());
        let show = |field: &Field| {
            let value = config.as_ref().and_then(|config| look_up(config, field.name));
            value.map_or_else(|| field.first(), |value| field.text(value))
        };
        self.fields.iter().map(show).collect()
    }

    /// Where messages go, for lists; empty where the configuration does not say.
    pub fn place_of(&self, config: &str) -> String {
        let config: Value = serde_json::from_str(config).unwrap_or_default();
        let mut texts = self.place.iter().filter_map(|name| look_up(&config, name)?.as_str());
        texts.find(|text| !text.is_empty()).unwrap_or_default().to_owned()
    }
}

impl Field {
    pub(super) const fn new(
        name: &'static str,
        label: &'static str,
        group: &'static str,
        hint: &'static str,
        input: Input,
    ) -> Self {
        Self { name, label, group, hint, input }
    }

    fn first(&self) -> String {
        match self.input {
            Input::Choice(words) => words.first().copied().unwrap_or_default().to_owned(),
            Input::Line | Input::Text | Input::Pairs => String::new(),
        }
    }

    fn text(&self, value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Object(pairs) => {
                let line = |(name, value): (&String, &Value)| {
                    format!("{name}: {}", value.as_str().unwrap_or_default())
                };
                pairs.iter().map(line).collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }

    fn value(&self, typed: &str) -> Result<Value, Fault> {
        match self.input {
            Input::Line | Input::Choice(_) => Ok(Value::from(typed.trim())),
            Input::Text => Ok(Value::from(typed)),
            Input::Pairs => {
                let mut pairs = Map::new();
                for line in typed.lines().map(str::trim).filter(|line| !line.is_empty()) {
                    let Some((name, value)) = line.split_once(':') else {
                        let words = format!("{}: write one in a line, as Name: value.", self.label);
                        return Err(Fault::at(self.name, words));
                    };
                    if pairs.insert(name.trim().to_owned(), Value::from(value.trim())).is_some() {
                        let words = format!("{}: {} is there twice.", self.label, name.trim());
                        return Err(Fault::at(self.name, words));
                    }
                }
                Ok(Value::Object(pairs))
            }
        }
    }
}

fn look_up<'a>(config: &'a Value, name: &str) -> Option<&'a Value> {
    name.split('.').try_fold(config, |value, key| value.get(key))
}

fn put(config: &mut Map<String, Value>, name: &str, value: Value) {
    match name.split_once('.') {
        None => drop(config.insert(name.to_owned(), value)),
        Some((key, rest)) => {
            let inner = config.entry(key).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::send::KINDS;

    #[test]
    fn every_kind_has_a_form_whose_names_and_labels_are_its_own() {
        for kind in KINDS {
            assert!(!kind.fields.is_empty() && !kind.place.is_empty() && !kind.hint.is_empty(), "{kind:?}");
            for (at, field) in kind.fields.iter().enumerate() {
                let before = &kind.fields[..at];
                assert!(
                    !before.iter().any(|one| one.name == field.name || one.label == field.label),
                    "{field:?}"
                );
            }
            for name in kind.place {
                assert!(kind.fields.iter().any(|field| field.name == *name), "{kind:?}: {name}");
            }
        }
    }

    #[test]
    fn a_form_reads_back_as_what_was_typed() {
        let typed = |name: &str| match name {
            "down.url" => " https://example.org/x ",
            "down.method" | "up.method" => "PUT",
            "down.headers" => "X-One: a: b\n\n  x-two :c ",
            "down.body" => " kept as it is ",
            _ => "",
        };
        let kind = Kind::find("webhook").unwrap();
        let config = kind.config(typed).unwrap();
        let kept = kind.check(&config).unwrap().config;
        assert_eq!(
            kind.typed(Some(&kept)),
            ["https://example.org/x", "PUT", "X-One: a: b\nx-two: c", " kept as it is ", "", "POST", "", ""]
        );
        assert_eq!(kind.place_of(&kept), "https://example.org/x");
        assert_eq!(kind.typed(None), ["", "POST", "", "", "", "POST", "", ""]);
        let fault = kind.config(|name| if name == "up.headers" { "no pair" } else { "" }).unwrap_err();
        assert_eq!(fault, Fault::at("up.headers", "Up headers: write one in a line, as Name: value."));
    }

    #[test]
    fn a_place_that_cannot_be_read_is_empty() {
        let kind = Kind::find("email").unwrap();
        assert_eq!(kind.place_of("nonsense"), "");
        assert_eq!(kind.place_of(r#"{"address":"a@example.org"}"#), "a@example.org");
    }
}
