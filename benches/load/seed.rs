//! What stands in the databases before a run: checks as the program would have left them, with a log behind each.
//!
//! Made in the engines by plain SQL on top of the program's own migrations and accounts. `flatline doctor` finds nothing
//! wrong with the result, which the smoke run asks it. Uuids and keys are scattered over their indexes, as real ones are;
//! the keys are of the right length, but not those of the uuids.

use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::Failure;

/// A day and an hour: nothing seeded is overdue during a run.
const PERIOD_MS: i64 = 86_400_000;
const GRACE_MS: i64 = 3_600_000;
/// Log rows of each check that are made one for all checks after the other, as pings come. A tree made in its own order is
/// full to the last byte, and each ping would split a page of it, as never again afterwards.
const LAST_ROUNDS: u64 = 10;

/// Checks of one project to be made.
pub struct Seed {
    /// The project's uuid, as `account create` told it.
    pub project: String,
    /// Number of the first one; see [`uuid`].
    pub first: u64,
    pub count: u64,
    /// Log rows behind each.
    pub logged: u64,
    pub floor_ms: i64,
    /// The seeded checks' last pings lie in the hour before this.
    pub now_ms: i64,
}

/// A number that looks like chance (splitmix64).
pub fn scramble(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The uuid of the check with a number; the SQL below computes the same.
pub fn uuid(number: u64) -> String {
    format!("{:08x}-0000-4000-8000-{number:012x}", number.wrapping_mul(2_654_435_761) & 0xffff_ffff)
}

/// The key of its pages.
pub fn key(number: u64) -> String {
    format!("{:08x}000040008000{number:020x}", number.wrapping_mul(2_654_435_761) & 0xffff_ffff)
}

/// Fills a database.
pub async fn fill(url: &str, seed: &Seed) -> Result<(), Failure> {
    if let Some(path) = url.strip_prefix("sqlite://") {
        let options = sqlx::sqlite::SqliteConnectOptions::new()
            .filename(path)
            .synchronous(sqlx::sqlite::SqliteSynchronous::Off)
            .pragma("cache_size", "-200000");
        let mut connection = sqlx::sqlite::SqliteConnection::connect_with(&options).await?;
        let numbers = "WITH RECURSIVE series (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM series WHERE n < {last})";
        let uuid =
            "unhex(printf('%08x', (n * 2654435761) & 4294967295) || '000040008000' || printf('%012x', n))";
        let badge =
            "unhex(printf('%08x', (n * 2654435769) & 4294967295) || '000040008001' || printf('%012x', n))";
        let key =
            "unhex(printf('%08x', (n * 2654435761) & 4294967295) || '000040008000' || printf('%020x', n))";
        let project = format!("unhex('{}')", seed.project.replace('-', ""));
        for sql in statements(
            seed,
            &[
                ("{numbers}", numbers),
                ("{uuid}", uuid),
                ("{badge}", badge),
                ("{key}", key),
                ("{project}", &project),
            ],
        ) {
            connection.execute(AssertSqlSafe(sql)).await?;
        }
        for sql in ["ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"] {
            connection.execute(sql).await?;
        }
        connection.close().await?;
    } else {
        let mut connection = sqlx::postgres::PgConnection::connect(url).await?;
        let numbers = "WITH series (n) AS (SELECT generate_series({first}::BIGINT, {last}::BIGINT))";
        let uuid = "(lpad(to_hex((n * 2654435761) & 4294967295), 8, '0') || '-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::UUID";
        let badge = "(lpad(to_hex((n * 2654435769) & 4294967295), 8, '0') || '-0000-4000-8001-' || lpad(to_hex(n), 12, '0'))::UUID";
        let key = "decode(lpad(to_hex((n * 2654435761) & 4294967295), 8, '0') || '000040008000' || lpad(to_hex(n), 20, '0'), 'hex')";
        let project = format!("'{}'::UUID", seed.project);
        for sql in statements(
            seed,
            &[
                ("{numbers}", numbers),
                ("{uuid}", uuid),
                ("{badge}", badge),
                ("{key}", key),
                ("{project}", &project),
            ],
        ) {
            connection.execute(AssertSqlSafe(sql)).await?;
        }
        for sql in ["VACUUM ANALYZE", "CHECKPOINT"] {
            connection.execute(sql).await?;
        }
        connection.close().await?;
    }
    Ok(())
}

/// Lets the time of some checks run out, each told to one channel. SQLite only.
pub async fn make_overdue(url: &str, first: u64, count: u64) -> Result<(), Failure> {
    let path = url.strip_prefix("sqlite://").ok_or("SQLite only")?;
    let mut connection = sqlx::sqlite::SqliteConnection::connect(path).await?;
    let those = format!("id BETWEEN {first} AND {}", first + count - 1);
    let texts = [
        "INSERT INTO channels (id, uuid, project_id, kind, name, config, on_down, on_up, verified_at, created_at) \
         SELECT 1000000, randomblob(16), project_id, 'email', 'operations', 'operations@example.org', TRUE, TRUE, 1, 1 \
         FROM checks WHERE id = 1 ON CONFLICT (id) DO NOTHING"
            .to_owned(),
        format!("INSERT INTO check_channels (check_id, channel_id) SELECT id, 1000000 FROM checks WHERE {those}"),
        format!(
            "UPDATE checks SET seq = seq + 1, last_ping_at = last_ping_at - 172800000, \
             last_success_at = last_success_at - 172800000, expected_at = expected_at - 172800000, \
             deadline_at = deadline_at - 172800000, wake_at = wake_at - 172800000 WHERE {those}"
        ),
    ];
    for sql in texts {
        connection.execute(AssertSqlSafe(sql)).await?;
    }
    connection.close().await?;
    Ok(())
}

/// Gives checks a past of some thirty days: each tenth was down now and then, and one in fifty is. SQLite only.
pub async fn add_history(url: &str, checks: u64) -> Result<(), Failure> {
    let path = url.strip_prefix("sqlite://").ok_or("SQLite only")?;
    let mut connection = sqlx::sqlite::SqliteConnection::connect(path).await?;
    let flip = |old: &str, new: &str, reason: &str, days: &str, which: &str| {
        format!(
            "INSERT INTO flips (check_id, flipped_at, old_status, new_status, reason) SELECT id, \
             created_at + ({days}) * 86400000, '{old}', '{new}', '{reason}' FROM checks WHERE id <= {checks} AND {which}"
        )
    };
    let mut texts = vec![
        format!("DELETE FROM flips WHERE check_id <= {checks}"),
        format!("UPDATE checks SET created_at = last_ping_at - 30 * 86400000 WHERE id <= {checks}"),
        flip("new", "up", "success", "0", "TRUE"),
    ];
    for day in [3, 11, 19] {
        texts.push(flip("up", "down", "fail", &format!("{day} + id % 7"), "id % 10 = 0"));
        texts.push(flip("down", "up", "success", &format!("{day}.5 + id % 7"), "id % 10 = 0"));
    }
    texts.push(flip("up", "down", "fail", "29", "id % 50 = 1"));
    texts.push(format!(
        "UPDATE checks SET status = 'down', told_status = 'down', tags = 'team-' || (id % 7) || ' backup' \
         WHERE id <= {checks} AND id % 50 = 1"
    ));
    for sql in texts {
        connection.execute(AssertSqlSafe(sql)).await?;
    }
    connection.close().await?;
    Ok(())
}

/// Takes back what [`make_overdue`] had told, so that no later measurement carries it out. SQLite only.
pub async fn forget_deliveries(url: &str) -> Result<(), Failure> {
    let path = url.strip_prefix("sqlite://").ok_or("SQLite only")?;
    let mut connection = sqlx::sqlite::SqliteConnection::connect(path).await?;
    connection.execute("DELETE FROM deliveries").await?;
    connection.close().await?;
    Ok(())
}

const LOG: &str = "INSERT INTO pings (check_id, n, received_at, kind, scheme, remote_addr, method, user_agent, body_bytes) \
     {rows} SELECT c.id, r.n, c.last_ping_at - ({logged} - r.n) * {period}, 'success', 'http', '203.0.113.9', \
     'GET', 'curl/8.5.0', 0 FROM checks AS c, series AS r \
     WHERE c.project_id = (SELECT id FROM projects WHERE uuid = {project}) AND {some}";

fn statements(seed: &Seed, dialect: &[(&str, &str)]) -> Vec<String> {
    let texts = [
        "INSERT INTO checks (uuid, project_id, account_id, badge_key, created_at, rev, name, slug, tags, description, \
         kind, period_ms, grace_ms, schedule, zone, methods, manual_resume, filter_subject, filter_body, \
         filter_http_body, filter_default_fail, start_kw, success_kw, failure_kw, floor_ms, seq, status, told_status, \
         n_pings, last_ping_at, last_success_at, expected_at, deadline_at, wake_at, unique_key) \
         {numbers} SELECT {uuid}, p.id, p.account_id, {badge}, {now} - 864000000, 0, 'Nightly job ' || n, \
         'nightly-job-' || n, 'bench prod', '', 'simple', {period}, {grace}, '* * * * *', 'UTC', '', FALSE, FALSE, FALSE, \
         FALSE, FALSE, '', '', '', {floor}, {logged}, 'up', 'up', {logged}, {last}, {last}, {last} + {period}, \
         {last} + {period} + {grace} + {floor}, {last} + {period} + {grace} + {floor}, {key} \
         FROM series, projects AS p WHERE p.uuid = {project} ORDER BY n",
        &LOG.replace("{some}", "r.n > 0 AND r.n <= {settled} ORDER BY c.id, r.n"),
        &LOG.replace("{some}", "r.n > {settled} ORDER BY r.n, c.id"),
        "UPDATE accounts SET checks_used = checks_used + {count} \
         WHERE id = (SELECT account_id FROM projects WHERE uuid = {project})",
    ];
    let numbers = dialect.iter().find(|(name, _)| *name == "{numbers}").map_or("", |(_, text)| text);
    let rows = numbers.replace("{first}", "0").replace("{last}", &seed.logged.to_string());
    let numbers_of_checks = numbers
        .replace("{first}", &seed.first.to_string())
        .replace("{last}", &(seed.first + seed.count - 1).to_string());
    texts
        .iter()
        .map(|text| {
            let mut sql = text.replace("{rows}", &rows).replace("{numbers}", &numbers_of_checks);
            for (name, value) in dialect {
                sql = sql.replace(name, value);
            }
            sql.replace("{last}", "({now} - n % 3600000)")
                .replace("{now}", &seed.now_ms.to_string())
                .replace("{period}", &PERIOD_MS.to_string())
                .replace("{grace}", &GRACE_MS.to_string())
                .replace("{floor}", &seed.floor_ms.to_string())
                .replace("{logged}", &seed.logged.to_string())
                .replace("{settled}", &seed.logged.saturating_sub(LAST_ROUNDS).to_string())
                .replace("{count}", &seed.count.to_string())
        })
        .collect()
}
