//! What a ping says after the check's own rules about methods and keywords (`CONTRACT` 2.3 and 2.7). Pure.

use crate::checks::{Settings, Signal};

/// The signal a ping counts as: the URL's, unless the check ignores its method or reads its body.
pub fn signal(settings: &Settings, from_url: Signal, method: &str, body: &[u8]) -> Signal {
    if settings.methods == "POST" && method != "POST" {
        return Signal::Ignored;
    }
    if !settings.filter_http_body {
        return from_url;
    }
    keyword_signal(settings, &String::from_utf8_lossy(body))
}

/// What a letter says, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Letter {
    pub subject: String,
    /// The readable text of all its parts.
    pub text: String,
    /// Whether nobody sent it: a mail server's own note, which says nothing about a job.
    pub is_bounce: bool,
}

/// The signal of a ping by mail: success, unless the check's keywords look into letters (`CONTRACT` 2.11).
pub fn letter_signal(settings: &Settings, letter: &Letter) -> Signal {
    if letter.is_bounce {
        return Signal::Ignored;
    }
    let mut text = String::new();
    if settings.filter_subject {
        text.push_str(&letter.subject);
        text.push('\n');
    }
    if settings.filter_body {
        text.push_str(&letter.text);
    }
    match (settings.filter_subject, settings.filter_body) {
        (false, false) => Signal::Success,
        _ => keyword_signal(settings, &text),
    }
}

/// What the keywords make of a text: failure before success before start, or the check's default.
pub fn keyword_signal(settings: &Settings, text: &str) -> Signal {
    if contains_any(text, &settings.failure_kw) {
        Signal::Fail
    } else if contains_any(text, &settings.success_kw) {
        Signal::Success
    } else if contains_any(text, &settings.start_kw) {
        Signal::Start
    } else if settings.filter_default_fail {
        Signal::Fail
    } else {
        Signal::Ignored
    }
}

fn contains_any(text: &str, keywords: &str) -> bool {
    keywords
        .split(',')
        .map(str::trim)
        .filter(|keyword| !keyword.is_empty())
        .any(|keyword| text.contains(keyword))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            filter_http_body: true,
            failure_kw: "ERROR, Failed".to_owned(),
            success_kw: "[composeupdate] Done.".to_owned(),
            start_kw: "begin,,".to_owned(),
            ..Settings::default()
        }
    }

    #[test]
    fn failure_wins_over_success_and_a_keyword_with_a_space_is_one_keyword() {
        let cases: [(&[u8], Signal); 6] = [
            (b"2025-08-02 ERROR disk", Signal::Fail),
            (b"[composeupdate] Done. Failed: 1", Signal::Fail),
            (b"[composeupdate] Done.", Signal::Success),
            (b"[composeupdate] started", Signal::Ignored),
            (b"begin", Signal::Start),
            (b"error", Signal::Ignored),
        ];
        for (body, says) in cases {
            assert_eq!(signal(&settings(), Signal::Success, "POST", body), says);
        }
    }

    #[test]
    fn the_default_may_be_to_fail_and_bytes_that_are_no_text_are_read_as_far_as_they_go() {
        let strict = Settings { filter_default_fail: true, ..settings() };
        assert_eq!(signal(&strict, Signal::Start, "POST", b"nothing known"), Signal::Fail);
        assert_eq!(signal(&settings(), Signal::Success, "POST", b"\xff\xfe Failed \xc3"), Signal::Fail);
    }

    #[test]
    fn another_method_is_ignored_where_only_post_counts() {
        let posts = Settings { methods: "POST".to_owned(), ..Settings::default() };
        assert_eq!(signal(&posts, Signal::Fail, "GET", b""), Signal::Ignored);
        assert_eq!(signal(&posts, Signal::Fail, "POST", b""), Signal::Fail);
    }
}
