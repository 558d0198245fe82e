//! Starts, owns and stops every task of the process; the only caller of `tokio::spawn`.
//!
//! A child has a name for logs and ends with its scope, and a panic in it is always reported. What must run for ever is
//! started with [`Supervisor::spawn_steady`], which restarts it after a panic. Children run on the runtime in which the
//! root was made, whatever thread starts them. What children do is their own.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use domain::policy::Policy;
use domain::policy::schedule::next_reconnect;
use futures::FutureExt;
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::runtime::thread_activity::TurnMark;

/// Quick restarts of one child after which it is restarted slowly. Architecture §3.8.
const QUICK_RESTARTS_MAX: u32 = 3;

/// Marks each turn of a child, so that a watchdog can tell who holds a worker, and reports its panic. The report is made
/// inside the child: a second task that awaits it would cost every child another allocation and two wake-ups.
async fn watched<F: Future<Output = ()>>(name: &'static str, child: F) {
    if AssertUnwindSafe(marked(name, child)).catch_unwind().await.is_err() {
        tracing::error!(task.name = name, "a background task panicked");
    }
}

async fn marked<F: Future<Output = ()>>(name: &'static str, child: F) {
    let mut child = std::pin::pin!(child);
    std::future::poll_fn(|cx| {
        let _mark = TurnMark::begin(name);
        child.as_mut().poll(cx)
    })
    .await;
}

/// A scope of running tasks. Clones are the same scope; [`Supervisor::scope`] makes one below it.
#[derive(Debug, Clone)]
pub struct Supervisor {
    stop: CancellationToken,
    tasks: TaskTracker,
    /// Where children run; `None` for a scope that was made outside of any runtime: they run where they are started.
    runtime: Option<Handle>,
}

impl Default for Supervisor {
    fn default() -> Self {
        Self::new()
    }
}

impl Supervisor {
    /// The root scope, whose children run on the current runtime.
    #[must_use]
    pub fn new() -> Self {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        Self { stop, tasks, runtime: Handle::try_current().ok() }
    }

    /// A scope that ends with this one, and can end before it.
    #[must_use]
    pub fn scope(&self) -> Self {
        Self { stop: self.stop.child_token(), tasks: self.tasks.clone(), runtime: self.runtime.clone() }
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
                // First, so that nothing begins after the end: a child that sees the world end would act on it.
                biased;
                () = stop.cancelled() => {}
                () = child => {}
            }
        });
    }

    /// Runs a child that ends by itself when it sees [`Supervisor::stopping`].
    pub fn spawn_draining<F>(&self, name: &'static str, child: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        if let Some(runtime) = &self.runtime {
            return self.spawn_draining_on(runtime, name, child);
        }
        match Handle::try_current() {
            Ok(here) => self.spawn_draining_on(&here, name, child),
            // Nobody is left who could run it.
            Err(_) => tracing::error!(task.name = name, "a background task cannot start outside of a runtime"),
        }
    }

    /// As [`Supervisor::spawn_draining`], on another runtime. [`Supervisor::stop`] waits for this child, too; whoever
    /// owns the runtime keeps it until then.
    pub fn spawn_draining_on<F>(&self, runtime: &Handle, name: &'static str, child: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        runtime.spawn(self.tasks.track_future(watched(name, child)));
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use tokio::runtime::Builder;
    use tokio::sync::oneshot;

    use super::*;

    /// Where a child that another runtime's thread started found itself.
    async fn thread_of_child(
        start: impl FnOnce(&Supervisor, oneshot::Sender<Option<String>>) + Send + 'static,
    ) -> String {
        let supervisor = Supervisor::new();
        let (tell, told) = oneshot::channel();
        let scope = supervisor.clone();
        let other = thread::Builder::new().name("door".into()).spawn(move || {
            let runtime = Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async { start(&scope, tell) });
            runtime.block_on(tokio::task::yield_now());
        });
        let name = told.await.expect("the child runs").expect("its thread has a name");
        other.expect("a thread").join().expect("it ends");
        name
    }

    fn here() -> Option<String> {
        thread::current().name().map(str::to_owned)
    }

    #[tokio::test]
    async fn a_child_runs_on_the_runtime_of_its_root_whoever_starts_it() {
        let own = here().expect("a test has a name");
        let found = thread_of_child(|scope, tell| {
            scope.spawn("child", async move { drop(tell.send(here())) });
        });
        assert_eq!(found.await, own, "not on the thread that started it");
        let found = thread_of_child(|scope, tell| {
            scope.spawn_draining_on(&Handle::current(), "child", async move { drop(tell.send(here())) });
        });
        assert_eq!(found.await, "door", "unless it was given another runtime");
    }

    #[tokio::test]
    async fn the_stop_waits_for_children_on_other_runtimes() {
        let supervisor = Supervisor::new();
        let (scope, stopping) = (supervisor.clone(), supervisor.stopping());
        let (started, ready) = oneshot::channel();
        let (end, ended) = mpsc::channel();
        let door = thread::spawn(move || {
            let runtime = Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async {
                let (done, finished) = oneshot::channel();
                scope.spawn_draining_on(&Handle::current(), "connection", async move {
                    started.send(()).expect("the test waits");
                    stopping.cancelled().await;
                    end.send(()).expect("the test waits");
                    done.send(()).expect("the test waits");
                });
                finished.await.expect("the child ends by itself");
            });
        });
        ready.await.expect("the child runs");
        assert!(supervisor.stop(Duration::from_secs(5)).await, "all children ended in time");
        assert_eq!(ended.try_recv(), Ok(()), "the child on the other runtime ended before");
        door.join().expect("it ends");
    }

    #[tokio::test]
    async fn a_child_that_panics_ends_alone() {
        let supervisor = Supervisor::new();
        supervisor.spawn("fails", async { unreachable!("the test wants this") });
        let (tell, told) = oneshot::channel();
        supervisor.spawn("goes on", async move { tell.send(()).expect("the test waits") });
        told.await.expect("another child is not touched");
        assert!(supervisor.stop(Duration::from_secs(5)).await, "the one that panicked counts as ended");
    }
}
