//! The dashboard's list of a project's checks as its owner loads it, beside the route that only says OK.
//!
//! One request at a time, the two taking turns, so that both meet the same minute of the machine. The list goes out
//! packed, as browsers ask for it.

use std::time::{Duration, Instant};

use flatline::accounts::{self, sessions};
use flatline::db::Db;
use flatline::time::Clock;

use crate::Failure;
use crate::report::Aim;
use crate::scenarios::Sample;
use crate::seed;
use crate::stage::Database;

const OWNER: &str = "open@example.org";
/// What the list may take at the median, in milliseconds.
const MEDIAN_MS: f64 = 30.0;

/// Loads the list so often; the database holds one project's checks.
pub async fn measure(database: &Database, checks: u64, rounds: usize) -> Result<Vec<Sample>, Failure> {
    seed::add_history(&database.url, checks).await?;
    let (project, cookie) = sign_in(database).await?;
    let server = database.serve()?;
    let base = format!("http://{}", server.address);
    // Another part of the run may have installed it before; either way it is there.
    drop(rustls::crypto::ring::default_provider().install_default());
    let client = reqwest::Client::builder().no_proxy().build()?;
    let list = client
        .get(format!("{base}/projects/{project}"))
        .header("Cookie", cookie)
        .header("Accept-Encoding", "gzip");
    let ok = client.get(format!("{base}/healthz"));
    let mut took = [Vec::with_capacity(rounds), Vec::with_capacity(rounds)];
    let mut bytes = 0;
    // The first few fill what the server remembers of its statements.
    for round in 0..rounds + rounds / 10 {
        for (place, request) in [&ok, &list].into_iter().enumerate() {
            let began = Instant::now();
            let answer = request.try_clone().ok_or("a request without a body")?.send().await?;
            if answer.status() != 200 {
                return Err(format!("{} answered {}", answer.url().path(), answer.status()).into());
            }
            bytes = answer.bytes().await?.len();
            if round >= rounds / 10 {
                took[place].push(began.elapsed());
            }
        }
    }
    let [ok, list] = took.map(median_ms);
    Ok(vec![Sample {
        work: format!("the page of {checks} checks, SQLite, median"),
        aim: Aim::FigureAtMost(MEDIAN_MS),
        ratio: Some(list / ok),
        figure: list,
        unit: "ms",
        note: format!("OK {ok:.2} ms; {bytes} bytes packed"),
    }])
}

fn median_ms(mut took: Vec<Duration>) -> f64 {
    took.sort_unstable();
    took.get(took.len() / 2).map_or(f64::NAN, |median| median.as_secs_f64() * 1000.0)
}

/// The owner's project, and the cookie of a session of theirs.
pub async fn sign_in(database: &Database) -> Result<(uuid::Uuid, String), Failure> {
    let db = Db::open(&database.url.parse()?).await?;
    let mut tx = db.begin_write().await?;
    let user = accounts::store::find_user_by_email(&mut tx, OWNER).await?.ok_or("no owner")?;
    let memberships = accounts::store::list_memberships(&mut tx, user.id).await?;
    let project = memberships.first().ok_or("no project")?.project.uuid;
    let origin = sessions::Origin { user_agent: String::new(), address: String::new() };
    let secret = sessions::begin(&mut tx, user.id, &origin, Clock::System.now()).await?;
    tx.commit().await?;
    db.close().await;
    Ok((project, format!("flatline_session={secret}")))
}
