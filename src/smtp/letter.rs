//! What a letter says: its subject and its readable text, as keywords are looked for in them. Pure.

use mail_parser::decoders::html::html_to_text;
use mail_parser::{MessageParser, PartType};

use crate::pings::filter::Letter;

/// Parts of a letter that are read; what follows is left out.
const PARTS: usize = 64;

/// Reads a raw message. `sender` is the envelope's: an empty one is a bounce, which says nothing about a job.
pub fn read(raw: &[u8], sender: &str) -> Letter {
    // A letter without any header is still a letter.
    let parsed = MessageParser::new().parse(raw);
    let Some(message) = parsed.filter(|message| !message.headers().is_empty()) else {
        let text = String::from_utf8_lossy(raw).into_owned();
        return Letter { subject: String::new(), text, is_bounce: sender.is_empty() };
    };
    let mut text = String::new();
    let mut bodies: Vec<u32> = message.text_body.iter().chain(&message.html_body).copied().collect();
    bodies.sort_unstable();
    bodies.dedup();
    for index in bodies.into_iter().take(PARTS) {
        match message.part(index).map(|part| &part.body) {
            Some(PartType::Text(plain)) => text.push_str(plain),
            Some(PartType::Html(html)) => text.push_str(&html_to_text(html)),
            _ => {}
        }
        text.push('\n');
    }
    let subject = message.subject().unwrap_or_default().to_owned();
    Letter { subject, text, is_bounce: sender.is_empty() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subject_and_parts_are_decoded_and_html_gives_its_text_alone() {
        let raw = "Subject: =?utf-8?B?U2ljaGVydW5nIGVyZm9sZ3JlaWNo?=\r\nMIME-Version: 1.0\r\n\
                   Content-Type: text/html\r\n\r\n<style>.failed{}</style><!-- failed --><p class=\"failed\">Success</p>\r\n";
        let letter = read(raw.as_bytes(), "job@host.test");
        assert_eq!(letter.subject, "Sicherung erfolgreich");
        assert!(letter.text.contains("Success") && !letter.text.contains("failed"), "{}", letter.text);
        assert!(!letter.is_bounce);
    }

    #[test]
    fn attachments_are_not_read_and_a_letter_without_headers_is_all_text() {
        let raw = "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
                   --b\r\nContent-Type: text/plain\r\n\r\nbody\r\n\
                   --b\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename=a.log\r\n\r\nsecret\r\n--b--\r\n";
        let letter = read(raw.as_bytes(), "");
        assert!(letter.text.contains("body") && !letter.text.contains("secret"), "{}", letter.text);
        assert!(letter.is_bounce);
        assert!(read(b"\r\nplain line, finished OK\r\n", "x@y.test").text.contains("finished OK"));
    }
}
