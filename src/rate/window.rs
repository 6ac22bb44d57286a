//! A window of n per T, exact on the safe side. Pure: no clock, no SQL.
//!
//! T is cut into 60 buckets by the clock's own grid. A request is judged by the 61 buckets that its window
//! touches, each counted whole, so no span of length T ever holds more than n accepted ones, wherever it begins; a
//! bucket that the window only touches makes a refusal at most T/60 too early. (A calendar window lets 2n through
//! at its edge.)
//!
//! Clocks of several processes differ, and a request may be judged after one that read the clock later. As long as
//! a stored instant is no more than [`CLOCK_SLACK`] ahead the later one is counted too, and the row keeps as many
//! older buckets as that slack spans, so that the late one is judged by its whole window. What is further ahead was
//! written under a wrong clock and counts as not set.

use crate::time::{CLOCK_SLACK, Span, Time};

/// Buckets in one window's length.
const BUCKETS: i64 = 60;

/// At most `limit` accepted in any span of `length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub limit: i64,
    /// A multiple of 60 ms.
    pub length: Span,
}

/// What was accepted of one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// When the latest one was; it names the bucket that `counts` begins with.
    pub last_at: Option<Time>,
    /// Accepted in each bucket, latest bucket first, without the zeros at the end.
    pub counts: Vec<i64>,
}

/// What a window says to one more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    Accepted {
        spent: Spent,
        remaining: i64,
        /// Until nothing counts any more.
        reset: Span,
    },
    Refused {
        reset: Span,
        /// Until the next one is accepted.
        retry_after: Span,
    },
}

/// The counts as a request at one instant sees them.
struct View {
    /// The bucket that `counts` begins with: the request's own, or a later one.
    newest: i64,
    counts: Vec<i64>,
    /// How many of them its window touches.
    touched: usize,
}

impl Window {
    /// Judges one more at `now`.
    pub fn judge(&self, spent: &Spent, now: Time) -> Judgement {
        let mut view = self.view(spent, now);
        let total = view.total();
        if total >= self.limit {
            let reset = self.free_after(&view, 0, now);
            // A limit of zero accepts nothing, ever; asking again after a whole window is as good as any time.
            let retry_after =
                if self.limit > 0 { self.free_after(&view, self.limit - 1, now) } else { self.length };
            return Judgement::Refused { reset, retry_after };
        }
        let own = index(view.newest - self.bucket(now));
        view.counts.resize(view.counts.len().max(own + 1), 0);
        view.counts[own] += 1;
        let reset = self.free_after(&view, 0, now);
        view.counts.truncate(self.kept());
        let last_at = spent.last_at.filter(|at| is_believed(*at, now)).map_or(now, |at| at.max(now));
        let used = view.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        view.counts.truncate(used);
        let spent = Spent { last_at: Some(last_at), counts: view.counts };
        Judgement::Accepted { spent, remaining: self.limit - total - 1, reset }
    }

    /// How many are left at `now`, and until when anything counts.
    pub fn left(&self, spent: &Spent, now: Time) -> (i64, Span) {
        let view = self.view(spent, now);
        ((self.limit - view.total()).max(0), self.free_after(&view, 0, now))
    }

    /// When a row says nothing any more, whoever asks.
    pub fn expires_at(&self, last_at: Time) -> Time {
        Time((self.bucket(last_at) + 1) * self.width()) + self.length + CLOCK_SLACK
    }

    fn view(&self, spent: &Spent, now: Time) -> View {
        let own = self.bucket(now);
        let believed = spent.last_at.filter(|at| is_believed(*at, now)).map(|at| self.bucket(at));
        let newest = believed.map_or(own, |bucket| bucket.max(own));
        let shift = newest - believed.unwrap_or(newest);
        let counts = match believed {
            Some(_) if index(shift) < self.kept() => {
                let mut counts = vec![0; index(shift)];
                counts.extend_from_slice(&spent.counts);
                counts
            }
            _ => Vec::new(),
        };
        View { newest, counts, touched: index(newest - own + BUCKETS + 1) }
    }

    /// How long until at most `most` of what counts now still count, if nothing else is accepted.
    fn free_after(&self, view: &View, most: i64, now: Time) -> Span {
        let mut left = view.total();
        if left <= most {
            return Span::ZERO;
        }
        let mut bucket = view.newest;
        for (index, count) in view.touched().iter().enumerate().rev() {
            left -= count;
            if left <= most {
                bucket -= i64::try_from(index).unwrap_or(0);
                break;
            }
        }
        Time((bucket + BUCKETS + 1) * self.width()) - now
    }

    /// A bucket's length in milliseconds.
    fn width(&self) -> i64 {
        self.length.0 / BUCKETS
    }

    fn bucket(&self, at: Time) -> i64 {
        at.0.div_euclid(self.width())
    }

    /// Buckets that a row keeps: those of one window, and as many as the clocks' slack spans.
    fn kept(&self) -> usize {
        index(BUCKETS + 1 + CLOCK_SLACK.0.div_euclid(self.width()) + 1)
    }
}

impl View {
    /// The counts that the request's window touches, and those of later requests.
    fn touched(&self) -> &[i64] {
        &self.counts[..self.touched.min(self.counts.len())]
    }

    fn total(&self) -> i64 {
        self.touched().iter().sum()
    }
}

fn is_believed(at: Time, now: Time) -> bool {
    at <= now + CLOCK_SLACK
}

/// A number of buckets as an index; none is ever negative.
fn index(buckets: i64) -> usize {
    usize::try_from(buckets).unwrap_or(0)
}

#[cfg(test)]
mod tests;
