//! Addresses of badges that another server signed. They are kept one by one, so that its secret is not needed to
//! recognise them, and nothing but what was published there is recognised.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha1::{Digest, Sha1};
use subtle::ConstantTimeEq;

use super::{OldBadge, OldCheck, store};
use crate::badges::{ALL, SIGNATURE_CHARS, tags};
use crate::db::ReadTx;
use crate::error::Result;

/// The addresses of a project's badges: one for all its checks, one for each tag in use.
pub fn of_project(secret: &[u8], badge_key: &str, checks: &[OldCheck]) -> Vec<OldBadge> {
    let mut tags = tags(checks.iter().map(|check| &check.settings));
    tags.insert(ALL);
    let badge = |tag: &str| OldBadge {
        badge_key: badge_key.to_owned(),
        tag: tag.to_owned(),
        signature: signature(secret, badge_key, tag),
    };
    tags.into_iter().map(badge).collect()
}

/// The other server's signature: HMAC-SHA1 under a key derived from its secret and the badge key.
fn signature(secret: &[u8], badge_key: &str, tag: &str) -> String {
    let derived = Sha1::new().chain_update(badge_key).chain_update(secret).finalize();
    let mut mac = Hmac::<Sha1>::new_from_slice(&derived).expect("HMAC takes a key of any length");
    mac.update(tag.as_bytes());
    URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()).chars().take(SIGNATURE_CHARS).collect()
}

/// The address in a badge's URL as an API tells it: `<site>/badge/<key>/<signature>/<tag>.svg`, for all checks without
/// the tag. `None` if it is none.
pub fn of_url(tag: &str, url: &str) -> Option<OldBadge> {
    let mut parts = url.split_once("/badge/")?.1.split('/');
    let (badge_key, second) = (parts.next()?, parts.next()?);
    let signed = second.split('.').next()?;
    let (signature, form) = signed.split_at_checked(SIGNATURE_CHARS)?;
    let badge =
        OldBadge { badge_key: badge_key.to_owned(), tag: tag.to_owned(), signature: signature.to_owned() };
    matches!(form, "" | "-2").then_some(badge)
}

/// The id of the project whose badge this is, if it was brought here; the signature is compared in constant time.
///
/// # Errors
/// The database's.
pub async fn find(tx: &mut ReadTx, badge_key: &str, tag: &str, signature: &str) -> Result<Option<i64>> {
    // PostgreSQL takes no NUL in a text, and no such address was ever kept.
    if badge_key.contains('\0') || tag.contains('\0') {
        return Ok(None);
    }
    let kept = store::find_badge(tx, badge_key, tag).await?;
    let is_right = |kept: &store::Kept| bool::from(kept.signature.as_bytes().ct_eq(signature.as_bytes()));
    Ok(kept.filter(is_right).map(|kept| kept.project_id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_the_one_that_the_other_server_made() {
        let key = "e3f62517-c945-40d6-b430-0fbe2d";
        for (tag, signed) in
            [("*", "L8cF_FoX"), ("prod", "WIboCxkR"), ("etl", "kF9_db2m"), ("ünïcode", "RL9-fFTE")]
        {
            assert_eq!(signature(b"oracle-secret-key", key, tag), signed, "{tag}");
        }
    }

    #[test]
    fn the_parts_of_an_address_are_read_in_each_of_its_forms() {
        let signature = |url: &str| of_url("*", url).map(|badge| (badge.badge_key, badge.signature));
        let found = Some(("key".to_owned(), "abcdef-2".to_owned()));
        for tail in ["abcdef-2.svg", "abcdef-2-2.svg", "abcdef-2/tag.json", "abcdef-2-2/a%252Fb.shields"] {
            assert_eq!(signature(&format!("https://old.example/badge/key/{tail}")), found, "{tail}");
        }
        for url in ["https://old.example/b/2/key.svg", "https://old.example/badge/key/abc.svg", ""] {
            assert_eq!(signature(url), None, "{url}");
        }
    }
}
