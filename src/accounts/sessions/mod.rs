//! Sessions and the one-time links that begin them.
//!
//! A secret is drawn here, handed out once, and kept as its digest. A link is redeemed by deleting it: of two who
//! come at once, one gets in. A session ends at its fixed end, when its user ends it, or with a new password.

pub mod store;

use uuid::Uuid;

use super::User;
use crate::db::{ReadTx, WriteTx};
use crate::error::Result;
use crate::id;
use crate::time::{Span, Time};

/// How long a session lasts.
pub const SESSION_LIFE: Span = Span::hours(24 * 60);
/// How long a link that was mailed is good.
pub const LINK_LIFE: Span = Span::minutes(60);
/// The longest user agent that is kept, in characters.
const USER_AGENT_CHARS: usize = 200;

/// Somebody who is signed in.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct SignedIn {
    #[sqlx(flatten)]
    pub user: User,
    pub session_uuid: Uuid,
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

/// Redeems a sign-in link: the id of its user, once.
///
/// # Errors
/// The database's.
pub async fn redeem_link(tx: &mut WriteTx, token: &str, now: Time) -> Result<Option<i64>> {
    store::redeem_link(tx, &id::digest(token), now).await
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
