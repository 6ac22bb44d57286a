//! Servers that API keys were brought from. Such a server kept digests of its keys, made with a secret of its own;
//! with that secret a key that people go on using is recognised here, although nobody ever told it to us.
//!
//! A key is first looked for under our own digest; only one that is not found is tried under each origin's.

pub mod store;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::db::{ReadTx, WriteTx};
use crate::error::Result;
use crate::time::Time;

/// The digest that a server with this secret keeps of a key: HMAC-SHA256.
pub fn digest(secret: &[u8], key: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    mac.update(key.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// The digests of a key under every origin.
///
/// # Errors
/// The database's.
pub async fn digests(tx: &mut ReadTx, key: &str) -> Result<Vec<Vec<u8>>> {
    let secrets = store::list_secrets(tx).await?;
    Ok(secrets.iter().map(|secret| digest(secret, key)).collect())
}

/// Keeps an origin's secret; one that is known is not kept twice.
///
/// # Errors
/// The database's.
pub async fn remember(tx: &mut WriteTx, secret: &[u8], now: Time) -> Result<()> {
    store::create(tx, secret, now).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_one_that_the_other_server_wrote() {
        let hex =
            base16ct::lower::encode_string(&digest(b"oracle-secret-key", "hcw_MIoaJOLhLxrZC6Bqq6VYbSeF5tgp"));
        assert_eq!(hex, "7c9b0c02c800a3028c49780c16dde82aaf72cadb304bd1489be80dccde519626");
    }
}
