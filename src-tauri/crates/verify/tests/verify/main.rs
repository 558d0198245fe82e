//! What the verifier finds, against another implementation of the tree and logs that somebody changed.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod exports;
mod log;
mod notes;
mod program;
mod receipts;
mod tree;
