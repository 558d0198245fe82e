//! Ctrl-C, SIGTERM and SIGHUP, received on a thread of their own.
//!
//! The thread has a small runtime for nothing else, so that a core whose workers all hang can still be ended: after the
//! first signal the process has `shutdown_limit` to end, after a second one `second_signal_wait`. What shutdown means
//! is up to whoever waits for the signal. `watchdog.rs` is the other thread beside the runtime.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use api::{ApiError, Code};
use domain::policy::HostPolicy;
use tokio::sync::watch;

use crate::app::watchdog;

/// The exit code after a signal to which the process did not react in time; shells use it for Ctrl-C.
const INTERRUPTED: u8 = 130;

/// Whether the system has asked this process to end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the system has asked this process to end, so that it must not start again by itself.
pub(crate) fn has_asked_to_end() -> bool {
    ASKED.load(Ordering::Acquire)
}

/// Signals that ask this process to shut down, in the order in which they came.
pub struct ShutdownSignals {
    count: watch::Receiver<u32>,
}

impl ShutdownSignals {
    /// Listens with the built-in limits, for a program without a configuration.
    ///
    /// # Errors
    /// When the system gives no thread, or no signals.
    pub fn listen_with_defaults() -> Result<Self, ApiError> {
        Self::listen(&HostPolicy::default())
    }

    /// Starts to receive the signals.
    ///
    /// # Errors
    /// When the system gives no thread, or no signals.
    pub(crate) fn listen(limits: &HostPolicy) -> Result<Self, ApiError> {
        let (tell, count) = watch::channel(0);
        let (shutdown_limit, second_wait) = (limits.shutdown_limit, limits.second_signal_wait);
        let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
        let body = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            runtime.block_on(async move {
                let signals = match system::SystemSignals::new() {
                    Ok(signals) => signals,
                    Err(error) => return drop(ready.send(Err(error))),
                };
                drop(ready.send(Ok(())));
                attend(signals, &tell, shutdown_limit, second_wait).await;
            });
        };
        let started = std::thread::Builder::new().name("signals".into()).spawn(body);
        let listening = started.and_then(|_| is_ready.recv().unwrap_or_else(|gone| Err(std::io::Error::other(gone))));
        listening.map_err(|error| {
            ApiError::new(
                Code::Failed,
                format!("signals cannot be received: {error}"),
                "Close some programs or raise the limits of your user, then try again.",
            )
        })?;
        Ok(Self { count })
    }

    /// Returns at the next signal. Cancel-safe.
    pub async fn next(&mut self) {
        if self.count.changed().await.is_err() {
            // The thread is gone: no signal will come.
            std::future::pending::<()>().await;
        }
    }
}

/// Passes signals on, and ends the process if it does not end in time.
async fn attend(
    mut signals: system::SystemSignals,
    tell: &watch::Sender<u32>,
    shutdown_limit: Duration,
    second_wait: Duration,
) {
    signals.next().await;
    ASKED.store(true, Ordering::Release);
    tell.send_modify(|count| *count += 1);
    tokio::select! {
        () = signals.next() => {
            tell.send_modify(|count| *count += 1);
            tokio::time::sleep(second_wait).await;
        }
        () = tokio::time::sleep(shutdown_limit) => {
            watchdog::log_threads("the process did not end in time after a signal; it is ended now");
        }
    }
    watchdog::end_process(INTERRUPTED);
}

#[cfg(unix)]
mod system {
    pub(super) use UnixSignals as SystemSignals;

    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(crate) struct UnixSignals {
        interrupt: Signal,
        terminate: Signal,
        hang_up: Signal,
    }

    impl UnixSignals {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        pub(crate) async fn next(&mut self) {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
                _ = self.hang_up.recv() => {}
            }
        }
    }
}

// Not run here.
#[cfg(not(unix))]
mod system {
    pub(super) use CtrlC as SystemSignals;

    use std::io;

    pub(crate) struct CtrlC;

    impl CtrlC {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(crate) async fn next(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
