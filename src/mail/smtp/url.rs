//! `FLATLINE_SMTP_URL`, read into a [`Relay`].

use std::sync::Mutex;

use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::TlsParameters;
use lettre::transport::smtp::extension::ClientId;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::{Relay, Security};

const SMTP_PORT: u16 = 25;
const SUBMISSION_PORT: u16 = 587;
const SUBMISSIONS_PORT: u16 = 465;

/// What is wrong with an SMTP URL; the URL holds a password and is not repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SmtpUrlError {
    #[error(
        "it is not a URL of the form smtp://user:password@host:port?tls=required or smtps://user:password@host"
    )]
    Form,
    #[error("it must begin with smtp:// or smtps://")]
    Scheme,
    #[error("?tls= must be required or opportunistic, and only with smtp://")]
    Tls,
    #[error("it has a user but no password")]
    Password,
    #[error("its user or password is not UTF-8 in percent-encoding")]
    Encoding,
    #[error("TLS cannot be set up on this machine: {0}")]
    Certificates(String),
}

impl Relay {
    pub(in super::super) fn from_url(text: &str) -> Result<Self, SmtpUrlError> {
        let url = Url::parse(text).map_err(|_| SmtpUrlError::Form)?;
        if !matches!(url.scheme(), "smtp" | "smtps") {
            return Err(SmtpUrlError::Scheme);
        }
        let host = match url.host() {
            Some(Host::Domain(name)) if !name.is_empty() => name.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            _ => return Err(SmtpUrlError::Form),
        };
        let (security, port) = security(&url, &host)?;
        let hello = match url.path().trim_matches('/') {
            "" => ClientId::default(),
            name => ClientId::Domain(name.to_owned()),
        };
        Ok(Self {
            port: url.port().unwrap_or(port),
            hello,
            security,
            credentials: credentials(&url)?,
            host,
            idle: Mutex::default(),
        })
    }
}

/// The protection that a URL asks for, and the port that goes with it.
fn security(url: &Url, host: &str) -> Result<(Security, u16), SmtpUrlError> {
    let parameters =
        || TlsParameters::new(host.to_owned()).map_err(|error| SmtpUrlError::Certificates(error.to_string()));
    let tls = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, value)| value.into_owned());
    match (url.scheme(), tls.as_deref()) {
        ("smtps", None) => Ok((Security::Wrapped(parameters()?), SUBMISSIONS_PORT)),
        ("smtp", None) => Ok((Security::None, SMTP_PORT)),
        ("smtp", Some("required")) => Ok((Security::Required(parameters()?), SUBMISSION_PORT)),
        ("smtp", Some("opportunistic")) => Ok((Security::Opportunistic(parameters()?), SUBMISSION_PORT)),
        _ => Err(SmtpUrlError::Tls),
    }
}

fn credentials(url: &Url) -> Result<Option<Credentials>, SmtpUrlError> {
    let decoded = |text: &str| {
        percent_decode_str(text).decode_utf8().map(String::from).map_err(|_| SmtpUrlError::Encoding)
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        (_, None) => Err(SmtpUrlError::Password),
        (user, Some(password)) => Ok(Some(Credentials::new(decoded(user)?, decoded(password)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> SmtpUrlError {
        Relay::from_url(text).unwrap_err()
    }

    #[test]
    fn the_port_and_the_protection_follow_from_the_scheme() {
        for (text, host, port) in [
            ("smtp://mail.example", "mail.example", 25),
            ("smtp://mail.example:2525", "mail.example", 2525),
            ("smtp://mail.example?tls=required", "mail.example", 587),
            ("smtp://mail.example?tls=opportunistic", "mail.example", 587),
            ("smtps://u:p@mail.example", "mail.example", 465),
            ("smtp://127.0.0.1", "127.0.0.1", 25),
            ("smtp://[::1]:2525", "::1", 2525),
        ] {
            let relay = Relay::from_url(text).unwrap();
            assert_eq!((relay.host.as_str(), relay.port), (host, port), "{text}");
        }
    }

    #[test]
    fn user_and_password_are_decoded() {
        let relay = Relay::from_url("smtp://ann%40example.org:p%3Aw%40d@mail.example/mon.example").unwrap();
        assert_eq!(
            relay.credentials,
            Some(Credentials::new("ann@example.org".to_owned(), "p:w@d".to_owned()))
        );
        assert_eq!(relay.hello, ClientId::Domain("mon.example".to_owned()));
    }

    #[test]
    fn a_bad_url_is_refused_without_being_repeated() {
        assert_eq!(error("mail.example"), SmtpUrlError::Form);
        assert_eq!(error("smtp:mail.example"), SmtpUrlError::Form);
        assert_eq!(error("http://u:hunter2@mail.example"), SmtpUrlError::Scheme);
        assert_eq!(error("smtp://u:hunter2@mail.example?tls=maybe"), SmtpUrlError::Tls);
        assert_eq!(error("smtps://u:hunter2@mail.example?tls=opportunistic"), SmtpUrlError::Tls);
        assert_eq!(error("smtp://user@mail.example"), SmtpUrlError::Password);
        assert_eq!(error("smtp://u:%ff@mail.example"), SmtpUrlError::Encoding);
    }

    #[test]
    fn debug_output_holds_no_secret() {
        let relay = Relay::from_url("smtp://user:hunter2@mail.example").unwrap();
        assert_eq!(format!("{relay:?}"), "Relay { host: \"mail.example\", port: 25, .. }");
    }
}
