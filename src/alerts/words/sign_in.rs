//! The letter with a sign-in link.

use super::Written;
use super::clock::long;
use super::notice::{Action, Notice};
use crate::time::Span;

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct SignIn<'a> {
    pub url: &'a str,
    pub good_for: Span,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
}

impl SignIn<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let rule = format!("The link works once, within {}.", long(self.good_for));
        let notice = Notice {
            subject: format!("Sign in to Flatline at {}", self.site),
            title: format!("Sign in at {}", self.site),
            paragraphs: vec![
                rule.clone(),
                "If you did not ask for it, do nothing: without this link nobody gets in.".to_owned(),
            ],
            action: Some(Action { label: "Sign in", url: self.url.to_owned() }),
            lists: Vec::new(),
            why: format!(
                "Sent by Flatline at {} to {}, because somebody asked for it with this address.",
                self.site, self.to
            ),
            preview: rule,
        };
        notice.written()
    }
}
