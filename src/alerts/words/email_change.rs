//! The letters about another address to sign in with: to the new one, and to the old one once it is done.

use super::Written;
use super::clock::long;
use super::notice::{Action, Notice};
use crate::time::Span;

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct EmailChange<'a> {
    pub step: Step<'a>,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
}

/// Where the change stands.
#[derive(Clone, Debug)]
pub enum Step<'a> {
    /// To the new address: is it the reader's?
    Asked { url: &'a str, old: &'a str, good_for: Span },
    /// To the new address, which has an account.
    Taken,
    /// To the old address.
    Done { new: &'a str },
}

impl EmailChange<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let site = self.site;
        let (title, paragraphs, action) = match self.step {
            Step::Asked { url, old, good_for } => (
                format!("Your new address at {site}"),
                vec![
                    format!("{old} wants to sign in to Flatline at {site} with this address from now on."),
                    format!(
                        "The link works once, within {}, in a browser where {old} is signed in. If that is not you, \
                         do nothing.",
                        long(good_for)
                    ),
                ],
                Some(Action { label: "Use this address", url: url.to_owned() }),
            ),
            Step::Taken => (
                format!("This address has an account at {site}"),
                vec![
                    "Somebody who has another account wanted to sign in with this address. It has an account of its \
                     own already, so nothing was changed."
                        .to_owned(),
                    "If it was you: delete one of the two accounts, or use an address for each.".to_owned(),
                ],
                None,
            ),
            Step::Done { new } => (
                format!("Your address at {site} was changed"),
                vec![
                    format!("You sign in with {new} from now on. Every other session has ended."),
                    format!("If it was not you, write to the operator of {site} at once."),
                ],
                None,
            ),
        };
        let preview = paragraphs[0].clone();
        let why = format!("Sent by Flatline at {site} to {}.", self.to);
        let subject = title.clone();
        Notice { subject, title, paragraphs, action, lists: Vec::new(), why, preview }.written()
    }
}
