//! Reading over many rows: lists of tasks and their counts, related tasks, receipts of calls, and the checks of the
//! audit log.
//!
//! Readers see committed state only and run beside the writer. The rows of a single table are read in `tables/`.

pub(crate) mod audit_check;
pub(crate) mod audit_rows;
pub(crate) mod audit_tree;
pub(crate) mod checkpoint_check;
pub(crate) mod counts;
pub(crate) mod kept_answers;
pub(crate) mod lineage;
pub(crate) mod list_query;
pub(crate) mod month_report;
pub(crate) mod receipt_check;
pub(crate) mod receipt_pages;
pub(crate) mod signed_log;
pub(crate) mod task_kinds;
pub(crate) mod task_list;
pub(crate) mod task_pages;
