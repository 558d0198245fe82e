//! Signals to a keeper. What they lead to is decided in `keep.rs`.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM ends what is kept, in order; SIGCHLD says that an orphan may have ended. Interrupts and hang-ups are for
/// programs at a terminal.
pub(super) struct Signals {
    pub(super) terminate: Option<Signal>,
    pub(super) children: Option<Signal>,
    _ignored: [Option<Signal>; 2],
}

impl Signals {
    /// Listens from now on.
    pub(super) fn listen() -> Self {
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            children: signal(SignalKind::child()).ok(),
            _ignored: [signal(SignalKind::hangup()).ok(), signal(SignalKind::interrupt()).ok()],
        }
    }
}

/// Waits for the next one; for ever where the system does not let us listen.
pub(super) async fn next_signal(signal: &mut Option<Signal>) {
    let told = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if told.is_none() {
        std::future::pending::<()>().await;
    }
}
