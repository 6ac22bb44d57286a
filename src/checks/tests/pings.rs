//! What a ping makes of a check: DESIGN 3's table, row by row.

use super::super::state::{Floor, STARTS_PER_FLOOR};
use super::*;
use Signal::{Fail, Ignored, Log, Start, Success};

#[test]
fn the_first_success_takes_a_new_check_up() {
    let mut bench = Bench::new(simple(3600, 600, 60));
    let taken = bench.taken(0, Success, None);
    assert_eq!((taken.floor, taken.logged, taken.signal), (Floor::Free, true, Success));
    assert_eq!(bench.told(), [(at(0), Status::New, Status::Up, Reason::Success)]);
    assert_eq!(
        (bench.state.n_pings, bench.state.last_ping_at, bench.state.last_success_at),
        (1, Some(at(0)), Some(at(0)))
    );
}

#[test]
fn a_flip_is_never_refused_and_a_repeat_waits_for_the_floor() {
    let mut bench = Bench::up(simple(3600, 600, 60));
    assert_eq!(bench.refused(0, Success, None), 60);
    assert_eq!(bench.refused(59, Success, None), 60);
    assert_eq!(bench.taken(60, Success, None).floor, Floor::Repeat, "exactly at the floor");
    assert_eq!(bench.taken(61, Fail, None).floor, Floor::Free);
    assert_eq!(bench.refused(62, Fail, None), 121);
    assert_eq!(bench.taken(63, Success, None).floor, Floor::Free);
    assert_eq!(bench.refused(64, Success, None), 123);
    assert_eq!(bench.state.n_pings, 4);
    assert_eq!(
        bench.told()[1..],
        [
            (at(61), Status::Up, Status::Down, Reason::Fail),
            (at(63), Status::Down, Status::Up, Reason::Success)
        ]
    );
}

#[test]
fn a_millisecond_before_the_floor_is_too_soon() {
    let mut bench = Bench::up(simple(3600, 600, 60));
    let step = bench.ping(at(60) - Span::millis(1), Success, None);
    assert_eq!(step, Step::Refused { retry_at: at(60) });
}

#[test]
fn a_floor_of_zero_refuses_nothing_and_merges_nothing() {
    let mut bench = Bench::up(simple(3600, 600, 0));
    for _ in 0..20 {
        for signal in [Fail, Fail, Success, Success, Start, Start, Log, Log] {
            assert!(bench.taken(1, signal, None).logged);
        }
    }
    assert_eq!(bench.flips.len(), 41);
    assert_eq!(bench.state.n_pings, 161);
}

#[test]
fn a_log_waits_for_the_last_log_alone() {
    let mut bench = Bench::up(simple(3600, 600, 60));
    assert_eq!(bench.taken(1, Log, None).floor, Floor::Log);
    assert_eq!(bench.refused(60, Log, None), 61);
    bench.taken(60, Success, None);
    bench.taken(61, Log, None);
    assert_eq!(bench.state.deadline_at, Some(at(60 + 3600 + 600 + 60)), "a log moves no deadline");
    assert_eq!(bench.state.last_ping_at, Some(at(60)));
}

#[test]
fn an_ignored_ping_waits_for_the_last_ignored_one_alone() {
    let mut bench = Bench::up(simple(3600, 600, 60));
    assert_eq!(bench.taken(1, Ignored, None).floor, Floor::Ignored);
    assert_eq!(bench.refused(2, Ignored, None), 61);
    bench.taken(2, Log, None);
    bench.taken(61, Ignored, None);
    assert_eq!(bench.state.status, Status::Up);
}

#[test]
fn six_starts_of_other_runs_are_taken_in_a_floor_window() {
    let mut bench = Bench::up(simple(3600, 600, 60));
    for number in 0..6 {
        assert_eq!(bench.taken(10, Start, rid(number)).floor, Floor::Start);
    }
    assert_eq!(bench.state.starts, STARTS_PER_FLOOR);
    assert_eq!(bench.refused(11, Start, rid(6)), 70);
    assert_eq!(bench.refused(69, Start, rid(6)), 70);
    bench.taken(70, Start, rid(6));
    assert_eq!((bench.state.starts, bench.state.starts_since_at), (1, Some(at(70))));
}

