//! What a project has of its own: a name, a ping key, API keys, and an end.
//!
//! Keys are drawn by the caller, shown once, and kept as digests; how many there are is a column of the project,
//! moved by the write that makes or revokes one, so that no burst makes more than [`KEYS_MAX`]. Deleting and bringing
//! back concern checks too: `removal` does both.

pub mod store;

use uuid::Uuid;

use super::{Project, Role, store as accounts};
use crate::db::WriteTx;
use crate::error::{Error, Result};
use crate::id;
use crate::time::Time;

/// API keys of one project.
pub const KEYS_MAX: i64 = 50;
/// The longest name, in characters.
pub const NAME_CHARS: usize = 60;

/// A name that a project may have.
///
/// # Errors
/// A sentence for whoever typed it.
pub fn name(typed: &str) -> Result<String, String> {
    let name = typed.trim();
    match name.chars().count() {
        0 => Err("A project needs a name.".to_owned()),
        1..=NAME_CHARS if !name.chars().any(char::is_control) => Ok(name.to_owned()),
        1..=NAME_CHARS => Err("A name is one line.".to_owned()),
        _ => Err(format!("A name has at most {NAME_CHARS} characters.")),
    }
}

/// Makes a project of an account, with its user as the owner and a ping key; the row as it was stored.
///
/// # Errors
/// The database's.
pub async fn create(
    tx: &mut WriteTx,
    account_id: i64,
    owner_id: i64,
    name: &str,
    now: Time,
) -> Result<Project> {
    add(tx, fresh(account_id, name), owner_id, now).await
}

/// A project with keys of its own that is not stored yet; its `id` is 0.
pub fn fresh(account_id: i64, name: &str) -> Project {
    Project {
        id: 0,
        uuid: id::uuid(),
        account_id,
        name: name.to_owned(),
        ping_key: Some(id::ping_key()),
        badge_key: id::uuid(),
    }
}

/// Stores a project, which gets its `id`, with its owner as the first member.
///
/// # Errors
/// Another project has the uuid or the ping key; the database's.
pub async fn add(tx: &mut WriteTx, mut project: Project, owner_id: i64, now: Time) -> Result<Project> {
    project.id = accounts::create_project(tx, &project, now).await?;
    accounts::create_member(tx, project.id, owner_id, Role::Owner, now).await?;
    Ok(project)
}

/// Stores an API key under a name; whether there was room for one more.
///
/// # Errors
/// The project is gone, or the database's.
pub async fn create_key(
    tx: &mut WriteTx,
    project_id: i64,
    name: &str,
    readonly: bool,
    key: &str,
    now: Time,
) -> Result<bool> {
    let hint = key.chars().take(8).collect();
    create_key_digest(tx, project_id, name, readonly, (id::digest(key), hint), now).await
}

/// The same for a key of which only the digest and the first characters are known.
///
/// # Errors
/// As for [`create_key`].
pub async fn create_key_digest(
    tx: &mut WriteTx,
    project_id: i64,
    name: &str,
    readonly: bool,
    known: (Vec<u8>, String),
    now: Time,
) -> Result<bool> {
    if !store::take_key(tx, project_id, KEYS_MAX).await? {
        let project = accounts::find_project(tx, project_id).await?;
        return project.map(|_| false).ok_or(Error::NotFound);
    }
    accounts::create_key_digest(tx, project_id, name, readonly, known, now).await?;
    Ok(true)
}

/// Revokes an API key: from here on nobody has it. Whether the project had it.
///
/// # Errors
/// The database's.
pub async fn revoke_key(tx: &mut WriteTx, project_id: i64, key: Uuid) -> Result<bool> {
    // The project's row comes before its keys'.
    accounts::lock_project(tx, project_id).await?;
    let revoked = store::delete_key(tx, project_id, key).await?;
    if revoked {
        store::give_back_key(tx, project_id).await?;
    }
    Ok(revoked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_of_at_most_sixty_characters() {
        assert_eq!(name("  Workshop \u{1f525} "), Ok("Workshop \u{1f525}".to_owned()));
        assert_eq!(name(&"ä".repeat(60)), Ok("ä".repeat(60)));
        assert_eq!(name(" \t "), Err("A project needs a name.".to_owned()));
        assert_eq!(name("a\nb"), Err("A name is one line.".to_owned()));
        assert_eq!(name(&"ä".repeat(61)), Err("A name has at most 60 characters.".to_owned()));
    }
}
