//! Making an account: its user, first project, keys, and the one channel everybody starts with, the user's own
//! address.

use base16ct::lower;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

use crate::accounts::{self, projects};
use crate::alerts::send::email;
use crate::alerts::{self, NewChannel};
use crate::config::{Plan, Plans};
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::id;
use crate::mail::Address;
use crate::time::{Span, Time};

/// How long the first sign-in link is good.
pub const SIGN_IN_LINK_LIFE: Span = Span::hours(72);
/// The plan of the instance's first account.
const OPERATOR_PLAN: &str = "unlimited";

/// Who asks for an account.
#[derive(Clone, Debug)]
pub struct Applicant {
    /// Lower-case.
    pub email: Address,
    /// Argon2's PHC string, hashed before the transaction began.
    pub password_hash: Option<String>,
    /// The plan asked for; `None` gives the operator's to the first account and the default to others.
    pub plan: Option<String>,
    /// Whether the account may become the operator's, if the instance has none: whoever can run commands on the
    /// machine may, and who proved as much on the web.
    pub may_operate: bool,
}

/// A new account, with its secrets in clear for the only time.
#[derive(Clone, Debug)]
pub struct NewAccount {
    pub user_id: i64,
    pub email: String,
    pub plan: String,
    pub project: Uuid,
    pub api_key: String,
    pub api_key_readonly: String,
    pub ping_key: String,
    /// Present where there is no password.
    pub sign_in_token: Option<String>,
}

/// Makes the account. The first one on an instance becomes its operator's, decided by a guarded write.
///
/// # Errors
/// The address has an account already, or there is no such plan.
pub async fn sign_up(
    tx: &mut WriteTx,
    plans: &Plans,
    default_plan: &str,
    applicant: &Applicant,
    now: Time,
) -> Result<NewAccount> {
    let find = |name: &str| {
        plans
            .get(name)
            .ok_or_else(|| Error::invalid(format!("there is no plan '{name}'; there are {}", plans.names())))
    };
    let taken = || Error::invalid(format!("{} has an account already", applicant.email));
    if accounts::store::find_user_by_email(tx, applicant.email.as_str()).await?.is_some() {
        return Err(taken());
    }
    accounts::instance(tx, now).await?;
    let plan = find(applicant.plan.as_deref().unwrap_or(default_plan))?;
    let account_id = accounts::store::create_account(tx, id::uuid(), &plan.name, &plan.digest(), now).await?;
    let is_operator = applicant.may_operate && accounts::store::claim_operator(tx, account_id).await?;
    let plan: &Plan = match applicant.plan {
        None if is_operator => find(OPERATOR_PLAN)?,
        _ => plan,
    };
    accounts::store::set_plan(tx, account_id, &plan.name, &plan.digest()).await?;
    let email = applicant.email.to_string();
    let user_id = accounts::store::create_user(
        tx,
        id::uuid(),
        account_id,
        &email,
        applicant.password_hash.clone(),
        now,
    )
    .await?
    .ok_or_else(taken)?;
    let sign_in_token = match applicant.password_hash {
        Some(_) => None,
        None => Some(sign_in_link(tx, user_id, SIGN_IN_LINK_LIFE, now).await?),
    };
    let first = first_project(tx, account_id, user_id, &applicant.email, now).await?;
    let FirstProject { project, api_key, api_key_readonly, ping_key } = first;
    let plan = plan.name.clone();
    Ok(NewAccount { user_id, email, plan, project, api_key, api_key_readonly, ping_key, sign_in_token })
}

struct FirstProject {
    project: Uuid,
    api_key: String,
    api_key_readonly: String,
    ping_key: String,
}

async fn first_project(
    tx: &mut WriteTx,
    account_id: i64,
    user_id: i64,
    email: &Address,
    now: Time,
) -> Result<FirstProject> {
    let project = projects::create(tx, account_id, user_id, "My project", now).await?;
    let (api_key, api_key_readonly) = (id::api_key(), id::api_key_readonly());
    projects::create_key(tx, project.id, "first", false, &api_key, now).await?;
    projects::create_key(tx, project.id, "first, read-only", true, &api_key_readonly, now).await?;
    own_channel(tx, project.id, email, now).await?;
    let ping_key = project.ping_key.unwrap_or_default();
    Ok(FirstProject { project: project.uuid, api_key, api_key_readonly, ping_key })
}

/// The channel that a new project begins with: its owner's own address.
///
/// # Errors
/// The database's.
pub async fn own_channel(tx: &mut WriteTx, project_id: i64, email: &Address, now: Time) -> Result<()> {
    let channel = NewChannel {
        uuid: id::uuid(),
        project_id,
        kind: email::NAME,
        name: email.to_string(),
        config: email::config(email),
        on_down: true,
        on_up: true,
        verified_at: Some(now),
    };
    alerts::store::create_channel(tx, channel, now).await?;
    Ok(())
}

/// Stores a link that signs the user in once, within `life`, and returns its token.
///
/// # Errors
/// The database's.
pub async fn sign_in_link(tx: &mut WriteTx, user_id: i64, life: Span, now: Time) -> Result<String> {
    let token = id::token();
    accounts::store::create_sign_in_link(tx, id::digest(&token), user_id, now + life).await?;
    Ok(token)
}

/// The token with which the operator's account can be claimed on the web; the log has it as long as there is none.
pub fn claim_token(secret: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    mac.update(b"operator\0");
    lower::encode_string(&mac.finalize().into_bytes()[..20])
}

/// Whether it is that token.
pub fn is_claim(secret: &[u8], token: &str) -> bool {
    use subtle::ConstantTimeEq;
    bool::from(claim_token(secret).as_bytes().ct_eq(token.as_bytes()))
}
