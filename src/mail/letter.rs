//! A letter and how it is written down as a message (RFC 5322, MIME).
//!
//! All of it leaves as ASCII in lines under 998 bytes. Names and output of other people's programs stand in headers
//! and bodies, so line ends and control characters are taken out here, once, whoever calls.

use lettre::Message;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{MultiPart, SinglePart};
use std::time::{Duration, SystemTime};
use url::Url;
use uuid::Uuid;

use super::{Address, MailError, Mailbox, one_line};
use crate::time::Time;

const SUBJECT_CHARS: usize = 250;
const URL_BYTES: usize = 900;

/// One letter to one person.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Becomes `Message-ID: <id@domain of the sender>`; give the same one when the same letter is sent again.
    pub id: Uuid,
    /// The id of the letter that this one follows, so that mail programs show both together.
    pub follows: Option<Uuid>,
    pub to: Mailbox,
    /// Where mail servers report that it did not arrive: the envelope's sender. Ours where it is left out.
    pub returns_to: Option<Address>,
    /// Shown as one line of at most 250 characters.
    pub subject: String,
    pub text: String,
    pub html: String,
    /// Where one POST ends these letters (RFC 8058); at most 900 bytes.
    pub unsubscribe: Option<Url>,
}

impl Letter {
    /// Writes the message, ready for SMTP or a file.
    pub(super) fn write(&self, from: &Mailbox, date: Time) -> Result<Vec<u8>, MailError> {
        let message_id = |id: Uuid| format!("<{id}@{}>", from.address.domain());
        let mut message = Message::builder()
            .date(system_time(date))
            .from(from.to_lettre())
            .to(self.to.to_lettre())
            .subject(subject(&self.subject))
            .message_id(Some(message_id(self.id)))
            .raw_header(header("Auto-Submitted", "auto-generated".to_owned()));
        if let Some(earlier) = self.follows.map(message_id) {
            message = message.in_reply_to(earlier.clone()).references(earlier);
        }
        if let Some(url) = &self.unsubscribe {
            if url.as_str().len() > URL_BYTES {
                return Err(MailError::Letter("the unsubscribe link is too long".to_owned()));
            }
            message = message
                .raw_header(header("List-Unsubscribe", format!("<{url}>")))
                .raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()));
        }
        // "=_" occurs in neither of the encodings that bodies get, and nobody can write this id into a body before.
        let parts = MultiPart::alternative()
            .boundary(format!("=_{}", self.id.simple()))
            .singlepart(SinglePart::plain(body(&self.text)))
            .singlepart(SinglePart::html(body(&self.html)));
        let message = message.multipart(parts).map_err(|error| MailError::Letter(error.to_string()))?;
        Ok(message.formatted())
    }
}

fn header(name: &'static str, value: String) -> HeaderValue {
    HeaderValue::new(HeaderName::new_from_ascii_str(name), value)
}

fn system_time(at: Time) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(at.0).unwrap_or(0))
}

/// A plain subject that looks like an encoded word would be decoded by the reader's program; a zero-width space makes
/// it be encoded itself.
fn subject(text: &str) -> String {
    one_line(text, SUBJECT_CHARS).replace("=?", "=\u{200b}?")
}

