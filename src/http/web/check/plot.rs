//! Runs as bars: height is how long a run took, a cross is a failure, an empty diamond a run that never came, a
//! hatched band a time in which Flatline was not watching.

use crate::alerts::words::clock::short;
use crate::checks::log::Entry;
use crate::checks::{Gap, Reason, Signal, StoredFlip};
use crate::http::web::when::{Wall, counted};
use crate::time::{Span, Time};

/// The height of the tallest bar, in pixels; the picture's ground lies at this height.
const HEIGHT: f64 = 150.0;
/// Steps of the scale, in seconds, of which the one with three to five lines is taken.
const STEPS: [i64; 20] = [
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800,
    604_800,
];

/// The picture, ready to be written.
#[derive(Debug)]
pub struct Plot {
    pub bars: Vec<Bar>,
    pub missed: Vec<Spot>,
    pub gaps: Vec<Band>,
    pub lines: Vec<Line>,
    pub days: Vec<Spot>,
    /// Where the median lies.
    pub median_y: Option<String>,
    pub summary: String,
    pub figures: Vec<(&'static str, String)>,
    /// Whether any run said when it began, so that it has a duration.
    pub has_durations: bool,
}

/// One run.
#[derive(Debug)]
pub struct Bar {
    pub x: String,
    pub middle: String,
    pub y: String,
    pub height: String,
    pub cross_y: String,
    pub failed: bool,
    pub title: String,
}

/// A point on the line of time.
#[derive(Debug)]
pub struct Spot {
    pub x: String,
    pub title: String,
}

/// A span of time.
#[derive(Debug)]
pub struct Band {
    pub x: String,
    pub width: String,
    pub title: String,
}

/// A line of the scale.
#[derive(Debug)]
pub struct Line {
    pub y: String,
    pub text_y: String,
    pub label: String,
}

/// What is drawn.
#[derive(Clone, Copy)]
pub struct Runs<'a> {
    /// Successes and fails, newest first.
    pub outcomes: &'a [Entry],
    pub flips: &'a [StoredFlip],
    pub gaps: &'a [Gap],
    pub days: i64,
}

/// Draws the runs of the last days; `None` if there is nothing to draw.
pub fn plot(runs: Runs<'_>, wall: &Wall) -> Option<Plot> {
    let Runs { outcomes, flips, gaps, days } = runs;
    if outcomes.is_empty() {
        return None;
    }
    let from = wall.day_begins(wall.day(wall.now) - days + 1);
    let axis = Axis { from, length: (wall.now - from).0.max(1) };
    let mut durations: Vec<Span> = outcomes
        .iter()
        .filter(|entry| entry.kind == Signal::Success)
        .filter_map(|entry| entry.duration_ms)
        .collect();
    durations.sort();
    let longest = outcomes.iter().filter_map(|entry| entry.duration_ms).max();
    let (step, top) = scale(longest.unwrap_or(Span::seconds(1)));
    let height = |span: Span| span.0 as f64 / top.0 as f64 * (HEIGHT - 18.0);
    let bars = outcomes.iter().rev().map(|entry| bar(entry, &axis, longest.map(|_| &height), wall)).collect();
    let median = quantile(&durations, 50);
    let failed = outcomes.iter().filter(|entry| entry.kind == Signal::Fail).count();
    let missed: Vec<Spot> = flips
        .iter()
        .filter(|flip| matches!(flip.reason, Reason::Timeout | Reason::Run) && flip.flipped_at >= from)
        .map(|flip| Spot {
            x: axis.at(flip.expected_at.or(flip.started_at).unwrap_or(flip.flipped_at)),
            title: format!("No run: {}", super::super::shown::down(flip, wall)),
        })
        .collect();
    Some(Plot {
        summary: format!(
            "Runs of the last {days} days as bars: {}, {failed} failed, {} missed. The log below has the same as a table.",
            counted(outcomes.len(), "run"),
            missed.len()
        ),
        figures: figures(outcomes.len(), failed, &durations),
        lines: if longest.is_some() { lines(step, top, &height) } else { Vec::new() },
        days: day_marks(&axis, days, wall),
        gaps: bands(gaps, &axis, wall),
        median_y: median.map(|span| pixels(HEIGHT - height(span))),
        has_durations: longest.is_some(),
        bars,
        missed,
    })
}

struct Axis {
    from: Time,
    length: i64,
}

impl Axis {
    fn share(&self, at: Time) -> f64 {
        ((at - self.from).0 as f64 / self.length as f64).clamp(0.0, 1.0) * 98.6
    }

