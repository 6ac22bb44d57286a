//! The letter to an account's owner whose alerts of the month are used up.

use super::clock::{Wall, long};
use super::notice::{Action, List, Notice, Row};
use super::{Written, named};
use crate::time::Time;

/// Held messages that are listed by name.
pub const HELD_LISTED: usize = 20;

/// What the letter tells.
#[derive(Clone, Debug)]
pub struct Quota<'a> {
    pub plan: &'a str,
    pub limit: i64,
    /// The beginning of the next month.
    pub resets_at: Time,
    /// Checks whose DOWN waits, with its time; at most [`HELD_LISTED`] are shown.
    pub held: &'a [(String, Time)],
    /// How many wait altogether.
    pub held_in_all: usize,
    /// The page that shows what was used.
    pub usage_url: &'a str,
    pub zone: &'a str,
    pub to: &'a str,
    /// The site's host.
    pub site: &'a str,
    pub now: Time,
}

impl Quota<'_> {
    /// Words the letter.
    ///
    /// # Errors
    /// None in practice: a template only writes into memory.
    pub fn written(&self) -> Result<Written, askama::Error> {
        let wall = Wall::new(self.zone, self.now);
        let until = format!("{} ({})", wall.point(self.resets_at), wall.zone_name());
        let title = format!("All {} alerts of this month are used.", self.limit);
        let notice = Notice {
            subject: format!("All {} alerts of this month are used", self.limit),
            paragraphs: vec![
                format!(
                    "The plan \"{}\" sends {} alerts a month. Until {until}, {} from now, a DOWN message is held, \
                     not dropped.",
                    self.plan,
                    self.limit,
                    long(self.resets_at - self.now)
                ),
                "A held message goes out when the month turns, or at once with a larger plan, if it is still \
                 true then. Whoever was sent a DOWN is sent its UP all the same. The checks are watched as \
                 before, and their pages show every failure."
                    .to_owned(),
            ],
            action: Some(Action { label: "See what was used", url: self.usage_url.to_owned() }),
            lists: self.held(&wall).into_iter().collect(),
            why: format!(
                "Sent by Flatline at {} to {}, the account's owner, once a month at most.",
                self.site, self.to
            ),
            preview: format!("DOWN messages are held until {until}."),
            title,
        };
        notice.written()
    }

    fn held(&self, wall: &Wall) -> Option<List> {
        let row = |(name, since): &(String, Time)| Row {
            name: named(name).unwrap_or_else(|| "a check without a name".to_owned()),
            url: None,
            detail: format!("down since {}", wall.point(*since)),
        };
        let mut rows: Vec<Row> = self.held.iter().take(HELD_LISTED).map(row).collect();
        let more = self.held_in_all.saturating_sub(rows.len());
        if more > 0 {
            rows.push(Row { name: format!("and {more} more"), url: None, detail: String::new() });
        }
        (!rows.is_empty()).then(|| List { heading: "Held now".to_owned(), rows })
    }
}
