//! The scenarios: each measures its work once, beside what it is compared with, on a server just started.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use flatline::time::Clock;
use tokio::sync::Notify;

use crate::Failure;
use crate::bounds;
use crate::dashboard;
use crate::driver::{self, Answers, Target};
use crate::plan::Plan;
use crate::report::Aim;
use crate::stage::{Database, Engine, Postgres, Server, Size, own_processor_ms};

/// Every scenario by name, with what it measures.
pub const SCENARIOS: &[(&str, &str)] = &[
    ("accepted-sqlite", "accepted pings a second, their processor time, and the engine alone, SQLite"),
    ("accepted-postgres", "the same, PostgreSQL"),
    ("refused-sqlite", "refused repeats a second, SQLite"),
    ("refused-postgres", "the same, PostgreSQL"),
    ("latency", "the 99th percentile at a fixed load, SQLite"),
    ("bounds", "what a durable write costs here"),
    ("size", "accepted pings a second with very many checks against few, SQLite"),
    ("memory", "resident memory at rest and under full load, SQLite"),
    ("log", "accepted pings a second and a look at a log, over ever more log rows, SQLite"),
    ("neighbours", "the list of a project's checks beside very many others, SQLite"),
    ("busy", "accepted pings a second while a dashboard is open and a backup runs, SQLite"),
    ("start", "from start to the first accepted ping with very many checks, SQLite"),
    ("sweep", "one run of the sweep over very many checks, SQLite"),
    ("dashboard", "the list of a thousand checks as a page, SQLite"),
    ("processes", "accepted pings a second with 1, 2 and 3 processes on one PostgreSQL"),
];

/// One measurement.
#[derive(Clone, Debug)]
pub struct Sample {
    pub work: String,
    pub aim: Aim,
    /// Against what the work is compared with, measured beside it.
    pub ratio: Option<f64>,
    pub figure: f64,
    pub unit: &'static str,
    pub note: String,
}

/// The databases of a run, made when they are first asked for.
pub struct Bench {
    pub(crate) plan: Plan,
    pub(crate) folder: PathBuf,
    postgres: Option<Postgres>,
    made: Vec<(&'static str, Rc<Database>)>,
    swept: u64,
}

/// What an engine does without a program around it.
struct Alone {
    per_second: f64,
    /// Microseconds of processor time a ping, of the engine and of what asks it.
    processor_us: f64,
}

/// What a load came to, and what it cost.
pub(crate) struct Load {
    pub(crate) answers: Answers,
    /// Microseconds of processor time an answer, of server and engine together.
    processor_us: f64,
}

impl Bench {
    pub fn new(plan: Plan, folder: PathBuf) -> Self {
        Self { plan, folder, postgres: None, made: Vec::new(), swept: 0 }
    }

    /// Measures a scenario once.
    pub async fn measure(&mut self, name: &str) -> Result<Vec<Sample>, Failure> {
        match name {
            "accepted-sqlite" => self.accepted(Engine::Sqlite).await,
            "accepted-postgres" => self.accepted(Engine::Postgres).await,
            "refused-sqlite" => self.refused(Engine::Sqlite).await,
            "refused-postgres" => self.refused(Engine::Postgres).await,
            "latency" => self.latency().await,
            "bounds" => self.bounds(),
            "size" => self.size().await,
            "log" => self.log().await,
            "neighbours" => self.neighbours().await,
            "memory" => self.memory().await,
            "busy" => self.busy().await,
            "start" => self.start().await,
            "sweep" => self.sweep().await,
            "dashboard" => self.dashboard().await,
            "processes" => self.processes().await,
            other => Err(format!("no scenario '{other}'").into()),
        }
    }

