use proptest::prelude::*;

use super::*;

const MINUTE: Window = Window { limit: 5, length: Span::minutes(1) };
/// On the grid of every window here.
const START: Time = Time(1_774_494_720_000);

/// Asks at an instant and keeps what was spent; the answer is what is left, or how long to wait.
fn ask(window: &Window, spent: &mut Spent, now: Time) -> Result<i64, Span> {
    match window.judge(spent, now) {
        Judgement::Accepted { spent: next, remaining, .. } => {
            *spent = next;
            Ok(remaining)
        }
        Judgement::Refused { retry_after, .. } => Err(retry_after),
    }
}

/// The most that stand in any span of the window's length, both ends counted.
fn most_in_any_span(window: &Window, mut accepted: Vec<Time>) -> i64 {
    accepted.sort();
    let within =
        |from: &Time| accepted.iter().filter(|at| **at >= *from && **at <= *from + window.length).count();
    accepted.iter().map(within).max().map_or(0, |most| i64::try_from(most).unwrap())
}

#[test]
fn a_burst_is_accepted_up_to_the_limit_and_the_next_waits_for_the_window() {
    let mut spent = Spent::default();
    let left: Vec<_> = (0..7).map(|_| ask(&MINUTE, &mut spent, START)).collect();
    let wait = Err(Span::seconds(61));
    assert_eq!(left, [Ok(4), Ok(3), Ok(2), Ok(1), Ok(0), wait, wait]);
    assert_eq!(ask(&MINUTE, &mut spent, START + Span::millis(60_999)), Err(Span::millis(1)));
    assert_eq!(ask(&MINUTE, &mut spent, START + Span::seconds(61)), Ok(4));
}

#[test]
fn the_edge_of_a_minute_lets_nothing_twice_through() {
    let mut spent = Spent::default();
    let before = START + Span::millis(59_999);
    assert!((0..5).all(|_| ask(&MINUTE, &mut spent, before).is_ok()));
    assert_eq!(ask(&MINUTE, &mut spent, START + Span::seconds(60)), Err(Span::seconds(60)));
}

#[test]
fn a_refusal_changes_nothing_and_says_until_when() {
    let mut spent = Spent::default();
    for second in 0..5 {
        assert!(ask(&MINUTE, &mut spent, START + Span::seconds(second)).is_ok());
    }
    let now = START + Span::seconds(10);
    let refused = Judgement::Refused { reset: Span::seconds(55), retry_after: Span::seconds(51) };
    assert_eq!(MINUTE.judge(&spent, now), refused);
    assert_eq!(MINUTE.left(&spent, now), (0, Span::seconds(55)));
    assert_eq!(spent.counts, [1, 1, 1, 1, 1]);
}

#[test]
fn a_limit_of_zero_accepts_nothing() {
    let none = Window { limit: 0, length: Span::minutes(1) };
    assert_eq!(ask(&none, &mut Spent::default(), START), Err(Span::minutes(1)));
}

#[test]
fn an_instant_ahead_of_the_clock_counts_up_to_the_slack_and_then_as_not_set() {
    let mut spent = Spent::default();
    assert!((0..5).all(|_| ask(&MINUTE, &mut spent, START).is_ok()));
    let behind = START - CLOCK_SLACK;
    assert_eq!(ask(&MINUTE, &mut spent.clone(), behind), Err(Span::seconds(121)));
    assert_eq!(ask(&MINUTE, &mut spent, behind - Span::millis(1)), Ok(4));
    assert_eq!(spent.last_at, Some(behind - Span::millis(1)));
}

#[test]
fn one_that_is_judged_late_is_judged_by_its_whole_window() {
    let mut spent = Spent::default();
    let late = START + Span::seconds(59);
    assert!((0..4).all(|_| ask(&MINUTE, &mut spent, START).is_ok()));
    assert!(ask(&MINUTE, &mut spent, START + Span::seconds(70)).is_ok());
    assert_eq!(spent.last_at, Some(START + Span::seconds(70)));
    // The four of the beginning are past for the latest clock, and not for this one.
    assert!(ask(&MINUTE, &mut spent, late).is_err());
    assert!(ask(&MINUTE, &mut spent, START + Span::seconds(70)).is_ok());
}

