//! The check of receipts in an export: each batch, or each receipt of it, against the row that vouches for it.
//!
//! Receipts stand directly behind their row. It believes the row, whose hash `check.rs` has checked, and nothing of the
//! receipts.

use crate::chain::Hash;
use crate::export::lines::{ReceiptLine, ReceiptsLine, hashes_of};
use crate::filter::RowFilter;
use crate::receipt::{BatchClaim, CALLED, batch_root};
use crate::tree::root_of_inclusion;
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

/// Why receipts do not hold, with the root that was expected and the one that was found.
struct Refuted {
    why: String,
    roots: Option<(Hash, Hash)>,
}

fn refuted(why: impl Into<String>) -> Refuted {
    Refuted { why: why.into(), roots: None }
}

/// A whole batch: the leaves lead to the root that the row names.
fn check_batch(claim: &BatchClaim, calls: &[ReceiptLine<'_>]) -> Result<(), Refuted> {
    let found = count(calls);
    if found != claim.count() {
        return Err(refuted(format!("it vouches for {} receipts, and the file has {found}", claim.count())));
    }
    let leaves = (claim.first..).zip(calls).map(|(number, call)| call.leaf(number));
    let leaves = leaves.collect::<Option<Vec<_>>>().ok_or_else(|| refuted("the mark of a receipt does not read"))?;
    let root = batch_root(leaves);
    if root != claim.root {
        let why = format!("one of receipts {} to {} is not the one that it vouches for", claim.first, claim.last);
        return Err(Refuted { why, roots: Some((claim.root, root)) });
    }
    Ok(())
}

/// Some receipts of a batch: each one's proof leads to the root that the row names.
fn check_each(claim: &BatchClaim, calls: &[ReceiptLine<'_>]) -> Result<(), Refuted> {
    let mut next = claim.first;
    for call in calls {
        let path = call.path.as_deref().and_then(hashes_of);
        let (Some(number), Some(path)) = (call.number, path) else {
            return Err(refuted("a receipt has no number or no proof of its place, and not the whole batch is there"));
        };
        if number < next || number > claim.last {
            return Err(refuted(format!(
                "receipt {number} stands here a second time, out of order, or is not its own"
            )));
        }
        next = number + 1;
        let leaf = call.leaf(number).ok_or_else(|| refuted(format!("the mark of receipt {number} does not read")))?;
        match root_of_inclusion(number - claim.first, claim.count(), leaf, &path) {
            Some(root) if root == claim.root => {}
            Some(root) => {
                let why = format!("receipt {number} is not the one that it vouches for");
                return Err(Refuted { why, roots: Some((claim.root, root)) });
            }
            None => return Err(refuted(format!("the proof of receipt {number} has a wrong length"))),
        }
    }
    Ok(())
}

fn count(calls: &[ReceiptLine<'_>]) -> u64 {
    u64::try_from(calls.len()).unwrap_or(u64::MAX)
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

    /// The receipts of the row before. With a filter, only those that it wants are there, and each proves its own place;
    /// otherwise the batch is there whole.
    pub(super) fn take(&mut self, line: &ReceiptsLine<'_>, filter: Option<&RowFilter>) -> Result<(), BrokenRow> {
        let broken = |refuted: Refuted| {
            let row = BrokenRow::row(line.row, refuted.why);
            match refuted.roots {
                Some((expected, found)) => row.with_hashes(expected, found),
                None => row,
            }
        };
        let Some((_, claim)) = self.due.take().filter(|(row, _)| *row == line.row) else {
            return Err(broken(refuted("receipts stand behind another row, or the row names none")));
        };
        let is_part = filter.is_some() && line.calls.iter().any(|call| call.path.is_some());
        let checked = if is_part { check_each(&claim, &line.calls) } else { check_batch(&claim, &line.calls) };
        checked.map_err(broken)?;
        let is_wanted =
            |call: &ReceiptLine<'_>| filter.is_none_or(|filter| filter.matches_receipt(&call.fields(0, &[])));
        if !line.calls.iter().all(is_wanted) {
            return Err(broken(refuted("it has a receipt that does not match the filter of the file")));
        }
        self.checked = self.checked.saturating_add(count(&line.calls));
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
