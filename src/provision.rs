//! Making a check by its first ping (`create=1`): once, however many pings arrive first.

use uuid::Uuid;

use crate::accounts::Account;
use crate::alerts;
use crate::checks::{self, Check, Created, Likeness, Settings};
use crate::db::WriteTx;
use crate::error::Result;
use crate::time::Time;

/// What the project now has under the slug.
#[derive(Clone, Debug)]
pub enum Provisioned {
    Made(Box<Check>),
    Found(Box<Check>),
    /// The plan's number of checks is used up.
    NoRoom,
}

/// Makes a check whose name and slug are `slug`, with the defaults and all the project's channels, unless there
/// is one with that slug.
///
/// # Errors
/// The database's.
pub async fn provision(
    tx: &mut WriteTx,
    account: &Account,
    project_id: i64,
    slug: &str,
    ids: (Uuid, Uuid),
    now: Time,
) -> Result<Provisioned> {
    let settings = Settings { name: slug.to_owned(), slug: slug.to_owned(), ..Settings::default() };
    let like = Likeness { slug: Some(slug.to_owned()), ..Likeness::default() };
    match checks::find_or_create(tx, account, project_id, &like, &settings, ids, now).await? {
        Created::NoRoom => Ok(Provisioned::NoRoom),
        Created::Existing(check) => Ok(Provisioned::Found(check)),
        Created::Check(check) => {
            for channel in alerts::store::list_channels(tx, project_id).await? {
                alerts::store::assign(tx, check.id, channel.id).await?;
            }
            Ok(Provisioned::Made(check))
        }
    }
}
