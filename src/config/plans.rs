//! Plans: what an account may use. Built in, changed or extended by a TOML file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::time::Span;

/// The longest floor that makes sense: a day.
const FLOOR_SECONDS_MAX: u32 = 86_400;

/// What one plan allows; `None` is no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub name: String,
    pub checks: Option<i64>,
    /// Shortest time between accepted repeat pings of one check; zero refuses nothing.
    pub floor: Span,
    /// Pings kept in each check's log.
    pub log_entries: i64,
    pub alerts_per_month: Option<i64>,
    pub members: Option<i64>,
    pub api_per_minute: Option<i64>,
    pub api_per_day: Option<i64>,
}

/// All plans, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plans(BTreeMap<String, Plan>);

/// A limit as a plans file writes it: a number, or the word `none`.
#[derive(Clone, Copy, Debug)]
struct Limit(Option<i64>);

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Limit;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number from 0, or \"none\"")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Limit, E> {
                if value < 0 {
                    return Err(E::invalid_value(serde::de::Unexpected::Signed(value), &self));
                }
                Ok(Limit(Some(value)))
            }
            fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Limit, E> {
                if value == "none" {
                    return Ok(Limit(None));
                }
                Err(E::invalid_value(serde::de::Unexpected::Str(value), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    checks: Option<Limit>,
    min_interval_seconds: Option<Floor>,
    log_entries: Option<LogEntries>,
    alerts_per_month: Option<Limit>,
    members: Option<Limit>,
    api_per_minute: Option<Limit>,
    api_per_day: Option<Limit>,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "i64")]
struct Floor(Span);

impl TryFrom<i64> for Floor {
    type Error = String;
    fn try_from(seconds: i64) -> Result<Self, String> {
        if (0..=i64::from(FLOOR_SECONDS_MAX)).contains(&seconds) {
            Ok(Self(Span::seconds(seconds)))
        } else {
            Err(format!("min_interval_seconds is {seconds}; it can be 0 to {FLOOR_SECONDS_MAX}"))
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "i64")]
struct LogEntries(i64);

impl TryFrom<i64> for LogEntries {
    type Error = String;
    fn try_from(entries: i64) -> Result<Self, String> {
        if (1..=1_000_000).contains(&entries) {
            Ok(Self(entries))
        } else {
            Err(format!("log_entries is {entries}; it can be 1 to 1000000"))
        }
    }
}

impl Plans {
    /// The built-in plans.
    pub fn built_in() -> Self {
        let plan = |name: &str, floor_seconds, log_entries, limits: [Option<i64>; 5]| {
            let [checks, alerts_per_month, members, api_per_minute, api_per_day] = limits;
            let floor = Span::seconds(floor_seconds);
            let name = name.to_owned();
            Plan { name, checks, floor, log_entries, alerts_per_month, members, api_per_minute, api_per_day }
        };
        let plans = [
            plan("free", 300, 100, [Some(20), Some(500), Some(3), Some(60), Some(5_000)]),
            plan("pro", 60, 1_000, [Some(100), Some(10_000), Some(20), Some(240), Some(50_000)]),
            plan("business", 60, 1_000, [Some(1_000), Some(100_000), Some(200), Some(1_000), Some(500_000)]),
            plan("unlimited", 0, 10_000, [None; 5]),
        ];
        Self(plans.into_iter().map(|plan| (plan.name.clone(), plan)).collect())
    }

    /// The built-in plans with the changes of `file`, if there is one. A new plan starts from the
    /// built-in `free`.
    ///
    /// # Errors
    /// A sentence with file, line and key.
    pub fn load(file: Option<&Path>) -> Result<Self, String> {
        let Some(file) = file else { return Ok(Self::built_in()) };
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        Self::parse(&text).map_err(|sentence| format!("{}: {sentence}", file.display()))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let changes: BTreeMap<String, Changes> =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let built_in = Self::built_in();
        let mut plans = built_in.clone();
        for (name, change) in changes {
            let base = built_in.get(&name).or_else(|| built_in.get("free")).cloned();
            let mut plan = base.ok_or("there is no plan to start from")?;
            plan.name.clone_from(&name);
            change.apply(&mut plan);
            plans.0.insert(name, plan);
        }
        Ok(plans)
    }

    /// The plan of that name.
    pub fn get(&self, name: &str) -> Option<&Plan> {
        self.0.get(name)
    }

    /// All names, comma-separated, for messages.
    pub fn names(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// All plans by name.
    pub fn iter(&self) -> impl Iterator<Item = &Plan> {
        self.0.values()
    }
}

impl Plan {
    /// Names the values that stored rows depend on, so that a start sees whether they changed.
    pub fn digest(&self) -> String {
        format!("floor={}", self.floor.0)
    }
}

impl Changes {
    fn apply(self, plan: &mut Plan) {
        let set = |to: &mut Option<i64>, from: Option<Limit>| {
            if let Some(Limit(value)) = from {
                *to = value;
            }
        };
        set(&mut plan.checks, self.checks);
        set(&mut plan.alerts_per_month, self.alerts_per_month);
        set(&mut plan.members, self.members);
        set(&mut plan.api_per_minute, self.api_per_minute);
        set(&mut plan.api_per_day, self.api_per_day);
        if let Some(Floor(floor)) = self.min_interval_seconds {
            plan.floor = floor;
        }
        if let Some(LogEntries(entries)) = self.log_entries {
            plan.log_entries = entries;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_replaces_values_and_adds_plans() {
        let plans = Plans::parse(
            "[free]\nchecks = 5\n[lab]\nmin_interval_seconds = 0\nalerts_per_month = \"none\"\nlog_entries = 5\n",
        )
        .unwrap();
        assert_eq!(plans.get("free").unwrap().checks, Some(5));
        assert_eq!(plans.get("free").unwrap().floor, Span::seconds(300));
        let lab = plans.get("lab").unwrap();
        assert_eq!((lab.floor, lab.alerts_per_month, lab.log_entries), (Span::ZERO, None, 5));
        assert_eq!(lab.checks, Some(20), "a new plan starts from free");
    }

    #[test]
    fn a_mistake_is_named_with_line_and_key() {
        for (text, says) in [
            ("[free]\ncheks = 5\n", "cheks"),
            ("[free]\nchecks = -1\n", "line 2"),
            ("[free]\nchecks = \"many\"\n", "line 2"),
            ("[free]\nmin_interval_seconds = 100000\n", "min_interval_seconds is 100000"),
            ("[free]\nlog_entries = 0\n", "log_entries is 0"),
            ("free = 1\n", "line 1"),
        ] {
            let error = Plans::parse(text).unwrap_err();
            assert!(error.contains(says), "{error}");
            assert!(error.contains("line"), "{error}");
        }
    }
}
