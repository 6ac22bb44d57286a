//! Which checks had pings refused, why, and what would help.

use super::{Stamp, Wall, grouped, short};
use crate::checks::Signal;
use crate::checks::holdings::Named;
use crate::recorder::{Recorder, Refused};

/// A check of which pings were refused.
pub struct RefusedRow {
    pub path: String,
    pub name: String,
    pub accepted: String,
    pub refused: String,
    pub last: Stamp,
    pub why: String,
}

/// The account's checks of which this process refused pings, most refused first.
pub fn rows(recorder: &Recorder, checks: &[Named], wall: &Wall) -> Vec<RefusedRow> {
    let mut refused: Vec<(Refused, &Named)> = checks
        .iter()
        .filter_map(|check| recorder.refused(check.uuid).map(|refused| (refused, check)))
        .collect();
    refused.sort_by_key(|(refused, _)| std::cmp::Reverse(refused.pings));
    refused.into_iter().map(|(refused, check)| row(&refused, check, wall)).collect()
}

fn row(refused: &Refused, check: &Named, wall: &Wall) -> RefusedRow {
    RefusedRow {
        path: format!("/checks/{}", check.uuid),
        name: if check.name.is_empty() { check.uuid.to_string() } else { check.name.clone() },
        accepted: grouped(check.n_pings),
        refused: grouped(i64::try_from(refused.pings).unwrap_or(i64::MAX)),
        last: wall.stamp(refused.last_at),
        why: why(refused),
    }
}

fn why(refused: &Refused) -> String {
    let floor = short(refused.min_interval);
    match refused.signal {
        Signal::Start => format!(
            "It was started again and again. Runs that overlap need a run id each (rid); else one start in {floor} is \
             enough."
        ),
        Signal::Log => format!(
            "It logs more often than once in {floor}. Send the lines with the ping that ends the run."
        ),
        _ => format!(
            "It says the same more often than once in {floor}. Once is enough; or give each sender a check of \
             its own."
        ),
    }
}
