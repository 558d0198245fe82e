//! The protocol versions we serve, and what each era means for a client.
//!
//! The era of a request is decided by how the client opens, never by capabilities (protocol.md §0.1, §3.4).

/// The modern versions, best first.
pub const MODERN: &[&str] = &["2026-07-28"];

/// The version with tasks among those that begin with `initialize`.
pub const LEGACY_WITH_TASKS: &str = "2025-11-25";

/// What is assumed over HTTP without a version header (protocol.md §1.11).
pub const LEGACY_ASSUMED: &str = "2025-03-26";

/// The versions that begin with `initialize`, best first.
pub const LEGACY: &[&str] = &[LEGACY_WITH_TASKS, "2025-06-18", LEGACY_ASSUMED, "2024-11-05"];

/// The version for a session: the client's own if we know it, else our best.
#[must_use]
pub(crate) fn agree(asked: &str) -> &'static str {
    LEGACY.iter().find(|known| **known == asked).copied().unwrap_or(LEGACY_WITH_TASKS)
}

/// Whether `version` is one of the modern era that we serve.
#[must_use]
pub(crate) fn is_modern(version: &str) -> bool {
    MODERN.contains(&version)
}

/// Whether `version` begins with `initialize` and we serve it.
#[must_use]
pub(crate) fn is_legacy(version: &str) -> bool {
    LEGACY.contains(&version)
}
