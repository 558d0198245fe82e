//! Checks the audit log of Taskwarden: the chain of rows, receipts of calls, the tree over the rows, signed checkpoints,
//! anchors and exports.
//!
//! Knows files and bytes only: no database, no network and nothing else of Taskwarden, so that whoever trusts neither
//! the program nor its machine can read all of it. The formats are described in `src-tauri/docs/audit.md`.

#![expect(missing_docs, reason = "a field or variant whose name says everything has no doc comment")]

pub mod anchor;
pub mod chain;
pub mod export;
pub mod filter;
pub mod hex;
pub mod note;
pub mod receipt;
pub mod tree;
pub mod verdict;
