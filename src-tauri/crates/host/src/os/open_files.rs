//! The limit of open files of this process, which bounds its connections.
//!
//! The core takes as many as the system allows; what they are used for is decided in `http/listener.rs`.

/// Raises the limit as far as the system allows, and returns the new limit.
#[cfg(unix)]
pub(crate) fn raise_limit() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let before = limit.current;
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::info!(%error, "the limit of open files could not be raised");
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
