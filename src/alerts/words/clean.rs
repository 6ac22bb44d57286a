//! What other people and their programs wrote, made fit to stand in a message.
//!
//! Pure. Escape sequences, control characters and the invisible marks that turn text around are taken out here,
//! once; HTML is escaped by the templates, headers by `mail`. What is left is shown as it was written.

use anstream::adapter::strip_str;

/// Lines of output that a message shows at most.
pub const TAIL_LINES: usize = 20;
/// Characters of output that a message shows at most.
pub const TAIL_CHARS: usize = 2000;
/// Bytes of a body that are looked at: enough for a tail of the widest characters and its colours.
const LOOKED_AT_BYTES: usize = 32_768;
const NOTE_LINES: usize = 20;
const NOTE_CHARS: usize = 2000;

/// Marks that embed, override or isolate a text direction, and those that end it.
pub fn turns_text(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
}

/// A name as one line of at most `max_chars` characters, its text direction kept to itself.
pub fn one_line(text: &str, max_chars: usize) -> String {
    if is_plain_line(text) && text.len() <= max_chars {
        return text.to_owned();
    }
    let spaced: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let kept: String = spaced.chars().filter(|c| !turns_text(*c)).collect();
    let line = kept.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut = match line.char_indices().nth(max_chars) {
        Some(_) => line.chars().take(max_chars - 1).chain(['…']).collect(),
        None => line,
    };
    isolated(cut)
}

/// Whether nothing needs to be done about it, as with most names: pages look at a thousand of them.
fn is_plain_line(text: &str) -> bool {
    text.split(' ').all(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic()))
}

/// Names in scripts that run from right to left are fenced, so that the sentence around them stays in order.
/// Others are left bare: the fences are invisible to people, not to filters.
fn isolated(line: String) -> String {
    let from_the_right = |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}' | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}');
    if line.chars().any(from_the_right) { format!("\u{2068}{line}\u{2069}") } else { line }
}

/// The reader's own note, line by line; what is too long for a message ends with a mark.
pub fn note(text: &str) -> Vec<String> {
    let fits = text.chars().count() <= NOTE_CHARS;
    let beginning: String = text.chars().take(NOTE_CHARS).collect();
    let mut lines: Vec<String> = shown_lines(&beginning).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    if !fits || lines.len() > NOTE_LINES {
        lines.truncate(NOTE_LINES);
        lines.push("…".to_owned());
    }
    lines
}

/// The end of a program's output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tail {
    /// At least one, the last not blank.
    pub lines: Vec<String>,
    /// Whether there was more before.
    pub is_cut: bool,
}

/// The last lines of what a program wrote, as a terminal would have left them; `None` if nothing can be seen.
pub fn tail(output: &[u8]) -> Option<Tail> {
    let start = output.len().saturating_sub(LOOKED_AT_BYTES);
    let text = String::from_utf8_lossy(&output[start..]);
    let plain = strip_str(&text).to_string();
    let mut lines: Vec<String> = shown_lines(&plain).collect();
    while lines.last().is_some_and(|line| line.trim().is_empty()) {
        lines.pop();
    }
    let mut is_cut = start > 0;
    let mut kept = Vec::new();
    let mut left = TAIL_CHARS;
    for line in lines.into_iter().rev() {
        let chars = line.chars().count();
        if kept.len() == TAIL_LINES || left == 0 {
            is_cut = true;
            break;
        }
        if chars > left {
            is_cut = true;
            let end: String = line.chars().skip(chars - left + 1).collect();
            kept.push(format!("…{end}"));
            break;
        }
        left -= chars;
        kept.push(line);
    }
    kept.reverse();
    while kept.first().is_some_and(|line| line.trim().is_empty()) {
        kept.remove(0);
    }
    (!kept.is_empty()).then_some(Tail { lines: kept, is_cut })
}

