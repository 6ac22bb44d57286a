//! The letters that tell users that what they sign in with was changed or used up, so that they hear of it also where
//! somebody else did it.

use serde::{Deserialize, Serialize};

use super::clean::one_line;
use super::clock::Wall;
use super::notice::{Action, Notice};
use super::{NAME_CHARS, Written};
use crate::time::Time;

/// What happened to what a user signs in with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Change {
    Password,
    SecondFactorOn,
    SecondFactorOff,
    /// By the operator, on the command line.
    SecondFactorReset,
    CodesRenewed,
    /// A recovery code signed somebody in.
    CodeUsed {
        left: i64,
    },
    PasskeyAdded {
        name: String,
    },
    PasskeyRemoved {
        name: String,
    },
}

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct Security<'a> {
    pub change: &'a Change,
    pub at: Time,
    pub zone: &'a str,
    pub account_url: String,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
    pub now: Time,
}

impl Security<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(self) -> Result<Written, askama::Error> {
        let Self { site, to, .. } = self;
        let (title, what) = self.what();
        let wall = Wall::new(self.zone, self.now);
        let when = format!("It happened {} ({}).", wall.at(self.at), wall.day_and_zone(self.at));
        let notice = Notice {
            subject: format!("{title} at {site}"),
            title,
            paragraphs: vec![what.clone(), format!("{when} {}", self.advice())],
            action: Some(Action { label: "Look at the account", url: self.account_url }),
            lists: Vec::new(),
            why: format!("Sent by Flatline at {site} to {to}, because this address signs in there."),
            preview: what,
        };
        notice.written()
    }

    fn what(&self) -> (String, String) {
        let Self { to, site, .. } = self;
        const ENDED: &str = "Every other session has ended.";
        let (title, what) = match self.change {
            Change::Password => {
                ("Your password was changed", format!("{to} signs in at {site} with a new password. {ENDED}"))
            }
            Change::SecondFactorOn => (
                "A second factor was turned on",
                format!(
                    "Signing in at {site} as {to} takes a code of an authenticator app from now on. {ENDED}"
                ),
            ),
            Change::SecondFactorOff => (
                "Your second factor was turned off",
                format!("Signing in at {site} as {to} takes no code any more. {ENDED}"),
            ),
            Change::SecondFactorReset => (
                "Your second factor was reset",
                format!(
                    "The operator of {site} turned off the second factor of {to}. All sessions have ended. Sign in \
                     again, and turn it on anew."
                ),
            ),
            Change::CodesRenewed => (
                "Your recovery codes were renewed",
                format!("There are new recovery codes for {to} at {site}; the old ones no longer work."),
            ),
            Change::CodeUsed { left } => ("A recovery code was used", self.code_used(*left)),
            Change::PasskeyAdded { name } => (
                "A passkey was added",
                format!(
                    "The passkey “{}” signs in at {site} as {to} from now on.",
                    one_line(name, NAME_CHARS)
                ),
            ),
            Change::PasskeyRemoved { name } => (
                "A passkey was removed",
                format!("The passkey “{}” no longer signs in at {site} as {to}.", one_line(name, NAME_CHARS)),
            ),
        };
        (title.to_owned(), what)
    }

    fn code_used(&self, left: i64) -> String {
        let Self { to, site, .. } = self;
        let left = match left {
            0 => "It was the last one: draw new ones.".to_owned(),
            1 => "One code is left: draw new ones soon.".to_owned(),
            left => format!("{left} codes are left."),
        };
        format!("A recovery code signed somebody in at {site} as {to}. {left}")
    }

    fn advice(&self) -> String {
        let operator = format!("write to the operator of {} at once", self.site);
        match self.change {
            Change::SecondFactorReset => format!("If you did not ask for it, {operator}."),
            _ => format!(
                "If it was not you, set a new password and end all other sessions; if you cannot sign in, {operator}."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Time = Time(1_774_494_720_000);

    fn text(change: Change) -> String {
        let letter = Security {
            change: &change,
            at: AT,
            zone: "UTC",
            account_url: "https://watch.example.org/account".to_owned(),
            to: "ann@example.org",
            site: "watch.example.org",
            now: AT,
        };
        let written = letter.written().unwrap();
        format!("{}\n{}", written.subject, written.text)
    }

    #[test]
    fn a_letter_says_what_changed_when_and_what_to_do() {
        let said = text(Change::SecondFactorOff);
        assert!(said.starts_with("Your second factor was turned off at watch.example.org\n"), "{said}");
        let flat = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "Signing in at watch.example.org as ann@example.org takes no code any more. Every other session has ended.",
            "It happened at 03:12 (Thursday 26 March 2026, UTC). If it was not you, set a new password and end all \
             other sessions; if you cannot sign in, write to the operator of watch.example.org at once.",
            "https://watch.example.org/account",
        ] {
            assert!(flat.contains(part), "{part}: {said}");
        }
    }

    #[test]
    fn the_last_recovery_codes_are_counted_in_words() {
        for (left, words) in [(0, "the last one"), (1, "One code is left"), (9, "9 codes are left.")] {
            assert!(text(Change::CodeUsed { left }).contains(words), "{left}");
        }
    }

    #[test]
    fn a_name_cannot_add_a_line() {
        let said = text(Change::PasskeyAdded { name: "key\r\nBcc: all@example.org".to_owned() });
        assert!(said.contains("“key Bcc: all@example.org”"), "{said}");
    }

    #[test]
    fn what_is_stored_is_read_back() {
        for change in
            [Change::Password, Change::CodeUsed { left: 3 }, Change::PasskeyAdded { name: "k".to_owned() }]
        {
            let stored = serde_json::to_string(&change).unwrap();
            assert_eq!(serde_json::from_str::<Change>(&stored).unwrap(), change);
        }
    }
}
