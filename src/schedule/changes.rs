//! Where wall clock and real time part: what a clock change does to the runs it skips or repeats.
//!
//! A zone is a row of eras of constant offset, so within one era the wall clock is contiguous and the search is
//! [`Calendar::first_from`]. Only the step into the next era differs between the three rules.

use super::calendar::Calendar;
use super::zone::Zone;

/// What happens to runs at readings of the clock that a change skips (a gap) or repeats (an overlap).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// cron at fixed times: what a gap skips runs once when the gap ends; an overlap runs it the first time only.
    Once,
    /// cron with `*` in the minute or hour: it runs whenever the clock matches, so not in a gap, and twice in an
    /// overlap.
    RealTime,
    /// OnCalendar: not in a gap; in an overlap the first time only, unless the search starts after that.
    Skip,
}

/// The first run strictly after `second`, both in seconds since 1970 UTC; `None` after the year 2199, and never
/// one before 1970.
pub(super) fn next_after(calendar: &Calendar, zone: &Zone, rule: Rule, second: i64) -> Option<i64> {
    let second = second.max(-1);
    let eras = zone.eras();
    let mut now = zone.era_at(second);
    let mut from = eras[now].wall(second) + 1;
    if rule == Rule::Once && now > 0 {
        from = from.max(eras[now - 1].wall(eras[now].start));
    }
    let mut wall = calendar.first_from(from)?;
    while let Some(next) = eras.get(now + 1) {
        let (ends, begins) = (eras[now].wall(next.start), next.wall(next.start));
        if wall < ends {
            break;
        }
        match rule {
            Rule::Once if wall < begins => return Some(next.start),
            Rule::Skip if wall < begins => wall = calendar.first_from(begins)?,
            Rule::RealTime => wall = calendar.first_from(begins)?,
            Rule::Once | Rule::Skip => {}
        }
        now += 1;
    }
    Some(eras[now].instant(wall))
}
