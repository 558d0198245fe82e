//! The key of the audit log: made at first use, stored beside the registry's key, and held in memory while the core runs.
//!
//! Whoever reads the secrets of this data directory can sign, too (ruling 29); anchors elsewhere are the remedy.

use std::sync::Arc;

use domain::ports::{LogHead, LogSigner, Secret, SecretError, SignedHead};
use parking_lot::Mutex;
use verify::note::{NoteKey, SignedNote, SigningKey, TreeHead};

use super::{Vault, key_from_text};

/// The name of the key beside the servers' secrets.
const LOG_KEY: &str = "audit-signing-key";

/// Signs with the key of the vault.
pub(crate) struct VaultSigner {
    vault: Arc<Vault>,
    key: Mutex<Option<SigningKey>>,
}

impl VaultSigner {
    pub(crate) fn new(vault: Arc<Vault>) -> Self {
        Self { vault, key: Mutex::new(None) }
    }

    /// The key as it is stored, or a new one where none is.
    fn read_key(&self) -> Result<SigningKey, SecretError> {
        if let Some(text) = self.vault.read(LOG_KEY)? {
            let bytes = key_from_text(text.reveal());
            return bytes
                .map(|bytes| SigningKey::from_bytes(&bytes))
                .ok_or_else(|| SecretError("the key of the audit log is damaged".into()));
        }
        let bytes = crate::os::random::key();
        self.vault.write(LOG_KEY, Some(&Secret::new(hex::encode(bytes))))?;
        tracing::info!("the audit log has a new signing key");
        Ok(SigningKey::from_bytes(&bytes))
    }
}

impl LogSigner for VaultSigner {
    fn sign(&self, head: &LogHead) -> Result<SignedHead, SecretError> {
        let mut held = self.key.lock();
        let key = match held.take() {
            Some(key) => key,
            None => self.read_key()?,
        };
        let LogHead { origin, size, root } = head.clone();
        let public = NoteKey::of(&origin, &key);
        let text = TreeHead { origin, size, root }.to_string();
        let note = SignedNote::sign(&text, public.name(), &key).to_string();
        *held = Some(key);
        Ok(SignedHead { note, key: public.id(), public: public.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::paths::Paths;
    use crate::config::{Config, SecretsChoice};

    #[test]
    fn the_log_is_signed_with_one_key_until_it_is_lost() {
        let dir = tempfile::tempdir().expect("a folder");
        let config = Config { secrets: SecretsChoice::File, ..Config::built_in(Paths::new(dir.path())) };
        let head = LogHead { origin: "taskwarden/test".into(), size: 7, root: [3; 32] };
        let sign = || {
            let vault = Arc::new(Vault::open(&config).expect("a vault"));
            VaultSigner::new(vault).sign(&head).expect("signs")
        };
        let first = sign();
        assert_eq!(sign(), first, "another run has the same key");
        let note = SignedNote::parse(&first.note).expect("a note");
        let key = NoteKey::parse(&first.public).expect("a key");
        assert_eq!(note.signer(std::slice::from_ref(&key)).expect("signed").id(), first.key);
        assert_eq!(TreeHead::parse(note.text()).expect("a head").size, 7);

        std::fs::remove_file(config.paths.secrets()).expect("the secrets are gone");
        let later = sign();
        assert_ne!(later.key, first.key, "a lost key is replaced");
        assert!(note.signer(&[key]).is_ok(), "and what the lost one signed still verifies");
    }
}
