//! Kill points around receipts of calls.

use domain::ports::{
    PortFuture, ReceiptBatch, ReceiptCheck, ReceiptQuery, ReceiptRows, ReceiptStore, RegistryError, StoredBatch,
};
use domain::time::Timestamp;

use super::registry::KillPointRegistry;

impl ReceiptStore for KillPointRegistry {
    fn begin_receipts(&self, now: Timestamp) -> PortFuture<'_, Result<u64, RegistryError>> {
        Box::pin(self.write("registry.begin_receipts", move || self.inner.begin_receipts(now)))
    }

    fn put_receipts(&self, batch: ReceiptBatch) -> PortFuture<'_, Result<u64, RegistryError>> {
        Box::pin(self.write("registry.put_receipts", move || self.inner.put_receipts(batch)))
    }

    fn end_receipts(&self) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write("registry.end_receipts", move || self.inner.end_receipts()))
    }

    fn receipts(&self, query: ReceiptQuery) -> PortFuture<'_, Result<ReceiptRows, RegistryError>> {
        self.inner.receipts(query)
    }

    fn receipt_batches(&self, audit_numbers: Vec<u64>) -> PortFuture<'_, Result<Vec<StoredBatch>, RegistryError>> {
        self.inner.receipt_batches(audit_numbers)
    }

    fn recheck_receipts(
        &self,
        after: Option<u64>,
        batches: u32,
    ) -> PortFuture<'_, Result<ReceiptCheck, RegistryError>> {
        self.inner.recheck_receipts(after, batches)
    }

    fn check_receipts(&self, after: u64, batches: u32) -> PortFuture<'_, Result<ReceiptCheck, RegistryError>> {
        self.inner.check_receipts(after, batches)
    }
}
