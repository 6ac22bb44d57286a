//! The check that an address names: by its uuid, or by the key under which those know it who may not ping it.

use serde::Deserialize;
use uuid::Uuid;

use crate::checks::UniqueKey;

/// What the segment after `checks/` can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Named {
    /// 36 characters.
    Uuid(Uuid),
    /// 40 hex digits.
    UniqueKey(UniqueKey),
    Nothing,
}

impl Named {
    pub fn of(segment: &str) -> Self {
        let uuid = if segment.len() == 36 { Uuid::try_parse(segment).ok() } else { None };
        match (uuid, segment.parse()) {
            (Some(uuid), _) => Self::Uuid(uuid),
            (None, Ok(key)) => Self::UniqueKey(key),
            (None, Err(_)) => Self::Nothing,
        }
    }

    /// Whether it names the check of that uuid.
    pub fn means(self, uuid: Uuid) -> bool {
        match self {
            Self::Uuid(named) => named == uuid,
            Self::UniqueKey(key) => key == UniqueKey::of(uuid),
            Self::Nothing => false,
        }
    }
}

impl From<String> for Named {
    fn from(segment: String) -> Self {
        Self::of(&segment)
    }
}
