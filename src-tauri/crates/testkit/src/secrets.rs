//! Secrets in the memory of a test.
//!
//! Nothing is sealed and nothing is probed: this is for asking what was kept and what was forgotten.

use std::collections::BTreeMap;

use domain::ids::ServerId;
use domain::ports::{Secret, SecretError, Secrets};
use parking_lot::Mutex;

/// Keeps secrets until it is dropped.
#[derive(Default)]
pub struct MemorySecrets {
    kept: Mutex<BTreeMap<(ServerId, String), Secret>>,
}

impl MemorySecrets {
    /// Every name that is kept, with its server.
    #[must_use]
    pub fn names(&self) -> Vec<(ServerId, String)> {
        self.kept.lock().keys().cloned().collect()
    }
}

impl Secrets for MemorySecrets {
    fn get(&self, server: ServerId, name: &str) -> Result<Option<Secret>, SecretError> {
        Ok(self.kept.lock().get(&(server, name.to_owned())).cloned())
    }

    fn put(&self, server: ServerId, name: &str, secret: &Secret) -> Result<(), SecretError> {
        self.kept.lock().insert((server, name.to_owned()), secret.clone());
        Ok(())
    }

    fn forget(&self, server: ServerId, name: &str) -> Result<(), SecretError> {
        self.kept.lock().remove(&(server, name.to_owned()));
        Ok(())
    }

    fn describe(&self) -> String {
        "the memory of a test".into()
    }
}