    async fn accepted(&mut self, engine: Engine) -> Result<Vec<Sample>, Failure> {
        let database = self.main(engine).await?;
        let server = database.serve()?;
        self.acquaint(&server, self.open_checks()).await;
        let ok = self.load(&database, &[&server], Target::Healthz, 200).await?;
        let pings = self.load(&database, &[&server], self.open_checks(), 200).await?;
        let note = format!("OK {:.0}/s", ok.answers.per_second());
        drop(server);
        let alone = self.alone(&database).await?;
        Ok(vec![
            Sample {
                work: format!("accepted pings, {}, {} checks", engine.name(), self.plan.checks),
                aim: Aim::RatioAtLeast(0.25),
                ratio: Some(pings.answers.per_second() / ok.answers.per_second()),
                figure: pings.answers.per_second(),
                unit: "/s",
                note,
            },
            Sample {
                work: format!("processor time an accepted ping, {}", engine.name()),
                aim: Aim::RatioAtMost(5.0),
                ratio: Some(pings.processor_us / ok.processor_us),
                figure: pings.processor_us,
                unit: "us",
                note: format!("OK {:.1} us", ok.processor_us),
            },
            Sample {
                work: format!("the same rows by {} alone, without a program", engine.name()),
                aim: Aim::Nothing,
                ratio: Some(alone.per_second / ok.answers.per_second()),
                figure: alone.per_second,
                unit: "/s",
                note: format!(
                    "{:.1} us of processor time each, {:.2} times OK",
                    alone.processor_us,
                    alone.processor_us / ok.processor_us
                ),
            },
        ])
    }

    /// What the engine does with as many pings in a transaction, and nothing around it.
    async fn alone(&self, database: &Database) -> Result<Alone, Failure> {
        let Plan { checks, measured, .. } = self.plan;
        let now_ms = Clock::System.now().0;
        let used = || {
            let engine = self.postgres.as_ref().map_or(0.0, |postgres| database.engine_ms(postgres));
            engine + own_processor_ms()
        };
        let before = used();
        let done = match database.engine {
            Engine::Sqlite => bounds::sqlite_alone(&database.url, checks, now_ms, measured).await?,
            Engine::Postgres => bounds::postgres_alone(&database.url, checks, now_ms, measured).await?,
        } as f64;
        Ok(Alone {
            per_second: done / measured.as_secs_f64(),
            processor_us: (used() - before) * 1000.0 / done,
        })
    }

    async fn refused(&mut self, engine: Engine) -> Result<Vec<Sample>, Failure> {
        let database = self.main(engine).await?;
        let server = database.serve()?;
        let target = Target::Check { first: 1 + self.plan.checks, count: self.plan.checks };
        self.acquaint(&server, target).await;
        let ok = self.load(&database, &[&server], Target::Healthz, 200).await?;
        let pings = self.load(&database, &[&server], target, 429).await?;
        Ok(vec![Sample {
            work: format!("refused repeats, {}, {} checks", engine.name(), self.plan.checks),
            aim: Aim::RatioAtLeast(if engine == Engine::Sqlite { 0.6 } else { 0.3 }),
            ratio: Some(pings.answers.per_second() / ok.answers.per_second()),
            figure: pings.answers.per_second(),
            unit: "/s",
            note: format!(
                "OK {:.0}/s, {:.1} us against {:.1}",
                ok.answers.per_second(),
                pings.processor_us,
                ok.processor_us
            ),
        }])
    }

    async fn latency(&mut self) -> Result<Vec<Sample>, Failure> {
        let database = self.main(Engine::Sqlite).await?;
        let server = database.serve()?;
        let Plan { offered: rate, measured, watched, .. } = self.plan;
        let mut p99 = [0.0; 2];
        let mut p50 = [0.0; 2];
        let targets = [(Target::Healthz, measured), (self.open_checks(), watched)];
        for (place, (target, measured)) in targets.into_iter().enumerate() {
            driver::offered_load(server.address, target, rate, 64, self.plan.warm_up).await;
            let mut answers = driver::offered_load(server.address, target, rate, 64, measured).await;
            all_good(&answers)?;
            (p99[place], p50[place]) = (answers.quantile_ms(0.99), answers.quantile_ms(0.5));
        }
        Ok(vec![Sample {
            work: format!("99th percentile at {rate} pings/s offered, SQLite"),
            aim: Aim::BothAtMost { ratio: 5.0, figure: 15.0 },
            ratio: Some(p99[1] / p99[0]),
            figure: p99[1],
            unit: "ms",
            note: format!("OK {:.2} ms; medians {:.2} and {:.2} ms", p99[0], p50[1], p50[0]),
        }])
    }

