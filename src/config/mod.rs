//! Settings: read once from the environment at start, handed down by value, never read again.
//!
//! [`TABLE`] is the whole list; the README mirrors it and a test compares the two. A value that cannot be used
//! stops the start with the variable's name and what it takes. Nothing else in the crate reads the environment.

mod limits;
mod plans;

pub use limits::{LIMITS, Limit, Limits, Rule};
pub use plans::{Plan, Plans};

use std::net::SocketAddr;
use std::path::PathBuf;

use ipnet::IpNet;

use crate::time::Span;

/// One row of the settings table.
#[derive(Debug)]
pub struct Setting {
    /// The variable's name without the prefix `FLATLINE_`.
    pub name: &'static str,
    /// The default as it would be written; empty where unset has a meaning of its own.
    pub default: &'static str,
    /// What it does, with its unit.
    pub meaning: &'static str,
}

pub const PREFIX: &str = "FLATLINE_";

macro_rules! table {
    ($($name:ident = $default:literal, $meaning:literal;)+) => {
        /// Every setting there is.
        pub const TABLE: &[Setting] = &[$(Setting { name: stringify!($name), default: $default, meaning: $meaning }),+];
    };
}

table! {
    LISTEN = "127.0.0.1:8000", "Address and port to listen on. A socket handed over by systemd (`LISTEN_FDS`) wins.";
    DATABASE_URL = "sqlite://data/flatline.db", "`sqlite://<path>` or `postgres://<user>@<host>/<database>`.";
    DATA_DIR = "data", "Folder for what is not in the database: the outbox.";
    SITE_URL = "", "Where people reach the site; default `http://` and the listen address. With `https`, cookies are Secure and, under a name, people can sign in with passkeys.";
    PING_URL = "", "What ping URLs begin with; default: the site's URL and `/ping`. A host of its own may be used.";
    SMTP_URL = "", "`smtp://` or `smtps://`, with user and password if needed. Unset: mails are written to `outbox/*.eml` in the data folder.";
    MAIL_FROM = "", "Sender of mails; default `flatline@` and the site's host, `localhost` where that is a number.";
    BOUNCE_ADDRESS = "", "Address that undeliverable alerts come back to, such as `bounces@example.org`; each gets a mark of its own: `bounces+<mark>@example.org`. Unset: they go to `MAIL_FROM` and are not read.";
    TRUSTED_PROXIES = "", "Networks (comma-separated) whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed.";
    CLIENT_IP_HEADER = "", "Header in which a trusted proxy names the caller, such as `X-Real-IP`; only where the proxy overwrites it.";
    SIGNUP = "open", "`open` or `closed`: whether strangers may make accounts.";
    DEFAULT_PLAN = "free", "Plan of accounts that sign up.";
    PLANS_FILE = "", "TOML file that changes plans or adds some, and changes limits on callers in its table `[limits]`.";
    PING_BODY_LIMIT = "100000", "Bytes of a ping's body that are kept; `none` keeps all.";
    SWEEP_INTERVAL = "1s", "How often overdue checks are looked for, in whole seconds, 1s to 60s.";
    METRICS_KEY = "", "Key for `/metrics` (`Authorization: Bearer <key>`); unset: closed.";
    PRIVATE_TARGETS = "", "Networks (comma-separated) that webhooks may reach although they are private.";
    SMTP_LISTEN = "", "Address and port that takes pings by mail; unset: off.";
    EMAIL_DOMAIN = "", "Domain of the addresses that take pings by mail.";
    LOG = "info", "What is logged, as tracing filters are written; `json,` in front writes JSON lines.";
}

