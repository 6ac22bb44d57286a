//! A refusal never causes a false alarm (DESIGN 3): jobs that keep within their grace, however early, late, twice
//! over or in bursts they ping, are never reported for silence; one that falls silent is, once. Nor is one reported
//! whose pings fell into a gap of ours (DESIGN 4).

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use Signal::{Fail, Log, Start, Success};

/// One job as its owner runs it.
#[derive(Clone, Debug)]
struct Job {
    rules: Rules,
    rounds: Vec<Round>,
}

/// What the job does once.
#[derive(Clone, Debug)]
struct Round {
    /// When its report comes, in thousandths of what schedule and grace allow.
    report: i64,
    /// Whether it says when it begins, how long before the report (in thousandths of the grace), and its run id.
    run: Option<(i64, Option<Uuid>)>,
    /// Whether it fails first, and how many milliseconds later it succeeds.
    fails: Option<i64>,
    /// Further pings, so many milliseconds after the report.
    extra: Vec<(i64, Extra)>,
}

#[derive(Clone, Copy, Debug)]
enum Extra {
    Ping(Signal),
    /// A run of its own, over within so many thousandths of the grace.
    Run(Option<Uuid>, i64),
}

type Event = (Time, Signal, Option<Uuid>);

fn part(span: Span, thousandths: i64) -> Span {
    Span::millis((span.0 - 1) * thousandths / 1000)
}

impl Round {
    /// The pings of this round, whose report is due from `from` until before `from + allowance`.
    fn events(&self, from: Time, allowance: Span, grace: Span, events: &mut Vec<Event>) -> Time {
        let report = from + part(allowance, self.report);
        let rid = self.run.and_then(|(_, rid)| rid);
        if let Some((length, rid)) = self.run {
            events.push(((report - part(grace, length)).max(from), Start, rid));
        }
        if let Some(retried) = self.fails {
            events.push((report, Fail, rid));
            events.push((report + Span::millis(retried), Success, None));
        } else {
            events.push((report, Success, rid));
        }
        for (after, extra) in &self.extra {
            let at = report + Span::millis(*after);
            match extra {
                Extra::Ping(signal) => events.push((at, *signal, None)),
                Extra::Run(rid, length) => {
                    events.extend([(at, Start, *rid), (at + part(grace, *length), Success, *rid)]);
                }
            }
        }
        report
    }
}

impl Job {
    /// All its pings in order of time; the first is a success at midnight. A punctual job with a period never
    /// comes before it.
    fn events(&self, punctual: bool) -> Vec<Event> {
        let mut events = vec![(MIDNIGHT, Success, None)];
        let mut last = MIDNIGHT;
        let mut slot = MIDNIGHT;
        for round in &self.rounds {
            match &self.rules.schedule {
                Some(Schedule::Simple { period }) => {
                    let grace = self.rules.grace;
                    let (from, allowance) =
                        if punctual { (last + *period, grace) } else { (last, *period + grace) };
                    last = round.events(from, allowance, grace, &mut events);
                }
                Some(schedule) => {
                    let Some(next) = schedule.next_after(slot) else { break };
                    slot = next;
                    last = round.events(slot, self.rules.grace, self.rules.grace, &mut events);
                }
                None => break,
            }
        }
        // What comes after the last report is no job that keeps its times.
        events.retain(|(at, ..)| *at <= last);
        events.sort_by_key(|(at, ..)| *at);
        events
    }

    /// Plays the job's pings, sweeping before each, and returns the bench.
    fn play(&self, events: &[Event]) -> Bench {
        let mut bench = Bench::new(self.rules.clone());
        for (at, signal, rid) in events {
            bench.sweep(*at, &[]);
            bench.ping(*at, *signal, *rid);
        }
        bench
    }

    /// The same with a gap of ours, in which nobody sweeps; its pings are lost but for those in the first
    /// `lead`, because a gap counts from the last stamp.
    fn play_over(&self, events: &[Event], gap: Gap, lead: Span) -> Bench {
        let mut bench = Bench::new(self.rules.clone());
        for (at, signal, rid) in events {
            if *at <= gap.started_at + lead || *at >= gap.ended_at {
                bench.watch_until(*at, &[gap]);
                bench.ping(*at, *signal, *rid);
            }
        }
        bench
    }

    /// The same with the deadlines of a product that has no floor: expected + grace, the first slot after the ping.
    fn play_plainly(&self, events: &[Event]) -> Bench {
        let mut bench = Bench::new(self.rules.clone());
        let plain = Rules { floor: Span::ZERO, ..self.rules.clone() };
        for (at, signal, rid) in events {
            if let Verdict::Flip(state, change) = judge(&bench.state, &plain, &[], *at) {
                bench.state = state;
                bench.flips.push(change);
            }
            bench.ping(*at, *signal, *rid);
        }
        bench
    }

