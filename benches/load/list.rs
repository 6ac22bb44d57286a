//! The list of a project's checks: `GET checks/` over HTTP, beside the one query that reads its rows.
//!
//! Both are asked in turn, on the same database, so that a slow moment of the machine hits both. The query is the
//! program's own, run in this process: what the call costs above it is its key, the channels, the JSON and the way.

use std::time::Instant;

use flatline::db::Db;
use flatline::{accounts, checks};

use crate::Failure;
use crate::report::Aim;
use crate::scenarios::Sample;
use crate::stage::Database;

/// How often each is asked, after a few times to warm up.
const TURNS: usize = 40;
const WARM_UP: usize = 5;

/// Measures a database whose first account's project holds `count` checks.
pub async fn measure(database: &Database, count: u64) -> Result<Sample, Failure> {
    let server = database.serve()?;
    let db = Db::open(&database.settings()?.database_url.parse()?).await?;
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("http://{}/api/v3/checks/", server.address);
    let (mut queries, mut calls, mut bytes) = (Vec::new(), Vec::new(), 0);
    for turn in 0..WARM_UP + TURNS {
        let (began, rows) = (Instant::now(), query(&db, &database.api_key).await?);
        let queried = began.elapsed();
        let began = Instant::now();
        let answer = client.get(&url).header("X-Api-Key", &database.api_key).send().await?;
        let body = answer.error_for_status()?.bytes().await?;
        let called = began.elapsed();
        if rows as u64 != count {
            return Err(format!("{rows} checks instead of {count}").into());
        }
        if turn >= WARM_UP {
            queries.push(queried.as_secs_f64() * 1000.0);
            calls.push(called.as_secs_f64() * 1000.0);
            bytes = body.len();
        }
    }
    db.close().await;
    let (query, call) = (median(queries), median(calls));
    Ok(Sample {
        work: format!("the API's list of {count} checks, {}", database.engine.name()),
        aim: Aim::RatioAtMost(2.0),
        ratio: Some(call / query),
        figure: call,
        unit: "ms",
        note: format!("the query alone {query:.1} ms; {} kB", bytes / 1000),
    })
}

/// Reads the checks of the key's project; how many there are.
async fn query(db: &Db, key: &str) -> Result<usize, Failure> {
    let mut tx = db.begin_read().await?;
    let key = accounts::find_key(&mut tx, key).await?.ok_or("the key is not there")?;
    Ok(checks::store::list(&mut tx, key.project_id).await?.len())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
