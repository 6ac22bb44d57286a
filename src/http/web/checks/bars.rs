//! Thirty days of a check as a row of bars: height is trouble. One path for each kind of day, dashed by the sheet.

use std::fmt;
use std::sync::Arc;

use askama::filters::HtmlSafe;

use crate::checks::history::Day;

/// Pixels from one day to the next, and of a day's bar.
const STEP: usize = 6;
const BAR: usize = 4;

/// The row, written as SVG with its summary; a clone shares it.
#[derive(Clone, Debug)]
pub struct Bars(Arc<str>);

const KINDS: [Day; 6] = [Day::Quiet, Day::Paused, Day::Good, Day::Late, Day::Unseen, Day::Bad];

const fn class(day: Day) -> char {
    match day {
        Day::Quiet => 'n',
        Day::Paused => 'p',
        Day::Good => 'u',
        Day::Late => 'l',
        Day::Unseen => 'x',
        Day::Bad => 'd',
    }
}

/// Where the middle of the stroke lies, so that every bar stands on the same ground.
const fn middle(day: Day) -> &'static str {
    match day {
        Day::Quiet | Day::Paused => "23",
        Day::Good => "19.5",
        Day::Late => "16",
        Day::Unseen | Day::Bad => "12",
    }
}

impl Bars {
    /// Draws days, the oldest first.
    pub fn draw(days: &[Day]) -> Self {
        let (number, width) = (days.len(), days.len() * STEP - (STEP - BAR));
        let mut svg = format!(
            "<svg class=\"bars\" width=\"{width}\" height=\"24\" viewBox=\"0 0 {width} 24\" preserveAspectRatio=\"none\" role=\"img\" \
             aria-label=\"Last {number} days: {}\">",
            summary(days)
        );
        for kind in KINDS {
            let path = path(days, kind);
            if !path.is_empty() {
                svg.push_str(&format!("<path class=\"{}\" d=\"{path}\"/>", class(kind)));
            }
        }
        svg.push_str("</svg>");
        Self(svg.into())
    }
}

fn path(days: &[Day], kind: Day) -> String {
    let mut path = String::new();
    let mut from = 0;
    for run in days.chunk_by(|one, next| one == next) {
        if run.first() == Some(&kind) {
            let x = from * STEP;
            if kind == Day::Unseen {
                for day in 0..run.len() {
                    path.push_str(&format!("M{} 1v22", x + day * STEP + BAR / 2));
                }
            } else {
                let length = run.len() * STEP - (STEP - BAR);
                path.push_str(&format!("M{x} {}h{length}", middle(kind)));
            }
        }
        from += run.len();
    }
    path
}

/// The same in words: `26 good, 3 with a failure`.
fn summary(days: &[Day]) -> String {
    let words = |kind| match kind {
        Day::Quiet => "without a ping",
        Day::Paused => "paused",
        Day::Good => "good",
        Day::Late => "late",
        Day::Unseen => "not watched",
        Day::Bad => "with a failure",
    };
    let count = |kind: Day| days.iter().filter(|day| **day == kind).count();
    let kinds = [Day::Good, Day::Bad, Day::Late, Day::Unseen, Day::Paused, Day::Quiet];
    let parts: Vec<String> = kinds
        .into_iter()
        .filter(|kind| count(*kind) > 0)
        .map(|kind| format!("{} {}", count(kind), words(kind)))
        .collect();
    parts.join(", ")
}

impl fmt::Display for Bars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Bars {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_days_share_a_stroke_and_each_kind_has_one_path() {
        let bars = Bars::draw(&[Day::Quiet, Day::Good, Day::Good, Day::Bad, Day::Unseen, Day::Good]);
        assert_eq!(
            bars.to_string(),
            "<svg class=\"bars\" width=\"34\" height=\"24\" viewBox=\"0 0 34 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Last 6 \
             days: 3 good, 1 with a failure, 1 not watched, 1 without a ping\"><path class=\"n\" d=\"M0 23h4\"/>\
             <path class=\"u\" d=\"M6 19.5h10M30 19.5h4\"/><path class=\"x\" d=\"M26 1v22\"/>\
             <path class=\"d\" d=\"M18 12h4\"/></svg>"
        );
    }
}
