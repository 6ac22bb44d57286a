//! Bringing what another server watches over to this one, so that a move changes nothing but a host name.
//!
//! [`file`] and [`server`] read what Healthchecks holds (its SQLite file, or its API) into a [`Source`]; [`plan`] says,
//! without writing, what of a project is here already, what can be brought and what stands in the way; [`bring`] writes
//! it. Whoever calls owns the transactions: a project with its keys and channels is one, each check is one, so that
//! nothing is ever there by halves, and what was brought is left alone the next time.
//! A check is counted by `accounts::take_check` like any other. No flip is announced: nobody is alerted by a move, and
//! silence before it proves nothing.

pub mod badges;
pub mod bring;
mod channel;
mod check;
pub mod file;
pub mod plan;
pub mod server;
pub mod store;

use uuid::Uuid;

use crate::checks::{Change, Settings, State};
use crate::time::Time;

/// What another server holds, as far as it could be read.
#[derive(Debug, Default)]
pub struct Source {
    pub projects: Vec<OldProject>,
}

/// A project there.
#[derive(Debug, Default)]
pub struct OldProject {
    /// `None` where the server does not tell.
    pub uuid: Option<Uuid>,
    pub name: String,
    /// The mail address of its owner, in lower case.
    pub owner: Option<String>,
    pub ping_key: Option<String>,
    pub keys: Vec<OldKey>,
    pub badges: Vec<OldBadge>,
    pub channels: Vec<OldChannel>,
    pub checks: Vec<OldCheck>,
    /// What cannot be brought, and why.
    pub left: Vec<String>,
}

/// An API key.
#[derive(Clone, Debug)]
pub struct OldKey {
    pub readonly: bool,
    /// Its first characters.
    pub hint: String,
    /// As it is stored here.
    pub digest: Vec<u8>,
    /// The other server's secret, where the digest was made with it.
    pub origin: Option<Vec<u8>>,
}

/// The address of a badge, of a tag or of all checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldBadge {
    pub badge_key: String,
    pub tag: String,
    pub signature: String,
}

/// A channel of a kind that exists here.
#[derive(Clone, Debug)]
pub struct OldChannel {
    pub uuid: Uuid,
    pub kind: &'static str,
    pub name: String,
    pub config: String,
    pub on_down: bool,
    pub on_up: bool,
    pub is_disabled: bool,
}

/// A check with all that decides its next transition.
#[derive(Clone, Debug)]
pub struct OldCheck {
    pub uuid: Uuid,
    pub badge_key: Uuid,
    pub created_at: Option<Time>,
    pub settings: Settings,
    pub state: State,
    /// Its status changes, oldest first.
    pub flips: Vec<Change>,
    /// The channels that hear of it.
    pub channels: Vec<Uuid>,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(pub String);

impl OldCheck {
    /// The name, with the uuid behind it.
    pub fn title(&self) -> String {
        if self.settings.name.is_empty() {
            return self.uuid.to_string();
        }
        format!("'{}' ({})", self.settings.name, self.uuid)
    }
}
