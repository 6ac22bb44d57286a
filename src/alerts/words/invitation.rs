//! The letter that invites somebody into a project.
//!
//! It goes to people who may know nothing of Flatline, so what the sender named their project is kept short, in
//! quotation marks, and out of subject and preview.

use super::clean::one_line;
use super::clock::long;
use super::notice::{Action, Notice};
use super::{Written, named};
use crate::time::Span;

const PROJECT_CHARS: usize = 60;
const ADDRESS_CHARS: usize = 254;

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct Invitation<'a> {
    pub url: &'a str,
    pub good_for: Span,
    pub project: &'a str,
    /// What the reader may do there, in a word.
    pub role: &'a str,
    /// The address of the user who invites.
    pub invited_by: &'a str,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
}

impl Invitation<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let project = named(self.project).map(|name| one_line(&name, PROJECT_CHARS));
        let project = project.map(|name| format!(" \"{name}\"")).unwrap_or_default();
        let rule = format!("The link works once, within {}.", long(self.good_for));
        let role = match self.role {
            "read-only" => "a read-only member".to_owned(),
            role => format!("a {role}"),
        };
        let notice = Notice {
            subject: format!("You are invited to a project at {}", self.site),
            title: "Join a project?".to_owned(),
            paragraphs: vec![
                format!(
                    "{} invites you into the project{project}, as {role}. Flatline watches jobs that should run \
                     regularly and tells people when one does not.",
                    one_line(self.invited_by, ADDRESS_CHARS)
                ),
                format!("{rule} If you do not want to join, do nothing."),
            ],
            action: Some(Action { label: "See the invitation", url: self.url.to_owned() }),
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
