//! What bounds the program from outside, measured beside it: the disk, and the engine without a program around it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Connection, PgConnection};

use crate::Failure;
use crate::seed;

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

/// Milliseconds that one durable write of 4 kB takes, half of the time and 99 times of 100.
pub fn durable_write_ms(folder: &Path) -> Result<(f64, f64), Failure> {
    let path = folder.join("disk");
    let mut file = std::fs::File::create(&path)?;
    let mut took = Vec::new();
    for _ in 0..300 {
        file.write_all(&[7; 4096])?;
        let began = Instant::now();
        file.sync_data()?;
        took.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    std::fs::remove_file(path)?;
    took.sort_by(f64::total_cmp);
    Ok((took[took.len() / 2], took[took.len() * 99 / 100]))
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
