//! The letter with a link to a new account.

use super::Written;
use super::clock::long;
use super::notice::{Action, Notice};
use crate::time::Span;

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct SignUp<'a> {
    pub url: &'a str,
    pub good_for: Span,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
}

impl SignUp<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let rule = format!("The link works once, within {}.", long(self.good_for));
        let notice = Notice {
            subject: format!("Your account with Flatline at {}", self.site),
            title: format!("Make your account at {}", self.site),
            paragraphs: vec![
                rule.clone(),
                "If you did not ask for it, do nothing: no account is made without this link.".to_owned(),
            ],
            action: Some(Action { label: "Make the account", url: self.url.to_owned() }),
            lists: Vec::new(),
            why: format!(
                "Sent by Flatline at {} to {}, because somebody entered this address.",
                self.site, self.to
            ),
            preview: rule,
        };
        notice.written()
    }
}