    async fn size(&mut self) -> Result<Vec<Sample>, Failure> {
        let mut rates = Vec::new();
        for (name, count) in [("few", self.plan.few), ("many", self.plan.many)] {
            let database = match name {
                "few" => self.few().await?,
                _ => self.many().await?,
            };
            let server = database.serve()?;
            let pings = self.load(&database, &[&server], Target::Check { first: 1, count }, 200).await?;
            rates.push(pings.answers.per_second());
        }
        Ok(vec![Sample {
            work: format!("accepted pings, SQLite, {} checks against {}", self.plan.many, self.plan.few),
            aim: Aim::RatioAtLeast(0.8),
            ratio: Some(rates[1] / rates[0]),
            figure: rates[1],
            unit: "/s",
            note: format!("few {:.0}/s", rates[0]),
        }])
    }

    async fn memory(&mut self) -> Result<Vec<Sample>, Failure> {
        let database = self.main(Engine::Sqlite).await?;
        let server = database.serve()?;
        driver::offered_load(server.address, self.open_checks(), 10, 1, Duration::from_millis(300)).await;
        let (idle, _) = server.resident_mb();
        self.load(&database, &[&server], self.open_checks(), 200).await?;
        let (_, peak) = server.resident_mb();
        let line = |work: &str, aim, figure| {
            let work = format!("resident memory {work}, SQLite, {} checks", 2 * self.plan.checks);
            Sample { work, aim: Aim::FigureAtMost(aim), ratio: None, figure, unit: "MB", note: String::new() }
        };
        Ok(vec![line("at rest", 60.0, idle), line("at its highest under full load", 200.0, peak)])
    }

    async fn busy(&mut self) -> Result<Vec<Sample>, Failure> {
        let database = self.main(Engine::Sqlite).await?;
        let server = database.serve()?;
        let alone = self.load(&database, &[&server], self.open_checks(), 200).await?;
        let copy = self.folder.join("copy.db");
        drop(std::fs::remove_file(&copy));
        let mut backup = database.program(&["backup", &copy.display().to_string()]).spawn()?;
        let stop = Rc::new(Notify::new());
        let (_, cookie) = dashboard::sign_in(&database).await?;
        let check = crate::seed::key(1);
        let request =
            format!("GET /checks/{check} HTTP/1.1\r\nHost: flatline.example\r\nCookie: {cookie}\r\n\r\n");
        let polling = driver::poll(server.address, request, Duration::from_millis(500), Rc::clone(&stop));
        let (polled, busy) = tokio::join!(polling, async {
            let busy = self.load(&database, &[&server], self.open_checks(), 200).await;
            stop.notify_one();
            busy
        });
        let busy = busy?;
        all_good(&polled)?;
        let still_running = backup.try_wait()?.is_none();
        if still_running {
            backup.kill()?;
        }
        backup.wait()?;
        Ok(vec![Sample {
            work: "accepted pings beside a backup and a dashboard, SQLite".to_owned(),
            aim: Aim::RatioAtLeast(0.7),
            ratio: Some(busy.answers.per_second() / alone.answers.per_second()),
            figure: busy.answers.per_second(),
            unit: "/s",
            note: format!(
                "alone {:.0}/s; {} refused or failed; the backup {}",
                alone.answers.per_second(),
                busy.answers.bad,
                if still_running { "ran all the time" } else { "ended before" }
            ),
        }])
    }

