//! The client side: pings over real HTTP/1.1, from one thread, with as little work per request as can be.
//!
//! [`full_load`] keeps a number of connections busy: how much is answered. [`offered_load`] sends at fixed instants whether or
//! not earlier answers came: how long an answer takes. A request that had to wait for its connection counts from
//! the instant at which it was due, so a server that stalls cannot hide it (no coordinated omission).

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

use crate::seed;

/// The timers of a runtime tick by the millisecond.
const TIMER_SLACK: Duration = Duration::from_millis(2);

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// The route that only says OK, through the same layers as a ping.
    Healthz,
    /// A check at random of those numbered from `first` on.
    Check { first: u64, count: u64 },
}

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Answered with the status that was asked for.
    pub good: u64,
    /// Answered otherwise, or not at all.
    pub bad: u64,
    pub seconds: f64,
    /// Microseconds of each answer, where they were measured.
    pub latencies: Vec<u32>,
}

impl Answers {
    pub fn per_second(&self) -> f64 {
        self.good as f64 / self.seconds
    }

    /// Milliseconds within which a share of the answers came.
    pub fn quantile_ms(&mut self, share: f64) -> f64 {
        quantile_ms(&mut self.latencies, share)
    }

    fn count(&mut self, status: Option<u16>, wanted: u16) {
        if status == Some(wanted) { self.good += 1 } else { self.bad += 1 }
    }
}

/// Milliseconds within which that share of some latencies, in microseconds, lies.
pub fn quantile_ms(latencies: &mut [u32], share: f64) -> f64 {
    latencies.sort_unstable();
    let last = latencies.len().saturating_sub(1) as f64;
    latencies.get((last * share) as usize).map_or(f64::NAN, |micros| f64::from(*micros) / 1000.0)
}

/// Draws the requests of one connection.
struct Asker {
    target: Target,
    random: u64,
    request: Vec<u8>,
}

impl Asker {
    fn new(target: Target, connection: u64) -> Self {
        Self { target, random: seed::scramble(connection + 1), request: Vec::with_capacity(256) }
    }

    fn next(&mut self) -> &[u8] {
        self.request.clear();
        self.request.extend_from_slice(b"GET ");
        match self.target {
            Target::Healthz => self.request.extend_from_slice(b"/healthz"),
            Target::Check { first, count } => {
                self.random = seed::scramble(self.random);
                self.request.extend_from_slice(b"/ping/");
                self.request.extend_from_slice(seed::uuid(first + self.random % count).as_bytes());
            }
        }
        let rest = b" HTTP/1.1\r\nHost: flatline.example\r\nUser-Agent: curl/8.5.0\r\nAccept: */*\r\n\r\n";
        self.request.extend_from_slice(rest);
        &self.request
    }
}

/// One connection; reads whole answers.
struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Connection {
    async fn open(to: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, read: Vec::with_capacity(4096) })
    }

    /// The status of the answer; `None` if the connection broke.
    async fn ask(&mut self, request: &[u8]) -> Option<u16> {
        self.stream.write_all(request).await.ok()?;
        self.read.clear();
        loop {
            if self.stream.read_buf(&mut self.read).await.ok()? == 0 {
                return None;
            }
            if let Some(status) = whole_answer(&self.read) {
                return Some(status);
            }
        }
    }
}

/// The status, once head and body are there.
fn whole_answer(read: &[u8]) -> Option<u16> {
    let head = read.windows(4).position(|four| four == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&read[..head]).ok()?;
    let length = text.split("\r\n").find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length?.parse().ok()?;
    (read.len() >= head + 4 + length).then(|| text.get(9..12)?.parse().ok())?
}

