//! The form of a letter that is no alert: to an account's owner, or to somebody who signs in.
//!
//! A letter's file fills a [`Notice`]; this file sets it as text in 72 columns and as HTML, so that all letters
//! look alike and none has a template of its own.

use askama::Template;
use textwrap::{Options, WordSeparator, WordSplitter};

use super::Written;

const COLUMNS: usize = 72;
/// Columns of the labels of facts.
const LABEL_COLUMNS: usize = 15;

/// What a letter says, from top to bottom.
#[derive(Clone, Debug, Default)]
pub(super) struct Notice {
    pub(super) subject: String,
    pub(super) title: String,
    pub(super) paragraphs: Vec<String>,
    /// The one thing to do.
    pub(super) action: Option<Action>,
    pub(super) lists: Vec<List>,
    /// Why this letter came, and to whom.
    pub(super) why: String,
    pub(super) preview: String,
}

/// A button, and in the text part a line with its URL.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) label: &'static str,
    pub(super) url: String,
}

#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) heading: String,
    pub(super) rows: Vec<Row>,
}

#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) url: Option<String>,
    pub(super) detail: String,
}

#[derive(Template)]
#[template(path = "mail/notice.txt")]
struct NoticeText<'a> {
    notice: &'a Notice,
}

#[derive(Template)]
#[template(path = "mail/notice.html")]
struct NoticeHtml<'a> {
    notice: &'a Notice,
}

impl Notice {
    pub(super) fn written(self) -> Result<Written, askama::Error> {
        let text = NoticeText { notice: &self }.render()?;
        let html = NoticeHtml { notice: &self }.render()?;
        Ok(Written { subject: self.subject, text, html })
    }
}

/// Filters of the text templates.
pub(super) mod filters {
    use std::fmt::Display;

    use askama::Values;

    use super::{LABEL_COLUMNS, options};

    /// A paragraph in 72 columns; a word that is longer stays whole, for it may be a URL.
    #[askama::filter_fn]
    pub fn fill(text: impl Display, _: &dyn Values) -> askama::Result<String> {
        Ok(textwrap::fill(&text.to_string(), options("")))
    }

    /// Values, each a paragraph of its own, to stand beside their label.
    #[askama::filter_fn]
    pub fn hang(label: impl Display, _: &dyn Values, values: &[String]) -> askama::Result<String> {
        let indent = " ".repeat(LABEL_COLUMNS);
        let filled =
            values.iter().map(|value| textwrap::fill(value, options(&indent).initial_indent(&indent)));
        let block = filled.collect::<Vec<_>>().join("\n");
        Ok(format!("{:LABEL_COLUMNS$}{}", label.to_string(), block.trim_start()))
    }
}

fn options(indent: &str) -> Options<'_> {
    Options::new(COLUMNS)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .subsequent_indent(indent)
}