    /// The last instant at which silence after the state must have been reported.
    fn latest_report(&self, state: &State) -> Option<Time> {
        let (last, Rules { grace, floor, .. }) = (state.last_ping_at?, &self.rules);
        match self.rules.schedule.as_ref()? {
            Schedule::Simple { period } => Some(last + *period + *grace + *floor),
            slots => Some(slots.next_after(last + *floor)? + *grace),
        }
    }
}

fn false_alarms(bench: &Bench) -> usize {
    bench.flips.iter().filter(|flip| matches!(flip.reason, Reason::Timeout | Reason::Run)).count()
}

fn seconds(choices: &'static [i64]) -> impl Strategy<Value = Span> {
    proptest::sample::select(choices).prop_map(Span::seconds)
}

fn periods() -> BoxedStrategy<Schedule> {
    seconds(&[60, 61, 120, 300, 900, 3600, 86_400]).prop_map(|period| Schedule::Simple { period }).boxed()
}

fn cron_lines() -> BoxedStrategy<Schedule> {
    const LINES: &[&str] =
        &["* * * * *", "*/2 * * * *", "*/7 * * * *", "0,1,2,30 * * * *", "17 * * * *", "0 3 * * 1-5"];
    proptest::sample::select(LINES).prop_map(|line| Schedule::cron(line, "Europe/Berlin").unwrap()).boxed()
}

fn calendar_events() -> BoxedStrategy<Schedule> {
    const EVENTS: &[&str] =
        &["minutely", "*:*:0/30", "*:0/10", "*:0,1,2,3:15", "hourly", "Mon..Fri 06:30\nSat 07:00"];
    proptest::sample::select(EVENTS)
        .prop_map(|event| Schedule::on_calendar(event, "America/New_York").unwrap())
        .boxed()
}

fn runs() -> impl Strategy<Value = Option<Uuid>> {
    prop_oneof![Just(None), (1..4_u128).prop_map(rid)]
}

fn thousandths() -> impl Strategy<Value = i64> {
    prop_oneof![2 => 0..=1000_i64, 1 => Just(1000), 1 => Just(0)]
}

fn rounds() -> impl Strategy<Value = Round> {
    let millis = || prop_oneof![0..2000_i64, 0..70_000_i64, 0..400_000_i64];
    let extra = prop_oneof![
        6 => proptest::sample::select(&[Success, Success, Success, Log, Fail][..]).prop_map(Extra::Ping),
        1 => (runs(), thousandths()).prop_map(|(rid, length)| Extra::Run(rid, length)),
    ];
    rounds_of(millis().boxed(), extra.boxed())
}

/// Rounds whose further pings, retries above all, come within the minute that a slot's ping may be early.
fn punctual_rounds() -> impl Strategy<Value = Round> {
    let extra = proptest::sample::select(&[Success, Success, Log, Fail][..]).prop_map(Extra::Ping);
    rounds_of((0..60_000_i64).boxed(), extra.boxed())
}

fn rounds_of(millis: BoxedStrategy<i64>, extra: BoxedStrategy<Extra>) -> impl Strategy<Value = Round> {
    (
        thousandths(),
        proptest::option::of((thousandths(), runs())),
        proptest::option::weighted(0.1, millis.clone()),
        proptest::collection::vec((millis, extra), 0..5),
    )
        .prop_map(|(report, run, fails, extra)| Round { report, run, fails, extra })
}

fn jobs(
    schedules: BoxedStrategy<Schedule>,
    rounds: impl Strategy<Value = Round>,
) -> impl Strategy<Value = Job> {
    let rules = (schedules, seconds(&[60, 90, 300, 3600]), seconds(&[0, 60, 300, 900])).prop_map(
        |(schedule, grace, floor)| Rules { schedule: Some(schedule), grace, floor, manual_resume: false },
    );
    (rules, proptest::collection::vec(rounds, 1..25)).prop_map(|(rules, rounds)| Job { rules, rounds })
}

#[expect(clippy::disallowed_methods, reason = "tests are told by tests/run to repeat more often")]
fn is_long() -> bool {
    std::env::var_os("FLATLINE_TEST_LONG").is_some()
}

fn runner(cases: u32) -> TestRunner {
    TestRunner::new(Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Config::default()
    })
}

