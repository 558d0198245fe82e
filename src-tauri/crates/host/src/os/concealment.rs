//! Keeps other programs of the same user out of a process: its memory, its environment and its open connections.
//!
//! A core holds keys. A command of a person holds a connection through which decisions are made, and a bridge a token; a
//! server that takes the connection from the process (`pidfd_getfd`) would decide in the person's name.

/// Other programs of this user cannot trace this process from here on. For the same reason a crash leaves no core dump.
#[cfg(target_os = "linux")]
pub(crate) fn conceal() {
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        tracing::warn!(%error, "other programs of this user can read the memory of this process");
    }
}

// Not run here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn conceal() {}
