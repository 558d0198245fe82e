//! The audit log beyond its rows: it is signed (`checkpoints.rs`), goes on in a new epoch where an older copy of the
//! registry was put back (`epochs.rs`), copies of what was signed lie elsewhere (`anchors.rs`),
//! it vouches for receipts of calls (`call_receipts.rs`), and its rows are sent to collectors (`sinks.rs`), as log records
//! (`log_records.rs`) and as spans of the tasks that they are about (`task_spans.rs`).
//!
//! Rows are written with the change that they are about, in one transaction; nothing here writes them for others.

pub(crate) mod anchors;
pub(crate) mod call_receipts;
pub(crate) mod checkpoints;
mod epochs;
pub(crate) mod log_records;
mod otlp_json;
pub(crate) mod sinks;
mod task_spans;