/// Plays many jobs that keep within their grace, each whole and cut off at any of its pings.
fn hold(schedules: BoxedStrategy<Schedule>, cases: u32) {
    let cases = if is_long() { 60_000 } else { cases };
    let silent_from = any::<proptest::sample::Index>();
    let held = runner(cases).run(&(jobs(schedules, rounds()), silent_from), |(job, silent_from)| {
        let events = job.events(false);
        let bench = job.play(&events);
        prop_assert_eq!(false_alarms(&bench), 0, "{:?} of {:?}", bench.flips, events);

        let silent = job.play(&events[..=silent_from.index(events.len())]);
        let latest = job.latest_report(&silent.state).expect("it was pinged");
        let reported = report_once(silent, &[])?;
        prop_assert!(reported.is_none_or(|at| at <= latest), "{:?} after {:?}", reported, latest);
        Ok(())
    });
    if let Err(failure) = held {
        panic!("{failure}");
    }
}

/// Plays jobs that keep within their grace over a gap of ours, from before one of their pings.
fn hold_over_a_gap(schedules: BoxedStrategy<Schedule>, cases: u32) {
    let cases = if is_long() { 60_000 } else { cases };
    let index = any::<proptest::sample::Index>;
    let lengths = prop_oneof![30_000..120_000_i64, 30_000..4_000_000_i64, 30_000..200_000_000_i64];
    let away = (index(), 0..20_000_i64, lengths, 0..=10_000_i64);
    let held = runner(cases).run(
        &(jobs(schedules, punctual_rounds()), away, index()),
        |(job, away, silent_from)| {
            let events = job.events(true);
            let (near, before, length, lead) = away;
            let started_at = events[near.index(events.len())].0 - Span::millis(before);
            let gap = Gap { started_at, ended_at: started_at + Span::millis(length) };
            let bench = job.play_over(&events, gap, Span::millis(lead));
            prop_assert_eq!(false_alarms(&bench), 0, "{:?} of {:?} over {:?}", bench.flips, events, gap);

            let silent = job.play_over(&events[..=silent_from.index(events.len())], gap, Span::millis(lead));
            if silent.state.last_ping_at.is_some() {
                report_once(silent, &[gap])?;
            }
            Ok(())
        },
    );
    if let Err(failure) = held {
        panic!("{failure}");
    }
}

/// When a job that falls silent is reported: once, unless it was down already.
fn report_once(mut silent: Bench, gaps: &[Gap]) -> Result<Option<Time>, TestCaseError> {
    let (told_before, written) = (silent.state.told_status, silent.flips.len());
    silent.watch(10_000_000, gaps);
    prop_assert_eq!((silent.state.status, silent.state.told_status), (Status::Down, Status::Down));
    prop_assert_eq!(silent.state.wake_at, None);
    let reported = silent.flips[written..].iter().filter(|flip| flip.new == Status::Down);
    let reported: Vec<Time> = reported.map(|flip| flip.at).collect();
    let once = usize::from(told_before != Status::Down || silent.flips.len() > written);
    prop_assert_eq!(reported.len(), once, "{:?}", silent.flips);
    Ok(reported.first().copied())
}

#[test]
fn a_job_with_a_period_that_keeps_its_grace_is_never_reported_and_a_silent_one_once() {
    hold(periods(), 1500);
}

#[test]
fn a_job_with_a_cron_line_that_keeps_its_grace_is_never_reported_and_a_silent_one_once() {
    hold(cron_lines(), 400);
}

#[test]
fn a_job_with_calendar_events_that_keeps_its_grace_is_never_reported_and_a_silent_one_once() {
    hold(calendar_events(), 400);
}

#[test]
fn jobs_whose_pings_fell_into_a_gap_of_ours_are_not_reported() {
    hold_over_a_gap(periods(), 1500);
    hold_over_a_gap(cron_lines(), 300);
    hold_over_a_gap(calendar_events(), 300);
}

/// The simulation has teeth: deadlines that ignore the floor report healthy jobs.
#[test]
fn the_plain_formulas_would_report_healthy_jobs() {
    let mut alarmed = [0, 0, 0];
    let kinds = [periods(), cron_lines(), calendar_events()];
    for (alarmed, schedules) in alarmed.iter_mut().zip(kinds) {
        let (jobs, mut runner) = (jobs(schedules, rounds()), TestRunner::deterministic());
        for _ in 0..200 {
            let job = jobs.new_tree(&mut runner).expect("a job").current();
            *alarmed += usize::from(false_alarms(&job.play_plainly(&job.events(false))) > 0);
        }
    }
    assert!(alarmed.iter().all(|jobs| *jobs >= 20), "of 200 each: {alarmed:?}");
}