/// Lines without what cannot be seen; a line that was written over itself is shown as it ended.
fn shown_lines(text: &str) -> impl Iterator<Item = String> {
    text.split('\n').map(|line| {
        let last = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        let visible = last.chars().filter(|c| (*c == '\t' || !c.is_control()) && !turns_text(*c));
        visible.collect::<String>().trim_end().to_owned()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(output: &[u8]) -> Vec<String> {
        tail(output).map(|tail| tail.lines).unwrap_or_default()
    }

    #[test]
    fn names_are_one_line_and_turn_nothing_around() {
        assert_eq!(one_line("nightly\r\nBcc: eve@example.org", 100), "nightly Bcc: eve@example.org");
        assert_eq!(one_line("exe\u{202e}cod.\0pdf", 100), "execod. pdf");
        assert_eq!(one_line("\u{202e}\n ", 100), "");
        assert_eq!(one_line("גיבוי", 100), "\u{2068}גיבוי\u{2069}");
        assert_eq!(one_line("<b>&\"'", 100), "<b>&\"'");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("two words", 9), "two words");
        assert_eq!(one_line(" two  words ", 9), "two words");
    }

    #[test]
    fn output_is_shown_as_a_terminal_would_have_left_it() {
        let output = b"start\r\n 10%\r 55%\r100%\r\n\x1b[1;31merror:\x1b[0m disk\tfull\x07\n\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\\n\n";
        assert_eq!(lines(output), ["start", "100%", "error: disk\tfull", "link"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_marked_and_lose_nothing_else() {
        assert_eq!(lines(b"\xe8 \xe9 \xe0 \xf2 ok"), ["\u{fffd} \u{fffd} \u{fffd} \u{fffd} ok"]);
        assert_eq!(lines("è é à ò — ok".as_bytes()), ["è é à ò — ok"]);
        assert_eq!(lines(b"panic: \0"), ["panic:"]);
        assert_eq!(lines("a\u{202e}b\u{9b}31mc".as_bytes()), ["ab31mc"]);
    }

    #[test]
    fn nothing_to_see_is_no_tail() {
        for nothing in [&b""[..], b"\n\n \r\n", b"\0\x1b[0m"] {
            assert_eq!(tail(nothing), None);
        }
    }

    #[test]
    fn the_last_twenty_lines_and_two_thousand_characters_are_kept() {
        let many: String = (1..=30).map(|n| format!("line {n}\n")).collect();
        let kept = tail(many.as_bytes()).unwrap();
        assert_eq!((kept.lines.len(), kept.is_cut), (20, true));
        assert_eq!((kept.lines[0].as_str(), kept.lines[19].as_str()), ("line 11", "line 30"));

        let wide = "é".repeat(50_000) + "end";
        let kept = tail(wide.as_bytes()).unwrap();
        assert_eq!((kept.lines.len(), kept.lines[0].chars().count(), kept.is_cut), (1, TAIL_CHARS, true));
        assert!(kept.lines[0].starts_with("…é") && kept.lines[0].ends_with("end"));

        let exact = "x".repeat(TAIL_CHARS);
        assert_eq!(tail(exact.as_bytes()), Some(Tail { lines: vec![exact], is_cut: false }));
    }

    #[test]
    fn a_note_keeps_its_lines_and_loses_its_controls() {
        assert_eq!(note("first\r\n\r\nthen\u{0}\u{202e} this\n\n"), ["first", "", "then this"]);
        assert!(note("").is_empty());
        let long = note(&"line\n".repeat(50));
        assert_eq!((long.len(), long[19].as_str(), long[20].as_str()), (21, "line", "…"));
        assert_eq!(note(&"x".repeat(5000)), ["x".repeat(2000), "…".to_owned()]);
    }

    proptest! {
        #[test]
        fn whatever_was_written_fits_and_has_no_controls(output in proptest::collection::vec(any::<u8>(), 0..3000)) {
            if let Some(tail) = tail(&output) {
                prop_assert!(tail.lines.len() <= TAIL_LINES);
                prop_assert!(tail.lines.iter().map(|line| line.chars().count()).sum::<usize>() <= TAIL_CHARS);
                prop_assert!(tail.lines.iter().all(|line| line.chars().all(|c| c == '\t' || !c.is_control())));
                prop_assert!(tail.lines.last().is_some_and(|line| !line.trim().is_empty()));
            }
        }
    }
}
