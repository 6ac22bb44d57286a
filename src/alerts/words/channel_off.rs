//! The letter that tells an account's owner that a channel was turned off, because nothing can be sent to it any more.

use super::Written;
use super::clean::one_line;
use super::notice::{Action, Notice};

const NAME_CHARS: usize = 100;
const WHY_CHARS: usize = 300;

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct ChannelOff<'a> {
    /// The channel's name, or where it goes.
    pub channel: &'a str,
    pub project: &'a str,
    /// What came back, as a sentence.
    pub why: &'a str,
    /// The channel's page.
    pub url: &'a str,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
}

impl ChannelOff<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let (channel, project) = (one_line(self.channel, NAME_CHARS), one_line(self.project, NAME_CHARS));
        let title = format!("Alerts no longer go to {channel}");
        let paragraphs = vec![
            format!("The channel “{channel}” of the project “{project}” was turned off. {}", one_line(self.why, WHY_CHARS)),
            "Nobody is told there of checks that go down. Give it another address, or turn it on again once it works."
                .to_owned(),
        ];
        let preview = paragraphs[0].clone();
        let why = format!(
            "Sent by Flatline at {} to {}, because the project is on your account.",
            self.site, self.to
        );
        let action = Some(Action { label: "Open the channel", url: self.url.to_owned() });
        Notice { subject: title.clone(), title, paragraphs, action, lists: Vec::new(), why, preview }
            .written()
    }
}
