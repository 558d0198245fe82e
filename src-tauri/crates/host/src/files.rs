//! How many files this process may have open: connections count among them.
//!
//! The core takes as many as the system lets it have. What is done with them is `http/listen.rs`'s.

/// Raises the limit as far as the system allows and gives what it is now.
#[cfg(unix)]
pub(crate) fn raise_limit() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::info!(%error, "the limit of open files stays as it is");
        limit.current = before;
    }
    limit.current.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX))
}

// Not run here.
#[cfg(not(unix))]
pub(crate) fn raise_limit() -> usize {
    /// What a C library of Windows allows by default, many times over.
    const FILES: usize = 8_192;
    FILES
}
