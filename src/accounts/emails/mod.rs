//! Changing the address that a user signs in with.
//!
//! The wish is a row for each user, replaced by the next one, whose token is mailed to the new address. It is
//! redeemed by deleting it, and only by the user themselves: a letter to a mistyped address must not give its reader
//! the account. That no two users have one address is the table's own to decide, when the wish is redeemed; until
//! then nothing depends on whether somebody has it.

pub mod store;

use super::User;
use crate::db::{ReadTx, WriteTx, is_taken};
use crate::error::{Error, Result};
use crate::id;
use crate::time::{Span, Time};

/// How long the letter's link is good.
pub const LINK_LIFE: Span = Span::hours(24);

/// How redeeming a link ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Done: the address before, and the one from here on.
    Done { old: String, new: String },
    /// The link was used, replaced, is too old, or somebody else's.
    Over,
}

/// Stores the wish for another address and returns the token that proves who reads there.
///
/// # Errors
/// The database's.
pub async fn ask(tx: &mut WriteTx, user_id: i64, email: &str, now: Time) -> Result<String> {
    let token = id::token();
    store::create(tx, user_id, id::digest(&token), email, now + LINK_LIFE).await?;
    Ok(token)
}

/// The address that a user's link is for; the link stays good.
///
/// # Errors
/// The database's.
pub async fn look_at(tx: &mut ReadTx, user_id: i64, token: &str, now: Time) -> Result<Option<String>> {
    store::find(tx, user_id, &id::digest(token), now).await
}

/// Redeems a user's link.
///
/// # Errors
/// [`Error::Invalid`] if the address has an account by now; then nothing happened, provided that the caller's
/// transaction ends with the error.
pub async fn redeem(tx: &mut WriteTx, user: &User, token: &str, now: Time) -> Result<Change> {
    let Some(live) = super::store::lock_user(tx, user.id).await? else { return Ok(Change::Over) };
    let Some(email) = store::redeem(tx, user.id, &id::digest(token), now).await? else {
        return Ok(Change::Over);
    };
    match super::store::set_email(tx, user.id, &email).await {
        Err(Error::Database(error)) if is_taken(&error) => {
            Err(Error::invalid(format!("{email} has an account by now, so your address stays as it was.")))
        }
        set => set.map(|()| Change::Done { old: live.email, new: email }),
    }
}
