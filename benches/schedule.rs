//! What a schedule costs: one search, and reading one expression, over the expressions people write.
//!
//! Run with `cargo bench --bench schedule`. Each row of the corpora is searched from its own start, which often
//! lies beside a clock change; the figures are nanoseconds a call.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::hint::black_box;

use flatline::schedule::Schedule;
use flatline::time::{Stopwatch, Time};
use serde_json::Value;

const CALLS: u32 = 200;

fn main() {
    let corpora = [
        ("cron", include_str!("../tests/schedule/cron.jsonl")),
        ("oncalendar", include_str!("../tests/schedule/oncalendar.jsonl")),
    ];
    for (kind, corpus) in corpora {
        let (mut searches, mut readings) = (Vec::new(), Vec::new());
        for line in corpus.lines() {
            let row: Vec<Value> = serde_json::from_str(line).expect("the corpus is JSON");
            let [expression, zone, start] = [0, 1, 2].map(|column| row[column].as_str().expect("a text"));
            let start = Time::parse(start).expect("an instant");
            let schedule = Schedule::parse(expression, zone).expect("the corpus is valid");
            searches.push(nanoseconds(|| schedule.next_after(black_box(start)).is_some()));
            readings.push(nanoseconds(|| Schedule::parse(black_box(expression), zone).is_ok()));
        }
        report(&format!("{kind}: next_after"), searches);
        report(&format!("{kind}: parse"), readings);
    }
}

fn nanoseconds(call: impl Fn() -> bool) -> f64 {
    let watch = Stopwatch::start();
    for _ in 0..CALLS {
        black_box(call());
    }
    watch.seconds() * 1e9 / f64::from(CALLS)
}

fn report(what: &str, mut figures: Vec<f64>) {
    figures.sort_by(f64::total_cmp);
    let at = |share: f64| figures[((figures.len() - 1) as f64 * share) as usize];
    println!(
        "{what:24} median {:6.0} ns   p99 {:6.0} ns   worst {:6.0} ns   ({} rows)",
        at(0.5),
        at(0.99),
        at(1.0),
        figures.len()
    );
}
