//! That the person at the browser is the user, asked before anything that could lock the user out: by the password,
//! or, where there is none, by a sign-in that is fresh.

use crate::accounts::sessions::SignedIn;
use crate::accounts::{self, User, password};
use crate::app::App;
use crate::db::WriteTx;
use crate::http::web::WebFailure;
use crate::http::web::limits::{Attempt, spend};
use crate::http::web::visitor::Visitor;
use crate::time::Time;

/// What a form can ask the user for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Password,
    /// Nothing: they signed in a moment ago.
    Nothing,
    /// To sign in again first.
    SignIn,
}

/// What was proved, to be held against the user's row before it is changed.
#[derive(Debug)]
pub struct Proof {
    user_id: i64,
    password_hash: Option<String>,
}

impl Asked {
    pub fn of(signed_in: &SignedIn, now: Time) -> Self {
        match (&signed_in.user.password_hash, signed_in.is_fresh(now)) {
            (Some(_), _) => Self::Password,
            (None, true) => Self::Nothing,
            (None, false) => Self::SignIn,
        }
    }

    pub fn is_password(self) -> bool {
        self == Self::Password
    }

    pub fn is_sign_in(self) -> bool {
        self == Self::SignIn
    }
}

/// Asks for the proof, or says what is wrong with what was `typed` for it.
///
/// # Errors
/// Too many passwords were tried.
pub async fn prove(
    app: &App,
    visitor: &Visitor,
    signed_in: &SignedIn,
    typed: &str,
    now: Time,
) -> Result<Result<Proof, &'static str>, WebFailure> {
    let user = &signed_in.user;
    let is_proved = match Asked::of(signed_in, now) {
        Asked::SignIn => return Ok(Err("Your sign-in is too long ago for this. Sign in again first.")),
        Asked::Nothing => true,
        Asked::Password => {
            spend(app, Attempt::Password { email: &user.email }, visitor.address).await?;
            let (typed, stored) = (typed.to_owned(), user.password_hash.clone());
            let judged =
                tokio::task::spawn_blocking(move || password::verify(&typed, stored.as_deref())).await;
            judged.map_err(|error| WebFailure::internal(error.to_string()))?
        }
    };
    let proof = Proof { user_id: user.id, password_hash: user.password_hash.clone() };
    Ok(if is_proved { Ok(proof) } else { Err("This is not the password that was set.") })
}

impl Proof {
    /// Locks the user's row for the change that the proof allows.
    ///
    /// # Errors
    /// The password changed since; nothing is proved any more.
    pub async fn lock(&self, tx: &mut WriteTx) -> Result<User, WebFailure> {
        let live = accounts::store::lock_user(tx, self.user_id).await?;
        live.filter(|live| live.password_hash == self.password_hash).ok_or(WebFailure::Stale)
    }
}
