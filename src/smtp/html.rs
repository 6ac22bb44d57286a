//! What people read of HTML: its words with one space between them. Pure; nothing of it is ever shown as HTML.

use mail_parser::decoders::html::html_to_text;

/// Elements that stand within a word or a line; every other one parts words.
const INLINE: [&str; 34] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins",
    "kbd", "label", "mark", "nobr", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup",
    "time", "tt", "u", "var", "wbr", "o:p",
];
/// Elements whose content nobody reads.
const UNREAD: [&str; 2] = ["script", "style"];
/// The longest name of a character, with its ends.
const ENTITY_BYTES: usize = 40;

/// The words of a text in HTML, however broken.
pub fn words(html: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(html.len()), html);
    while let Some(at) = rest.find(['<', '&']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let piece = if rest.starts_with('&') { entity(rest, &mut text) } else { markup(rest, &mut text) };
        rest = &rest[piece..];
    }
    text.push_str(rest);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes the character that a text begins with by its name; returns how many bytes that is.
fn entity(rest: &str, text: &mut String) -> usize {
    let end = rest.bytes().take(ENTITY_BYTES).position(|byte| byte == b';');
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'#');
    match end.filter(|end| is_name(&rest[1..*end])) {
        // The library's decoder takes a space for no text at all.
        Some(end) => {
            let decoded = html_to_text(&rest[..=end]);
            text.push_str(if decoded.is_empty() { " " } else { &decoded });
            end + 1
        }
        None => {
            text.push('&');
            1
        }
    }
}

/// Passes over the tag or comment that a text begins with, and over what is unread in it; returns how many bytes that
/// is. A `<` that begins neither is text.
fn markup(rest: &str, text: &mut String) -> usize {
    if rest.starts_with("<!--") {
        return rest.find("-->").map_or(rest.len(), |at| at + 3);
    }
    let closes = rest.starts_with("</");
    let inside = &rest[if closes { 2 } else { 1 }..];
    if !inside.starts_with(|first: char| first.is_ascii_alphabetic() || first == '!' || first == '?') {
        text.push('<');
        return 1;
    }
    let name_ends =
        inside.find(|c: char| c.is_ascii_whitespace() || c == '>' || c == '/').unwrap_or(inside.len());
    let name = inside[..name_ends].to_ascii_lowercase();
    if !INLINE.contains(&name.as_str()) {
        text.push(' ');
    }
    let end = rest.len() - inside.len() + end_of_tag(inside);
    if !closes && UNREAD.contains(&name.as_str()) {
        return end + end_of_unread(&rest[end..], &name);
    }
    end
}

/// Where a tag ends; a `>` in quotes does not end it.
fn end_of_tag(inside: &str) -> usize {
    let mut quote = None;
    for (at, byte) in inside.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    // A quote that nothing closes is part of the text.
    inside.find('>').map_or(inside.len(), |at| at + 1)
}

/// Where the closing tag of an element begins.
fn end_of_unread(rest: &str, name: &str) -> usize {
    let closes = |at: &usize| {
        rest.get(at + 2..at + 2 + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    rest.match_indices("</").map(|(at, _)| at).find(closes).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_stand_as_people_see_them() {
        for (html, seen) in [
            ("<b>Backup</b> finished", "Backup finished"),
            ("<p>Back<b>up</b>\r\n   <i>finished</i></p>", "Backup finished"),
            ("Backup&nbsp;finished<br>at&#32;3", "Backup finished at 3"),
            ("<table><tr><td>Backup</td><td>finished</td></tr></table>", "Backup finished"),
            ("<!-- FAILED --><p class=\"FAILED\" title='a > b'>Backup</p>", "Backup"),
            ("<STYLE>.FAILED{}</style><script>if (a < b) \"FAILED\"</SCRIPT>ok", "ok"),
            ("<script>FAILED", ""),
            ("1 < 2 &amp; 3 > 2 &lt;b&gt; & more; AT&T;", "1 < 2 & 3 > 2 <b> & more; AT&T;"),
            ("Gr&ouml;&szlig;e &#x1F319; &#8211;", "Gr\u{f6}\u{df}e \u{1f319} \u{2013}"),
            ("<!doctype html><html><head><title>Report</title></head><body>done</body>", "Report done"),
            ("<a href=\"x>done", "done"),
            ("<", "<"),
            ("</", "</"),
            ("&", "&"),
            ("", ""),
        ] {
            assert_eq!(words(html), seen, "{html}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_read_ends(html in "[<>&;!/\"'a-z\u{e4} -]{0,200}") {
            assert!(words(&html).len() <= 2 * html.len() + 8);
        }
    }
}
