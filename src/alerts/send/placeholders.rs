//! The placeholders of webhooks (`CONTRACT` 7): `$NAME` and its like, filled in once.
//!
//! Pure. What is filled in is never looked at again, so a check may be called `$STATUS $BODY`. Of names that begin
//! alike the longest known one counts (`$NAME_JSON` before `$NAME`); an unknown one stays as it is written. Each
//! place has its own escaping, and nothing that is filled in can leave the header, or the part of the URL, it
//! stands in. JSON is given in ASCII, which is the same JSON and passes through headers too.

use std::borrow::Cow;
use std::fmt::Write;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::alerts::Message;

/// Bytes of a ping's body that are quoted at most.
const BODY_BYTES: usize = 100_000;
/// Bytes of a filled template from which on nothing more is filled in: a template can name `$BODY` 200 times.
const FILLED_BYTES: usize = 1_000_000;
/// Where two names begin alike, the longer one stands first.
const NAMES: [&str; 11] =
    ["EXITSTATUS", "BODY_JSON", "NAME_JSON", "STATUS", "CODE", "NAME", "SLUG", "TAGS", "JSON", "BODY", "NOW"];
/// Everything but RFC 3986's unreserved characters.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a template stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Url,
    Header,
    Body,
}

/// A URL with its values percent-encoded.
pub(super) fn in_url(template: &str, message: &Message) -> String {
    fill(template, message, Place::Url)
}

/// A header's value as bytes of Latin-1; other characters are XML references, control characters are blanks.
pub(super) fn in_header(template: &str, message: &Message) -> Vec<u8> {
    let filled = fill(template, message, Place::Header);
    let mut value = Vec::with_capacity(filled.len());
    for c in filled.chars() {
        match u8::try_from(c) {
            Ok(byte) if !c.is_control() => value.push(byte),
            Ok(_) => value.push(b' '),
            Err(_) => value.extend_from_slice(format!("&#{};", u32::from(c)).as_bytes()),
        }
    }
    value.trim_ascii().to_vec()
}

/// A body, its values as they are.
pub(super) fn in_body(template: &str, message: &Message) -> String {
    fill(template, message, Place::Body)
}

fn fill(template: &str, message: &Message, place: Place) -> String {
    let tags: Vec<&str> = message.check.settings.tags.split_whitespace().collect();
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(dollar) = rest.find('$') {
        let (before, after) = (&rest[..dollar], &rest[dollar + 1..]);
        filled.push_str(before);
        let Some((name, value)) = placeholder(after, message, &tags, place) else {
            filled.push('$');
            rest = after;
            continue;
        };
        if filled.len() < FILLED_BYTES {
            match place {
                Place::Url => filled.extend(utf8_percent_encode(&value, ENCODED)),
                Place::Header | Place::Body => filled.push_str(&value),
            }
        }
        rest = &after[name..];
    }
    filled + rest
}

/// The placeholder that `text` begins with, behind its dollar: the length of its name and its value.
fn placeholder<'a>(
    text: &str,
    message: &'a Message,
    tags: &[&'a str],
    place: Place,
) -> Option<(usize, Cow<'a, str>)> {
    let of_body = |name: &str| name.starts_with("BODY");
    let mut known = NAMES.iter().filter(|name| place == Place::Body || !of_body(name));
    if let Some(name) = known.find(|name| text.starts_with(**name)) {
        return Some((name.len(), value(name, message)));
    }
    let digits = text.strip_prefix("TAG")?;
    let most = digits.bytes().take_while(u8::is_ascii_digit).count();
    (1..=most).rev().find_map(|length| {
        let number: usize = digits[..length].parse().ok().filter(|_| !digits.starts_with('0'))?;
        Some(("TAG".len() + length, Cow::Borrowed(*tags.get(number.checked_sub(1)?)?)))
    })
}

fn value<'a>(name: &str, message: &'a Message) -> Cow<'a, str> {
    let settings = &message.check.settings;
    match name {
        "CODE" => message.check.uuid.to_string().into(),
        "STATUS" => message.flip.new_status.word().into(),
        "NOW" => message.flip.flipped_at.iso_seconds().into(),
        "NAME" => Cow::Borrowed(&settings.name),
        "NAME_JSON" => json_string(&settings.name).into(),
        "SLUG" => Cow::Borrowed(&settings.slug),
        "TAGS" => Cow::Borrowed(&settings.tags),
        "JSON" => ascii(&message.check_json).into(),
        "EXITSTATUS" => exit_status(message).to_string().into(),
        "BODY" => body(message),
        "BODY_JSON" => json_string(&body(message)).into(),
        _ => "".into(),
    }
}

fn exit_status(message: &Message) -> i64 {
    message.last_ping.as_ref().and_then(|ping| ping.exit_status).unwrap_or(-1)
}

fn body(message: &Message) -> Cow<'_, str> {
    let bytes = message.last_ping.as_ref().map(|ping| ping.body.as_slice()).unwrap_or_default();
    String::from_utf8_lossy(&bytes[..bytes.len().min(BODY_BYTES)])
}

fn json_string(text: &str) -> String {
    ascii(&serde_json::Value::from(text).to_string())
}

