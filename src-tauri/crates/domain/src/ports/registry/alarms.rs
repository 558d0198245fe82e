//! The part of the registry that stores alarms about what agents call.

use super::super::PortFuture;
use super::error::RegistryError;
use crate::agent::alarm::CallAlarm;
use crate::audit::AuditEvent;
use crate::ids::{AlarmId, Seq};

/// An alarm that is raised, has grown, is over or was dismissed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlarmUnit {
    pub alarm: CallAlarm,
    /// Alarms of its agent that are kept at most; of those that are not open the oldest go.
    pub kept: u32,
    /// Facts; empty for one that has only grown.
    pub audit: Vec<AuditEvent>,
}

/// Stores alarms, and reads them back.
pub trait AlarmStore: Send + Sync {
    /// Stores an alarm with its facts. A change of the change log, as is each that goes for it.
    fn put_alarm(&self, unit: AlarmUnit) -> PortFuture<'_, Result<Seq, RegistryError>>;
    /// Alarms, the newest first, at most `limit`.
    fn alarms(&self, limit: u32) -> PortFuture<'_, Result<Vec<CallAlarm>, RegistryError>>;
    fn alarm(&self, id: AlarmId) -> PortFuture<'_, Result<Option<CallAlarm>, RegistryError>>;
}