#[test]
fn the_start_of_the_run_that_is_open_waits_for_the_floor() {
    let mut bench = Bench::up(simple(3600, 600, 60));
    bench.taken(10, Start, None);
    assert_eq!(bench.refused(11, Start, None), 70);
    assert_eq!(bench.taken(70, Start, None).floor, Floor::StartAgain);
    assert_eq!(bench.state.last_start_at, Some(at(70)));
    assert_eq!((bench.state.starts, bench.state.open_runs), (1, 1));
}

#[test]
fn what_ends_a_run_is_taken_at_once() {
    let mut bench = Bench::up(simple(3600, 600, 60));
    bench.taken(1, Start, None);
    assert_eq!(bench.taken(2, Success, None).floor, Floor::Free);
    assert_eq!(bench.refused(3, Success, None), 62);
    bench.taken(4, Start, rid(1));
    bench.taken(5, Start, rid(2));
    assert_eq!(bench.taken(6, Success, rid(1)).floor, Floor::Free, "not the one that is supervised");
    assert_eq!(bench.taken(7, Success, rid(2)).floor, Floor::Free);
    assert_eq!(bench.refused(8, Success, rid(2)), 67, "it is closed already");
}

#[test]
fn the_seventh_flip_in_a_window_is_merged_and_the_sweep_tells_what_it_came_to() {
    let mut bench = Bench::new(simple(3600, 600, 60));
    for second in 0..6 {
        let signal = if second % 2 == 0 { Success } else { Fail };
        assert!(bench.taken(second, signal, None).logged);
    }
    assert_eq!((bench.flips.len(), bench.state.status), (6, Status::Down));
    let taken = bench.taken(6, Success, None);
    assert_eq!((taken.logged, taken.flip), (false, None));
    assert_eq!(
        (bench.state.status, bench.state.told_status, bench.state.n_pings),
        (Status::Up, Status::Down, 6)
    );
    assert_eq!(bench.state.wake_at, Some(at(60)), "the sweep looks at the end of the window");

    bench.sweep(at(59), &[]);
    assert_eq!(bench.flips.len(), 6);
    bench.sweep(at(75), &[]);
    assert_eq!(bench.told()[6..], [(at(60), Status::Down, Status::Up, Reason::Flapping)]);
    assert_eq!(bench.state.wake_at, Some(at(6 + 3600 + 600 + 60)), "and then at the deadline");
}

#[test]
fn merged_flips_that_end_where_they_began_are_not_told() {
    let mut bench = Bench::new(simple(3600, 600, 60));
    for second in 0..8 {
        bench.taken(second, if second % 2 == 0 { Success } else { Fail }, None);
    }
    assert_eq!((bench.state.status, bench.state.told_status), (Status::Down, Status::Down));
    bench.sweep(at(60), &[]);
    assert_eq!(bench.flips.len(), 6);
    assert_eq!(bench.state.wake_at, None);
}

#[test]
fn a_repeat_while_changes_are_merged_tells_nothing() {
    let mut bench = Bench::new(simple(3600, 600, 60));
    for second in 0..7 {
        bench.taken(second, if second % 2 == 0 { Success } else { Fail }, None);
    }
    assert_eq!(bench.refused(10, Success, None), 66);
    bench.taken(66, Success, None);
    assert_eq!(bench.flips.len(), 6, "the sweep is late, and the ping repeats what is stored");
    bench.sweep(at(67), &[]);
    assert_eq!(bench.told()[6..], [(at(60), Status::Down, Status::Up, Reason::Flapping)]);
}

#[test]
fn a_flip_after_the_window_speaks_for_the_merged_ones() {
    // Pings in the first window, the one at its end, and how many flips are written in all.
    for (merged, last, written) in [(7, Fail, 6), (8, Success, 7)] {
        let mut bench = Bench::new(simple(3600, 600, 60));
        for second in 0..merged {
            bench.taken(second, if second % 2 == 0 { Success } else { Fail }, None);
        }
        // The sweep has not looked since the end of the window.
        bench.taken(60, last, None);
        assert_eq!((bench.state.flips, bench.state.flapping_until_at), (1, None));
        bench.sweep(at(61), &[]);
        assert_eq!((bench.flips.len(), bench.state.told_status), (written, bench.state.status));
    }
}