    async fn start(&mut self) -> Result<Vec<Sample>, Failure> {
        let count = self.plan.many;
        let database = self.many().await?;
        let began = Instant::now();
        let server = database.serve()?;
        let first = driver::full_load(
            &[server.address],
            Target::Check { first: 1, count },
            200,
            1,
            Duration::ZERO,
            Duration::from_millis(1),
        )
        .await;
        let took = began.elapsed().as_secs_f64() * 1000.0;
        if first.bad > 0 {
            return Err("the first ping was not accepted".into());
        }
        Ok(vec![Sample {
            work: format!("start to first accepted ping, SQLite, {count} checks"),
            aim: Aim::FigureAtMost(300.0),
            ratio: None,
            figure: took,
            unit: "ms",
            note: String::new(),
        }])
    }

    async fn dashboard(&mut self) -> Result<Vec<Sample>, Failure> {
        let Plan { few, loads, .. } = self.plan;
        let database = self.sqlite("listed", Size { open: few, floored: 0, logged: 30 }).await?;
        dashboard::measure(&database, few, loads).await
    }

    async fn processes(&mut self) -> Result<Vec<Sample>, Failure> {
        let database = self.main(Engine::Postgres).await?;
        let mut servers = Vec::new();
        let mut samples: Vec<Sample> = Vec::new();
        for number in 1..=3 {
            servers.push(database.serve()?);
            let all: Vec<&Server> = servers.iter().collect();
            let pings = self.load(&database, &all, self.open_checks(), 200).await?;
            let figure = pings.answers.per_second();
            samples.push(Sample {
                work: format!("accepted pings, PostgreSQL, processes: {number}"),
                aim: Aim::Nothing,
                ratio: Some(samples.first().map_or(1.0, |one| figure / one.figure)),
                figure,
                unit: "/s",
                note: "ratio to one process".to_owned(),
            });
        }
        Ok(samples)
    }

    async fn sweep(&mut self) -> Result<Vec<Sample>, Failure> {
        let database = self.many().await?;
        let settings = database.settings()?;
        let db = flatline::db::Db::open(&settings.database_url.parse()?).await?;
        let (app, worker) = flatline::serve::build(db, settings, Clock::System).await?;
        let recording = tokio::spawn(worker.run());
        app.stamp().await.map_err(|_| "the stamp was not taken")?;
        let mut quiet = Vec::new();
        for _ in 0..20 {
            let began = Instant::now();
            app.sweep().await?;
            quiet.push(began.elapsed().as_secs_f64() * 1000.0);
        }
        let first = 1 + self.plan.many + self.swept;
        self.swept += self.plan.overdue;
        crate::seed::make_overdue(&database.url, first, self.plan.overdue).await?;
        let began = Instant::now();
        let flips = app.sweep().await?;
        let overdue = began.elapsed().as_secs_f64() * 1000.0;
        if flips as u64 != self.plan.overdue {
            return Err(format!("{flips} flips instead of {}", self.plan.overdue).into());
        }
        let began = Instant::now();
        app.care().await?;
        let cared = began.elapsed().as_secs_f64() * 1000.0;
        app.recorder.close().await;
        recording.await?;
        app.db.close().await;
        crate::seed::forget_deliveries(&database.url).await?;
        let line = |what: String, aim, figure, note: &str| Sample {
            work: format!("sweep of {} checks, SQLite, {what}", self.plan.many),
            aim: Aim::FigureAtMost(aim),
            ratio: None,
            figure,
            unit: "ms",
            note: note.to_owned(),
        };
        quiet.sort_by(f64::total_cmp);
        Ok(vec![
            Sample {
                work: format!("care (what is kept too long goes) of {} checks, SQLite", self.plan.many),
                aim: Aim::Nothing,
                ratio: None,
                figure: cared,
                unit: "ms",
                note: String::new(),
            },
            line("none overdue".to_owned(), 2.0, quiet[quiet.len() / 2], "median of 20"),
            line(
                format!("{} overdue", self.plan.overdue),
                1000.0,
                overdue,
                "to flips and deliveries committed",
            ),
        ])
    }

