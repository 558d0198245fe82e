//! Kill points around the tree over the audit log and its checkpoints.

use domain::ports::{
    AuditFilter, AuditRecheck, BrokenCheckpoint, Checkpoint, CheckpointStore, CheckpointUnit, EpochUnit, LeafSpan,
    LogHash, LogHead, LogKey, MonthRead, PortFuture, RegistryError, TreeCheck, TreeGrowth, TreeStart, UnsignedRows,
};
use domain::time::Timestamp;

use super::registry::KillPointRegistry;

impl CheckpointStore for KillPointRegistry {
    fn grow_tree(&self, rows: u32) -> PortFuture<'_, Result<TreeGrowth, RegistryError>> {
        Box::pin(self.write("registry.grow_tree", move || self.inner.grow_tree(rows)))
    }

    fn unsigned_rows(&self, newest: u64) -> PortFuture<'_, Result<UnsignedRows, RegistryError>> {
        self.inner.unsigned_rows(newest)
    }

    fn signing_fault(&self, head: LogHead) -> PortFuture<'_, Result<Option<BrokenCheckpoint>, RegistryError>> {
        self.inner.signing_fault(head)
    }

    fn rebuild_tree(&self) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.rebuild_tree", move || self.inner.rebuild_tree()))
    }

    fn put_checkpoint(&self, unit: CheckpointUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.put_checkpoint", move || self.inner.put_checkpoint(unit)))
    }

    fn begin_epoch(&self, unit: EpochUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.begin_epoch", move || self.inner.begin_epoch(unit)))
    }

    fn checkpoints(&self, limit: u32) -> PortFuture<'_, Result<Vec<Checkpoint>, RegistryError>> {
        self.inner.checkpoints(limit)
    }

    fn log_keys(&self) -> PortFuture<'_, Result<Vec<LogKey>, RegistryError>> {
        self.inner.log_keys()
    }

    fn tree_roots(&self, spans: Vec<LeafSpan>) -> PortFuture<'_, Result<Vec<Option<LogHash>>, RegistryError>> {
        self.inner.tree_roots(spans)
    }

    fn check_tree(&self, start: TreeStart, rows: u32) -> PortFuture<'_, Result<TreeCheck, RegistryError>> {
        self.inner.check_tree(start, rows)
    }

    fn reverify_audit(&self, after: Option<u64>, rows: u32) -> PortFuture<'_, Result<AuditRecheck, RegistryError>> {
        self.inner.reverify_audit(after, rows)
    }

    fn audit_count(&self, filter: AuditFilter, last: u64) -> PortFuture<'_, Result<u64, RegistryError>> {
        self.inner.audit_count(filter, last)
    }

    fn month_report(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Result<MonthRead, RegistryError>> {
        self.inner.month_report(since, until)
    }
}
