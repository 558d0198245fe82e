//! The check of receipts in an export: each batch against the row that vouches for it.
//!
//! A batch stands directly behind its row. It believes the row, whose hash `check.rs` has checked, and nothing of the batch.

use crate::export::lines::ReceiptsLine;
use crate::receipt::{BatchClaim, CALLED, batch_root};
use crate::verdict::BrokenRow;

/// What is known of receipts between two lines.
#[derive(Debug, Default)]
pub(super) struct ReceiptsCheck {
    /// The row before, and what it says of its batch.
    due: Option<(u64, BatchClaim)>,
    checked: u64,
    /// Batches whose receipts are not in the file.
    absent: u64,
}

impl ReceiptsCheck {
    /// A row whose hash holds.
    pub(super) fn row(&mut self, number: u64, verb: &str, note: Option<&str>) {
        self.close();
        if verb == CALLED {
            self.due = note.and_then(BatchClaim::parse).map(|claim| (number, claim));
            self.absent += u64::from(self.due.is_none());
        }
    }

    /// What was due did not come.
    fn close(&mut self) {
        self.absent += u64::from(self.due.take().is_some());
    }

    /// The receipts of the row before.
    pub(super) fn take(&mut self, line: &ReceiptsLine<'_>) -> Result<(), BrokenRow> {
        let broken = |why: String| Err(BrokenRow::row(line.row, why));
        let Some((_, claim)) = self.due.take().filter(|(row, _)| *row == line.row) else {
            return broken("receipts stand behind another row, or the row names none".into());
        };
        let found = u64::try_from(line.calls.len()).unwrap_or(u64::MAX);
        if found != claim.count() {
            return broken(format!("it vouches for {} receipts, and the file has {found}", claim.count()));
        }
        let leaves = (claim.first..).zip(&line.calls).map(|(number, call)| call.leaf(number));
        let Some(leaves) = leaves.collect::<Option<Vec<_>>>() else {
            return broken("the mark of a receipt does not read".into());
        };
        let root = batch_root(leaves);
        if root != claim.root {
            let why = format!("one of receipts {} to {} is not the one that it vouches for", claim.first, claim.last);
            return Err(BrokenRow::row(line.row, why).with_hashes(claim.root, root));
        }
        self.checked = self.checked.saturating_add(found);
        Ok(())
    }

    /// How many receipts hold. Nothing comes any more.
    pub(super) fn checked(&mut self) -> u64 {
        self.close();
        self.checked
    }

    /// What the file does not show, as the end of a sentence.
    pub(super) fn unproven(&self) -> Option<String> {
        let batches = match self.absent {
            0 => return None,
            1 => "one batch of calls".to_owned(),
            many => format!("{many} batches of calls"),
        };
        Some(format!(
            "which calls there were in {batches}: the receipts are not in the file, because they were not kept or left out"
        ))
    }
}