/// Line ends of one kind, and no control characters but tabs: terminals draw with them, and relays refuse NUL.
fn body(text: &str) -> String {
    let unified = text.replace("\r\n", "\n").replace('\r', "\n");
    unified.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use mail_parser::{HeaderValue as Value, MessageParser};
    use proptest::prelude::*;

    use super::*;

    const DATE: Time = Time(1_774_494_720_987);

    fn letter() -> Letter {
        Letter {
            id: Uuid::from_u128(7),
            follows: None,
            to: Address::parse("bob@example.org").unwrap().into(),
            returns_to: None,
            subject: "DOWN | nightly".to_owned(),
            text: "No ping.\n".to_owned(),
            html: "<p>No ping.</p>\n".to_owned(),
            unsubscribe: None,
        }
    }

    fn from() -> Mailbox {
        Mailbox::parse("Flatline <alerts@mon.example>").unwrap()
    }

    fn written(letter: &Letter) -> String {
        let bytes = letter.write(&from(), DATE).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.is_ascii());
        assert!(text.split("\r\n").all(|line| line.len() < 998 && !line.contains(['\r', '\n', '\0'])));
        text
    }

    #[test]
    fn a_letter_is_written_to_the_byte() {
        assert_eq!(
            written(&letter()),
            concat!(
                "Date: Thu, 26 Mar 2026 03:12:00 +0000\r\n",
                "From: Flatline <alerts@mon.example>\r\n",
                "To: bob@example.org\r\n",
                "Subject: DOWN | nightly\r\n",
                "Message-ID: <00000000-0000-0000-0000-000000000007@mon.example>\r\n",
                "Auto-Submitted: auto-generated\r\n",
                "MIME-Version: 1.0\r\n",
                "Content-Type: multipart/alternative;\r\n boundary=\"=_00000000000000000000000000000007\"\r\n",
                "\r\n",
                "--=_00000000000000000000000000000007\r\n",
                "Content-Type: text/plain; charset=utf-8\r\n",
                "Content-Transfer-Encoding: 7bit\r\n",
                "\r\n",
                "No ping.\r\n",
                "\r\n",
                "--=_00000000000000000000000000000007\r\n",
                "Content-Type: text/html; charset=utf-8\r\n",
                "Content-Transfer-Encoding: 7bit\r\n",
                "\r\n",
                "<p>No ping.</p>\r\n",
                "\r\n",
                "--=_00000000000000000000000000000007--\r\n",
            )
        );
    }

    #[test]
    fn one_click_unsubscribe_stands_in_both_headers() {
        let mut letter = letter();
        let url = format!("https://mon.example/unsubscribe/{}", "t".repeat(200));
        letter.unsubscribe = Some(url.parse().unwrap());
        let text = written(&letter);
        assert!(text.contains(&format!("List-Unsubscribe: <{url}>\r\n")), "{text}");
        assert!(text.contains("List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n"), "{text}");

        letter.unsubscribe = Some(format!("https://mon.example/{}", "t".repeat(900)).parse().unwrap());
        let error = letter.write(&from(), DATE).unwrap_err();
        assert_eq!(error, MailError::Letter("the unsubscribe link is too long".to_owned()));
        assert!(error.is_permanent());
    }

    #[test]
    fn a_letter_that_follows_another_names_it() {
        let mut letter = letter();
        letter.follows = Some(Uuid::from_u128(3));
        let text = written(&letter);
        let earlier = "<00000000-0000-0000-0000-000000000003@mon.example>";
        assert!(text.contains(&format!("In-Reply-To: {earlier}\r\nReferences: {earlier}\r\n")), "{text}");
    }

    #[test]
    fn names_beyond_ascii_arrive_as_they_are() {
        let mut letter = letter();
        letter.to = Mailbox::named("Žofie \"Žo\" Nováková, Praha", letter.to.address);
        letter.subject = "DOWN | резервная копия базы данных, ночная — 夜間バックアップ 🌙 end".to_owned();
        letter.text = "è é à ò\n".repeat(3);
        letter.html = "<p>è é à ò</p>".to_owned();
        let text = written(&letter);
        let parsed = MessageParser::default().parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.subject(), Some(letter.subject.as_str()));
        let to = parsed.to().unwrap().first().unwrap();
        assert_eq!(to.name(), letter.to.name());
        assert_eq!(to.address(), Some("bob@example.org"));
        assert_eq!(parsed.body_text(0).unwrap().replace("\r\n", "\n"), letter.text);
        assert_eq!(parsed.body_html(0).unwrap(), letter.html);
    }

    #[test]
    fn nothing_in_a_name_or_subject_can_start_a_header() {
        let mut letter = letter();
        let attack = "x\r\nBcc: eve@example.org\r\n\r\nbody\0\u{85}\u{2028}y";
        letter.subject = attack.to_owned();
        letter.to = Mailbox::named(attack, letter.to.address);
        let text = written(&letter);
        let parsed = MessageParser::default().parse(text.as_bytes()).unwrap();
        assert!(parsed.bcc().is_none());
        assert_eq!(parsed.subject(), Some("x Bcc: eve@example.org body y"));
        assert_eq!(parsed.to().unwrap().first().unwrap().name(), Some("x Bcc: eve@example.org body y"));
    }

    #[test]
    fn a_subject_that_looks_encoded_is_not_decoded() {
        let mut letter = letter();
        letter.subject = "DOWN | =?utf-8?q?UP?=".to_owned();
        let text = written(&letter);
        let parsed = MessageParser::default().parse(text.as_bytes()).unwrap();
        assert_eq!(parsed.subject(), Some("DOWN | =\u{200b}?utf-8?q?UP?="));
    }

    #[test]
    fn output_of_programs_is_sent_without_its_control_characters() {
        let mut letter = letter();
        letter.text = format!("a\rb\r\nc\0\u{1b}[31m\td\n.\nFrom x\n{}", "=".repeat(5000));
        let text = written(&letter);
        let parsed = MessageParser::default().parse(text.as_bytes()).unwrap();
        let expected = format!("a\nb\nc[31m\td\n.\nFrom x\n{}", "=".repeat(5000));
        assert_eq!(parsed.body_text(0).unwrap().replace("\r\n", "\n"), expected);
    }

    fn writing() -> impl Strategy<Value = String> {
        let awkward = proptest::sample::select("=?_\"\\<>@,;:.\r\n\0\t é🌙".chars().collect::<Vec<_>>());
        let letter = prop_oneof![4 => proptest::char::range('a', 'z'), 3 => awkward, 1 => any::<char>()];
        proptest::collection::vec(letter, 0..300).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn whatever_people_write_arrives(name in writing(), subject in writing(), text in writing()) {
            let mut letter = letter();
            letter.to = Mailbox::named(&name, letter.to.address);
            letter.subject = subject;
            letter.text = text;
            let written = written(&letter);
            let parsed = MessageParser::default().parse(written.as_bytes()).unwrap();
            let sent = super::subject(&letter.subject);
            prop_assert_eq!(parsed.subject().unwrap_or_default(), sent.as_str());
            prop_assert_eq!(parsed.to().unwrap().first().unwrap().address(), Some("bob@example.org"));
            prop_assert_eq!(parsed.to().unwrap().first().unwrap().name(), letter.to.name());
            let text = parsed.body_text(0).unwrap().replace("\r\n", "\n");
            let body = body(&letter.text);
            prop_assert_eq!(text.trim_end(), body.trim_end());
            prop_assert!(matches!(parsed.header("Auto-Submitted"), Some(Value::Text(value)) if value == "auto-generated"));
        }
    }
}
