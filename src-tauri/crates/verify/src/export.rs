//! Exports as JSON Lines: the lines themselves, for who writes them, and the check of a whole file.
//!
//! The file is read line by line and never held. Line 1 is the manifest, the last one the trailer; the rows between them
//! stand in the order of their numbers. See `docs/audit.md`.

mod check;
mod lines;
mod receipts;

pub use check::{ExportProblem, Trust, check_export};
pub use lines::{
    EarlierTree, ExportLine, FORMAT, GapKind, LINE_BYTES_MAX, Manifest, ReceiptLine, ReceiptsLine, RowLine, Trailer,
    hashes_of, texts_of,
};
