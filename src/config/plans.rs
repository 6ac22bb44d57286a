//! Plans: what an account may use. Built in, changed or extended by a TOML file, whose table `[limits]` changes the
//! limits on callers. What the file gets wrong is named by its line and key.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use super::limits::{Count, Limits, Rule};
use crate::time::Span;

/// The longest floor that makes sense: a day.
const FLOOR_SECONDS_MAX: u32 = 86_400;
/// The plan that others start from, and whose values hold where a plan is gone.
const BASE: &str = "free";
/// The plans file's table that is no plan.
const LIMITS_TABLE: &str = "limits";

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    checks: Option<Count<0>>,
    min_interval_seconds: Option<Floor>,
    log_entries: Option<LogEntries>,
    alerts_per_month: Option<Count<0>>,
    members: Option<Count<1>>,
    api_per_minute: Option<Count<0>>,
    api_per_day: Option<Count<0>>,
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

    /// The plan of that name.
    pub fn get(&self, name: &str) -> Option<&Plan> {
        self.0.get(name)
    }

    /// The plan of an account. Where no file names it any more, it keeps its name and has the values of `free`, so
    /// that its account goes on.
    pub fn of(&self, name: &str) -> Plan {
        let known =
            self.0.get(name).or_else(|| self.0.get(BASE)).expect("no file can remove a built-in plan");
        Plan { name: name.to_owned(), ..known.clone() }
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

/// The built-in plans and limits with the changes of `file`, if there is one. A new plan starts from the
/// built-in `free`.
///
/// # Errors
/// A sentence with file, line and key.
pub fn load(file: Option<&Path>) -> Result<(Plans, Limits), String> {
    let Some(file) = file else { return Ok((Plans::built_in(), Limits::default())) };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    parse(&text).map_err(|sentence| format!("{}: {sentence}", file.display()))
}

fn parse(text: &str) -> Result<(Plans, Limits), String> {
    let written: Written = toml::from_str(text).map_err(|error| explain(text, &error))?;
    let built_in = Plans::built_in();
    let mut plans = built_in.clone();
    for (name, changes) in written.plans {
        let mut plan = built_in.of(&name);
        changes.apply(&mut plan);
        plans.0.insert(name, plan);
    }
    let mut limits = Limits::default();
    for (rule, Count(count)) in written.limits {
        limits.set(rule, count);
    }
    Ok((plans, limits))
}

/// An error on one line: where it is, which key, and what is wrong.
fn explain(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count();
    let written = text.lines().nth(line).unwrap_or_default();
    let key = written.split('=').next().unwrap_or_default().trim();
    format!("line {}: {key}: {}", line + 1, error.message().replace('\n', ", "))
}

/// What a plans file says.
#[derive(Debug, Default)]
struct Written {
    plans: BTreeMap<String, Changes>,
    limits: BTreeMap<Rule, Count<1>>,
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Tables;
        impl<'de> Visitor<'de> for Tables {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table for each plan")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut tables: A) -> Result<Written, A::Error> {
                let mut written = Written::default();
                while let Some(PlanName(name)) = tables.next_key()? {
                    if name == LIMITS_TABLE {
                        written.limits = tables.next_value()?;
                    } else {
                        written.plans.insert(name, tables.next_value()?);
                    }
                }
                Ok(written)
            }
        }
        deserializer.deserialize_map(Tables)
    }
}

/// A name that can be typed after `flatline account plan`.
struct PlanName(String);

impl<'de> Deserialize<'de> for PlanName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > 40 || !name.bytes().all(plain) {
            return Err(D::Error::custom("a plan's name is 1 to 40 small letters, digits, - or _"));
        }
        Ok(Self(name))
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
        let set = |to: &mut Option<i64>, written: Option<Option<i64>>| {
            if let Some(value) = written {
                *to = value;
            }
        };
        set(&mut plan.checks, self.checks.map(|count| count.0));
        set(&mut plan.alerts_per_month, self.alerts_per_month.map(|count| count.0));
        set(&mut plan.members, self.members.map(|count| count.0));
        set(&mut plan.api_per_minute, self.api_per_minute.map(|count| count.0));
        set(&mut plan.api_per_day, self.api_per_day.map(|count| count.0));
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
        let (plans, limits) = parse(
            "[free]\nchecks = 5\n[lab]\nmin_interval_seconds = 0\nalerts_per_month = \"none\"\nlog_entries = 5\n\
             [limits]\nsign_ups_per_day = 7\ncreates_per_hour = \"none\"\n",
        )
        .unwrap();
        assert_eq!(plans.get("free").unwrap().checks, Some(5));
        assert_eq!(plans.get("free").unwrap().floor, Span::seconds(300));
        let lab = plans.get("lab").unwrap();
        assert_eq!((lab.floor, lab.alerts_per_month, lab.log_entries), (Span::ZERO, None, 5));
        assert_eq!(lab.checks, Some(20), "a new plan starts from the built-in free");
        assert!(plans.get("limits").is_none());
        assert_eq!(limits.get(Rule::SignUpDay), Some(7));
        assert_eq!(limits.get(Rule::CreatesHour), None);
        assert_eq!(limits.get(Rule::SignUpMinute), Some(5));
    }

    #[test]
    fn a_mistake_is_named_with_line_and_key() {
        let count = "expected a number from 0 to 1000000000, or \"none\"";
        let known = "expected one of `checks`, `min_interval_seconds`, `log_entries`, `alerts_per_month`, \
                     `members`, `api_per_minute`, `api_per_day`";
        for (text, says) in [
            ("[free]\ncheks = 5\n", format!("line 2: cheks: unknown field `cheks`, {known}")),
            ("[free]\n\nchecks = -1\n", format!("line 3: checks: invalid value: integer `-1`, {count}")),
            ("[free]\nchecks = \"many\"\n", format!("line 2: checks: invalid value: string \"many\", {count}")),
            ("[free]\nchecks = 1.5\n", format!("line 2: checks: invalid type: floating point `1.5`, {count}")),
            (
                "[free]\nmembers = 0\n",
                "line 2: members: invalid value: integer `0`, expected a number from 1 to 1000000000, or \"none\""
                    .to_owned(),
            ),
            (
                "[free]\nmin_interval_seconds = 100000\n",
                "line 2: min_interval_seconds: min_interval_seconds is 100000; it can be 0 to 86400".to_owned(),
            ),
            (
                "[free]\nlog_entries = 0\n",
                "line 2: log_entries: log_entries is 0; it can be 1 to 1000000".to_owned(),
            ),
            ("free = 1\n", "line 1: free: invalid type: integer `1`, expected struct Changes".to_owned()),
            (
                "[pro]\n[\"Gold plan\"]\n",
                "line 2: [\"Gold plan\"]: a plan's name is 1 to 40 small letters, digits, - or _".to_owned(),
            ),
            (
                "[pro]\n[limits]\nsign_inn = 1\n",
                "line 3: sign_inn: there is no limit 'sign_inn'".to_owned(),
            ),
            (
                "[limits]\nsign_in_per_day = 0\n",
                "line 2: sign_in_per_day: invalid value: integer `0`, expected a number from 1 to 1000000000, or \
                 \"none\""
                    .to_owned(),
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), says);
        }
    }

    #[test]
    fn an_account_whose_plan_is_gone_keeps_its_name_and_is_limited_as_free() {
        let (plans, _) = parse("[free]\nchecks = 5\n").unwrap();
        let gone = plans.of("gold");
        assert_eq!((gone.name.as_str(), gone.checks), ("gold", Some(5)));
        assert_eq!(plans.of("pro"), *plans.get("pro").unwrap());
    }
}
