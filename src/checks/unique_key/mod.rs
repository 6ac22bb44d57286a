//! The name of a check for whoever may not ping it: a digest of half its uuid (`CONTRACT` 3.2).
//!
//! The uuid is all that a ping needs, so it is a secret of those who may change the check. Addresses of pages, news
//! for open pages, links in letters and read-only access know a check by this key, from which no uuid follows. It is
//! stored beside the uuid to be found by ([`store`](self::store)). Uuids that share their first half share it too, so
//! whoever looks one up says in which project, or takes it only where it is the only one.

pub mod store;

use std::fmt;
use std::str::FromStr;

use base16ct::{lower, mixed};
use sha1::{Digest, Sha1};
use uuid::Uuid;

use super::Check;
use crate::db::{ReadTx, WriteTx};
use crate::error::Result;

/// Bytes of a key; it is written as twice as many hex digits.
pub const BYTES: usize = 20;
/// Bytes of the uuid that it is made of, as hex digits.
const HALF: usize = 8;
/// Hex digits that tell apart the few checks without a name.
const SHORT: usize = 8;
/// Checks named in one transaction of a start.
const BATCH: i64 = 1000;

/// Names a check and says nothing about its uuid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UniqueKey([u8; BYTES]);

impl UniqueKey {
    pub fn of(uuid: Uuid) -> Self {
        Self(Sha1::digest(lower::encode_string(&uuid.as_bytes()[..HALF])).into())
    }

    pub const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl fmt::Display for UniqueKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 2 * BYTES];
        f.write_str(lower::encode_str(&self.0, &mut digits)?)
    }
}

/// The text is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoKey;

impl FromStr for UniqueKey {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let mut bytes = [0; BYTES];
        match mixed::decode(text, &mut bytes) {
            Ok(whole) if whole.len() == BYTES => Ok(Self(bytes)),
            _ => Err(NoKey),
        }
    }
}

/// What people read where a check has no name.
pub fn stand_in(uuid: Uuid) -> String {
    format!("unnamed {}", &UniqueKey::of(uuid).to_string()[..SHORT])
}

/// The only check with that key.
///
/// # Errors
/// The database's.
pub async fn find(tx: &mut ReadTx, key: UniqueKey) -> Result<Option<Check>> {
    let mut found = store::list(tx, key).await?;
    Ok(if found.len() == 1 { found.pop() } else { None })
}

/// Names checks that were made before keys were stored; returns how many, at most a batch.
///
/// # Errors
/// The database's.
pub async fn fill(tx: &mut WriteTx) -> Result<usize> {
    let unnamed = store::list_unnamed(tx, BATCH).await?;
    for (id, uuid) in &unnamed {
        store::set(tx, *id, UniqueKey::of(*uuid)).await?;
    }
    Ok(unnamed.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: Uuid = Uuid::from_u128(0x4f7c_1b9e_0000_4000_8000_0000_0000_0001);

    #[test]
    fn a_key_is_the_digest_of_the_first_half_in_hex() {
        // printf 4f7c1b9e00004000 | sha1sum
        assert_eq!(UniqueKey::of(UUID).to_string(), "5a7e13a6d0de2346a76c4d7d7588c2c45390d8f5");
        let other_half = Uuid::from_u128(UUID.as_u128() + 1);
        assert_eq!(UniqueKey::of(other_half), UniqueKey::of(UUID));
        assert_eq!(stand_in(UUID), "unnamed 5a7e13a6");
    }

    #[test]
    fn a_key_is_read_back_and_nothing_else_is_taken_for_one() {
        let key = UniqueKey::of(UUID);
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!(key.to_string().to_uppercase().parse(), Ok(key));
        let text = key.to_string();
        for wrong in [
            "",
            "4f7c1b9e",
            &text[1..],
            &format!("{text}0"),
            &"g".repeat(40),
            &"ä".repeat(20),
            &"+1".repeat(20),
        ] {
            assert_eq!(wrong.parse::<UniqueKey>(), Err(NoKey), "{wrong}");
        }
    }
}