/// The settings, checked.
#[derive(Clone)]
pub struct Settings {
    pub listen: SocketAddr,
    pub database_url: String,
    pub data_dir: PathBuf,
    /// Without a slash at its end.
    pub site_url: String,
    /// Without a slash at its end.
    pub ping_url: String,
    pub smtp_url: Option<String>,
    pub mail_from: String,
    /// Where alerts by mail come back to.
    pub bounce_address: Option<String>,
    pub trusted_proxies: Vec<IpNet>,
    pub client_ip_header: Option<String>,
    pub signup_open: bool,
    pub default_plan: String,
    pub plans: Plans,
    /// Limits on callers, from the same file.
    pub limits: Limits,
    /// Bytes; `None` keeps all.
    pub ping_body_limit: Option<usize>,
    pub sweep_interval: Span,
    pub metrics_key: Option<String>,
    pub private_targets: Vec<IpNet>,
    pub smtp_listen: Option<SocketAddr>,
    pub email_domain: Option<String>,
    pub log_filter: String,
    pub log_json: bool,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{variable}: {sentence}")]
pub struct SettingError {
    pub variable: String,
    pub sentence: String,
}

impl Settings {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// The first value that cannot be used.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn from_env() -> Result<Self, SettingError> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads settings through `lookup`, which gets full variable names; an empty value counts as unset.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, SettingError> {
        let source = Source(&lookup);
        let listen = source.parsed("LISTEN", "an address and a port, such as 127.0.0.1:8000")?;
        let site_url = source.url("SITE_URL", || format!("http://{listen}"))?;
        let host = url::Url::parse(&site_url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_else(|| "localhost".to_owned());
        // An address alone is no domain that mail can come from.
        let mail_host = if host.trim_matches(|c| c == '[' || c == ']').parse::<std::net::IpAddr>().is_ok() {
            "localhost"
        } else {
            host.as_str()
        };
        let (plans, limits) = plans::load(source.optional("PLANS_FILE").as_deref().map(std::path::Path::new))
            .map_err(|sentence| error("PLANS_FILE", sentence))?;
        let log = source.text("LOG");
        let (log_json, log_filter) = match log.strip_prefix("json,") {
            Some(filter) => (true, filter.to_owned()),
            None => (log == "json", if log == "json" { "info".to_owned() } else { log }),
        };
        let settings = Self {
            listen,
            database_url: source.text("DATABASE_URL"),
            data_dir: source.text("DATA_DIR").into(),
            ping_url: source.url("PING_URL", || format!("{site_url}/ping"))?,
            site_url,
            smtp_url: source.optional("SMTP_URL"),
            mail_from: source.optional("MAIL_FROM").unwrap_or_else(|| format!("flatline@{mail_host}")),
            bounce_address: source.optional("BOUNCE_ADDRESS"),
            trusted_proxies: source.networks("TRUSTED_PROXIES")?,
            client_ip_header: source.header("CLIENT_IP_HEADER")?,
            signup_open: source.one_of("SIGNUP", &[("open", true), ("closed", false)])?,
            default_plan: source.text("DEFAULT_PLAN"),
            plans,
            limits,
            ping_body_limit: source.bytes("PING_BODY_LIMIT")?,
            sweep_interval: source.interval("SWEEP_INTERVAL")?,
            metrics_key: source.optional("METRICS_KEY"),
            private_targets: source.networks("PRIVATE_TARGETS")?,
            smtp_listen: source
                .optional("SMTP_LISTEN")
                .map(|_| source.parsed("SMTP_LISTEN", "an address and a port, such as 127.0.0.1:2525"))
                .transpose()?,
            email_domain: source.optional("EMAIL_DOMAIN"),
            log_filter,
            log_json,
        };
        settings.check()
    }

    fn check(self) -> Result<Self, SettingError> {
        if self.plans.get(&self.default_plan).is_none() {
            return Err(error(
                "DEFAULT_PLAN",
                format!("there is no plan '{}'; there are {}", self.default_plan, self.plans.names()),
            ));
        }
        if self.smtp_listen.is_some() && self.email_domain.is_none() {
            return Err(error("EMAIL_DOMAIN", "pings by mail need the domain of their addresses".to_owned()));
        }
        if self.metrics_key.as_ref().is_some_and(|key| key.len() < 16) {
            return Err(error("METRICS_KEY", "write at least 16 characters".to_owned()));
        }
        Ok(self)
    }

    /// Whether people reach the site over https, so that cookies can be Secure.
    pub fn is_https(&self) -> bool {
        self.site_url.starts_with("https://")
    }

    /// The site's host name without its port.
    pub fn site_host(&self) -> String {
        url::Url::parse(&self.site_url)
            .ok()
            .and_then(|url| url.host_str().map(str::to_owned))
            .unwrap_or_else(|| "localhost".to_owned())
    }
}

fn error(name: &str, sentence: String) -> SettingError {
    SettingError { variable: format!("{PREFIX}{name}"), sentence }
}

/// Looks values up and turns them into what they must be; an error names the variable, never its value where
/// that may be a secret.
struct Source<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Source<'_> {
    fn optional(&self, name: &str) -> Option<String> {
        debug_assert!(TABLE.iter().any(|row| row.name == name), "{name} has no row in TABLE");
        (self.0)(&format!("{PREFIX}{name}")).filter(|value| !value.is_empty())
    }

    fn text(&self, name: &str) -> String {
        self.optional(name).unwrap_or_else(|| {
            TABLE.iter().find(|row| row.name == name).map(|row| row.default.to_owned()).unwrap_or_default()
        })
    }

    fn parsed<T: std::str::FromStr>(&self, name: &str, takes: &str) -> Result<T, SettingError> {
        self.text(name).parse().map_err(|_| error(name, format!("'{}' is not {takes}", self.text(name))))
    }

