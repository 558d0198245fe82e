//! How a developer command fails: one line and what to do next.
//!
//! Output of the programs it ran has been shown already and is not repeated here.

use std::fmt;

/// A command that could not be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    what: String,
    hint: String,
}

impl Failure {
    /// What could not be done (lower case, no final stop), and what the developer can do (a sentence).
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "error: {}\nhint: {}", self.what, self.hint)
    }
}
