//! Runs: starts, durations, overlap (CONTRACT 2.8), and runs that never end.

use super::*;
use Signal::{Fail, Start, Success};

/// The supervised run after a ping, the duration the log shows and the one the check shows.
type Seen = (Option<i64>, Option<i64>, Option<i64>);

/// Plays pings on a check that is up and returns what each left.
fn play(pings: &[(i64, Signal, Option<Uuid>)]) -> Vec<Seen> {
    let mut bench = Bench::up(simple(86_400, 86_400, 0));
    let seconds = |span: Option<Span>| span.map(Span::as_seconds);
    let played = pings.iter().map(|(second, signal, rid)| {
        let taken = bench.taken(*second, *signal, *rid);
        let started = bench.state.last_start_at.map(|started| (started - MIDNIGHT).as_seconds());
        (started, seconds(taken.duration), seconds(bench.state.last_duration_ms))
    });
    played.collect()
}

/// b109: a start and an end without a run id belong together. b115: they are one run.
#[test]
fn a_run_without_an_id_has_its_duration() {
    assert_eq!(
        play(&[(100, Start, None), (142, Success, None), (150, Success, None)]),
        [(Some(100), None, None), (None, Some(42), Some(42)), (None, None, None)]
    );
}

#[test]
fn a_fail_ends_a_run_with_its_duration_too() {
    assert_eq!(play(&[(1, Start, rid(1)), (9, Fail, rid(1))])[1], (None, Some(8), Some(8)));
}

#[test]
fn runs_that_overlap_keep_their_durations_and_the_latest_start_is_supervised() {
    assert_eq!(
        play(&[
            (10, Start, rid(1)),
            (20, Start, rid(2)),
            (30, Success, rid(1)),
            (50, Success, rid(2)),
            (60, Success, rid(1)),
        ]),
        [
            (Some(10), None, None),
            (Some(20), None, None),
            (Some(20), Some(20), None),
            (None, Some(30), Some(30)),
            (None, None, None),
        ]
    );
}

#[test]
fn a_success_of_another_run_leaves_the_supervised_one_alone() {
    assert_eq!(play(&[(10, Start, rid(1)), (20, Success, rid(2))])[1], (Some(10), None, None));
}

#[test]
fn a_success_without_a_run_id_or_any_fail_ends_the_supervision() {
    for (signal, other) in [(Success, None), (Fail, None), (Fail, rid(2))] {
        assert_eq!(
            play(&[(10, Start, rid(1)), (20, signal, other), (30, Success, rid(1))]),
            [(Some(10), None, None), (None, None, None), (None, Some(20), None)],
            "{signal:?} {other:?}"
        );
    }
}

#[test]
fn a_run_that_is_started_again_counts_from_its_second_start() {
    assert_eq!(
        play(&[(10, Start, None), (30, Start, None), (50, Success, None)])[2],
        (None, Some(20), Some(20))
    );
}

#[test]
fn a_run_of_72_hours_has_no_duration() {
    let late = 72 * 3600 + 100;
    assert_eq!(play(&[(100, Start, None), (late - 1, Success, None)])[1].1, Some(72 * 3600 - 1));
    assert_eq!(play(&[(100, Start, None), (late, Success, None)])[1], (None, None, None));
}

#[test]
fn a_clock_set_back_between_start_and_end_leaves_no_negative_duration() {
    assert_eq!(play(&[(100, Start, None), (90, Success, None)])[1], (None, None, None));
}

/// b116; CONTRACT 5: a new check that gets only a start goes down a grace later.
#[test]
fn a_run_that_never_ends_is_reported_at_its_deadline() {
    for (floor, down) in [(0, 60), (300, 360)] {
        let mut bench = Bench::new(simple(86_400, 60, floor));
        bench.taken(0, Start, None);
        bench.watch(1_000_000, &[]);
        assert_eq!(bench.told(), [(at(down), Status::New, Status::Down, Reason::Run)]);
        assert_eq!((bench.flips[0].started_at, bench.flips[0].expected_at), (Some(at(0)), None));
    }
}

