//! What a program printed, made fit to stand in a page: escaped, its colours kept, everything else that a terminal
//! would obey taken out.

use std::fmt::Write;

use crate::alerts::words::clean::turns_text;

/// Changes of colour that are shown; the rest of the text goes on in the last one.
const SPANS_MAX: usize = 2000;
/// Bytes of a body that is no text, as they are listed.
const HEX_BYTES: usize = 1024;
const HEX_PER_LINE: usize = 16;

/// Output as HTML that is safe, and whether it was text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub html: String,
    pub is_text: bool,
}

/// Renders a body.
pub fn output(body: &[u8]) -> Output {
    let text = String::from_utf8_lossy(body);
    let odd = text.chars().filter(|c| matches!(c, '\u{fffd}' | '\0')).count();
    if odd * 20 > text.chars().count() {
        return Output { html: hex(body), is_text: false };
    }
    Output { html: coloured(&text), is_text: true }
}

/// The colour that a parameter of `ESC [ .. m` stands for; `None` is the page's own.
const fn colour(parameter: u8) -> Option<u8> {
    match parameter {
        31..=36 => Some(parameter - 30),
        91..=96 => Some(parameter - 90),
        _ => None,
    }
}

fn coloured(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let (mut wanted, mut open, mut spans) = (None, None, 0);
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => sequence(&mut rest, &mut wanted),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            letter if (letter.is_control() && !matches!(letter, '\n' | '\t')) || turns_text(letter) => {}
            letter => {
                if wanted != open && spans < SPANS_MAX {
                    if open.is_some() {
                        out.push_str("</span>");
                    }
                    if let Some(colour) = wanted {
                        let _ = write!(out, "<span class=\"ink-{colour}\">");
                        spans += 1;
                    }
                    open = wanted;
                }
                escape(letter, &mut out);
            }
        }
    }
    if open.is_some() {
        out.push_str("</span>");
    }
    out
}

/// Reads what follows an escape character; a colour is taken up, all else is dropped.
fn sequence(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, wanted: &mut Option<u8>) {
    match rest.next() {
        Some('[') => {
            let mut parameters = String::new();
            for letter in rest.by_ref() {
                if ('@'..='~').contains(&letter) {
                    if letter == 'm' {
                        *wanted = last_colour(&parameters, *wanted);
                    }
                    return;
                }
                parameters.push(letter);
            }
        }
        Some(']') => {
            while let Some(letter) = rest.next() {
                if letter == '\u{7}' || (letter == '\u{1b}' && rest.next_if_eq(&'\\').is_some()) {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn last_colour(parameters: &str, before: Option<u8>) -> Option<u8> {
    let mut now = before;
    for parameter in parameters.split(';') {
        match parameter.parse::<u8>().unwrap_or(0) {
            0 | 39 => now = None,
            number @ (30..=37 | 90..=97) => now = colour(number),
            // What follows 38 and 48 are no colours of these.
            38 | 48 => return now,
            _ => {}
        }
    }
    now
}

fn escape(letter: char, out: &mut String) {
    match letter {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        '\'' => out.push_str("&#39;"),
        letter => out.push(letter),
    }
}

fn hex(body: &[u8]) -> String {
    let mut out = String::new();
    for (line, bytes) in body.chunks(HEX_PER_LINE).take(HEX_BYTES / HEX_PER_LINE).enumerate() {
        let _ = write!(out, "{:06x} ", line * HEX_PER_LINE);
        for byte in bytes {
            let _ = write!(out, " {byte:02x}");
        }
        for _ in bytes.len()..HEX_PER_LINE {
            out.push_str("   ");
        }
        out.push_str("  ");
        for byte in bytes {
            let letter = if byte.is_ascii_graphic() { char::from(*byte) } else { '.' };
            escape(letter, &mut out);
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn colours_are_kept_and_everything_else_is_taken_out() {
        let cases = [
            ("a\u{1b}[31mred\u{1b}[0m b", "a<span class=\"ink-1\">red</span> b"),
            ("\u{1b}[1;92mok\u{1b}[39m\u{1b}[K.", "<span class=\"ink-2\">ok</span>."),
            ("\u{1b}]8;;https://evil.example\u{7}link\u{1b}]8;;\u{1b}\\!", "link!"),
            ("<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;"),
            ("one\r\ntwo\rthree\u{8}", "one\ntwo\nthree"),
            ("\u{202e}evil\u{2066}", "evil"),
            ("\u{1b}[31", ""),
            ("\u{1b}[38;5;196mx", "x"),
        ];
        for (text, expected) in cases {
            assert_eq!(output(text.as_bytes()).html, expected, "{text:?}");
        }
    }

    #[test]
    fn there_are_never_more_spans_than_a_page_can_bear() {
        let text = "\u{1b}[31ma\u{1b}[32mb".repeat(5000);
        let html = output(text.as_bytes()).html;
        assert_eq!(html.matches("<span").count(), SPANS_MAX);
        assert_eq!(html.matches("</span>").count(), SPANS_MAX);
    }

    #[test]
    fn bytes_that_are_no_text_are_listed() {
        let shown = output(&(0..=255).collect::<Vec<u8>>());
        assert!(!shown.is_text);
        assert!(shown.html.starts_with("000000  00 01 02"), "{}", shown.html);
        assert!(shown.html.contains("000030  30 31 32") && shown.html.contains("0123456789:;&lt;=&gt;?"));
    }

    proptest! {
        #[test]
        fn no_output_opens_a_tag_of_its_own(body in prop::collection::vec(any::<u8>(), 0..300)) {
            let html = output(&body).html;
            let bare = html.replace("</span>", "");
            for tag in bare.split('<').skip(1) {
                prop_assert!(tag.starts_with("span class=\"ink-"));
            }
        }
    }
}
