//! What bounds the program from outside, measured beside it: the disk, and the engine without a program around it.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Arguments, AssertSqlSafe, ConnectOptions, Connection, Row};
use uuid::Uuid;

use crate::Failure;
use crate::seed;

/// Pings in one transaction.
const GROUP: usize = 100;

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

/// How many pings a second SQLite alone can store, durably and with their log entries: groups of them for checks at
/// random, each read, changed and logged by key by prepared statements, from one connection.
pub async fn engine_rate(url: &str, checks: u64, lasts: Duration) -> Result<f64, Failure> {
    let path = url.strip_prefix("sqlite://").ok_or("SQLite only")?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .pragma("cache_size", "-49152")
        .pragma("wal_autocheckpoint", "65536");
    let mut connection = options.connect().await?;
    let update =
        "UPDATE checks SET seq = seq + 1, n_pings = ?, last_ping_at = ?, last_success_at = ? WHERE id = ?;";
    let insert = "INSERT INTO pings (check_id, n, received_at, kind, scheme, method, user_agent, body_bytes) \
                  VALUES (?, ?, ?, 'success', 'http', 'GET', 'curl/8.5.0', 0);";
    let (mut random, mut done) = (9, 0);
    let began = Instant::now();
    while began.elapsed() < lasts {
        let mut numbers = BTreeSet::new();
        while numbers.len() < GROUP {
            random = seed::scramble(random);
            numbers.insert(1 + random % checks);
        }
        let mut asked = SqliteArguments::default();
        for number in numbers {
            asked.add(Uuid::parse_str(&seed::uuid(number))?).map_err(|error| error.to_string())?;
        }
        let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
        let find = format!(
            "SELECT id, n_pings, last_ping_at FROM checks WHERE uuid IN ({}?)",
            "?, ".repeat(GROUP - 1)
        );
        let found = sqlx::query_with(AssertSqlSafe(find), asked).fetch_all(&mut *tx).await?;
        let (mut changes, mut entries) = (SqliteArguments::default(), SqliteArguments::default());
        for row in &found {
            let (id, n, at): (i64, i64, i64) =
                (row.try_get(0)?, row.try_get::<i64, _>(1)? + 1, row.try_get(2)?);
            for value in [n, at, at, id] {
                changes.add(value).map_err(|error| error.to_string())?;
            }
            for value in [id, n, at] {
                entries.add(value).map_err(|error| error.to_string())?;
            }
        }
        for (sql, arguments) in [(update, changes), (insert, entries)] {
            sqlx::query_with(AssertSqlSafe(sql.repeat(GROUP)), arguments).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        done += found.len();
    }
    let rate = done as f64 / began.elapsed().as_secs_f64();
    connection.close().await?;
    Ok(rate)
}
