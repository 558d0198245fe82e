//! The same kill points around what is kept of control tokens.

use domain::agent::control_token::{ControlAnswer, ControlToken, ControlUse};
use domain::ids::ControlTokenId;
use domain::ports::{ControlStore, ControlTokenUnit, PortFuture, RegistryError};
use domain::time::Timestamp;

use super::KillPointRegistry;

impl ControlStore for KillPointRegistry {
    fn put_control_token(&self, unit: ControlTokenUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.put_control_token", move || self.inner.put_control_token(unit)))
    }

    fn control_tokens(&self) -> PortFuture<'_, Result<Vec<ControlToken>, RegistryError>> {
        self.inner.control_tokens()
    }

    fn note_control_use(&self, used: ControlUse, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.note_control_use", move || self.inner.note_control_use(used, forget)))
    }

    fn control_uses(
        &self,
        token: ControlTokenId,
        since: Timestamp,
    ) -> PortFuture<'_, Result<Vec<ControlUse>, RegistryError>> {
        self.inner.control_uses(token, since)
    }

    fn keep_answer(&self, answer: ControlAnswer, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.keep_answer", move || self.inner.keep_answer(answer, forget)))
    }

    fn kept_answer(
        &self,
        token: ControlTokenId,
        key: &str,
    ) -> PortFuture<'_, Result<Option<ControlAnswer>, RegistryError>> {
        self.inner.kept_answer(token, key)
    }
}
