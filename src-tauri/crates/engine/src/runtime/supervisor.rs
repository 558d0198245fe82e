//! Starts, owns and stops every task of the process; the only caller of `tokio::spawn`.
//!
//! A child has a name for logs and ends with its scope, and a panic in it is always reported. What must run for ever is
//! started with [`Supervisor::spawn_steady`], which restarts it after a panic. What children do is their own.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use domain::policy::Policy;
use domain::policy::schedule::next_reconnect;
use futures::FutureExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::runtime::thread_activity::TurnMark;

/// Quick restarts of one child after which it is restarted slowly. Architecture §3.8.
const QUICK_RESTARTS_MAX: u32 = 3;

/// Marks each turn of a child, so that a watchdog can tell who holds a worker.
async fn marked<F: Future<Output = ()>>(name: &'static str, child: F) {
    let mut child = std::pin::pin!(child);
    std::future::poll_fn(|cx| {
        let _mark = TurnMark::begin(name);
        child.as_mut().poll(cx)
    })
    .await;
}

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
        let running = tokio::spawn(self.tasks.track_future(marked(name, child)));
        let watch = async move {
            if let Err(ended) = running.await
                && ended.is_panic()
            {
                tracing::error!(task.name = name, "a background task panicked");
            }
        };
        tokio::spawn(self.tasks.track_future(watch));
    }

    /// Runs a child that should never end, and restarts it when it panics, after a growing wait. From the third
    /// quick restart on it waits the longest time, and an error says that somebody must act.
    pub fn spawn_steady<F, M>(&self, name: &'static str, policy: &Policy, make: M)
    where
        F: Future<Output = ()> + Send + 'static,
        M: Fn() -> F + Send + 'static,
    {
        let policy = policy.clone();
        self.spawn(name, async move {
            let mut quick: u32 = 0;
            loop {
                let begun = Instant::now();
                if AssertUnwindSafe(make()).catch_unwind().await.is_ok() {
                    return;
                }
                quick = if begun.elapsed() > policy.backoff_last { 1 } else { quick.saturating_add(1) };
                let wait = if quick >= QUICK_RESTARTS_MAX {
                    tracing::error!(task.name = name, attempt = quick, "a background task panics again and again");
                    policy.backoff_last
                } else {
                    tracing::error!(task.name = name, attempt = quick, "a background task panicked, starting it anew");
                    next_reconnect(quick, 0.5, &policy)
                };
                tokio::time::sleep(wait).await;
            }
        });
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
