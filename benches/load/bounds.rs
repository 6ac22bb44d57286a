//! What bounds the program from outside, measured beside it: the disk, and the engine without a program around it.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Connection, PgConnection};

use crate::Failure;
use crate::seed;

/// Bytes of a page of SQLite's file, as the program makes it, and pages that a ping changes.
const PAGE: usize = 2048;
const PAGES: u64 = 2;
/// Bytes of the log and of the file that it is carried over to: as large as that of 100,000 checks.
const LOG_BYTES: usize = 1 << 22;
const CARRIED_BYTES: u64 = 200 << 20;
/// Pings in one transaction: about as many as the program commits at once under full load.
const GROUP: usize = 128;
/// Transactions side by side on PostgreSQL, as in the program.
const POSTGRES_CONNECTIONS: i64 = 4;
/// What a success does to its check and what it leaves in the log, for all pings of a group at once.
const UPDATE: &str = "UPDATE checks SET seq = seq + 1, n_pings = new.column2, last_ping_at = new.column3, \
     last_success_at = new.column3, expected_at = new.column3 + 86400000, deadline_at = new.column3 + 90000000 \
     FROM {rows} WHERE checks.id = new.column1";
const INSERT: &str = "INSERT INTO pings (check_id, n, received_at, kind, scheme, remote_addr, method, user_agent, \
     body_bytes) SELECT column1, column2, column3, 'success', 'http', '127.0.0.1', 'GET', 'curl/8.5.0', 0 FROM {rows}";
const COUNTS: &str = "SELECT id, n_pings FROM checks WHERE id <= $1 AND id % $2 = $3";

/// Microseconds that each of some durable writes of 4 kB took while nothing else was written.
pub fn durable_writes(folder: &Path) -> Result<Vec<u32>, Failure> {
    let file = Scratch::new(folder, "disk")?;
    (0..300).map(|turn| file.write_durably(turn * 4096, 4096)).collect()
}

/// The same for what a lone ping writes, over the same places again and again as a database's log does, at `rate` a second
/// for as long as it `lasts`, while what the pings before it changed is carried over to a large file: `PAGES` each, at
/// places at random, fifty times a second.
pub fn durable_writes_beside(folder: &Path, rate: u32, lasts: Duration) -> Result<Vec<u32>, Failure> {
    let (log, pages) = (Scratch::new(folder, "log")?, Scratch::new(folder, "pages")?);
    log.write_durably(0, 2 * LOG_BYTES)?;
    pages.write_durably(0, CARRIED_BYTES as usize)?;
    let round = Duration::from_millis(20);
    let each = u64::from(rate) * PAGES / 50;
    std::thread::scope(|scope| {
        let began = Instant::now();
        let carrying = scope.spawn(move || {
            let mut random = 1;
            for turn in 1.. {
                if began.elapsed() >= lasts {
                    break;
                }
                for _ in 0..each {
                    random = seed::scramble(random);
                    pages.0.write_all_at(&[8; PAGE], random % (CARRIED_BYTES / PAGE as u64) * PAGE as u64)?;
                }
                pages.0.sync_data()?;
                std::thread::sleep((round * turn).saturating_sub(began.elapsed()));
            }
            std::io::Result::Ok(())
        });
        let mut took = Vec::new();
        for turn in 1.. {
            if began.elapsed() >= lasts {
                break;
            }
            let bytes = PAGES as usize * PAGE;
            took.push(log.write_durably(turn as usize * bytes % LOG_BYTES, bytes)?);
            std::thread::sleep((Duration::from_secs(1) / rate * turn).saturating_sub(began.elapsed()));
        }
        carrying.join().map_err(|_| "carrying over panicked")??;
        Ok(took)
    })
}

/// A file that goes with the value.
struct Scratch(File, PathBuf);

impl Scratch {
    fn new(folder: &Path, name: &str) -> Result<Self, Failure> {
        let path = folder.join(name);
        Ok(Self(File::create(&path)?, path))
    }