/// The same JSON without characters beyond ASCII, which stand only inside its strings.
fn ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing into a string cannot fail.
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alerts::words::sample::{failed, recovered, silent};

    fn named(name: &str) -> Message {
        let mut message = failed();
        message.check.settings.name = name.to_owned();
        message
    }

    #[test]
    fn every_placeholder_of_the_contract_is_filled_in() {
        let mut message = failed();
        message.last_ping.as_mut().unwrap().body = b"no \"space\"\n".to_vec();
        let table = [
            ("$CODE", "4f7c1b9e-0000-4000-8000-000000000001"),
            ("$STATUS", "down"),
            ("$NOW", "2026-03-26T01:52:00+00:00"),
            ("$NAME", "Dump of pg-main"),
            ("$NAME_JSON", "\"Dump of pg-main\""),
            ("$SLUG", "dump-pg-main"),
            ("$TAGS", "db prod"),
            ("$TAG1-$TAG2", "db-prod"),
            ("$JSON", r#"{"name":"Dump of pg-main"}"#),
            ("$EXITSTATUS", "1"),
            ("$BODY", "no \"space\"\n"),
            ("$BODY_JSON", r#""no \"space\"\n""#),
        ];
        for (template, filled) in table {
            assert_eq!(in_body(template, &message), filled);
        }
        assert_eq!(in_body("$STATUS $EXITSTATUS", &recovered()), "up -1");
        assert_eq!(in_body("[$BODY][$BODY_JSON]", &silent()), "[][\"\"]");
    }

    #[test]
    fn what_is_filled_in_is_not_filled_in_again() {
        let mut message = named("$STATUS $BODY");
        message.last_ping.as_mut().unwrap().body = b"$NAME $$CODE".to_vec();
        assert_eq!(in_body("$NAME", &message), "$STATUS $BODY");
        assert_eq!(in_body("$BODY", &message), "$NAME $$CODE");
        assert_eq!(in_body("$NAME_JSON|$BODY|$STATUS", &message), "\"$STATUS $BODY\"|$NAME $$CODE|down");
    }

    #[test]
    fn the_longest_known_name_counts_and_others_stay() {
        let mut message = failed();
        let table = [
            ("$NAMES", "Dump of pg-mainS"),
            ("$TAG12", "db2"),
            ("$TAG3 $TAG0 $TAG01 $TAG", "$TAG3 $TAG0 $TAG01 $TAG"),
            ("$TAG99999999999999999999999", "$TAG99999999999999999999999"),
            ("$$STATUS $ $status ${NAME} cost: 5$", "$down $ $status ${NAME} cost: 5$"),
            ("é$NAMEé", "éDump of pg-mainé"),
        ];
        for (template, filled) in table {
            assert_eq!(in_body(template, &message), filled);
        }
        message.check.settings.tags = "a b c d e f g h i j".to_owned();
        assert_eq!(in_body("$TAG1 $TAG10 $TAG11", &message), "a j a1");
    }

    #[test]
    fn the_body_of_a_ping_stands_in_bodies_only() {
        let message = failed();
        assert_eq!(
            in_url("https://example.org/?b=$BODY&j=$BODY_JSON", &message),
            "https://example.org/?b=$BODY&j=$BODY_JSON"
        );
        assert_eq!(in_header("$BODY $BODY_JSON", &message), b"$BODY $BODY_JSON");
    }

    #[test]
    fn values_cannot_leave_their_part_of_a_url() {
        let message = named("a/b?c=d&e#f%20 é\r\n../x");
        assert_eq!(
            in_url("https://example.org/hook/$NAME?tags=$TAGS&at=$NOW", &message),
            "https://example.org/hook/a%2Fb%3Fc%3Dd%26e%23f%2520%20%C3%A9%0D%0A..%2Fx?tags=db%20prod&at=2026-03-26T01%3A52%3A00%2B00%3A00"
        );
    }

    #[test]
    fn values_cannot_make_a_header() {
        let message = named("nightly\r\nX-Evil: 1\0\u{7f}");
        assert_eq!(in_header("check $NAME", &message), b"check nightly  X-Evil: 1");
        let message = named("\u{e9}\u{2013}\u{1f4a5}");
        assert_eq!(in_header("$NAME", &message), b"\xe9&#8211;&#128165;");
        assert_eq!(in_header("$NAME_JSON", &message), br#""\u00e9\u2013\ud83d\udca5""#);
    }

    #[test]
    fn json_stays_json_whatever_the_name_holds() {
        for name in ["Ada's 13\" \\ laptop\nx", "\0\u{1b}[0m\u{2028}", "</script>", "💥é"] {
            let json = in_body(r#"{"name": $NAME_JSON}"#, &named(name));
            assert!(json.is_ascii());
            assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["name"], name);
        }
        let mut message = failed();
        message.check_json = r#"{"name":"é\"💥"}"#.to_owned();
        let json = in_body("$JSON", &message);
        assert!(json.is_ascii());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap()["name"], "é\"💥");
    }

    #[test]
    fn a_body_in_another_encoding_is_quoted_all_the_same() {
        let mut message = failed();
        message.last_ping.as_mut().unwrap().body = b"\xe8 \xe9 \xe0 \xf2 A\0B".to_vec();
        assert_eq!(in_body("$BODY", &message), "\u{fffd} \u{fffd} \u{fffd} \u{fffd} A\0B");
        assert_eq!(in_body("$BODY_JSON", &message), r#""\ufffd \ufffd \ufffd \ufffd A\u0000B""#);
    }

    #[test]
    fn a_template_cannot_make_a_flood() {
        let mut message = failed();
        message.last_ping.as_mut().unwrap().body = vec![b'x'; 5_000_000];
        let filled = in_body(&"$BODY".repeat(200), &message);
        assert_eq!(filled.len(), FILLED_BYTES);
    }
}
