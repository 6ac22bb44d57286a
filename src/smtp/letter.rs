//! What a letter says: its subject and its readable text, as keywords are looked for in them. Pure.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::{ContentType, Message, MessageParser, MessagePart, MessagePartId, MimeHeaders, PartType};

use super::html;
use crate::pings::filter::Letter;

/// Parts of a letter that are read; what follows is left out.
const PARTS: usize = 64;
/// Parts within parts that are read; the letter itself is the first.
const DEPTH: usize = 8;

/// Reads a raw message. `sender` is the envelope's: an empty one is a bounce, which says nothing about a job.
pub fn read(raw: &[u8], sender: &str) -> Letter {
    let raw = declared(raw);
    // A letter without any header is still a letter.
    let parsed = MessageParser::new().parse(&*raw);
    let Some(message) = parsed.filter(|message| !message.headers().is_empty()) else {
        let text = String::from_utf8_lossy(&raw).into_owned();
        return Letter { subject: String::new(), text, is_bounce: sender.is_empty() };
    };
    let mut text = String::new();
    for index in near(&message) {
        let Some(part) = message.part(index) else { continue };
        let is_read =
            message.text_body.contains(&index) || message.html_body.contains(&index) || is_torn(part);
        match &part.body {
            PartType::Text(html) if is_read && part.is_content_type("text", "html") => {
                text.push_str(&html::words(html))
            }
            PartType::Html(html) if is_read => text.push_str(&html::words(html)),
            PartType::Text(plain) if is_read => text.push_str(plain),
            _ => {}
        }
        text.push('\n');
    }
    let subject = message.subject().unwrap_or_default().to_owned();
    Letter { subject, text, is_bounce: sender.is_empty() }
}

/// The same letter in UTF-8, if it is in no UTF-8 and says nowhere what it is in: the old programs that do so mean
/// windows-1252.
fn declared(raw: &[u8]) -> Cow<'_, [u8]> {
    let is_declared = || raw.windows(8).any(|word| word.eq_ignore_ascii_case(b"charset="));
    if std::str::from_utf8(raw).is_ok() || is_declared() {
        return Cow::Borrowed(raw);
    }
    match charset_decoder(b"windows-1252") {
        Some(decode) => Cow::Owned(decode(raw).into_bytes()),
        None => Cow::Borrowed(raw),
    }
}

/// Whether a text lost its end, or is not encoded as it says: it is read as it is.
fn is_torn(part: &MessagePart<'_>) -> bool {
    let is_text = part
        .content_type()
        .is_none_or(|kind| kind.ctype() == "text" && matches!(kind.subtype(), Some("plain" | "html")));
    let is_attached = part.content_disposition().is_some_and(ContentType::is_attachment);
    part.is_encoding_problem && is_text && !is_attached
}

