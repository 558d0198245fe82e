//! One broken rule: where, which rule, what to do.
//!
//! Written as `file:line: rule; cure`, which editors and terminals turn into links.

use std::fmt;

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Path below the root.
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: usize,
    /// What does not hold, lower case.
    pub(crate) rule: String,
    /// What the developer does about it.
    pub(crate) cure: &'static str,
}

impl Finding {
    /// A finding.
    pub(crate) fn new(path: &str, line: usize, rule: impl Into<String>, cure: &'static str) -> Self {
        Self { path: path.to_owned(), line, rule: rule.into(), cure }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}; {}", self.path, self.line, self.rule, self.cure)
    }
}
