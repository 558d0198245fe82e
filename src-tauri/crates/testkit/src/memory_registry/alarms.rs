//! Alarms about what agents call, in memory.

use domain::agent::alarm::{AlarmState, CallAlarm};
use domain::ids::{AlarmId, Seq};
use domain::ports::change::Entity;
use domain::ports::{AlarmStore, AlarmUnit, PortFuture, RegistryError};

use super::MemoryRegistry;
use super::store::MemoryStore;

/// The newest first.
fn all(state: &MemoryStore) -> Vec<CallAlarm> {
    let mut alarms: Vec<CallAlarm> = state.alarms.values().cloned().collect();
    alarms.sort_by_key(|alarm| std::cmp::Reverse((alarm.raised, alarm.id)));
    alarms
}

fn put(state: &mut MemoryStore, unit: AlarmUnit) -> Seq {
    let AlarmUnit { alarm, kept, audit } = unit;
    let (id, agent, at) = (alarm.id, alarm.agent, audit.last().map(|event| event.at));
    state.alarms.insert(id, alarm);
    let of_agent = all(state).into_iter().filter(|alarm| alarm.agent == agent);
    for old in of_agent.skip(usize::try_from(kept).unwrap_or(usize::MAX)) {
        if old.state != AlarmState::Open {
            state.alarms.remove(&old.id);
        }
    }
    state.facts(audit);
    state.change(Entity::Alarm(id), at, false)
}

impl AlarmStore for MemoryRegistry {
    fn put_alarm(&self, unit: AlarmUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        let done = self.with(|state, _| put(state, unit));
        Box::pin(async move { done })
    }

    fn alarms(&self, limit: u32) -> PortFuture<'_, Result<Vec<CallAlarm>, RegistryError>> {
        let found = self.with(|state, _| {
            let mut alarms = all(state);
            alarms.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            alarms
        });
        Box::pin(async move { found })
    }

    fn alarm(&self, id: AlarmId) -> PortFuture<'_, Result<Option<CallAlarm>, RegistryError>> {
        let found = self.with(|state, _| state.alarms.get(&id).cloned());
        Box::pin(async move { found })
    }
}
