//! Passkeys (WebAuthn): a key in somebody's device or password manager, which signs them in alone, in the place of
//! password, letter and code.
//!
//! A browser is given a challenge, which is a row: bound to the secret in that browser's cookie, and for a new passkey
//! to the user who proved themselves, good for [`CHALLENGE_LIFE`], and redeemed by the first answer that comes, be it
//! right or wrong. What an answer is worth is [`answer`]'s to say, before the transaction; what it changes is decided
//! here, with the user's row locked first: how many passkeys one user has, and that a passkey's count of signatures
//! only goes forward. A private key is never here, and a public one is no secret.

mod answer;
mod key;
mod site;
pub mod store;

pub use answer::{Assertion, Credential, Proved, read_new};
pub use key::ALGORITHMS;
pub use site::{Site, challenge_of};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

use super::User;
use super::sessions::{self, Origin};
use crate::db::WriteTx;
use crate::error::Result;
use crate::id;
use crate::time::{Span, Time};

/// How long an answer to a challenge is taken.
pub const CHALLENGE_LIFE: Span = Span::minutes(5);
/// The longest name of a passkey, in characters.
pub const NAME_CHARS: usize = 60;

/// A passkey as its user sees it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Passkey {
    pub uuid: Uuid,
    /// The id by which authenticators know it.
    pub credential: Vec<u8>,
    pub name: String,
    pub created_at: Time,
    pub last_used_at: Option<Time>,
}

/// A passkey as answers are held against it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Known {
    pub uuid: Uuid,
    pub user_id: i64,
    pub user_uuid: Uuid,
    pub public_key: Vec<u8>,
}

/// Why an answer proves nothing: for the log, and never for whoever sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("it cannot be read")]
    Unreadable,
    #[error("it answers another kind of question")]
    OtherCeremony,
    #[error("another origin asked for it")]
    OtherOrigin,
    #[error("a page inside another site's asked for it")]
    InsideAnother,
    #[error("it is for another site")]
    OtherSite,
    #[error("nobody was at the authenticator")]
    NobodyThere,
    #[error("the authenticator did not verify who was there")]
    Unverified,
    #[error("what it says of copies contradicts itself")]
    Contradiction,
    #[error("its key is of no kind that was asked for")]
    UnknownKey,
    #[error("its attestation does not hold")]
    Attestation,
    #[error("there is no such passkey")]
    NoPasskey,
    #[error("the passkey is another user's")]
    OtherUser,
    #[error("the signature is not by the passkey's key")]
    Signature,
    #[error("its challenge was answered, is too old, or is not this browser's")]
    Challenge,
    #[error("the count of signatures did not go forward, so the passkey may have been copied")]
    Count,
}

/// How storing a new passkey ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    Done,
    /// The user has as many as there may be.
    Full,
    /// It is here already.
    Known,
}

/// What an answer is to: a challenge, and the browser that it was given to.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    pub challenge: &'a str,
    /// The digest of the secret in the browser's cookie.
    pub browser: &'a [u8],
}

/// Draws a challenge for a browser: for a new passkey of the user, whose row is locked, or, without one, for a
/// sign-in.
///
/// # Errors
/// The database's.
pub async fn ask(tx: &mut WriteTx, browser: &[u8], user_id: Option<i64>, now: Time) -> Result<String> {
    let challenge = URL_SAFE_NO_PAD.encode(id::bytes::<32>());
    store::prune(tx, now).await?;
    store::create_challenge(tx, id::digest(&challenge), browser, user_id, now + CHALLENGE_LIFE).await?;
    Ok(challenge)
}

/// Redeems the challenge of an answer, and stores the passkey that it is about, up to `limit` for each user. The user's
/// row is locked.
///
/// # Errors
/// The database's.
pub async fn add(
    tx: &mut WriteTx,
    user: &User,
    asked: &Asked<'_>,
    made: &Result<Credential, Flaw>,
    (name, limit): (&str, i64),
    now: Time,
) -> Result<Result<Added, Flaw>> {
    if !store::redeem_challenge(tx, asked, Some(user.id), now).await? {
        return Ok(Err(Flaw::Challenge));
    }
    let made = match made {
        Ok(made) => made,
        Err(flaw) => return Ok(Err(*flaw)),
    };
    if !store::take_place(tx, user.id, limit).await? {
        return Ok(Ok(Added::Full));
    }
    if store::create(tx, user.id, made, name, now).await? {
        return Ok(Ok(Added::Done));
    }
    store::give_back_place(tx, user.id).await?;
    Ok(Ok(Added::Known))
}

/// Redeems the challenge of an answer, and begins a session for whom it proves; its secret.
///
/// # Errors
/// The database's.
pub async fn sign_in(
    tx: &mut WriteTx,
    asked: &Asked<'_>,
    judged: &Result<Proved, Flaw>,
    from: &Origin,
    now: Time,
) -> Result<Result<String, Flaw>> {
    // The user's row comes before the challenge's, as for whoever drops a user's challenges.
    if let Ok(proved) = judged {
        super::store::lock_user(tx, proved.user_id).await?;
    }
    if !store::redeem_challenge(tx, asked, None, now).await? {
        return Ok(Err(Flaw::Challenge));
    }
    let proved = match judged {
        Ok(proved) => proved,
        Err(flaw) => return Ok(Err(*flaw)),
    };
    if store::advance(tx, proved, now).await? {
        return sessions::begin(tx, proved.user_id, from, now).await.map(Ok);
    }
    let left = store::list(tx, proved.user_id).await?;
    let is_left = left.iter().any(|one| one.uuid == proved.passkey);
    Ok(Err(if is_left { Flaw::Count } else { Flaw::NoPasskey }))
}

/// Removes a passkey of the user, whose row is locked; its name, if it was there. What was begun with it is the
/// caller's to end.
///
/// # Errors
/// The database's.
pub async fn remove(tx: &mut WriteTx, user_id: i64, passkey: Uuid) -> Result<Option<String>> {
    let removed = store::delete(tx, user_id, passkey).await?;
    if removed.is_some() {
        store::give_back_place(tx, user_id).await?;
    }
    Ok(removed)
}
