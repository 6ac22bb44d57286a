//! `/projects/<uuid>/events` and `/wall/<key>/events`: tells an open page what changed, over server-sent events, so that
//! it looks again.
//!
//! An event names checks, as pages do, and holds nothing else; what the page then shows it asks for as itself ([`Part`]), so that
//! there is one rendering. The first event says at which version the project stands: who comes back after a sleep or a
//! cut line sees whether anything was missed. Before each event it is looked up again whether the caller may still
//! look. A page that takes nothing is hung up on; all end when news does, at the latest when the program stops.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use askama::filters::HtmlSafe;
use axum::Extension;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::mpsc::{self, Sender};
use uuid::Uuid;

use super::WebFailure;
use super::visitor::{Need, Visitor};
use crate::accounts::walls;
use crate::app::App;
use crate::checks::UniqueKey;
use crate::checks::history::store as history_store;
use crate::db::{self, Changed, ReadTx, Watch};
use crate::http::connection::HangUp;
use crate::http::limits;
use crate::rate::Place;
use crate::time::Time;

/// The shortest time between two events of a page; what comes meanwhile is merged.
const PACE: Duration = Duration::from_secs(1);
/// How often a page that hears nothing is written to, which is how it shows that it is closed: clients may close
/// their side of a connection and still listen.
const BEAT: Duration = Duration::from_secs(10);
/// After so many beats it is looked up whether a page that hears nothing may still listen.
const BEATS_TO_LOOK: u32 = 4;
/// How long a page may take to take an event.
const PATIENCE: Duration = Duration::from_secs(20);
/// When a browser tries again after the line was cut.
const RETRY: Duration = Duration::from_secs(2);
/// What a page's script asks for: see [`Part`].
const PART: HeaderName = HeaderName::from_static("x-part");

/// How much of a page is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it, as people open it.
    Page,
    /// What can change while it is open.
    Live,
    /// The same, of a list only the rows of these checks.
    Rows(BTreeSet<UniqueKey>),
}

impl Part {
    /// Reads the header; what cannot be read asks for everything that can change.
    pub fn of(headers: &HeaderMap) -> Self {
        let Some(part) = headers.get(PART) else { return Self::Page };
        let keys = part.to_str().unwrap_or_default().split(',').map(|key| key.parse().ok());
        keys.collect::<Option<BTreeSet<UniqueKey>>>().map_or(Self::Live, Self::Rows)
    }

    /// Whether the row of a check is asked for.
    pub fn has(&self, check: UniqueKey) -> bool {
        match self {
            Self::Page | Self::Live => true,
            Self::Rows(checks) => checks.contains(&check),
        }
    }
}

/// How things stood when a page was rendered, for its script.
pub struct Standing {
    /// Of the project: see [`history_store::version`].
    pub version: String,
    pub now: Time,
    /// When the page will show something else even if nothing comes.
    pub again: Option<Time>,
}

/// Attributes for an element of the page.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "data-version=\"{}\" data-now=\"{}\"", self.version, self.now.0)?;
        self.again.map_or(Ok(()), |again| write!(f, " data-again=\"{}\"", again.0))
    }
}

impl HtmlSafe for Standing {}

/// Who listens, and by what right.
enum Listener {
    Member { visitor: Visitor, project: Uuid },
    Wall { key: String },
}

impl Listener {
    /// The project, and the subject that open pages are counted for, as long as the listener may look.
    async fn look(&self, app: &App, tx: &mut ReadTx) -> Result<(i64, String), WebFailure> {
        match self {
            Self::Member { visitor, project } => {
                let opened = visitor.open(tx, *project, Need::Look, app.clock.now()).await?;
                Ok((opened.membership.project.id, format!("user {}", opened.signed_in.user.id)))
            }
            Self::Wall { key } => {
                let shown = walls::find(tx, key).await?.ok_or(WebFailure::NotFound)?;
                Ok((shown.project.id, format!("wall {}", shown.project.id)))
            }
        }
    }

    async fn may_look(&self, app: &App) -> bool {
        db::read!(app.db, |tx| self.look(app, tx).await).is_ok()
    }
}

pub async fn of_project(
    State(app): State<Arc<App>>,
    Path(project): Path<Uuid>,
    Extension(hang_up): Extension<HangUp>,
    visitor: Visitor,
) -> Result<Response, WebFailure> {
    listen(app, Listener::Member { visitor, project }, hang_up).await
}

pub async fn of_wall(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    Extension(hang_up): Extension<HangUp>,
) -> Result<Response, WebFailure> {
    listen(app, Listener::Wall { key }, hang_up).await
}

async fn listen(app: Arc<App>, listener: Listener, hang_up: HangUp) -> Result<Response, WebFailure> {
    let (project_id, subject) = db::read!(app.db, |tx| listener.look(&app, tx).await)?;
    let place = match app.rates.live_page(&subject) {
        Ok(place) => place,
        Err(refusal) => return Ok(limits::refused(&refusal)),
    };
    let watch = app.db.news().watch(project_id).await?;
    // After the watch began, so that what changes from here on is heard.
    let version = db::read!(app.db, |tx| history_store::version(tx, project_id).await)
        .map_err(|error: crate::error::Error| WebFailure::from(error))?;
    let (lines, mut taken) = mpsc::channel(1);
    tokio::spawn(speak(app, listener, watch, place, version, lines, hang_up));
    let stream =
        stream::poll_fn(move |context| taken.poll_recv(context).map(|line| line.map(Ok::<_, Infallible>)));
    let mut response = Sse::new(stream).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that gather what they pass on would keep events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

/// Passes news on until the page is closed, may not look any more, or takes nothing.
async fn speak(
    app: Arc<App>,
    listener: Listener,
    mut watch: Watch,
    _place: Place,
    version: String,
    lines: Sender<Event>,
    hang_up: HangUp,
) {
    let mut event = Event::default().event("version").data(version).retry(RETRY);
    let mut beats = 0;
    loop {
        match lines.send_timeout(event, PATIENCE).await {
            Ok(()) => {}
            Err(SendTimeoutError::Timeout(_)) => return hang_up.now(),
            Err(SendTimeoutError::Closed(_)) => return,
        }
        tokio::time::sleep(PACE).await;
        event = tokio::select! {
            changed = watch.next() => match changed {
                Some(changed) => {
                    beats = 0;
                    told(changed)
                }
                None => return,
            },
            () = tokio::time::sleep(BEAT) => {
                beats += 1;
                Event::default().comment("quiet")
            }
            () = lines.closed() => return,
        };
        if beats % BEATS_TO_LOOK == 0 && !listener.may_look(&app).await {
            return;
        }
    }
}

fn told(changed: Changed) -> Event {
    let data = match changed {
        Changed::All => "all".to_owned(),
        Changed::Checks(checks) => {
            checks.iter().map(|uuid| UniqueKey::of(*uuid).to_string()).collect::<Vec<_>>().join(",")
        }
    };
    Event::default().event("changed").data(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_how_much_of_it_is_asked_for() {
        let part = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(PART, value.parse().unwrap());
            Part::of(&headers)
        };
        let one = UniqueKey::of(Uuid::from_u128(1));
        assert_eq!(Part::of(&HeaderMap::new()), Part::Page);
        assert_eq!(part("all"), Part::Live);
        assert_eq!(part(&one.to_string()), Part::Rows(BTreeSet::from([one])));
        assert!(
            part(&one.to_string()).has(one)
                && !part(&one.to_string()).has(UniqueKey::of(Uuid::from_u128(2 << 64)))
        );
        assert_eq!(part("x"), Part::Live);
    }
}
