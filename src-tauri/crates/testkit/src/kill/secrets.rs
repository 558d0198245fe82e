//! Secrets with kill points around what is stored and what is forgotten, such as a token that an issuer rotated.

use std::sync::Arc;

use domain::ids::ServerId;
use domain::ports::{Secret, SecretError, Secrets};

use super::KillPoints;

/// Wraps the secrets of a test.
pub struct KillPointSecrets {
    inner: Arc<dyn Secrets>,
    points: KillPoints,
}

impl KillPointSecrets {
    /// `inner` gets these points.
    #[must_use]
    pub fn new(inner: Arc<dyn Secrets>, points: KillPoints) -> Self {
        Self { inner, points }
    }
}

impl Secrets for KillPointSecrets {
    fn get(&self, server: ServerId, name: &str) -> Result<Option<Secret>, SecretError> {
        self.inner.get(server, name)
    }

    fn put(&self, server: ServerId, name: &str, secret: &Secret) -> Result<(), SecretError> {
        self.points.around_now("secrets.put", || self.inner.put(server, name, secret))
    }

    fn forget(&self, server: ServerId, name: &str) -> Result<(), SecretError> {
        self.points.around_now("secrets.forget", || self.inner.forget(server, name))
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}
