//! What a check's past looks like from its flips: a mark per day, and the time it was down. Pure but for [`store`].

pub mod store;

use super::{Gap, Status, StoredFlip};
use crate::time::{Span, Time};

/// What one day was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Day {
    /// Before the first ping.
    Quiet,
    Paused,
    Good,
    /// A success is late now.
    Late,
    /// Flatline could not see a slot, or did not watch for most of the day.
    Unseen,
    /// It was down for some of it.
    Bad,
}

/// What Flatline did not see of a check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Missed<'a> {
    /// Slots that could not be judged.
    pub slots: &'a [Time],
    /// Beginnings of the days for most of which nobody watched: see [`blind_days`].
    pub days: &'a [Time],
}

/// How long a check was down within a span, and how often it went down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Downtime {
    pub span: Span,
    pub times: usize,
    /// Time within the span that was judged: neither before the check nor ahead, paused, or unwatched.
    pub judged: Span,
}

/// A flip as far as days and downtime look at it.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Turn {
    pub check_id: i64,
    pub flipped_at: Time,
    pub old_status: Status,
    pub new_status: Status,
}

impl Turn {
    fn of(flip: &StoredFlip) -> Self {
        Self {
            check_id: flip.check_id,
            flipped_at: flip.flipped_at,
            old_status: flip.old_status,
            new_status: flip.new_status,
        }
    }
}

/// A stretch of one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stretch {
    from: Time,
    to: Time,
    status: Status,
    /// Whether it begins with a flip.
    begins: bool,
}

/// The stretches from `from` to `now`. `turns` are those since `from`, oldest first; `status` is today's.
fn stretches(from: Time, now: Time, turns: &[Turn], status: Status) -> Vec<Stretch> {
    let first = turns.first().map_or(status, |turn| turn.old_status);
    let mut out = vec![Stretch { from, to: now, status: first, begins: false }];
    for turn in turns {
        if let Some(last) = out.last_mut() {
            last.to = turn.flipped_at;
        }
        out.push(Stretch { from: turn.flipped_at, to: now, status: turn.new_status, begins: true });
    }
    out
}

/// One mark for each day; `begins` holds the first instant of each and the end of the last.
pub fn days(
    begins: &[Time],
    turns: &[Turn],
    missed: Missed<'_>,
    status: Status,
    is_late: bool,
    now: Time,
) -> Vec<Day> {
    let Some(first) = begins.first() else { return Vec::new() };
    let stretches = stretches(*first, now, turns, status);
    let mut days: Vec<Day> = begins.windows(2).map(|day| mark(day[0], day[1], &stretches, missed)).collect();
    if is_late && let Some(today) = days.last_mut().filter(|today| **today != Day::Bad) {
        *today = Day::Late;
    }
    days
}

fn mark(from: Time, to: Time, stretches: &[Stretch], missed: Missed<'_>) -> Day {
    let within = || stretches.iter().filter(|one| one.from < to && one.to > from);
    let any = |status: Status| within().any(|one| one.status == status);
    if any(Status::Down) {
        Day::Bad
    } else if missed.slots.iter().any(|slot| *slot >= from && *slot < to)
        || (any(Status::Up) && missed.days.contains(&from))
    {
        Day::Unseen
    } else if any(Status::Up) {
        Day::Good
    } else if any(Status::Paused) {
        Day::Paused
    } else {
        Day::Quiet
    }
}

/// The beginnings of the days of which the gaps cover half or more, as far as they have passed.
pub fn blind_days(begins: &[Time], gaps: &[Gap], now: Time) -> Vec<Time> {
    let is_blind = |day: &&[Time]| {
        let passed = day[1].min(now) - day[0];
        passed > Span::ZERO && covered(day[0], day[1].min(now), gaps).0 * 2 >= passed.0
    };
    begins.windows(2).filter(is_blind).map(|day| day[0]).collect()
}

/// Gaps that overlap or touch as one, oldest first.
pub fn merged(gaps: &[Gap]) -> Vec<Gap> {
    let mut sorted = gaps.to_vec();
    sorted.sort_by_key(|gap| gap.started_at);
    let mut merged: Vec<Gap> = Vec::with_capacity(sorted.len());
    for gap in sorted {
        match merged.last_mut().filter(|last| last.ended_at >= gap.started_at) {
            Some(last) => last.ended_at = last.ended_at.max(gap.ended_at),
            None => merged.push(gap),
        }
    }
    merged
}

/// The time down between two instants, without the `gaps` in which nobody watched.
pub fn downtime(
    from: Time,
    to: Time,
    flips: &[StoredFlip],
    status: Status,
    gaps: &[Gap],
    now: Time,
) -> Downtime {
    let mut sum = Downtime::default();
    let first = flips.first().map_or(from, |flip| flip.flipped_at.min(from));
    let turns: Vec<Turn> = flips.iter().map(Turn::of).collect();
    for one in stretches(first, now, &turns, status) {
        let (start, end) = (one.from.max(from), one.to.min(to));
        if end <= start || !matches!(one.status, Status::Up | Status::Down) {
            continue;
        }
        let watched = (end - start) - covered(start, end, gaps);
        sum.judged = sum.judged + watched;
        if one.status == Status::Down {
            sum.span = sum.span + watched;
            sum.times += usize::from(one.begins && one.from >= from);
        }
    }
    sum
}

