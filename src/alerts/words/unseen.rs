//! The letter to an account's owner about slots that fell into an outage of our own: nobody was alerted for
//! them, so somebody has to look.

use super::clock::{Wall, long};
use super::notice::{Action, List, Notice, Row};
use super::{Written, named};
use crate::time::Time;

/// Slots of each list that are listed by name.
pub const SLOTS_LISTED: usize = 50;

/// A slot whose ping could not be seen.
#[derive(Clone, Debug)]
pub struct Slot {
    pub check: String,
    /// The check's page.
    pub url: String,
    /// When it was expected, or its run had begun.
    pub at: Time,
}

/// What the letter tells; one of the lists is not empty.
#[derive(Clone, Debug)]
pub struct Unseen<'a> {
    /// Where the gap began and ended.
    pub gap: (Time, Time),
    /// Slots that cannot be judged any more.
    pub unseen: &'a [Slot],
    /// Slots that fell into the gap and still can come in.
    pub undecided: &'a [Slot],
    pub checks_url: &'a str,
    pub zone: &'a str,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
    pub now: Time,
}

impl Unseen<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let wall = Wall::new(self.zone, self.now);
        let (from, to) = self.gap;
        let range = wall.range(from, to);
        let unseen = self.list(&wall, "Not seen, please look", self.unseen);
        let undecided = self.list(&wall, "Still to be judged", self.undecided);
        let mut paragraphs = vec![format!(
            "Flatline could not take pings {range} ({}), for {}. Nobody was alerted for that time.",
            wall.day_and_zone(to),
            long(to - from)
        )];
        if unseen.is_some() {
            paragraphs.push(
                "The runs below were expected then, and nothing has come from them since. Whether they were \
                 good, Flatline cannot say. The next one of each is watched as ever."
                    .to_owned(),
            );
        }
        if undecided.is_some() {
            paragraphs.push(
                "Those still to be judged have time left to report. If one stays silent, its page shows it as \
                 not seen."
                    .to_owned(),
            );
        }
        let notice = Notice {
            subject: format!("Flatline was not watching {range}"),
            title: format!("Flatline was not watching {range}."),
            paragraphs,
            action: Some(Action { label: "Open the checks", url: self.checks_url.to_owned() }),
            lists: unseen.into_iter().chain(undecided).collect(),
            why: format!(
                "Sent by Flatline at {} to {}, the account's owner, once for this outage.",
                self.site, self.to
            ),
            preview: format!("Nobody was alerted for that time.{}", to_look_at(self.unseen.len())),
        };
        notice.written()
    }

    fn list(&self, wall: &Wall, heading: &str, slots: &[Slot]) -> Option<List> {
        let row = |slot: &Slot| Row {
            name: named(&slot.check).unwrap_or_else(|| "a check without a name".to_owned()),
            url: Some(slot.url.clone()),
            detail: format!("expected {}", wall.point(slot.at)),
        };
        let mut rows: Vec<Row> = slots.iter().take(SLOTS_LISTED).map(row).collect();
        let more = slots.len().saturating_sub(rows.len());
        if more > 0 {
            rows.push(Row { name: format!("and {more} more"), url: None, detail: String::new() });
        }
        (!rows.is_empty()).then(|| List { heading: heading.to_owned(), rows })
    }
}

fn to_look_at(count: usize) -> String {
    match count {
        0 => String::new(),
        1 => " 1 run to look at.".to_owned(),
        _ => format!(" {count} runs to look at."),
    }
}
