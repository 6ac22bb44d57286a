//! Writing flips: the one place that does, with the deliveries of each, in the transaction that changed the status.
//!
//! One ping flips one check; a run of the sweep may flip very many, which are written together.

pub mod store;

use std::collections::HashMap;

use crate::checks::flips::NewFlip;
use crate::checks::{self, Check, Status};
use crate::db::WriteTx;
use crate::error::Result;
use crate::time::Time;
use store::NewDelivery;

/// Whether a change of status is worth a message (DESIGN 4).
pub fn is_told(old: Status, new: Status) -> bool {
    matches!(
        (old, new),
        (Status::New | Status::Up | Status::Paused, Status::Down) | (Status::Down, Status::Up)
    )
}

/// Writes the flips of different checks and, where a change is worth telling, a delivery for each of its check's channels.
/// The checks' rows were written by the same transaction, which keeps the flips of one check in order.
///
/// # Errors
/// The database's.
pub async fn flipped(tx: &mut WriteTx, flips: &[NewFlip<'_>], now: Time) -> Result<()> {
    let written = checks::flips::store::create(tx, flips).await?;
    let ids: HashMap<i64, i64> = written.into_iter().map(|row| (row.check_id, row.id)).collect();
    for status in [Status::Down, Status::Up] {
        let told = flips.iter().filter(|flip| flip.change.new == status && is_told(flip.change.old, status));
        let told: Vec<(i64, &Check)> =
            told.filter_map(|flip| Some((*ids.get(&flip.check.id)?, flip.check))).collect();
        tell(tx, &told, status, now).await?;
    }
    Ok(())
}

/// Adds a delivery of each flip, given by its id, to `status`, for each channel that hears of that.
///
/// # Errors
/// The database's.
pub async fn tell(tx: &mut WriteTx, flips: &[(i64, &Check)], status: Status, now: Time) -> Result<()> {
    let flips: HashMap<i64, (i64, &Check)> = flips.iter().map(|flip| (flip.1.id, *flip)).collect();
    let checks: Vec<i64> = flips.keys().copied().collect();
    let hear = store::list_told(tx, &checks, status).await?;
    let new = hear.into_iter().filter_map(|row| {
        let &(flip_id, check) = flips.get(&row.check_id)?;
        Some(NewDelivery { flip_id, channel_id: row.channel_id, check, tells: status })
    });
    store::create_deliveries(tx, &new.collect::<Vec<_>>(), now).await
}