/// b112: documented as start + grace, whatever the period; the duration is measured all the same.
#[test]
fn a_run_longer_than_its_grace_is_down_until_it_ends() {
    let mut bench = Bench::up(simple(86_400, 21_600, 0));
    bench.taken(100, Start, None);
    bench.watch(25_299, &[]);
    let taken = bench.taken(25_300, Success, None);
    assert_eq!(taken.duration, Some(Span::seconds(25_200)));
    assert_eq!(bench.state.last_duration_ms, Some(Span::seconds(25_200)));
    assert_eq!(
        bench.told()[1..],
        [
            (at(21_700), Status::Up, Status::Down, Reason::Run),
            (at(25_300), Status::Down, Status::Up, Reason::Success)
        ]
    );
}

/// b117: the run that begins after the miss keeps its own start and duration, and its success is the recovery.
#[test]
fn a_late_start_is_not_the_recovery_but_its_success_is() {
    let mut bench = Bench::new(cron("0 0 * * *", 60, 0));
    bench.taken(-3600, Success, None);
    bench.watch(119, &[]);
    bench.taken(120, Start, None);
    bench.watch(1919, &[]);
    assert_eq!(bench.taken(1920, Success, None).duration, Some(Span::seconds(1800)));
    assert_eq!(
        bench.told()[1..],
        [
            (at(60), Status::Up, Status::Down, Reason::Timeout),
            (at(1920), Status::Down, Status::Up, Reason::Success)
        ]
    );
}

#[test]
fn a_hung_run_is_reported_once_although_other_runs_succeed() {
    let mut bench = Bench::up(simple(86_400, 60, 0));
    bench.taken(10, Start, rid(1));
    bench.watch(100, &[]);
    assert_eq!(bench.downs(), [(at(70), Reason::Run)]);
    bench.taken(100, Success, rid(2));
    bench.watch(200, &[]);
    bench.taken(200, Success, rid(3));
    bench.watch(86_000, &[]);
    assert_eq!(bench.state.status, Status::Up);
    assert_eq!(bench.downs(), [(at(70), Reason::Run)]);
    assert_eq!(
        bench.taken(86_000, Success, rid(1)).duration,
        Some(Span::seconds(85_990)),
        "it ended after all"
    );
}

#[test]
fn a_run_begun_while_down_is_supervised_once_the_check_is_up() {
    let mut bench = Bench::up(simple(86_400, 60, 0));
    bench.taken(10, Fail, None);
    bench.taken(20, Start, rid(1));
    assert_eq!(bench.state.deadline_at, None);
    bench.taken(30, Success, rid(2));
    bench.watch(1000, &[]);
    assert_eq!(bench.downs()[1..], [(at(80), Reason::Run)]);
}

#[test]
fn a_start_while_paused_is_never_judged() {
    let mut bench = Bench::up(simple(86_400, 60, 0));
    bench.state = bench.state.paused(&bench.rules, at(10)).expect("it was not paused").0;
    assert!(bench.taken(20, Start, rid(1)).logged);
    bench.watch(500, &[]);
    assert_eq!(bench.state.status, Status::Paused);
    bench.taken(500, Success, rid(2));
    bench.watch(80_000, &[]);
    assert_eq!(bench.downs(), []);
    assert_eq!(bench.taken(80_000, Success, rid(1)).duration, Some(Span::seconds(79_980)));
}

#[test]
fn pausing_ends_the_supervision_of_a_run() {
    let mut bench = Bench::up(simple(86_400, 60, 0));
    bench.taken(10, Start, rid(1));
    bench.state = bench.state.paused(&bench.rules, at(20)).expect("it was not paused").0;
    bench.state = bench.state.resumed(&bench.rules, at(30)).expect("it is paused").0;
    bench.watch(80_000, &[]);
    assert_eq!((bench.state.status, bench.downs()), (Status::New, vec![]));
}