#[test]
fn alternation_for_ten_windows_writes_no_more_than_seven_flips_in_each() {
    let mut bench = Bench::new(simple(3600, 600, 60));
    for second in 0..600 {
        bench.sweep(at(second), &[]);
        bench.taken(second, if second % 2 == 0 { Success } else { Fail }, None);
    }
    assert_eq!(bench.state.n_pings, 60);
    assert_eq!(bench.flips.len(), 60, "each window ends with the status that was told");
    let alternates =
        bench.flips.windows(2).all(|pair| pair[0].new == pair[1].old && pair[0].new != pair[1].new);
    assert!(alternates, "{:?}", bench.told());
}

#[test]
fn a_ping_that_ends_a_run_is_logged_although_its_flip_is_merged() {
    let mut bench = Bench::new(simple(3600, 600, 60));
    for second in 0..6 {
        bench.taken(second, if second % 2 == 0 { Success } else { Fail }, None);
    }
    bench.taken(6, Start, rid(1));
    let taken = bench.taken(9, Success, rid(1));
    assert_eq!((taken.logged, taken.duration, taken.flip), (true, Some(Span::seconds(3)), None));
}

#[test]
fn a_paused_check_resumes_with_a_success_or_a_fail() {
    for (signal, status) in [(Success, Status::Up), (Fail, Status::Down)] {
        let mut bench = Bench::up(simple(3600, 600, 60));
        let (state, change) = bench.state.paused(&bench.rules, at(10)).expect("it was not paused");
        assert_eq!((change.old, change.new, change.reason), (Status::Up, Status::Paused, Reason::Pause));
        assert_eq!((state.deadline_at, state.wake_at, state.last_ping_at), (None, None, Some(at(0))));
        assert_eq!(state.paused(&bench.rules, at(11)), None);
        bench.state = state;
        bench.taken(11, Log, None);
        bench.sweep(at(1_000_000), &[]);
        let taken = bench.taken(12, signal, None);
        assert_eq!(taken.floor, Floor::Free);
        let flip = taken.flip.expect("a flip");
        assert_eq!((flip.old, flip.new), (Status::Paused, status));
    }
}

#[test]
fn a_check_that_is_resumed_by_hand_ignores_pings_until_then() {
    let rules = Rules { manual_resume: true, ..simple(3600, 600, 60) };
    let mut bench = Bench::up(rules);
    bench.state = bench.state.paused(&bench.rules, at(10)).expect("it was not paused").0;
    let taken = bench.taken(11, Success, None);
    assert_eq!((taken.signal, taken.floor, taken.flip), (Ignored, Floor::Ignored, None));
    assert_eq!(bench.refused(12, Fail, None), 71);
    assert_eq!((bench.state.status, bench.state.last_ping_at), (Status::Paused, Some(at(0))));

    let (state, change) = bench.state.resumed(&bench.rules, at(80)).expect("it is paused");
    assert_eq!((change.old, change.new, change.reason), (Status::Paused, Status::New, Reason::Resume));
    assert_eq!((state.last_ping_at, state.deadline_at), (None, None));
    assert_eq!(state.resumed(&bench.rules, at(81)), None);
}

#[test]
fn an_exit_status_is_told_apart_from_a_fail_signal() {
    let state = Bench::up(simple(3600, 600, 60)).state;
    let reasons = [Some(3), Some(255), None].map(|exit_status| {
        let arrival = Arrival { signal: Fail, rid: None, exit_status, run_started_at: None };
        match step(&state, &simple(3600, 600, 60), &arrival, at(1)) {
            Step::Taken(taken) => taken.flip.map(|flip| (flip.reason, flip.exit_status)),
            Step::Refused { .. } => None,
        }
    });
    assert_eq!(
        reasons,
        [
            Some((Reason::ExitStatus, Some(3))),
            Some((Reason::ExitStatus, Some(255))),
            Some((Reason::Fail, None))
        ]
    );
}

