//! A message set as a mail: the same words as plain text in 72 columns and as HTML.

use askama::Template;

use super::notice::filters;
use super::{Fact, Words, Written};

/// What stands around the words: links that act for the reader, and why this mail came.
#[derive(Clone, Debug)]
pub struct Foot {
    pub open: String,
    pub mute: String,
    pub pause: String,
    pub stop: String,
    /// Whom the mail goes to.
    pub to: String,
    /// The site's host.
    pub site: String,
}

#[derive(Template)]
#[template(path = "mail/alert.txt")]
struct AlertText<'a> {
    words: &'a Words,
    foot: &'a Foot,
}

#[derive(Template)]
#[template(path = "mail/alert.html")]
struct AlertHtml<'a> {
    words: &'a Words,
    foot: &'a Foot,
}

impl Words {
    /// Sets the words as a mail.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn mail(&self, foot: &Foot) -> Result<Written, askama::Error> {
        Ok(Written {
            subject: self.subject.clone(),
            text: AlertText { words: self, foot }.render()?,
            html: AlertHtml { words: self, foot }.render()?,
        })
    }

    /// The facts of the text part, where no line above names the project.
    fn all_facts(&self) -> Vec<Fact> {
        let project = Fact { label: "Project", values: vec![self.project.clone()] };
        let project = Some(project).filter(|_| !self.project.is_empty());
        project.into_iter().chain(self.facts.iter().cloned()).collect()
    }

    /// What the message answers to: a failure is told once, a recovery too.
    fn occasion(&self) -> &'static str {
        if self.is_down { "failure" } else { "recovery" }
    }
}
