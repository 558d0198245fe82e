//! Halts in memory, with the tasks that they cancel.

pub(super) mod pauses;

use std::collections::{BTreeMap, BTreeSet};

use domain::ids::{HaltId, HandleId, Seq};
use domain::ports::HaltUnit;
use domain::ports::change::Entity;
use domain::server::halt::Halt;

use super::store::MemoryStore;

/// Halts with the tasks that they cancel.
#[derive(Debug, Clone, Default)]
pub(crate) struct HaltStore(BTreeMap<HaltId, (Halt, BTreeSet<HandleId>)>);

pub(super) fn put(state: &mut MemoryStore, unit: HaltUnit) -> Seq {
    let HaltUnit { halt, targets, audit } = unit;
    let (id, at) = (halt.id, audit.last().map(|event| event.at));
    let (known, tasks) = state.halts.0.entry(id).or_insert_with(|| (halt.clone(), BTreeSet::new()));
    *known = halt;
    tasks.extend(targets);
    state.facts(audit);
    state.change(Entity::Halt(id), at, false)
}

/// The newest first.
pub(super) fn all(state: &MemoryStore, limit: usize) -> Vec<Halt> {
    let mut halts: Vec<Halt> = state.halts.0.values().map(|(halt, _)| halt.clone()).collect();
    halts.sort_by_key(|halt| std::cmp::Reverse((halt.at(), halt.id)));
    halts.truncate(limit);
    halts
}

pub(super) fn tasks(state: &MemoryStore, halt: HaltId, after: Option<HandleId>, limit: usize) -> Vec<HandleId> {
    let known = state.halts.0.get(&halt).map(|(_, tasks)| tasks);
    let later = |id: &&HandleId| after.is_none_or(|after| **id > after);
    known.into_iter().flatten().filter(later).take(limit).copied().collect()
}
