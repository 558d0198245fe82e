//! The key from which each keeper's secret is derived, so that a later core knows it and no file holds it.
//!
//! It is derived from the key that seals the registry. A program that can read that key (any program of this user where
//! there is no keychain) can derive the secrets too: decision 0017.

use hmac::Mac as _;

use crate::protocol::authentication::{BYTES, KeeperSecret, keyed};

/// The key of all keepers of one data directory. Its `Debug` shows nothing of it.
#[derive(Clone)]
pub struct KeeperKey([u8; BYTES]);

impl std::fmt::Debug for KeeperKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeeperKey(…)")
    }
}

impl KeeperKey {
    /// Derives it from the key of the registry.
    #[must_use]
    pub fn derive(seal_key: &[u8; 32]) -> Self {
        let mut mac = keyed(seal_key);
        mac.update(b"taskwarden keeper door 1");
        Self(mac.finalize().into_bytes().into())
    }

    /// The secret of the keeper that was started with this nonce.
    pub(crate) fn secret(&self, nonce: &str) -> KeeperSecret {
        let mut mac = keyed(&self.0);
        mac.update(nonce.as_bytes());
        KeeperSecret::new(mac.finalize().into_bytes().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_keeper_and_each_data_directory_has_secrets_of_its_own() {
        let key = KeeperKey::derive(&[1; 32]);
        assert_eq!(key.secret("a").text(), KeeperKey::derive(&[1; 32]).secret("a").text(), "a later core knows it");
        assert_ne!(key.secret("a").text(), key.secret("b").text(), "another keeper");
        assert_ne!(key.secret("a").text(), KeeperKey::derive(&[2; 32]).secret("a").text(), "another directory");
        assert_eq!(format!("{key:?}"), "KeeperKey(…)");
    }
}
