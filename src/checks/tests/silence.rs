//! What silence makes of a check, and what our own gaps excuse of it (DESIGN 4).

use super::*;
use Signal::{Fail, Start, Success};

const DAY: i64 = 86_400;

fn judged(bench: &Bench, seconds: i64, gaps: &[Gap]) -> Verdict {
    judge(&bench.state, &bench.rules, gaps, at(seconds))
}

/// When the sweep looks again, in seconds after midnight.
#[track_caller]
fn later(verdict: Verdict) -> i64 {
    match verdict {
        Verdict::Later(State { wake_at: Some(wake), .. }) => (wake - MIDNIGHT).as_seconds(),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn down(verdict: Verdict) -> Change {
    match verdict {
        Verdict::Flip(state, change) => {
            assert_eq!(
                (state.status, state.told_status, state.deadline_at),
                (Status::Down, Status::Down, None)
            );
            change
        }
        other => panic!("{other:?}"),
    }
}

/// The state and the slot, in seconds after midnight.
#[track_caller]
fn unseen(verdict: Verdict) -> (State, i64) {
    match verdict {
        Verdict::Unseen { state, slot_at, .. } => (state, (slot_at - MIDNIGHT).as_seconds()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn silence_is_an_alarm_from_the_deadline_on_and_stamped_with_it() {
    let bench = Bench::up(simple(3600, 600, 0));
    assert_eq!(later(judge(&bench.state, &bench.rules, &[], at(4200) - Span::millis(1))), 4200);
    for now in [4200, 4201, 90_000] {
        let change = down(judged(&bench, now, &[]));
        assert_eq!((change.at, change.expected_at, change.started_at), (at(4200), Some(at(3600)), None));
        assert_eq!(
            (change.reason, change.last_success_at, change.blind),
            (Reason::Timeout, Some(at(0)), Span::ZERO)
        );
    }
}

#[test]
fn what_is_down_paused_or_new_is_not_judged() {
    let mut bench = Bench::up(simple(60, 60, 0));
    bench.taken(10, Fail, None);
    bench.watch(1_000_000, &[]);
    assert_eq!(bench.flips.len(), 2);
    assert_eq!(bench.state.wake_at, None);
    let mut new = Bench::new(simple(60, 60, 0));
    new.watch(1_000_000, &[]);
    assert_eq!(new.flips, []);
}

/// The stored deadline is what the index is ordered by; a wrong one costs a look and is put right.
#[test]
fn a_stored_deadline_that_is_wrong_takes_nothing_down() {
    let mut bench = Bench::up(simple(3600, 600, 0));
    for wrong in [Some(at(1)), None] {
        (bench.state.deadline_at, bench.state.expected_at, bench.state.wake_at) = (wrong, None, Some(at(1)));
        bench.sweep(at(100), &[]);
        assert_eq!((bench.state.deadline_at, bench.state.wake_at), (Some(at(4200)), Some(at(4200))));
    }
}

#[test]
fn a_gap_under_30_seconds_is_mentioned_and_excuses_nothing() {
    let bench = Bench::up(simple(3600, 600, 0));
    assert_eq!(down(judged(&bench, 4200, &[gap(3600, 3629)])).blind, Span::seconds(29));
    assert_eq!(down(judged(&bench, 4200, &[gap(4190, 4215)])).blind, Span::seconds(10));
    assert_eq!(down(judged(&bench, 4200, &[gap(3000, 3029)])).blind, Span::ZERO);
}

#[test]
fn a_gap_of_30_seconds_excuses_the_slot_and_the_period_counts_from_its_end() {
    let bench = Bench::up(simple(3600, 600, 0));
    let gaps = [gap(3600, 3630)];
    assert_eq!(later(judged(&bench, 4200, &gaps)), 4230, "gap end + grace");
    let (state, slot) = unseen(judged(&bench, 4230, &gaps));
    assert_eq!((slot, state.unseen_at, state.status), (3600, Some(at(3630)), Status::Up));
    assert_eq!((state.expected_at, state.deadline_at), (Some(at(7230)), Some(at(7830))));
    assert_eq!(state.wake_at, Some(at(7830)));
}

#[test]
fn a_gap_that_ended_long_before_the_deadline_delays_nothing() {
    let bench = Bench::up(simple(3600, 3600, 0));
    let (_, slot) = unseen(judged(&bench, 7200, &[gap(3600, 3700)]));
    assert_eq!(slot, 3600);
}

#[test]
fn a_check_gets_at_most_15_minutes_after_the_gap_to_be_heard() {
    let bench = Bench::up(simple(3600, 3600, 0));
    assert_eq!(later(judged(&bench, 7200, &[gap(3600, 7190)])), 7190 + 900);
}

#[test]
fn a_gap_excuses_if_it_touches_the_window_from_60_seconds_before_the_slot_to_the_deadline() {
    let bench = Bench::up(simple(3600, 600, 0));
    for (touching, from, to) in [
        (false, 3000, 3540),
        (true, 3000, 3541),
        (true, 3541, 4199),
        (true, 4199, 4300),
        (false, 4200, 4300),
        (true, 100, 9000),
    ] {
        let verdict = judged(&bench, 20_000, &[gap(from, to)]);
        assert_eq!(matches!(verdict, Verdict::Unseen { .. }), touching, "{from} to {to}: {verdict:?}");
    }
}

#[test]
fn the_next_slot_after_an_unseen_one_begins_its_minute_after_the_gap() {
    for (end, expected) in [(7139, 7200), (7140, 10_800), (7200, 10_800)] {
        let bench = Bench::up(cron("0 * * * *", 600, 0));
        let (state, slot) = unseen(judged(&bench, 9000, &[gap(3590, end)]));
        assert_eq!((slot, state.expected_at), (3600, Some(at(expected))), "{end}");
    }
}

#[test]
fn the_run_that_a_gap_touched_is_let_go() {
    for touched in [gap(100, 200), gap(690, 750), gap(50, 101)] {
        let mut bench = Bench::up(simple(DAY, 600, 0));
        bench.taken(100, Start, None);
        let (state, slot) = unseen(judged(&bench, 1700, &[touched]));
        assert_eq!((slot, state.last_start_at, state.last_start_rid), (100, None, None));
        assert_eq!(state.expected_at, Some(touched.ended_at + Span::seconds(DAY)));
    }
    let mut bench = Bench::up(simple(DAY, 600, 0));
    bench.taken(100, Start, None);
    assert_eq!(down(judged(&bench, 1700, &[gap(50, 100)])).started_at, Some(at(100)));
}

/// The start may have been repeated and refused, and that run's end fallen into the gap.
#[test]
fn a_gap_in_the_floor_after_a_runs_grace_excuses_it_too() {
    let mut bench = Bench::up(simple(DAY, 60, 300));
    bench.taken(1000, Start, None);
    bench.refused(1299, Start, None);
    let (_, slot) = unseen(judged(&bench, 1500, &[gap(1300, 1400)]));
    assert_eq!(slot, 1000);
}

/// The run began in the slot that the same gap made unseen, and its end fell into that gap too.
#[test]
fn a_gap_excuses_both_the_slot_and_the_run_that_it_touched() {
    let mut bench = Bench::up(cron("0 1 * * *", 3600, 0));
    bench.taken(3605, Start, None);
    let gaps = [gap(4000, 4300)];
    bench.watch(80_000, &gaps);
    assert_eq!((bench.unseen.as_slice(), bench.downs()), ([at(3600), at(3605)].as_slice(), vec![]));
    bench.watch(200_000, &gaps);
    assert_eq!(bench.downs(), [(at(DAY + 7200), Reason::Timeout)]);
}

/// Periods under the contract's minute cannot be set, but must not make the sweep endless.
#[test]
fn a_gap_excuses_a_check_with_a_very_short_period_once() {
    let mut bench = Bench::up(simple(1, 1, 0));
    bench.watch(1000, &[gap(1, 100)]);
    assert_eq!((bench.unseen.len(), bench.downs()), (1, vec![(at(102), Reason::Timeout)]));
}

#[test]
fn a_run_of_a_new_check_that_a_gap_touched_is_let_go_once() {
    let mut bench = Bench::new(simple(DAY, 600, 0));
    bench.taken(0, Start, None);
    bench.watch(5000, &[gap(100, 200)]);
    assert_eq!((bench.unseen.as_slice(), bench.flips.len()), ([at(0)].as_slice(), 0));
    bench.taken(6000, Start, None);
    bench.watch(DAY, &[gap(100, 200), gap(6100, 6145)]);
    assert_eq!(bench.downs(), [(at(6600), Reason::Run)]);
    assert_eq!(bench.flips[0].blind, Span::seconds(45));
}

#[test]
fn after_an_unseen_slot_a_window_that_was_watched_for_more_than_half_counts() {
    let first = gap(DAY, DAY + 60);
    // The window is 120 s long and ends with a deadline a day after the first gap, plus a grace of 60 s.
    for (seconds, counts) in [(59, true), (60, false), (90, false)] {
        let mut bench = Bench::up(simple(DAY, 60, 0));
        let second = gap(2 * DAY, 2 * DAY + seconds);
        bench.watch(2 * DAY + 300, &[first, second]);
        let downs: &[(Time, Reason)] = if counts { &[(at(2 * DAY + 120), Reason::Timeout)] } else { &[] };
        assert_eq!(bench.downs(), downs, "{seconds}");
        let slots: &[Time] = if counts { &[at(DAY)] } else { &[at(DAY), at(2 * DAY + 60)] };
        assert_eq!(bench.unseen, slots, "{seconds}");
    }
}

#[test]
fn gaps_noted_twice_are_counted_once() {
    let mut bench = Bench::up(simple(DAY, 60, 0));
    let overlapping =
        [gap(2 * DAY, 2 * DAY + 35), gap(2 * DAY + 5, 2 * DAY + 40), gap(2 * DAY, 2 * DAY + 35)];
    let gaps: Vec<Gap> = [gap(DAY, DAY + 60)].into_iter().chain(overlapping).collect();
    bench.watch(3 * DAY, &gaps);
    assert_eq!(bench.downs(), [(at(2 * DAY + 120), Reason::Timeout)]);
    assert_eq!(bench.flips[1].blind, Span::seconds(40));
}

#[test]
fn a_ping_after_an_unseen_slot_makes_the_next_gap_an_excuse_again() {
    let mut bench = Bench::up(simple(DAY, 3600, 0));
    let gaps = [gap(DAY, DAY + 45), gap(3 * DAY, 3 * DAY + 45)];
    bench.watch(DAY + 5000, &gaps);
    bench.taken(2 * DAY, Success, None);
    assert_eq!(bench.state.unseen_at, None);
    bench.watch(3 * DAY + 5000, &gaps);
    assert_eq!((bench.unseen.len(), bench.downs()), (2, vec![]));
}

#[test]
fn a_ping_that_comes_while_it_is_waited_for_leaves_nothing_unseen() {
    let mut bench = Bench::up(simple(3600, 600, 0));
    let gaps = [gap(3000, 4150)];
    bench.watch(4700, &gaps);
    bench.taken(4700, Success, None);
    bench.watch(8000, &gaps);
    assert_eq!((bench.unseen.len(), bench.flips.len()), (0, 1));
}

/// A crash loop: the ping after the first gap falls into the second, which begins after the deadline.
#[test]
fn a_gap_that_begins_while_the_check_is_waited_for_moves_its_next_expectation_too() {
    let mut bench = Bench::up(simple(60, 60, 0));
    let gaps = [gap(80, 120), gap(150, 190)];
    bench.watch(240, &gaps);
    assert_eq!((bench.unseen.as_slice(), bench.state.unseen_at), ([at(60)].as_slice(), Some(at(190))));
    assert_eq!(bench.state.deadline_at, Some(at(310)));
    assert_eq!(bench.downs(), []);
}

#[test]
fn a_dead_job_is_found_although_the_server_restarts_every_night() {
    for rules in [
        simple(DAY, 3600, 0),
        simple(DAY, 3600, 300),
        cron("0 0 * * *", 3600, 0),
        cron("0 0 * * *", 3600, 60),
    ] {
        for (early, long) in [(40, 45), (5, 600), (0, 1800)] {
            let mut bench = Bench::up(rules.clone());
            let nights: Vec<Gap> =
                (1..9).map(|night| gap(night * DAY - early, night * DAY - early + long)).collect();
            bench.watch(9 * DAY, &nights);
            assert_eq!(bench.unseen, [at(DAY)], "{rules:?} {long}");
            assert_eq!(bench.downs().len(), 1, "{rules:?} {long}");
            assert!(bench.downs()[0].0 < at(2 * DAY + 6000), "{rules:?} {long}: {:?}", bench.downs());
            assert!(bench.flips[1].blind > Span::ZERO, "the message says what was not seen");
        }
    }
}

#[test]
fn a_gap_that_is_over_before_the_window_moves_no_deadline() {
    let mut bench = Bench::up(simple(90_000, 3600, 0));
    bench.watch(200_000, &[gap(86_000, 86_600)]);
    assert_eq!(bench.downs(), [(at(93_600), Reason::Timeout)]);
}

#[test]
fn a_lower_floor_while_changes_are_merged_does_not_tell_down_twice() {
    let mut bench = Bench::new(simple(60, 60, 300));
    for second in 0..7 {
        bench.taken(second, if second % 2 == 0 { Success } else { Fail }, None);
    }
    assert_eq!((bench.state.status, bench.state.told_status), (Status::Up, Status::Down));
    bench.rules = simple(60, 60, 0);
    bench.state.rearm(&bench.rules.clone());
    bench.watch(1000, &[]);
    assert_eq!((bench.state.status, bench.flips.len()), (Status::Down, 6));
}

/// b043: the clock was 8 hours ahead and was put right.
#[test]
fn nothing_stays_in_the_future_after_the_clock_was_set_back() {
    let mut bench = Bench::up(simple(300, 60, 60));
    for (second, signal, rid) in
        [(28_800, Success, None), (28_801, Start, rid(1)), (28_802, Signal::Log, None)]
    {
        bench.taken(second, signal, rid);
    }
    bench.state.clamp(&bench.rules.clone(), at(30));
    let state = &bench.state;
    for instant in [state.last_ping_at, state.last_success_at, state.last_start_at, state.last_log_at] {
        assert_eq!(instant, Some(at(30)));
    }
    assert_eq!((state.expected_at, state.deadline_at), (Some(at(330)), Some(at(30 + 60 + 60))));
    assert_eq!(state.wake_at, state.deadline_at);
    let mut silent = bench.clone();
    silent.watch(1000, &[]);
    assert_eq!(silent.downs(), [(at(150), Reason::Run)]);
    bench.taken(100, Success, None);
    assert_eq!(bench.state.deadline_at, Some(at(100 + 300 + 60 + 60)));
}

#[test]
fn merging_ends_within_a_floor_after_the_clock_was_set_back() {
    let mut bench = Bench::new(simple(3600, 600, 60));
    for second in 28_800..28_807 {
        bench.taken(second, if second % 2 == 0 { Success } else { Fail }, None);
    }
    bench.state.clamp(&bench.rules.clone(), at(0));
    assert_eq!((bench.state.flapping_until_at, bench.state.wake_at), (Some(at(60)), Some(at(60))));
}