/// How much of a span the gaps cover together; they may overlap.
pub fn covered(from: Time, to: Time, gaps: &[Gap]) -> Span {
    let mut sorted: Vec<&Gap> = gaps.iter().collect();
    sorted.sort_by_key(|gap| gap.started_at);
    let (mut reached, mut sum) = (from, Span::ZERO);
    for gap in sorted {
        let (start, end) = (gap.started_at.max(reached), gap.ended_at.min(to));
        if end > start {
            sum = sum + (end - start);
            reached = end;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::super::Reason;
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn at(hours: i64) -> Time {
        Time(hours * HOUR)
    }

    fn flip(hours: i64, old_status: Status, new_status: Status) -> StoredFlip {
        StoredFlip {
            id: hours,
            check_id: 1,
            flipped_at: at(hours),
            old_status,
            new_status,
            reason: Reason::Timeout,
            ping_n: None,
            exit_status: None,
            expected_at: None,
            started_at: None,
            last_success_at: None,
            blind_ms: Span::ZERO,
        }
    }

    fn turn(hours: i64, old_status: Status, new_status: Status) -> Turn {
        Turn::of(&flip(hours, old_status, new_status))
    }

    #[test]
    fn a_day_is_as_bad_as_its_worst_hour() {
        let begins: Vec<Time> = (0..=6).map(|day| at(day * 24)).collect();
        let turns = [
            turn(30, Status::New, Status::Up),
            turn(50, Status::Up, Status::Down),
            turn(73, Status::Down, Status::Up),
            turn(96, Status::Up, Status::Paused),
        ];
        let marks = days(&begins, &turns, slots(&[at(80)]), Status::Paused, false, at(144));
        assert_eq!(marks, [Day::Quiet, Day::Good, Day::Bad, Day::Bad, Day::Paused, Day::Paused]);
        let late = days(&begins[..3], &[], Missed::default(), Status::Up, true, at(40));
        assert_eq!(late, [Day::Good, Day::Late]);
        let unseen = days(&begins[..3], &[], slots(&[at(5)]), Status::Up, false, at(40));
        assert_eq!(unseen, [Day::Unseen, Day::Good]);
    }

    fn slots(slots: &[Time]) -> Missed<'_> {
        Missed { slots, ..Missed::default() }
    }

    #[test]
    fn a_day_that_nobody_watched_for_half_of_it_is_grey_where_the_check_was_up() {
        let begins: Vec<Time> = (0..=3).map(|day| at(day * 24)).collect();
        let gap = |from: i64, to: i64| Gap { started_at: at(from), ended_at: at(to) };
        let gaps = [gap(0, 11), gap(24, 30), gap(28, 36), gap(50, 53)];
        let blind = blind_days(&begins, &gaps, at(54));
        assert_eq!(blind, [at(24), at(48)], "11 of 24 hours are not half, 12 are, and 3 of 6 that passed");
        let missed = Missed { days: &blind, ..Missed::default() };
        let mark = |status| days(&begins, &[], missed, status, false, at(54));
        assert_eq!(mark(Status::Up), [Day::Good, Day::Unseen, Day::Unseen]);
        assert_eq!(mark(Status::Paused), [Day::Paused; 3]);
        assert_eq!(mark(Status::Down), [Day::Bad; 3]);
    }

    #[test]
    fn gaps_that_overlap_or_touch_are_one() {
        let gap = |from: i64, to: i64| Gap { started_at: at(from), ended_at: at(to) };
        let all = [gap(8, 9), gap(1, 4), gap(2, 3), gap(4, 5)];
        assert_eq!(merged(&all), [gap(1, 5), gap(8, 9)]);
        assert_eq!(merged(&[]), []);
    }

    #[test]
    fn downtime_leaves_out_what_nobody_watched() {
        let flips = [
            flip(1, Status::New, Status::Up),
            flip(10, Status::Up, Status::Down),
            flip(20, Status::Down, Status::Up),
        ];
        let gaps =
            [Gap { started_at: at(12), ended_at: at(14) }, Gap { started_at: at(13), ended_at: at(15) }];
        let whole = downtime(at(0), at(48), &flips, Status::Up, &gaps, at(30));
        assert_eq!(whole, Downtime { span: Span::hours(7), times: 1, judged: Span::hours(26) });
        let later = downtime(at(15), at(48), &flips, Status::Up, &[], at(30));
        assert_eq!(later, Downtime { span: Span::hours(5), times: 0, judged: Span::hours(15) });
    }
}
