//! The signals that a keeper handles. `server.rs` decides what they lead to.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM ends the child in order; SIGCHLD says that an orphan may have ended. Interrupts and hang-ups are for
/// programs at a terminal and are ignored.
pub(crate) struct KeeperSignals {
    pub(crate) terminate: Option<Signal>,
    pub(crate) children: Option<Signal>,
    _ignored: [Option<Signal>; 2],
}

impl KeeperSignals {
    /// Installs the handlers.
    pub(crate) fn listen() -> Self {
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            children: signal(SignalKind::child()).ok(),
            _ignored: [signal(SignalKind::hangup()).ok(), signal(SignalKind::interrupt()).ok()],
        }
    }
}

/// Waits for the next signal; for ever where no handler could be installed.
pub(crate) async fn next_signal(signal: &mut Option<Signal>) {
    let told = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if told.is_none() {
        std::future::pending::<()>().await;
    }
}