/// Asks over `connections`, spread over the servers, each as soon as its last answer came, and counts what is answered with
/// `wanted` within `measured` after a `warm_up`.
pub async fn full_load(
    to: &[SocketAddr],
    target: Target,
    wanted: u16,
    connections: u64,
    warm_up: Duration,
    measured: Duration,
) -> Answers {
    let from = Instant::now() + warm_up;
    let until = from + measured;
    let tasks = LocalSet::new();
    let mut running = Vec::new();
    for (number, &address) in (0..connections).zip(to.iter().cycle()) {
        running.push(tasks.spawn_local(async move {
            let mut answers = Answers::default();
            let Ok(mut connection) = Connection::open(address).await else {
                answers.bad = 1;
                return answers;
            };
            let mut asker = Asker::new(target, number);
            loop {
                let status = connection.ask(asker.next()).await;
                let now = Instant::now();
                if now >= until {
                    return answers;
                }
                if now >= from {
                    answers.count(status, wanted);
                }
                if status.is_none() {
                    return answers;
                }
            }
        }));
    }
    let mut all = Answers { seconds: measured.as_secs_f64(), ..Answers::default() };
    tasks
        .run_until(async {
            for task in running {
                let answers = task.await.expect("the driver's tasks do not panic");
                all.good += answers.good;
                all.bad += answers.bad;
            }
        })
        .await;
    all
}

/// Offers `rate` requests a second for `measured`, at fixed instants over as many connections, and times each answer.
pub async fn offered_load(
    to: SocketAddr,
    target: Target,
    rate: u32,
    connections: u32,
    measured: Duration,
) -> Answers {
    let start = Instant::now() + Duration::from_millis(200);
    let gap = Duration::from_secs(1) / rate;
    let total = (measured.as_secs_f64() * f64::from(rate)) as u32;
    let tasks = LocalSet::new();
    let mut running = Vec::new();
    for number in 0..connections {
        running.push(tasks.spawn_local(async move {
            let mut answers = Answers::default();
            let Ok(mut connection) = Connection::open(to).await else {
                answers.bad = 1;
                return answers;
            };
            let mut asker = Asker::new(target, u64::from(number));
            for due in (number..total).step_by(connections as usize).map(|turn| start + gap * turn) {
                tokio::time::sleep_until(due.into()).await;
                // A timer's own slack is not the server's; a connection that was still busy is, and so is a driver that
                // was kept from sending by it.
                let woken = Instant::now();
                let since = if woken - due > TIMER_SLACK { due } else { woken };
                let status = connection.ask(asker.next()).await;
                answers.count(status, 200);
                answers.latencies.push(u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX));
                if status.is_none() {
                    return answers;
                }
            }
            answers
        }));
    }
    let mut all = Answers { seconds: measured.as_secs_f64(), ..Answers::default() };
    tasks
        .run_until(async {
            for task in running {
                let answers = task.await.expect("the driver's tasks do not panic");
                all.good += answers.good;
                all.bad += answers.bad;
                all.latencies.extend(answers.latencies);
            }
        })
        .await;
    all
}

/// Asks for things one after the other and times each answer.
pub async fn ask_each(to: SocketAddr, requests: impl Iterator<Item = String>) -> Answers {
    let mut answers = Answers::default();
    let Ok(mut connection) = Connection::open(to).await else {
        answers.bad = 1;
        return answers;
    };
    for request in requests {
        let asked = Instant::now();
        let status = connection.ask(request.as_bytes()).await;
        answers.count(status, 200);
        answers.latencies.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
    answers
}

/// Asks one path at intervals until told to stop, as an open dashboard does; gives how many were answered 200.
pub async fn poll(
    to: SocketAddr,
    request: String,
    every: Duration,
    stop: Rc<tokio::sync::Notify>,
) -> Answers {
    let mut answers = Answers::default();
    let Ok(mut connection) = Connection::open(to).await else {
        answers.bad = 1;
        return answers;
    };
    let mut turns = tokio::time::interval(every);
    loop {
        tokio::select! {
            _ = turns.tick() => {}
            () = stop.notified() => return answers,
        }
        let asked = Instant::now();
        let status = connection.ask(request.as_bytes()).await;
        answers.count(status, 200);
        answers.latencies.push(u32::try_from(asked.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
}
