//! The channels that a body assigns to a check (`CONTRACT` 3.4, "Channels").

use super::ApiFailure;
use crate::alerts::{self, Channel};
use crate::checks::Check;
use crate::db::WriteTx;

/// Assigns the channels that a body names: `*` is all, empty is none, else uuids or exact names.
///
/// # Errors
/// One of them is none of the project's, or several have its name; then nothing may be kept of the transaction.
pub async fn assign(tx: &mut WriteTx, check: &Check, wanted: &str) -> Result<(), ApiFailure> {
    let all = alerts::store::list_channels(tx, check.project_id).await?;
    let chosen: Vec<i64> = match wanted {
        "*" => all.iter().map(|channel| channel.id).collect(),
        "" => Vec::new(),
        list => list.split(',').map(|one| choose(&all, one)).collect::<Result<_, _>>()?,
    };
    alerts::store::unassign_all(tx, check.id).await?;
    for channel_id in chosen {
        alerts::store::assign(tx, check.id, channel_id).await?;
    }
    Ok(())
}

fn choose(all: &[Channel], one: &str) -> Result<i64, ApiFailure> {
    if one.is_empty() {
        return Err(ApiFailure::Invalid("empty channel identifier".to_owned()));
    }
    let named = |channel: &&Channel| channel.uuid.to_string() == one || channel.name == one;
    let mut found = all.iter().filter(named);
    match (found.next(), found.next()) {
        (Some(channel), None) => Ok(channel.id),
        (None, _) => Err(ApiFailure::Invalid(format!("invalid channel identifier: {one}"))),
        (Some(_), Some(_)) => Err(ApiFailure::Invalid(format!("non-unique channel identifier: {one}"))),
    }
}
