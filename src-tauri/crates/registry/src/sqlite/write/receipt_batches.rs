//! Receipts of calls in a transaction: a run begins or ends, or a batch is written with the row that vouches for it.
//!
//! Numbers are given here. What is written is encoded before, in `tables/audit/receipts.rs`.

use domain::audit::receipt::unclean_end_note;
use domain::audit::{AuditEvent, Verb};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use verify::chain::Hash;
use verify::receipt::{BatchClaim, batch_root};

use super::mutation::MutationOutcome;
use super::transaction::WriteTransaction;
use crate::sqlite::tables::audit::receipts::{EncodedBatch, ReceiptWrite, fact, insert, newest};
use crate::sqlite::whole;

impl WriteTransaction<'_> {
    /// Writes one change of receipts.
    pub(crate) async fn write_receipts(
        &mut self,
        connection: &mut SqliteConnection,
        write: &ReceiptWrite,
    ) -> Result<MutationOutcome, sqlx::Error> {
        match write {
            ReceiptWrite::Begin(now) => self.begin_receipts(connection, *now).await?,
            ReceiptWrite::Batch(batch) => self.put_receipts(connection, batch).await?,
            ReceiptWrite::End => {
                self.batch.add("UPDATE store SET receipts_begun = NULL WHERE one = 1");
            }
        }
        Ok(MutationOutcome::Done)
    }

    async fn begin_receipts(&mut self, connection: &mut SqliteConnection, now: Timestamp) -> Result<(), sqlx::Error> {
        self.flush(connection).await?;
        let row = sqlx::query(
            "SELECT receipts_begun, (SELECT complete_to FROM receipt_batches ORDER BY number DESC LIMIT 1) FROM store \
             WHERE one = 1",
        )
        .fetch_one(&mut *connection)
        .await?;
        let (begun, complete_to): (Option<i64>, Option<i64>) = (row.try_get(0)?, row.try_get(1)?);
        if let Some(begun) = begun {
            // A batch of an earlier run says nothing about the time after that run.
            let from = Timestamp::from_millis(complete_to.map_or(begun, |upto| upto.max(begun)));
            let note = unclean_end_note(from, now);
            self.add_audit(connection, &[fact(now, Verb::ReceiptsMissing, note)]).await?;
        }
        self.batch.add("UPDATE store SET receipts_begun = ? WHERE one = 1").with(now.as_millis());
        Ok(())
    }

    async fn put_receipts(&mut self, connection: &mut SqliteConnection, put: &EncodedBatch) -> Result<(), sqlx::Error> {
        self.flush(connection).await?;
        let (batch, last) = newest(connection).await?;
        if last == put.after.saturating_add(put.count()) || put.receipts.is_empty() {
            // An attempt whose outcome did not arrive stored it.
            return Ok(());
        }
        let leaves: Vec<Hash> = (last + 1..).zip(&put.receipts).map(|(number, receipt)| receipt.leaf(number)).collect();
        insert(connection, last + 1, &put.receipts, &leaves).await?;
        let claim = BatchClaim { first: last + 1, last: last + put.count(), root: batch_root(leaves) };
        let missed = put.missed.map(|missed| fact(put.at, Verb::ReceiptsMissing, missed.note()));
        let facts: Vec<AuditEvent> = missed.into_iter().chain([fact(put.at, Verb::Called, claim.note())]).collect();
        self.add_audit(connection, &facts).await?;
        self.batch
            .add(
                "INSERT INTO receipt_batches (number, first, last, root, audit_number, complete_to) \
                 VALUES (?, ?, ?, ?, ?, ?)",
            )
            .with(whole(batch + 1))
            .with(whole(claim.first))
            .with(whole(claim.last))
            .with(claim.root.to_vec())
            .with(whole(self.counters.audit_number))
            .with(put.complete_to.as_millis());
        self.flush(connection).await
    }
}
