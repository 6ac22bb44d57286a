//! The letter that asks an address whether it wants a project's alerts.
//!
//! It goes to people who may know nothing of Flatline, so what the sender named their things is kept short, in
//! quotation marks, and out of subject and preview.

use super::clean::one_line;
use super::notice::{Action, Notice};
use super::{Written, named};

const PROJECT_CHARS: usize = 60;

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct Confirm<'a> {
    pub url: &'a str,
    /// The address that is asked.
    pub to: &'a str,
    pub project: &'a str,
    /// The address of the user who entered it.
    pub asked_by: &'a str,
    /// The site's host.
    pub site: &'a str,
}

impl Confirm<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let project = named(self.project).map(|name| one_line(&name, PROJECT_CHARS));
        let project = project.map(|name| format!(" of the project \"{name}\"")).unwrap_or_default();
        let question = "Nothing is sent to this address until you confirm it.";
        let notice = Notice {
            subject: format!("Confirm this address for alerts from {}", self.site),
            title: "Alerts to this address?".to_owned(),
            paragraphs: vec![
                format!(
                    "{} asks that alerts{project} be sent to {}. {question}",
                    one_line(self.asked_by, 254),
                    self.to
                ),
                "If you do not want them, do nothing.".to_owned(),
            ],
            action: Some(Action { label: "Confirm this address", url: self.url.to_owned() }),
            lists: Vec::new(),
            why: format!("Sent by Flatline at {} to {}, once.", self.site, self.to),
            preview: question.to_owned(),
        };
        notice.written()
    }
}
