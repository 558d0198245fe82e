//! Pauses of agents and servers, in memory.

use std::cmp::Reverse;

use domain::ids::Seq;
use domain::ports::change::Entity;
use domain::ports::{PauseStore, PauseUnit, PortFuture, RegistryError};
use domain::server::pause::{Pause, PauseSubject};

use crate::memory_registry::MemoryRegistry;
use crate::memory_registry::store::MemoryStore;

pub(in crate::memory_registry) fn put(state: &mut MemoryStore, unit: PauseUnit) -> Seq {
    let PauseUnit { pause, kept, audit } = unit;
    let at = audit.last().map(|event| event.at);
    let entity = match pause.subject {
        PauseSubject::Agent(id) => Entity::Agent(id),
        PauseSubject::Server(id) => Entity::Server(id),
    };
    state.pauses.insert(pause.id, pause);
    let over = newest_first(state).into_iter().filter(|pause| !pause.is_in_force());
    for old in over.skip(usize::try_from(kept).unwrap_or(usize::MAX)) {
        state.pauses.remove(&old.id);
    }
    state.facts(audit);
    state.change(entity, at, false)
}

fn newest_first(state: &MemoryStore) -> Vec<Pause> {
    let mut pauses: Vec<Pause> = state.pauses.values().cloned().collect();
    pauses.sort_by_key(|pause| Reverse((pause.at, pause.id)));
    pauses
}

impl PauseStore for MemoryRegistry {
    fn put_pause(&self, unit: PauseUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        let done = self.with(|state, _| put(state, unit));
        Box::pin(async move { done })
    }

    fn pauses(&self) -> PortFuture<'_, Result<Vec<Pause>, RegistryError>> {
        let found = self.with(|state, _| newest_first(state));
        Box::pin(async move { found })
    }
}
