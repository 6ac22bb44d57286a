//! The scenarios about bounds and about size: what the machine and the engine allow, and what grows with what is stored.

use crate::Failure;
use crate::bounds;
use crate::driver::{self, Target};
use crate::plan::Plan;
use crate::report::Aim;
use crate::scenarios::{Bench, Sample, all_good};
use crate::seed;
use crate::stage::{Database, Size};

/// The log rows that are extrapolated to.
const FAR: f64 = 100_000_000.0;
/// Log rows behind each check: each step holds four times as many as the one before.
const STEPS: [(&str, u64); 3] = [("log-1", 10), ("log-2", 40), ("log-3", 160)];

fn line(work: String, aim: Aim, ratio: Option<f64>, figure: f64, unit: &'static str, note: String) -> Sample {
    Sample { work, aim, ratio, figure, unit, note }
}

/// A request for a path of the API.
fn request(path: &str, key: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: flatline.example\r\nX-Api-Key: {key}\r\n\r\n")
}

/// Milliseconds that half of the answers take.
async fn median_ms(database: &Database, requests: impl Iterator<Item = String>) -> Result<f64, Failure> {
    let server = database.serve()?;
    let mut answers = driver::ask_each(server.address, requests).await;
    all_good(&answers)?;
    Ok(answers.quantile_ms(0.5))
}

impl Bench {
    pub(crate) fn bounds(&self) -> Result<Vec<Sample>, Failure> {
        let Plan { offered, measured, .. } = self.plan;
        let alone = bounds::durable_writes(&self.folder)?;
        let beside = bounds::durable_writes_beside(&self.folder, offered, measured)?;
        let bound = |work: &str, mut took: Vec<u32>| {
            let [half, most] = [0.5, 0.99].map(|share| driver::quantile_ms(&mut took, share));
            let note = format!("99 of 100 within {most:.2} ms");
            line(work.to_owned(), Aim::Nothing, None, half, "ms", note)
        };
        let beside_what = format!("one of what {offered} pings a second write, beside carrying that over");
        Ok(vec![bound("one durable write of 4 kB", alone), bound(&beside_what, beside)])
    }

    pub(crate) async fn log(&mut self) -> Result<Vec<Sample>, Failure> {
        let checks = self.plan.checks;
        let (mut rates, mut looks) = (Vec::new(), Vec::new());
        for (name, logged) in STEPS {
            let database = self.sqlite(name, Size { open: checks, floored: 0, logged }).await?;
            {
                let server = database.serve()?;
                let pings =
                    self.load(&database, &[&server], Target::Check { first: 1, count: checks }, 200).await?;
                rates.push(pings.answers.per_second());
            }
            let look = |number: u64| {
                let uuid = seed::uuid(1 + seed::scramble(number) % checks);
                request(&format!("/api/v3/checks/{uuid}/pings/"), &database.api_keys[0])
            };
            looks.push(median_ms(&database, (0..50).map(look)).await?);
        }
        let rows = |step: usize| (STEPS[step].1 * checks) as f64;
        let last = STEPS.len() - 1;
        // Trees grow by their logarithm: so much a ping costs more whenever there are ten times as many rows.
        let steps = (rows(last) / rows(0)).log10();
        let slope = (1.0 / rates[last] - 1.0 / rates[0]) / steps;
        let far = 1.0 / (1.0 / rates[last] + slope * (FAR / rows(last)).log10());
        let work =
            |rows: f64| format!("accepted pings, SQLite, {rows} log rows against {}", STEPS[0].1 * checks);
        let first = format!("{:.0}/s before", rates[0]);
        Ok(vec![
            line(work(rows(last)), Aim::Nothing, Some(rates[last] / rates[0]), rates[last], "/s", first),
            line(
                work(FAR),
                Aim::RatioAtLeast(0.8),
                Some(far / rates[0]),
                far,
                "/s",
                "by the slope".to_owned(),
            ),
            line(
                format!("a look at a check's log, {} log rows", rows(last)),
                Aim::Nothing,
                Some(looks[last] / looks[0]),
                looks[last],
                "ms",
                format!("ratio to {} log rows", rows(0)),
            ),
        ])
    }

    pub(crate) async fn neighbours(&mut self) -> Result<Vec<Sample>, Failure> {
        let mut took = Vec::new();
        for database in [self.few().await?, self.many().await?] {
            let requests = (0..15).map(|_| request("/api/v3/checks/", &database.api_keys[1]));
            took.push(median_ms(&database, requests).await?);
        }
        Ok(vec![line(
            format!("the list of {} checks beside {} others", self.plan.few, self.plan.many),
            Aim::RatioAtMost(1.25),
            Some(took[1] / took[0]),
            took[1],
            "ms",
            format!("ratio to the same list beside {} others", self.plan.few),
        )])
    }
}
