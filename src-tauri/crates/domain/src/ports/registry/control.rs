//! Control tokens, what they used of their limit, and answers kept for idempotency keys.

use super::super::PortFuture;
use super::error::RegistryError;
use crate::agent::control_token::{ControlAnswer, ControlToken, ControlUse};
use crate::audit::AuditEvent;
use crate::ids::ControlTokenId;
use crate::time::Timestamp;

/// A control token that is made or revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlTokenUnit {
    /// The token as it should be.
    pub token: ControlToken,
    pub audit: Vec<AuditEvent>,
}

/// What the registry keeps of control tokens. None of it is part of the change log.
pub trait ControlStore: Send + Sync + 'static {
    /// Adds or changes a control token. One that was revoked stays so.
    fn put_control_token(&self, unit: ControlTokenUnit) -> PortFuture<'_, Result<(), RegistryError>>;
    /// All control tokens, the newest first.
    fn control_tokens(&self) -> PortFuture<'_, Result<Vec<ControlToken>, RegistryError>>;
    /// Notes what a token uses of its limit, and forgets what all tokens used before `forget`.
    fn note_control_use(&self, used: ControlUse, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>>;
    /// What a token used after `since`, the oldest first.
    fn control_uses(
        &self,
        token: ControlTokenId,
        since: Timestamp,
    ) -> PortFuture<'_, Result<Vec<ControlUse>, RegistryError>>;
    /// Keeps that a call began, or its answer, and forgets all that were kept before `forget`. An answer takes the place of
    /// the note that its call began, and nothing takes the place of an answer.
    fn keep_answer(&self, answer: ControlAnswer, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>>;
    /// The answer that was kept for this key of this token.
    fn kept_answer(
        &self,
        token: ControlTokenId,
        key: &str,
    ) -> PortFuture<'_, Result<Option<ControlAnswer>, RegistryError>>;
}