    pub(crate) fn open_checks(&self) -> Target {
        Target::Check { first: 1, count: self.plan.checks }
    }

    /// Pings a server's checks for a while, however it answers.
    async fn acquaint(&self, server: &Server, target: Target) {
        let Plan { connections, acquaintance, .. } = self.plan;
        driver::full_load(&[server.address], target, 200, connections, Duration::ZERO, acquaintance).await;
    }

    /// Full load on servers of one database; an answer with another status than `wanted` is a failure.
    pub(crate) async fn load(
        &self,
        database: &Database,
        servers: &[&Server],
        target: Target,
        wanted: u16,
    ) -> Result<Load, Failure> {
        let Plan { connections, warm_up, measured, .. } = self.plan;
        let to: Vec<SocketAddr> = servers.iter().map(|server| server.address).collect();
        let used = || {
            let engine = self.postgres.as_ref().map_or(0.0, |postgres| database.engine_ms(postgres));
            engine + servers.iter().map(|server| server.processor_ms()).sum::<f64>()
        };
        driver::full_load(&to, target, wanted, connections, Duration::ZERO, warm_up).await;
        let before = used();
        let answers = driver::full_load(&to, target, wanted, connections, Duration::ZERO, measured).await;
        all_good(&answers)?;
        let processor_us = (used() - before) * 1000.0 / answers.good as f64;
        Ok(Load { answers, processor_us })
    }

    /// The database of most scenarios.
    pub(crate) async fn main(&mut self, engine: Engine) -> Result<Rc<Database>, Failure> {
        let Plan { checks, logged, .. } = self.plan;
        let size = Size { open: checks, floored: checks, logged };
        match engine {
            Engine::Sqlite => self.sqlite("main", size).await,
            Engine::Postgres => {
                if self.postgres.is_none() {
                    self.postgres = Some(Postgres::start(&self.folder.join("engine"))?);
                }
                let url = self.postgres.as_ref().map(|postgres| postgres.url.clone()).unwrap_or_default();
                self.made("postgres", Engine::Postgres, url, size).await
            }
        }
    }

    pub(crate) async fn few(&mut self) -> Result<Rc<Database>, Failure> {
        let few = self.plan.few;
        self.sqlite("few", Size { open: few, floored: few, logged: 0 }).await
    }

    /// Very many checks, and behind them those that the sweep takes down, which are not pinged.
    pub(crate) async fn many(&mut self) -> Result<Rc<Database>, Failure> {
        let overdue = self.plan.overdue * self.plan.runs as u64;
        let size = Size { open: self.plan.many + overdue, floored: self.plan.few, logged: 0 };
        self.sqlite("many", size).await
    }

    pub(crate) async fn sqlite(&mut self, name: &'static str, size: Size) -> Result<Rc<Database>, Failure> {
        let url = format!("sqlite://{}", self.folder.join(name).join("flatline.db").display());
        self.made(name, Engine::Sqlite, url, size).await
    }

    async fn made(
        &mut self,
        name: &'static str,
        engine: Engine,
        url: String,
        size: Size,
    ) -> Result<Rc<Database>, Failure> {
        if let Some((_, database)) = self.made.iter().find(|(known, _)| *known == name) {
            return Ok(Rc::clone(database));
        }
        let began = Instant::now();
        let now_ms = Clock::System.now().0;
        let database = Database::make(engine, &url, &self.folder.join(name), size, now_ms).await?;
        eprintln!("seeded {name} in {:.1} s", began.elapsed().as_secs_f64());
        let database = Rc::new(database);
        self.made.push((name, Rc::clone(&database)));
        Ok(database)
    }
}

pub(crate) fn all_good(answers: &Answers) -> Result<(), Failure> {
    match (answers.good, answers.bad) {
        (0, _) => Err("nothing was answered".into()),
        (_, 0) => Ok(()),
        (good, bad) => Err(format!("{bad} of {} were answered otherwise", good + bad).into()),
    }
}
