//! Stand-in until the real room is merged: simple periods only.
use crate::time::{Span, Time};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    Simple { period: Span },
    Cron,
}

impl Schedule {
    pub fn next_after(&self, after: Time) -> Option<Time> {
        match self {
            Self::Simple { period } => Some(after + *period),
            Self::Cron => None,
        }
    }
}