/// The parts that are looked at: the first of those that do not lie too deep. Parts whose parent lost its end count as
/// the letter's own.
fn near(message: &Message<'_>) -> Vec<MessagePartId> {
    let inner = |index: MessagePartId| match message.part(index).map(|part| &part.body) {
        Some(PartType::Multipart(inner)) => inner.as_slice(),
        _ => &[],
    };
    let all = (1..).take(message.parts.len().saturating_sub(1));
    let held: BTreeSet<MessagePartId> =
        (0..).take(message.parts.len()).flat_map(|index| inner(index).iter().copied()).collect();
    let mut open: Vec<(MessagePartId, usize)> =
        all.filter(|index| !held.contains(index)).map(|index| (index, 2)).collect();
    open.push((0, 1));
    let mut found = Vec::new();
    while let Some((index, depth)) = open.pop() {
        found.push(index);
        if depth < DEPTH {
            open.extend(inner(index).iter().map(|index| (*index, depth + 1)));
        }
    }
    found.sort_unstable();
    found.truncate(PARTS);
    found
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

    /// A letter whose parts lie in so many others.
    fn nested(around: usize) -> String {
        let mut part = "Content-Type: text/plain\r\n\r\ndeep\r\n".to_owned();
        for level in 0..around {
            part = format!(
                "Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n{part}\r\n--b{level}--\r\n"
            );
        }
        format!("Subject: x\r\nMIME-Version: 1.0\r\n{part}")
    }

    #[test]
    fn parts_are_read_down_to_the_eighth_within_each_other() {
        for (around, is_read) in [(0, true), (1, true), (7, true), (8, false), (200, false)] {
            assert_eq!(read(nested(around).as_bytes(), "").text.contains("deep"), is_read, "{around}");
        }
    }

    #[test]
    fn words_of_html_stand_one_space_apart_and_a_letter_without_its_end_is_read() {
        let mime = "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: ";
        for rest in [
            "text/html\r\n\r\n<p>Backup\r\n  <b>fin</b>ished</p>",
            "text/html\r\n\r\n<p>Backup&nbsp;finished</p>",
            "text/html\r\n\r\n<p>Backup<br>finished</p>",
            "multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nBackup finished\r\n",
            "multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<b>Backup</b> finished\r\n",
        ] {
            let text = read(format!("{mime}{rest}").as_bytes(), "").text;
            assert!(text.contains("Backup finished"), "{rest}: {text}");
        }
        let attached = "multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\
                        Content-Disposition: attachment\r\n\r\nBackup finished\r\n";
        assert!(!read(format!("{mime}{attached}").as_bytes(), "").text.contains("finished"));
    }

    #[test]
    fn texts_are_decoded_from_the_charsets_that_devices_send() {
        for (charset, bytes, text) in [
            ("gb2312", &b"\xcd\xea\xb3\xc9"[..], "\u{5b8c}\u{6210}"),
            ("shift_jis", &b"\x8a\xae\x97\xb9"[..], "\u{5b8c}\u{4e86}"),
            ("euc-kr", &b"\xbf\xcf\xb7\xe1"[..], "\u{c644}\u{b8cc}"),
            ("koi8-r", &b"\xc7\xcf\xd4\xcf\xd7\xcf"[..], "\u{433}\u{43e}\u{442}\u{43e}\u{432}\u{43e}"),
            ("iso-8859-1", &b"Gr\xf6\xdfe"[..], "Gr\u{f6}\u{df}e"),
        ] {
            let head = format!(
                "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset={charset}\r\n\r\n"
            );
            let read = read(&[head.as_bytes(), bytes].concat(), "");
            assert!(read.text.contains(text), "{charset}: {}", read.text);
        }
    }

    #[test]
    fn a_letter_that_does_not_say_its_charset_is_read_as_old_programs_mean_it() {
        let letter = read(b"Subject: Gr\xf6\xdfe\r\n\r\n\xe8 \x80\r\n", "");
        assert_eq!((letter.subject.as_str(), letter.text.trim()), ("Gr\u{f6}\u{df}e", "\u{e8} \u{20ac}"));
        let letter = read("Subject: Gr\u{f6}\u{df}e\r\n\r\n\u{e8}\r\n".as_bytes(), "");
        assert_eq!((letter.subject.as_str(), letter.text.trim()), ("Gr\u{f6}\u{df}e", "\u{e8}"));
        // What says it is something else is read as that.
        let letter = read(b"Subject: x\r\nContent-Type: text/plain; charset=koi8-r\r\n\r\n\xc7\r\n", "");
        assert_eq!(letter.text.trim(), "\u{433}");
    }

    #[test]
    fn the_first_64_parts_are_read() {
        let parts: String = (1..100)
            .map(|number| format!("--b\r\nContent-Type: text/plain\r\n\r\npart {number}.\r\n"))
            .collect();
        let raw = format!(
            "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n{parts}--b--\r\n"
        );
        let text = read(raw.as_bytes(), "").text;
        // The one around them is the first.
        assert!(text.contains("part 63.") && !text.contains("part 64."), "{text}");
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
