//! Starts, owns and stops every task of the process; the only caller of `tokio::spawn`.
//!
//! A child has a name for logs, ends when its scope is cancelled, and a panic in it is reported and never silent.
//! It does not know what the children do. Reconcilers with restart rules are started by `engine.rs`.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A scope of running tasks. Clones are the same scope; [`Supervisor::scope`] makes one below it.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Supervisor {
    /// The root scope.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A scope that ends with this one, and can end before it.
    #[must_use]
    pub fn scope(&self) -> Self {
        Self { stop: self.stop.child_token(), tasks: self.tasks.clone() }
    }

    /// Cancelled when the scope should end.
    #[must_use]
    pub fn stopping(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Runs a child until it ends or the scope is cancelled, whichever comes first. The future is dropped at
    /// cancellation: a child that must finish something watches [`Supervisor::stopping`] and uses
    /// [`Supervisor::spawn_draining`].
    pub fn spawn<F>(&self, name: &'static str, child: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let stop = self.stop.clone();
        self.spawn_draining(name, async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = child => {}
            }
        });
    }

    /// Runs a child that ends by itself when it sees [`Supervisor::stopping`].
    #[expect(clippy::disallowed_methods, reason = "this is the one place that spawns")]
    pub fn spawn_draining<F>(&self, name: &'static str, child: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let running = tokio::spawn(self.tasks.track_future(child));
        let watch = async move {
            if let Err(ended) = running.await
                && ended.is_panic()
            {
                tracing::error!(task.name = name, "a background task panicked");
            }
        };
        tokio::spawn(self.tasks.track_future(watch));
    }

    /// Asks the scope to end without waiting.
    pub fn cancel(&self) {
        self.stop.cancel();
    }

    /// Ends the scope and waits for its children, at most `limit`. Returns whether all ended. Only for the root.
    pub async fn stop(&self, limit: Duration) -> bool {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(limit, self.tasks.wait()).await.is_ok()
    }
}