/// An instant more than 60 s ahead was written under a wrong clock.
#[test]
fn an_instant_far_ahead_of_now_counts_as_not_set() {
    let mut bench = Bench::up(simple(3600, 600, 300));
    bench.state.last_ping_at = Some(at(1060));
    bench.state.last_log_at = Some(at(1061));
    assert_eq!(bench.refused(1000, Success, None), 1360, "60 s ahead is believed");
    bench.taken(1000, Log, None);
    assert_eq!(bench.state.last_log_at, Some(at(1000)));
    bench.state.last_ping_at = Some(at(1061));
    bench.taken(1000, Success, None);
    assert_eq!(bench.state.last_ping_at, Some(at(1000)));

    bench.state.starts = 6;
    bench.state.starts_since_at = Some(at(5000));
    bench.taken(1001, Start, rid(1));
    assert_eq!((bench.state.starts, bench.state.starts_since_at), (1, Some(at(1001))));
    bench.state.last_start_at = Some(at(5000));
    bench.taken(1002, Start, rid(1));
    assert_eq!(bench.state.last_start_at, Some(at(1002)));
    bench.state.flips = 6;
    bench.state.flips_since_at = Some(at(5000));
    assert!(bench.taken(1003, Fail, None).flip.is_some());
    assert_eq!((bench.state.flips, bench.state.flips_since_at), (1, Some(at(1003))));
}

#[test]
fn the_last_ping_never_goes_back_by_what_clocks_differ() {
    let mut bench = Bench::up(simple(3600, 600, 0));
    bench.taken(50, Success, None);
    bench.taken(20, Success, None);
    assert_eq!((bench.state.last_ping_at, bench.state.last_success_at), (Some(at(50)), Some(at(50))));
    assert_eq!(bench.state.deadline_at, Some(at(50 + 3600 + 600)));
}

#[test]
fn expectation_and_deadline_are_the_contracts_where_the_floor_is_zero() {
    let mut bench = Bench::up(simple(3600, 600, 0));
    assert_eq!((bench.state.expected_at, bench.state.deadline_at), (Some(at(3600)), Some(at(4200))));
    bench.taken(1000, Start, None);
    assert_eq!((bench.state.expected_at, bench.state.deadline_at), (Some(at(3600)), Some(at(1600))));
    bench.rules = cron("0 * * * *", 600, 0);
    bench.taken(1200, Success, None);
    assert_eq!((bench.state.expected_at, bench.state.deadline_at), (Some(at(3600)), Some(at(4200))));
    bench.taken(3600, Success, None);
    assert_eq!(bench.state.expected_at, Some(at(7200)), "the slot itself is over once it was pinged");
    bench.taken(7199, Fail, None);
    assert_eq!((bench.state.expected_at, bench.state.deadline_at), (None, None));
}

#[test]
fn the_floor_lengthens_a_period_and_passes_over_slots_whose_ping_it_could_refuse() {
    let mut bench = Bench::up(simple(3600, 600, 300));
    assert_eq!((bench.state.expected_at, bench.state.deadline_at), (Some(at(3600)), Some(at(4500))));
    bench.taken(1000, Start, None);
    assert_eq!(bench.state.deadline_at, Some(at(1900)));

    for (pinged, expected) in [(0, 300), (1, 360), (59, 360), (60, 360), (61, 420)] {
        let mut bench = Bench::new(cron("* * * * *", 60, 300));
        bench.taken(pinged, Success, None);
        let state = &bench.state;
        assert_eq!(
            (state.expected_at, state.deadline_at),
            (Some(at(expected)), Some(at(expected + 60))),
            "{pinged}"
        );
    }
}

#[test]
fn a_schedule_that_cannot_be_read_expects_nothing() {
    let mut bench = Bench::new(Rules { schedule: None, ..simple(60, 60, 0) });
    bench.taken(0, Success, None);
    assert_eq!((bench.state.status, bench.state.deadline_at), (Status::Up, None));
}
