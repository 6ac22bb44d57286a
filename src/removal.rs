//! Removing things, and giving back what the plan counted.

use crate::accounts;
use crate::checks;
use crate::db::WriteTx;
use crate::error::{Error, Result};

/// Deletes a check with its log, flips and deliveries, and gives its place back. The account row is taken first.
///
/// # Errors
/// [`Error::Outdated`] if it is no longer that account's; then nothing is given back.
pub async fn delete_check(tx: &mut WriteTx, check: &checks::Check) -> Result<()> {
    accounts::give_back_check(tx, check.account_id).await?;
    let deleted = checks::store::delete(tx, check.id, check.account_id).await?;
    if deleted { Ok(()) } else { Err(Error::Outdated) }
}
