//! Sessions, and what begins them: a password or a one-time link, and behind either the second factor; or a passkey.
//!
//! A secret is drawn here, handed out once, and kept as its digest. A link is redeemed by deleting it: of two who
//! come at once, one gets in. A session ends at its fixed end, when its user ends it, or when what it was begun with
//! changes ([`end_all_but`]). Whoever begins one locks the user's row first, so that a sign-in under way when the
//! password changes or the second factor is turned on gets nothing by what was true before.

pub mod store;

use uuid::Uuid;

use super::{User, passkeys, second_factor};
use crate::db::{ReadTx, WriteTx};
use crate::error::Result;
use crate::id;
use crate::time::{Span, Time};

/// How long a session lasts.
pub const SESSION_LIFE: Span = Span::hours(24 * 60);
/// How long a link that was mailed is good.
pub const LINK_LIFE: Span = Span::minutes(60);
/// How long the second step may take after the first.
pub const STEP_LIFE: Span = Span::minutes(5);
/// How long after it began a session counts as a fresh sign-in.
pub const FRESH_LIFE: Span = Span::minutes(30);
/// The longest user agent that is kept, in characters.
const USER_AGENT_CHARS: usize = 200;

/// Somebody who is signed in.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct SignedIn {
    #[sqlx(flatten)]
    pub user: User,
    pub session_uuid: Uuid,
    pub session_created_at: Time,
}

/// What the first step of a sign-in gives, in clear for the only time.
#[derive(Clone, Debug)]
pub enum Admitted {
    /// The secret of a session.
    In(String),
    /// The secret of a sign-in that waits for a code of the second factor.
    Step(String),
}

/// A session as its user sees it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Session {
    pub uuid: Uuid,
    pub user_agent: String,
    pub address: String,
    pub created_at: Time,
    pub expires_at: Time,
}

/// From where somebody signs in.
#[derive(Clone, Debug)]
pub struct Origin {
    pub user_agent: String,
    pub address: String,
}

impl SignedIn {
    /// Whether the session is young enough to stand in for a password where there is none.
    pub fn is_fresh(&self, now: Time) -> bool {
        (self.session_created_at..self.session_created_at + FRESH_LIFE).contains(&now)
    }
}

/// Lets in whom a password or a link proved, as `user` was read when it did: into a session, or to the second step.
/// `None` if the password changed since; then it proved nothing.
///
/// # Errors
/// The database's.
pub async fn admit(tx: &mut WriteTx, user: &User, from: &Origin, now: Time) -> Result<Option<Admitted>> {
    let live = super::store::lock_user(tx, user.id).await?;
    if live.is_none_or(|live| live.password_hash != user.password_hash) {
        return Ok(None);
    }
    if second_factor::store::find(tx, user.id).await?.is_none() {
        return begin(tx, user.id, from, now).await.map(|secret| Some(Admitted::In(secret)));
    }
    let secret = id::token();
    store::prune(tx, now).await?;
    store::create_step(tx, id::digest(&secret), user.id, now + STEP_LIFE).await?;
    Ok(Some(Admitted::Step(secret)))
}

/// Who waits for the second step with the secret, if anybody does.
///
/// # Errors
/// The database's.
pub async fn find_step(tx: &mut ReadTx, secret: &str, now: Time) -> Result<Option<User>> {
    store::find_step_user(tx, &id::digest(secret), now).await
}

/// Ends the second step with a session, once; the code was redeemed by the same transaction.
///
/// # Errors
/// The database's.
pub async fn finish(tx: &mut WriteTx, secret: &str, from: &Origin, now: Time) -> Result<Option<String>> {
    match store::redeem_step(tx, &id::digest(secret), now).await? {
        Some(user_id) => begin(tx, user_id, from, now).await.map(Some),
        None => Ok(None),
    }
}

/// Ends every way in that was open before the user changed how they sign in: sessions but the one that is kept, links,
/// sign-ins that wait, passkeys about to be made, and a change of address. The user's row was written by the same transaction before.
///
/// # Errors
/// The database's.
pub async fn end_all_but(tx: &mut WriteTx, user_id: i64, kept: Uuid) -> Result<()> {
    store::end_others(tx, user_id, kept).await?;
    store::drop_links(tx, user_id).await?;
    store::drop_steps(tx, user_id).await?;
    passkeys::store::drop_challenges(tx, user_id).await?;
    super::emails::store::drop(tx, user_id).await
}

/// Begins a session and returns its secret.
///
/// # Errors
/// The database's.
pub async fn begin(tx: &mut WriteTx, user_id: i64, from: &Origin, now: Time) -> Result<String> {
    let secret = id::token();
    store::prune(tx, now).await?;
    let session = Session {
        uuid: id::uuid(),
        user_agent: from.user_agent.chars().take(USER_AGENT_CHARS).collect(),
        address: from.address.clone(),
        created_at: now,
        expires_at: now + SESSION_LIFE,
    };
    store::create(tx, id::digest(&secret), user_id, &session).await?;
    Ok(secret)
}

/// Who is signed in with the secret, if anybody is.
///
/// # Errors
/// The database's.
pub async fn find(tx: &mut ReadTx, secret: &str, now: Time) -> Result<Option<SignedIn>> {
    store::find(tx, &id::digest(secret), now).await
}

/// Whom a sign-in link would sign in; the link stays good.
///
/// # Errors
/// The database's.
pub async fn look_at_link(tx: &mut ReadTx, token: &str, now: Time) -> Result<Option<User>> {
    store::find_link_user(tx, &id::digest(token), now).await
}

/// Redeems a sign-in link, once: what its user gets.
///
/// # Errors
/// The database's.
pub async fn redeem_link(
    tx: &mut WriteTx,
    token: &str,
    from: &Origin,
    now: Time,
) -> Result<Option<Admitted>> {
    // The user's row comes before the link's, as for whoever drops a user's links.
    let Some(user) = look_at_link(tx, token, now).await? else { return Ok(None) };
    let Some(user) = super::store::lock_user(tx, user.id).await? else { return Ok(None) };
    if !store::redeem_link(tx, &id::digest(token), now).await? {
        return Ok(None);
    }
    admit(tx, &user, from, now).await
}

/// Stores a link that lets whoever reads mail at the address make an account, and returns its token.
///
/// # Errors
/// The database's.
pub async fn sign_up_link(tx: &mut WriteTx, email: &str, now: Time) -> Result<String> {
    let token = id::token();
    store::prune(tx, now).await?;
    store::create_sign_up_link(tx, id::digest(&token), email, now + LINK_LIFE).await?;
    Ok(token)
}
