//! Badges: the status of a check, a tag or a project as a small picture or a line of JSON (`CONTRACT` 4). Pure.
//!
//! A badge's address is not to be guessed: it carries a signature over the project's badge key and the tag.
//! Whatever people wrote (names, tags) is escaped and cut before it becomes part of a picture.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use sha2::Sha256;
use uuid::Uuid;

use crate::checks::{Check, Settings, Status};
use crate::time::Time;

/// Characters of the signature in a badge's address.
pub const SIGNATURE_CHARS: usize = 8;
/// Characters of a label that are drawn.
const LABEL_CHARS: usize = 100;
/// The tag that stands for the whole project.
pub const ALL: &str = "*";

/// What stands in an address as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'~').remove(b'.').remove(b'-');

/// The tags that any of these checks has, each of which has a badge, beside the one for [`ALL`].
pub fn tags<'a>(checks: impl IntoIterator<Item = &'a Settings>) -> BTreeSet<&'a str> {
    checks.into_iter().flat_map(|settings| settings.tags.split_whitespace()).collect()
}

/// How many states a badge tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    UpDown,
    UpLateDown,
}

/// What a badge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Up,
    Late,
    Down,
}

/// The counts behind a badge, as its JSON form shows them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub status: &'static str,
    pub total: usize,
    pub grace: usize,
    pub down: usize,
}

/// The form that the badge service of that name reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shield {
    pub schema_version: u8,
    pub label: String,
    pub message: &'static str,
    pub color: &'static str,
}

impl Verdict {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Late => "late",
            Self::Down => "down",
        }
    }

    const fn fill(self) -> &'static str {
        match self {
            Self::Up => "#4c1",
            Self::Late => "#fe7d37",
            Self::Down => "#e05d44",
        }
    }

    const fn shield_color(self) -> &'static str {
        match self {
            Self::Up => "success",
            Self::Late => "important",
            Self::Down => "critical",
        }
    }
}

/// The first characters of the signature over a project's badge key and a tag.
pub fn signature(secret: &[u8], badge_key: Uuid, tag: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length is taken");
    mac.update(b"badge:");
    mac.update(badge_key.as_bytes());
    mac.update(tag.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()).chars().take(SIGNATURE_CHARS).collect()
}

/// Where the badge of a tag, or of [`ALL`], is found on the site; `format` is `svg`, `json` or `shields`.
pub fn path(secret: &[u8], badge_key: Uuid, tag: &str, states: States, format: &str) -> String {
    let signature = signature(secret, badge_key, tag);
    let suffix = if states == States::UpDown { "-2" } else { "" };
    // Encoded twice, so that a server in between that decodes the path once makes no slash of a tag's.
    let encoded = utf8_percent_encode(tag, PLAIN).to_string();
    let tail = if tag == ALL { String::new() } else { format!("/{}", encoded.replace('%', "%25")) };
    format!("/badge/{badge_key}/{signature}{suffix}{tail}.{format}")
}

/// Counts checks; new, paused and running ones count as up, and no check at all is up too.
pub fn summary<'a>(checks: impl Iterator<Item = &'a Check>, states: States, now: Time) -> (Verdict, Summary) {
    let (mut total, mut grace, mut down) = (0, 0, 0);
    for check in checks {
        total += 1;
        grace += usize::from(check.is_late(now));
        down += usize::from(check.state.status == Status::Down);
    }
    let verdict = match (down, grace, states) {
        (1.., _, _) => Verdict::Down,
        (0, 1.., States::UpLateDown) => Verdict::Late,
        _ => Verdict::Up,
    };
    (verdict, Summary { status: verdict.word(), total, grace, down })
}

/// The JSON that badge services draw from.
pub fn shield(label: &str, verdict: Verdict) -> Shield {
    Shield {
        schema_version: 1,
        label: label.to_owned(),
        message: verdict.word(),
        color: verdict.shield_color(),
    }
}

/// A flat badge, 20 px high: the label on grey, the status on its colour.
pub fn svg(label: &str, verdict: Verdict) -> String {
    let label: String = label.chars().filter(|letter| !letter.is_control()).take(LABEL_CHARS).collect();
    let (left, right) = (width(&label), width(verdict.word()));
    let all = left + right;
    let (label_at, word_at) = (left / 2, left + right / 2);
    let (label, word, fill) = (escape(&label), verdict.word(), verdict.fill());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" \
         aria-label=\"{label}: {word}\"><title>{label}: {word}</title>\
         <rect width=\"{left}\" height=\"20\" fill=\"#555\"/>\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{fill}\"/>\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,Geneva,sans-serif\" font-size=\"11\">\
         <text x=\"{label_at}\" y=\"14\">{label}</text><text x=\"{word_at}\" y=\"14\">{word}</text></g></svg>"
    )
}

/// About the width of a text in 11 px Verdana with its margins, in pixels.
fn width(text: &str) -> usize {
    let letter = |letter: char| match letter {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '|' | '!' | '\'' => 4,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 10,
        letter if letter.is_ascii() => 7,
        _ => 11,
    };
    text.chars().map(letter).sum::<usize>() + 10
}

/// Text as XML and HTML may hold it.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}

/// Text as the alternative text of a picture in Markdown may hold it.
pub fn in_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        if letter.is_ascii_punctuation() {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_wrote_cannot_become_markup() {
        let picture = svg("</text><script>alert(1)</script>&\"'", Verdict::Down);
        assert!(!picture.contains("<script"));
        assert!(picture.contains("&lt;script&gt;alert(1)"));
        assert!(picture.contains(">down<"));
    }

    #[test]
    fn a_long_label_is_cut_and_control_characters_are_dropped() {
        let picture = svg(&format!("a\u{0}b{}", "x".repeat(500)), Verdict::Up);
        assert!(picture.contains(&format!(">ab{}<", "x".repeat(98))));
    }

    #[test]
    fn a_tag_stands_in_an_address_and_in_markdown_without_breaking_out() {
        let path = path(b"s", Uuid::nil(), "a/b] c", States::UpDown, "svg");
        let (start, end) = path.split_at("/badge/00000000-0000-0000-0000-000000000000/".len() + 8);
        assert!(start.starts_with("/badge/00000000"));
        assert_eq!(end, "-2/a%252Fb%255D%2520c.svg");
        assert_eq!(in_markdown("a](x) <b>\n"), "a\\]\\(x\\) \\<b\\>");
    }

    #[test]
    fn a_signature_depends_on_secret_key_and_tag() {
        let key = Uuid::from_u128(1);
        let one = signature(b"s", key, "prod");
        assert_eq!(one.len(), 8);
        for other in
            [signature(b"t", key, "prod"), signature(b"s", Uuid::nil(), "prod"), signature(b"s", key, "*")]
        {
            assert_ne!(one, other);
        }
    }
}
