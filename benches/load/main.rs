//! The load bench: the real program, driven from another process over HTTP, on both engines. Run by `benches/run`.
//!
//! Every scenario is measured once a run, and the runs follow each other, so that a slow minute of the machine hits
//! all of them. `--quick` is the smoke run of the tests: one short run over few checks, whose figures mean nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the figures are the output")]
#![expect(clippy::disallowed_methods, reason = "a bench reads the clocks")]

mod bounds;
mod dashboard;
mod driver;
mod plan;
mod report;
mod scale;
mod scenarios;
mod seed;
mod stage;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use plan::Plan;
use report::{Figure, Line};
use scenarios::{Bench, SCENARIOS, Sample};

/// Why a bench could not go on.
pub type Failure = Box<dyn std::error::Error>;

/// What the command line asks for.
struct Asked {
    plan: Plan,
    /// Names of scenarios; all if there is none.
    names: Vec<String>,
    /// Where the page is written.
    page: Option<PathBuf>,
}

fn main() -> Result<(), Failure> {
    let Some(asked) = read_arguments()? else { return Ok(()) };
    // One thread, so that the driver takes no more of the machine than it must.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(asked))
}

fn read_arguments() -> Result<Option<Asked>, Failure> {
    let mut asked = Asked { plan: Plan::full(), names: Vec::new(), page: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // Cargo says it to every bench.
            "--bench" => {}
            "--quick" => asked.plan = Plan::quick(),
            "--runs" => asked.plan.runs = arguments.next().ok_or("--runs N")?.parse()?,
            "--page" => asked.page = Some(arguments.next().ok_or("--page FILE")?.into()),
            "--list" => {
                SCENARIOS.iter().for_each(|(name, what)| println!("{name:18} {what}"));
                return Ok(None);
            }
            name if SCENARIOS.iter().any(|(known, _)| *known == name) => asked.names.push(name.to_owned()),
            other => return Err(format!("no scenario '{other}'; --list names them").into()),
        }
    }
    if asked.names.is_empty() {
        asked.names = SCENARIOS.iter().map(|(name, _)| (*name).to_owned()).collect();
    }
    Ok(Some(asked))
}

async fn run(asked: Asked) -> Result<(), Failure> {
    let began = Instant::now();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    let runs = asked.plan.runs;
    let mut bench = Bench::new(asked.plan, folder.clone());
    let mut lines: BTreeMap<(usize, usize), Line> = BTreeMap::new();
    for run in 1..=runs {
        for (place, name) in asked.names.iter().enumerate() {
            let started = Instant::now();
            let samples = bench.measure(name).await.map_err(|error| format!("{name}: {error}"))?;
            eprintln!("run {run} of {runs}: {name} took {:.1} s", started.elapsed().as_secs_f64());
            for (number, sample) in samples.into_iter().enumerate() {
                eprintln!(
                    "    {}: {:.3} {:.2} {}",
                    sample.work,
                    sample.ratio.unwrap_or(f64::NAN),
                    sample.figure,
                    sample.unit
                );
                add(lines.entry((place, number)).or_insert_with(|| line_of(&sample)), &sample);
            }
        }
    }
    let lines: Vec<Line> = lines.into_values().collect();
    drop(bench);
    std::fs::remove_dir_all(&folder)?;
    let took: Duration = began.elapsed();
    println!("{}", report::table(&lines));
    println!("took {} s", took.as_secs());
    if let Some(page) = asked.page {
        std::fs::write(&page, report::page(&lines, runs, took.as_secs()))?;
    }
    Ok(())
}

fn line_of(sample: &Sample) -> Line {
    Line {
        work: sample.work.clone(),
        aim: sample.aim,
        ratio: Figure::default(),
        figure: Figure::default(),
        unit: sample.unit,
        note: sample.note.clone(),
    }
}

fn add(line: &mut Line, sample: &Sample) {
    line.ratio.0.extend(sample.ratio);
    line.figure.0.push(sample.figure);
    line.note.clone_from(&sample.note);
}