    fn one_of<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, SettingError> {
        let value = self.text(name);
        choices.iter().find(|(word, _)| *word == value).map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            error(name, format!("'{value}' is not one of {}", words.join(", ")))
        })
    }

    fn url(&self, name: &str, default: impl FnOnce() -> String) -> Result<String, SettingError> {
        let text = self.optional(name).unwrap_or_else(default);
        let text = text.trim_end_matches('/').to_owned();
        match url::Url::parse(&text) {
            Ok(url)
                if ["http", "https"].contains(&url.scheme()) && url.query().is_none() && url.has_host() =>
            {
                Ok(text)
            }
            _ => Err(error(name, format!("'{text}' is not an http or https URL"))),
        }
    }

    fn networks(&self, name: &str) -> Result<Vec<IpNet>, SettingError> {
        let text = self.optional(name).unwrap_or_default();
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        items
            .map(|item| {
                let network = item.parse().ok().or_else(|| item.parse().ok().map(IpNet::from_address));
                network.ok_or_else(|| {
                    error(name, format!("'{item}' is not a network such as 10.0.0.0/8 or fd00::/8"))
                })
            })
            .collect()
    }

    fn header(&self, name: &str) -> Result<Option<String>, SettingError> {
        match self.optional(name) {
            Some(text) if axum::http::HeaderName::try_from(&text).is_err() => {
                Err(error(name, format!("'{text}' is not the name of a header")))
            }
            other => Ok(other),
        }
    }

    fn bytes(&self, name: &str) -> Result<Option<usize>, SettingError> {
        let text = self.text(name);
        if text == "none" {
            return Ok(None);
        }
        match text.parse::<u32>() {
            Ok(bytes) => Ok(Some(bytes as usize)),
            Err(_) => Err(error(name, format!("'{text}' is neither a number of bytes nor 'none'"))),
        }
    }

    fn interval(&self, name: &str) -> Result<Span, SettingError> {
        let text = self.text(name);
        match text.strip_suffix('s').and_then(|seconds| seconds.parse::<i64>().ok()) {
            Some(seconds) if (1..=60).contains(&seconds) => Ok(Span::seconds(seconds)),
            _ => Err(error(name, format!("'{text}' is not a number of seconds from 1s to 60s"))),
        }
    }
}

trait FromAddress {
    fn from_address(address: std::net::IpAddr) -> Self;
}

impl FromAddress for IpNet {
    fn from_address(address: std::net::IpAddr) -> Self {
        address.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Settings, SettingError> {
        Settings::read(|name| {
            pairs
                .iter()
                .find(|(key, _)| format!("{PREFIX}{key}") == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_set_gives_the_defaults_of_the_table() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.site_url, "http://127.0.0.1:8000");
        assert_eq!(settings.ping_url, "http://127.0.0.1:8000/ping");
        assert_eq!(settings.mail_from, "flatline@localhost");
        assert_eq!(settings.ping_body_limit, Some(100_000));
        assert_eq!(settings.sweep_interval, Span::seconds(1));
        assert_eq!(settings.log_filter, "info");
        assert!(settings.signup_open && settings.metrics_key.is_none());
    }

    #[test]
    fn a_bad_value_stops_the_start_and_names_its_variable() {
        let bad = [
            ("LISTEN", "8000"),
            ("SITE_URL", "watch.example.org"),
            ("SIGNUP", "maybe"),
            ("DEFAULT_PLAN", "gold"),
            ("PING_BODY_LIMIT", "None"),
            ("PING_BODY_LIMIT", "-1"),
            ("PING_BODY_LIMIT", "10kB"),
            ("SWEEP_INTERVAL", "0s"),
            ("SWEEP_INTERVAL", "5"),
            ("TRUSTED_PROXIES", "10.0.0.0/33"),
            ("PRIVATE_TARGETS", "lan"),
            ("CLIENT_IP_HEADER", "X Real IP"),
            ("PLANS_FILE", "/does/not/exist.toml"),
            ("SMTP_LISTEN", "25"),
            ("METRICS_KEY", "short"),
        ];
        for (name, value) in bad {
            let error = read(&[(name, value)]).err().unwrap_or_else(|| panic!("{name}={value} was taken"));
            assert_eq!(error.variable, format!("FLATLINE_{name}"));
        }
    }

    #[test]
    fn an_empty_value_counts_as_unset() {
        assert_eq!(read(&[("PING_BODY_LIMIT", "")]).unwrap().ping_body_limit, Some(100_000));
        assert_eq!(read(&[("PING_BODY_LIMIT", "none")]).unwrap().ping_body_limit, None);
    }

    #[test]
    fn a_single_address_is_a_network_of_one() {
        let settings = read(&[("TRUSTED_PROXIES", "127.0.0.1, ::1")]).unwrap();
        assert_eq!(settings.trusted_proxies.len(), 2);
        assert_eq!(settings.trusted_proxies[0].prefix_len(), 32);
    }

    #[test]
    fn the_log_setting_chooses_filter_and_form() {
        let settings = read(&[("LOG", "json,warn")]).unwrap();
        assert!(settings.log_json && settings.log_filter == "warn");
        assert!(read(&[("LOG", "json")]).unwrap().log_json);
    }
}
