//! Control tokens in memory.

use std::collections::BTreeMap;

use domain::agent::control_token::{ControlAnswer, ControlToken, ControlUse};
use domain::ids::ControlTokenId;
use domain::ports::{ControlStore, ControlTokenUnit, PortFuture, RegistryError};
use domain::time::Timestamp;

use super::MemoryRegistry;

/// Control tokens, their uses, and kept answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct ControlTokens {
    tokens: BTreeMap<ControlTokenId, ControlToken>,
    uses: Vec<ControlUse>,
    answers: BTreeMap<(ControlTokenId, String), ControlAnswer>,
}

fn ready<'a, T: Send + 'a>(value: T) -> PortFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl ControlStore for MemoryRegistry {
    fn put_control_token(&self, unit: ControlTokenUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| {
            let ControlTokenUnit { token, audit } = unit;
            let revoked = state.control.tokens.get(&token.id).and_then(|known| known.revoked).or(token.revoked);
            state.control.tokens.insert(token.id, ControlToken { revoked, ..token });
            state.facts(audit);
        }))
    }

    fn control_tokens(&self) -> PortFuture<'_, Result<Vec<ControlToken>, RegistryError>> {
        ready(self.with(|state, _| {
            let mut tokens: Vec<ControlToken> = state.control.tokens.values().cloned().collect();
            tokens.sort_by_key(|token| std::cmp::Reverse((token.created, token.id)));
            tokens
        }))
    }

    fn note_control_use(&self, used: ControlUse, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| {
            state.control.uses.retain(|one| one.at >= forget);
            state.control.uses.push(used);
        }))
    }

    fn control_uses(
        &self,
        token: ControlTokenId,
        since: Timestamp,
    ) -> PortFuture<'_, Result<Vec<ControlUse>, RegistryError>> {
        ready(self.with(|state, _| {
            let uses = state.control.uses.iter().filter(|one| one.token == token && one.at > since);
            let mut uses: Vec<ControlUse> = uses.copied().collect();
            uses.sort_by_key(|one| one.at);
            uses
        }))
    }

    fn keep_answer(&self, answer: ControlAnswer, forget: Timestamp) -> PortFuture<'_, Result<(), RegistryError>> {
        ready(self.with(|state, _| {
            state.control.answers.retain(|_, kept| kept.at >= forget);
            let place = (answer.token, answer.key.clone());
            if state.control.answers.get(&place).is_none_or(|kept| kept.status == ControlAnswer::BEGUN) {
                state.control.answers.insert(place, answer);
            }
        }))
    }

    fn kept_answer(
        &self,
        token: ControlTokenId,
        key: &str,
    ) -> PortFuture<'_, Result<Option<ControlAnswer>, RegistryError>> {
        let place = (token, key.to_owned());
        ready(self.with(|state, _| state.control.answers.get(&place).cloned()))
    }
}
