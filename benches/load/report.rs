//! What a run came to: a table of medians, ratios first, and the same as a page with the machine and the commit.

use std::fmt::Write;
use std::process::Command;

/// What is asked of the medians.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    RatioAtLeast(f64),
    RatioAtMost(f64),
    /// In the line's unit.
    FigureAtMost(f64),
    BothAtMost {
        ratio: f64,
        figure: f64,
    },
    Nothing,
}

impl Aim {
    fn is_met(self, ratio: f64, figure: f64) -> Option<bool> {
        match self {
            Self::RatioAtLeast(limit) => Some(ratio >= limit),
            Self::RatioAtMost(limit) => Some(ratio <= limit),
            Self::FigureAtMost(limit) => Some(figure <= limit),
            Self::BothAtMost { ratio: ratio_limit, figure: figure_limit } => {
                Some(ratio <= ratio_limit && figure <= figure_limit)
            }
            Self::Nothing => None,
        }
    }

    fn words(self, unit: &str) -> String {
        match self {
            Self::RatioAtLeast(limit) => format!("ratio at least {limit:.2}"),
            Self::RatioAtMost(limit) => format!("ratio at most {limit}"),
            Self::FigureAtMost(limit) => format!("at most {limit} {unit}"),
            Self::BothAtMost { ratio, figure } => format!("ratio at most {ratio}, at most {figure} {unit}"),
            Self::Nothing => String::new(),
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Line {
    pub work: String,
    pub aim: Aim,
    /// Empty where there is nothing to compare with.
    pub ratio: Figure,
    pub figure: Figure,
    pub unit: &'static str,
    pub note: String,
}

/// The values of one quantity over the runs.
#[derive(Clone, Debug, Default)]
pub struct Figure(pub Vec<f64>);

impl Figure {
    pub fn median(&self) -> f64 {
        let mut values = self.0.clone();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn shown(&self) -> String {
        let low = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self.0.len() {
            0 => String::new(),
            1 => short(low),
            _ => format!("{} ({} to {})", short(self.median()), short(low), short(high)),
        }
    }
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The table, in Markdown.
pub fn table(lines: &[Line]) -> String {
    let header = ["work", "ratio", "target", "met", "figure", "unit", "note"].map(str::to_owned);
    let rows = lines.iter().map(|line| {
        let met = line.aim.is_met(line.ratio.median(), line.figure.median());
        let met = met.map_or("", |met| if met { "yes" } else { "no" });
        let (ratio, aim, figure) = (line.ratio.shown(), line.aim.words(line.unit), line.figure.shown());
        [line.work.as_str(), &ratio, &aim, met, &figure, line.unit, &line.note].map(str::to_owned)
    });
    let rows: Vec<[String; 7]> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        // The last column is as wide as it happens to be.
        let padded = row.iter().zip(&widths[..6]).map(|(text, &width)| format!("{text:width$}"));
        let cells: Vec<String> = padded.chain([row[6].clone()]).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
        if number == 0 {
            let _ = writeln!(out, "|{}", " --- |".repeat(7));
        }
    }
    out
}

/// The whole page.
pub fn page(lines: &[Line], runs: usize, seconds: u64) -> String {
    format!(
        "# Results\n\n\
         Written by `benches/run`. Medians of {runs} interleaved runs, with lowest and highest in brackets; a ratio is\n\
         that of its own run, taken beside the route that only says OK (`/healthz`, behind the same layers) where\n\
         nothing else is said. Server, engine and driver share the machine.\n\n\
         * machine: {machine}\n* kernel: {kernel}\n* date: {date}\n* commit: {commit}\n* took: {seconds} s\n\n{table}",
        machine = machine(),
        kernel = output("uname", &["-sr"]),
        date = output("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        commit = commit(),
        table = table(lines),
    )
}

fn machine() -> String {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = memory.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    format!(
        "{cores} cores, {}, {} GB of memory",
        model.map_or("unknown", |(_, name)| name),
        kilobytes / 1_000_000
    )
}

fn commit() -> String {
    let hash = output("git", &["rev-parse", "--short=12", "HEAD"]);
    let changed =
        !output("git", &["status", "--porcelain", "--", "src", "migrations", "Cargo.lock"]).is_empty();
    if changed { format!("{hash}, changed since") } else { hash }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default()
}
