//! What a host counts for the lines of a client: bytes that are in memory, until the work on them ends.
//!
//! A request without room is answered with an error, and its line is not kept. What begins no work, such as a cancel, is
//! taken all the same as long as it is short. What is allowed is the host's to say.

use std::sync::Arc;

/// Counts what one client sends over a pipe.
pub trait LineBudget: Send + Sync {
    /// The count of a new line. Its bytes are given back when it is dropped.
    fn begin_line(&self) -> Arc<dyn LineBytes>;
}

/// What is counted for one line.
pub trait LineBytes: Send + Sync {
    /// Counts more bytes; false when there is no room for them.
    fn grow(&self, bytes: usize) -> bool;
}

/// The count of one line, shared by the requests in it.
#[derive(Clone, Default)]
pub(crate) struct LineCount {
    bytes: Option<Arc<dyn LineBytes>>,
    is_over: bool,
}

impl LineCount {
    pub(crate) fn begin(budget: Option<&dyn LineBudget>) -> Self {
        Self { bytes: budget.map(LineBudget::begin_line), is_over: false }
    }

    /// Counts more bytes. Without room for them, nothing of the line counts any more.
    pub(crate) fn grow(&mut self, bytes: usize) {
        if self.bytes.as_ref().is_some_and(|held| !held.grow(bytes)) {
            *self = Self { bytes: None, is_over: true };
        }
    }

    /// Gives back what was counted: the line is not kept.
    pub(crate) fn give_back(&mut self) {
        self.bytes = None;
    }

    /// Whether there was no room for the line.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }
}
