//! The `ReceiptStore` port on SQLite: receipts of calls are stored in batches, read and checked.
//!
//! Rows are in `tables/audit/receipts.rs`, pages in `read/receipt_pages.rs`, the check in `read/receipt_check.rs`. Nothing
//! is decided here.

use domain::ports::{
    PortFuture, ReceiptBatch, ReceiptCheck, ReceiptQuery, ReceiptRows, ReceiptStore, RegistryError, StoredBatch,
};
use domain::time::Timestamp;

use super::SqliteRegistry;
use super::tables::audit::receipts::{EncodedBatch, ReceiptWrite, newest};
use super::write::mutation::Mutation;

impl SqliteRegistry {
    async fn last_receipt(&self) -> Result<u64, RegistryError> {
        let mut reader = self.reader().await?;
        let (_, last) = newest(&mut reader).await.map_err(self.base.failed("read the last receipt"))?;
        Ok(last)
    }

    async fn write_receipts(&self, write: ReceiptWrite) -> Result<(), RegistryError> {
        self.writer()?.write(Mutation::Receipts(write)).await?.into_done()
    }
}

impl ReceiptStore for SqliteRegistry {
    fn begin_receipts(&self, now: Timestamp) -> PortFuture<'_, Result<u64, RegistryError>> {
        Box::pin(async move {
            self.write_receipts(ReceiptWrite::Begin(now)).await?;
            self.last_receipt().await
        })
    }

    fn put_receipts(&self, batch: ReceiptBatch) -> PortFuture<'_, Result<u64, RegistryError>> {
        Box::pin(async move {
            // Refused before the arguments are read when there is no writer.
            self.writer()?;
            let encoded = EncodedBatch::of(&self.base.sealer, &batch).await;
            self.write_receipts(ReceiptWrite::Batch(Box::new(encoded))).await?;
            self.last_receipt().await
        })
    }

    fn end_receipts(&self) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write_receipts(ReceiptWrite::End))
    }

    fn receipts(&self, query: ReceiptQuery) -> PortFuture<'_, Result<ReceiptRows, RegistryError>> {
        Box::pin(self.read_receipts(query))
    }

    fn receipt_batches(&self, audit_numbers: Vec<u64>) -> PortFuture<'_, Result<Vec<StoredBatch>, RegistryError>> {
        Box::pin(self.read_batches(audit_numbers))
    }

    fn recheck_receipts(
        &self,
        after: Option<u64>,
        batches: u32,
    ) -> PortFuture<'_, Result<ReceiptCheck, RegistryError>> {
        Box::pin(async move {
            let (check, mark) = self.recheck_batches(after, batches).await?;
            self.keep_verified(mark).await;
            Ok(check)
        })
    }

    fn check_receipts(&self, after: u64, batches: u32) -> PortFuture<'_, Result<ReceiptCheck, RegistryError>> {
        Box::pin(self.check_batches(after, batches))
    }
}
