//! Delivery reports: what a mail server writes about a letter that it took and could not hand over (RFC 3464). Pure.
//!
//! Only what somebody can act on is read: whether the letter failed, whether any other to the same address would, and
//! the words for people. Mails that say something else (an absence, a success) are no reports.

use mail_parser::{ContentType, MessageParser, MimeHeaders};

use super::{REPLY_CHARS, is_about_mailbox, one_line};

/// How much of a mail is looked at, in bytes; what the report returns of the letter stands behind it.
const BYTES_MAX: usize = 1024 * 1024;

/// Headers that may name the address that a mail came to.
const TO: [&str; 4] = ["To", "Delivered-To", "X-Original-To", "Envelope-To"];

/// The addresses that a mail may have come to, as they are written in its head.
pub fn recipients(raw: &[u8]) -> Vec<String> {
    let raw = &raw[..raw.len().min(BYTES_MAX)];
    let Some(message) = MessageParser::new().parse_headers(raw) else { return Vec::new() };
    let written: Vec<&str> = TO.iter().filter_map(|name| message.header_raw(*name)).collect();
    let words =
        written.iter().flat_map(|value| value.split([' ', '\t', '\r', '\n', '<', '>', ',', ';', ':', '"']));
    words.filter(|word| word.contains('@')).map(str::to_owned).collect()
}

/// What became of one letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It has not arrived yet, and the server still tries.
    Delayed { words: String },
    /// It did not arrive; another one may.
    Failed { words: String },
    /// It did not arrive, and none to this address ever will.
    NoMailbox { words: String },
}

impl Report {
    /// Reads a mail; `None` if it reports no failure. Our letters have one recipient, so the first that is named is
    /// meant.
    pub fn read(raw: &[u8]) -> Option<Self> {
        let message = MessageParser::new().parse(&raw[..raw.len().min(BYTES_MAX)])?;
        let part = message.parts.iter().find(|part| part.content_type().is_some_and(is_report))?;
        let text = String::from_utf8_lossy(part.contents()).replace("\r\n", "\n");
        text.split("\n\n").find_map(of_recipient)
    }
}

fn is_report(kind: &ContentType<'_>) -> bool {
    let subtype = kind.subtype().unwrap_or_default().to_ascii_lowercase();
    kind.ctype().eq_ignore_ascii_case("message")
        && matches!(subtype.as_str(), "delivery-status" | "global-delivery-status")
}

/// Reads the group of fields about one recipient.
fn of_recipient(group: &str) -> Option<Report> {
    let group = format!("{}\n\n", group.trim());
    let fields = MessageParser::new().parse_headers(group.as_bytes())?;
    let field = |name: &'static str| fields.header_raw(name).map(|value| one_line(value, REPLY_CHARS));
    let (action, status) = (field("Action")?.to_ascii_lowercase(), field("Status")?);
    let diagnostic = field("Diagnostic-Code").unwrap_or_default();
    let said = diagnostic.split_once(';').map_or(diagnostic.as_str(), |(_, said)| said.trim());
    let words = if said.is_empty() { format!("status {status}") } else { said.to_owned() };
    let code = precise(&status, said);
    match action.as_str() {
        "delayed" => Some(Report::Delayed { words }),
        // Some servers know no more than that it is for good.
        "failed" if is_about_mailbox(&code) || matches!(code.as_str(), "5.0.0" | "5.1.0") => {
            Some(Report::NoMailbox { words })
        }
        "failed" => Some(Report::Failed { words }),
        _ => None,
    }
}

/// The status code of a report; where that says only "failed", the one in the words of the server that refused.
fn precise(status: &str, said: &str) -> String {
    let code = status.split_whitespace().next().unwrap_or_default();
    let is_code = |word: &&str| {
        let mut numbers = word.split('.');
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        matches!(numbers.next(), Some("4" | "5")) && numbers.clone().count() == 2 && numbers.all(is_number)
    };
    let told = said.split([' ', '-']).take(3).find(is_code).filter(|_| code.ends_with(".0.0"));
    told.unwrap_or(code).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(fields: &str) -> Option<Report> {
        let raw = format!(
            "From: MAILER-DAEMON@mx.example.test\r\nTo: x@example.org\r\nMIME-Version: 1.0\r\n\
             Content-Type: multipart/report; report-type=delivery-status; boundary=\"BB\"\r\n\r\n\
             --BB\r\nContent-Type: text/plain\r\n\r\nSorry.\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n\
             --BB\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; mx.example.test\r\n\r\n\
             Final-Recipient: rfc822; ann@example.org\r\n{fields}\r\n\
             --BB\r\nContent-Type: message/rfc822-headers\r\n\r\nSubject: DOWN\r\n\r\n--BB--\r\n"
        );
        Report::read(raw.as_bytes())
    }

    fn no_mailbox(words: &str) -> Option<Report> {
        Some(Report::NoMailbox { words: words.to_owned() })
    }

    fn failed(words: &str) -> Option<Report> {
        Some(Report::Failed { words: words.to_owned() })
    }

    #[test]
    fn a_mailbox_that_is_not_there_is_told_apart_from_a_letter_that_failed() {
        for (fields, expected) in [
            ("Action: failed\r\nStatus: 5.1.1", no_mailbox("status 5.1.1")),
            ("Status: 5.0.0\r\nAction: failed\r\n", no_mailbox("status 5.0.0")),
            (
                "Action: failed\r\nStatus: 5.1.1 (bad mailbox)\r\nDiagnostic-Code: smtp; 550 5.1.1\r\n <ann>: unknown",
                no_mailbox("550 5.1.1 <ann>: unknown"),
            ),
            (
                "Action: failed\r\nStatus: 5.0.0\r\nDiagnostic-Code: smtp; 550 5.7.1 looks like spam",
                failed("550 5.7.1 looks like spam"),
            ),
            (
                "Action: failed\r\nStatus: 5.0.0\r\nDiagnostic-Code: smtp; 550-5.1.1 no such user",
                no_mailbox("550-5.1.1 no such user"),
            ),
            ("Action: failed\r\nStatus: 5.2.2", failed("status 5.2.2")),
            ("action: FAILED\r\nstatus: 4.4.7", failed("status 4.4.7")),
            ("Action: delayed\r\nStatus: 4.4.1", Some(Report::Delayed { words: "status 4.4.1".to_owned() })),
        ] {
            assert_eq!(report(fields), expected, "{fields}");
        }
    }

    #[test]
    fn the_addresses_of_a_mail_are_those_it_may_have_come_to() {
        let raw = "From: a@x.test\r\nTo: Some <One@x.test>,\r\n two@x.test\r\nCc: c@x.test\r\n\
                   Delivered-To: three@x.test\r\n\r\nTo: four@x.test\r\n";
        assert_eq!(recipients(raw.as_bytes()), ["One@x.test", "two@x.test", "three@x.test"]);
        assert!(recipients(b"").is_empty());
    }

    #[test]
    fn what_reports_no_failure_is_none() {
        for fields in ["Action: delivered\r\nStatus: 2.0.0", "Action: failed", "Status: 5.1.1", ""] {
            assert_eq!(report(fields), None, "{fields}");
        }
        assert_eq!(Report::read(b""), None);
        assert_eq!(Report::read(b"Subject: I am away\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n"), None);
    }
}