    /// Microseconds that it took.
    fn write_durably(&self, at: usize, bytes: usize) -> Result<u32, Failure> {
        let content = vec![7; bytes];
        let began = Instant::now();
        self.0.write_all_at(&content, at as u64)?;
        self.0.sync_data()?;
        Ok(u32::try_from(began.elapsed().as_micros())?)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.1));
    }
}

/// Checks by id, with the number of their last ping: who remembers them needs not read them.
struct Checks {
    counts: Vec<(i64, i64)>,
    now_ms: i64,
    random: u64,
}

impl Checks {
    /// A ping for each of some checks at random, as columns: ids, numbers, times.
    fn group(&mut self) -> [Vec<i64>; 3] {
        let number = self.counts.len();
        let mut places = BTreeSet::new();
        while places.len() < GROUP.min(number) {
            self.random = seed::scramble(self.random);
            places.insert((self.random % number as u64) as usize);
        }
        let mut columns: [Vec<i64>; 3] = Default::default();
        for place in places {
            let (id, n) = &mut self.counts[place];
            *n += 1;
            for (column, value) in columns.iter_mut().zip([*id, *n, self.now_ms]) {
                column.push(value);
            }
        }
        columns
    }
}

/// How many pings SQLite alone stores, durably and with their log rows: groups of them for checks at random, by prepared
/// statements from one connection.
pub async fn sqlite_alone(url: &str, checks: u64, now_ms: i64, lasts: Duration) -> Result<u64, Failure> {
    let path = url.strip_prefix("sqlite://").ok_or("SQLite only")?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("cache_size", "-12288")
        .pragma("wal_autocheckpoint", "65536");
    let mut connection = options.connect().await?;
    let counts =
        sqlx::query_as(COUNTS).bind(checks as i64).bind(1).bind(0).fetch_all(&mut connection).await?;
    let mut checks = Checks { counts, now_ms, random: 9 };
    let rows =
        format!("(VALUES {}(?, ?, ?)) AS new", "(?, ?, ?), ".repeat(GROUP.min(checks.counts.len()) - 1));
    let texts = [UPDATE, INSERT].map(|text| text.replace("{rows}", &rows));
    let mut done = 0;
    let began = Instant::now();
    while began.elapsed() < lasts {
        let [ids, numbers, times] = checks.group();
        let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
        for text in &texts {
            let mut arguments = SqliteArguments::default();
            for place in 0..ids.len() {
                for value in [ids[place], numbers[place], times[place]] {
                    arguments.add(value).map_err(|error| error.to_string())?;
                }
            }
            sqlx::query_with(AssertSqlSafe(text.as_str()), arguments).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        done += ids.len() as u64;
    }
    connection.close().await?;
    Ok(done)
}

/// The same for PostgreSQL, from some connections, each with a share of the checks of its own.
pub async fn postgres_alone(url: &str, checks: u64, now_ms: i64, lasts: Duration) -> Result<u64, Failure> {
    let shares = (0..POSTGRES_CONNECTIONS).map(|share| postgres_share(url, checks, now_ms, lasts, share));
    Ok(try_join_all(shares).await?.into_iter().sum())
}

async fn postgres_share(
    url: &str,
    checks: u64,
    now_ms: i64,
    lasts: Duration,
    share: i64,
) -> Result<u64, Failure> {
    let mut connection = PgConnection::connect(url).await?;
    let counts = sqlx::query_as(COUNTS).bind(checks as i64).bind(POSTGRES_CONNECTIONS).bind(share);
    let counts = counts.fetch_all(&mut connection).await?;
    let mut checks = Checks { counts, now_ms, random: share as u64 };
    let rows = "UNNEST($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) AS new (column1, column2, column3)";
    let texts = [UPDATE, INSERT].map(|text| text.replace("{rows}", rows));
    let mut done = 0;
    let began = Instant::now();
    while began.elapsed() < lasts {
        let columns = checks.group();
        let mut tx = connection.begin().await?;
        for text in &texts {
            let query = sqlx::query(AssertSqlSafe(text.as_str()));
            columns.iter().fold(query, |query, column| query.bind(column)).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        done += columns[0].len() as u64;
    }
    connection.close().await?;
    Ok(done)
}