#[test]
fn a_row_outlasts_every_request_that_it_can_matter_to() {
    assert_eq!(MINUTE.expires_at(START), START + Span::seconds(1 + 60 + 60));
    assert_eq!(MINUTE.expires_at(START + Span::millis(999)), MINUTE.expires_at(START));
}

/// Waits between requests: mostly none or short, sometimes longer than any window here.
fn waits() -> impl Strategy<Value = Vec<i64>> {
    let wait = prop_oneof![4 => Just(0), 8 => 0..3_000_i64, 3 => 0..40_000_i64, 1 => 0..4_000_000_i64];
    prop::collection::vec(wait, 1..400)
}

fn windows() -> impl Strategy<Value = Window> {
    let length = prop_oneof![Just(Span::minutes(1)), Just(Span::hours(1)), Just(Span::hours(24))];
    (1..30_i64, length).prop_map(|(limit, length)| Window { limit, length })
}

proptest! {
    #[test]
    fn no_span_ever_holds_more_than_the_limit(window in windows(), waits in waits(), offset in 0..100_000_i64) {
        let (mut spent, mut now, mut accepted) = (Spent::default(), START + Span(offset), Vec::new());
        for wait in waits {
            now = now + Span(wait);
            if ask(&window, &mut spent, now).is_ok() {
                accepted.push(now);
            }
        }
        prop_assert!(most_in_any_span(&window, accepted) <= window.limit);
    }

    #[test]
    fn nor_where_clocks_differ_within_the_slack(
        window in windows(),
        requests in prop::collection::vec((0..3_000_i64, 0..CLOCK_SLACK.0), 1..400),
    ) {
        let (mut spent, mut latest, mut accepted) = (Spent::default(), START, Vec::new());
        for (wait, behind) in requests {
            latest = latest + Span(wait);
            let now = latest - Span(behind);
            if ask(&window, &mut spent, now).is_ok() {
                accepted.push(now);
            }
        }
        prop_assert!(most_in_any_span(&window, accepted) <= window.limit);
    }

    #[test]
    fn constant_pressure_gets_the_limit_in_every_window_and_a_sixtieth(
        window in windows(),
        offset in 0..100_000_i64,
        burst in 1..5_i64,
    ) {
        let (mut spent, mut now, mut accepted) = (Spent::default(), START + Span(offset), Vec::new());
        let step = Span((window.length.0 / 60 / 7).max(1));
        let end = now + Span(window.length.0 * 3);
        while now < end {
            for _ in 0..burst {
                if ask(&window, &mut spent, now).is_ok() {
                    accepted.push(now);
                }
            }
            now = now + step;
        }
        // Pressure comes in steps: the last may be one step short of the span's end.
        let whole = Span(window.length.0 + window.length.0 / 60) + step;
        let mut from = START + Span(offset);
        while from + whole < end {
            let within = accepted.iter().filter(|at| **at >= from && **at <= from + whole).count();
            prop_assert!(i64::try_from(within).unwrap() >= window.limit, "{within} from {from:?}");
            from = from + step;
        }
    }

    #[test]
    fn who_waits_as_long_as_told_is_accepted_and_who_does_not_is_refused(
        window in windows(),
        waits in waits(),
        offset in 0..100_000_i64,
    ) {
        let (mut spent, mut now) = (Spent::default(), START + Span(offset));
        for wait in waits {
            now = now + Span(wait);
            if let Judgement::Refused { retry_after, reset } = window.judge(&spent, now) {
                prop_assert!(retry_after > Span::ZERO && retry_after <= reset);
                let early = now + retry_after - Span::millis(1);
                prop_assert!(ask(&window, &mut spent, early).is_err());
                now = now + retry_after;
                prop_assert_eq!(window.left(&spent, now + reset - retry_after), (window.limit, Span::ZERO));
                let left = ask(&window, &mut spent, now);
                prop_assert!(left.is_ok());
            } else {
                let left = window.left(&spent, now).0;
                prop_assert_eq!(ask(&window, &mut spent, now), Ok(left - 1));
            }
        }
    }
}
