//! Kill points around alarms about what agents call.

use domain::agent::alarm::CallAlarm;
use domain::ids::{AlarmId, Seq};
use domain::ports::{AlarmStore, AlarmUnit, PortFuture, RegistryError};

use super::registry::KillPointRegistry;

impl AlarmStore for KillPointRegistry {
    fn put_alarm(&self, unit: AlarmUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(self.write("registry.put_alarm", move || self.inner.put_alarm(unit)))
    }

    fn alarms(&self, limit: u32) -> PortFuture<'_, Result<Vec<CallAlarm>, RegistryError>> {
        self.inner.alarms(limit)
    }

    fn alarm(&self, id: AlarmId) -> PortFuture<'_, Result<Option<CallAlarm>, RegistryError>> {
        self.inner.alarm(id)
    }
}