    fn at(&self, at: Time) -> String {
        percent(self.share(at) + 0.5)
    }
}

fn percent(share: f64) -> String {
    format!("{share:.2}%")
}

fn pixels(y: f64) -> String {
    format!("{y:.1}")
}

fn bar(entry: &Entry, axis: &Axis, height: Option<&impl Fn(Span) -> f64>, wall: &Wall) -> Bar {
    let failed = entry.kind == Signal::Fail;
    let tall = match (height, entry.duration_ms) {
        (Some(height), Some(span)) => height(span).max(2.0),
        (Some(_), None) => 2.0,
        (None, _) => 40.0,
    };
    let at = wall.clock(entry.received_at);
    let took = entry.duration_ms.map(|span| format!(" after {}", short(span))).unwrap_or_default();
    let share = axis.share(entry.received_at);
    Bar {
        x: percent(share),
        middle: percent(share + 0.5),
        y: pixels(HEIGHT - tall),
        height: pixels(tall),
        cross_y: pixels(HEIGHT - tall - 9.0),
        failed,
        title: format!("{at}: {}{took}", if failed { "failed" } else { "good" }),
    }
}

/// The step of the scale, and its top.
fn scale(longest: Span) -> (i64, Span) {
    let seconds = longest.as_seconds_up().max(1);
    let step = STEPS.into_iter().find(|step| seconds <= step * 4).unwrap_or(STEPS[STEPS.len() - 1]);
    let steps = (seconds + step - 1) / step;
    (step, Span::seconds(step * steps))
}

fn lines(step: i64, top: Span, height: &impl Fn(Span) -> f64) -> Vec<Line> {
    let count = top.as_seconds() / step;
    (0..=count.min(6))
        .map(|number| {
            let span = Span::seconds(number * step);
            let y = HEIGHT - height(span);
            let label = if number == 0 { "0".to_owned() } else { short(span) };
            Line { y: pixels(y), text_y: pixels(y + 4.0), label }
        })
        .collect()
}

fn day_marks(axis: &Axis, days: i64, wall: &Wall) -> Vec<Spot> {
    let every = (days / 6).max(1);
    let today = wall.day(wall.now);
    (0..days)
        .filter(|day| day % every == 0)
        .map(|day| {
            let begins = wall.day_begins(today - days + 1 + day);
            Spot { x: percent(axis.share(begins)), title: wall.short_date(begins, day == 0) }
        })
        .collect()
}

fn bands(gaps: &[Gap], axis: &Axis, wall: &Wall) -> Vec<Band> {
    let shown = gaps.iter().filter(|gap| gap.ended_at > axis.from && gap.started_at < gap.ended_at);
    shown
        .map(|gap| {
            let (start, end) = (axis.share(gap.started_at), axis.share(gap.ended_at));
            Band {
                x: percent(start),
                width: percent((end - start).max(0.2)),
                title: format!(
                    "{} to {}: Flatline was not watching",
                    wall.clock(gap.started_at),
                    wall.clock(gap.ended_at)
                ),
            }
        })
        .collect()
}

/// The value below which so many of a hundred lie; `sorted` is in order.
fn quantile(sorted: &[Span], of_hundred: usize) -> Option<Span> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last * of_hundred + 50) / 100).copied()
}

fn figures(all: usize, failed: usize, durations: &[Span]) -> Vec<(&'static str, String)> {
    let mut figures = vec![("Good runs", format!("{} of {all}", all - failed))];
    let named = [("Median", 50), ("95th percentile", 95), ("Longest", 100)];
    figures.extend(
        named
            .into_iter()
            .filter_map(|(name, of_hundred)| quantile(durations, of_hundred).map(|span| (name, short(span)))),
    );
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_has_a_step_that_people_count_in() {
        assert_eq!(scale(Span::seconds(3)), (1, Span::seconds(3)));
        assert_eq!(scale(Span::minutes(26)), (600, Span::minutes(30)));
        assert_eq!(scale(Span::hours(5)), (7200, Span::hours(6)));
    }

    #[test]
    fn quantiles_are_values_that_occurred() {
        let spans: Vec<Span> = (1..=21).map(Span::seconds).collect();
        assert_eq!(quantile(&spans, 50), Some(Span::seconds(11)));
        assert_eq!(quantile(&spans, 95), Some(Span::seconds(20)));
        assert_eq!(quantile(&spans, 100), Some(Span::seconds(21)));
        assert_eq!(quantile(&[], 50), None);
    }
}
