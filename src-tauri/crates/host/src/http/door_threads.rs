//! Threads that serve connections of agents, each with a runtime of its own.
//!
//! A call stays on the thread of its connection from the first byte to the last, so that a quick call wakes no other
//! thread. Everything that lasts is given to the supervisor, whose tasks run on the shared runtime. The threads end after
//! the core has drained: what they opened is used there until then.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Threads at most. Judgement: half of the processors are for servers, the engine and the window, and more connections
/// than eight threads can serve are more than one person's agents make.
const THREADS_MAX: usize = 8;

/// The threads, until they are dropped.
pub(crate) struct DoorThreads {
    runtimes: Vec<Handle>,
    next: AtomicUsize,
    /// Never sent to: their end ends the threads.
    _ends: Vec<oneshot::Sender<()>>,
}

impl DoorThreads {
    /// As many threads as this machine's processors allow.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start() -> io::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (mut runtimes, mut ends) = (Vec::new(), Vec::new());
        for number in 1..=threads_for(processors) {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (end, ended) = oneshot::channel::<()>();
            runtimes.push(runtime.handle().clone());
            ends.push(end);
            std::thread::Builder::new().name(format!("door {number}")).spawn(move || {
                let _ = runtime.block_on(ended);
                // A name that is still being resolved must not hold the thread.
                runtime.shutdown_background();
            })?;
        }
        Ok(Self { runtimes, next: AtomicUsize::new(0), _ends: ends })
    }

    /// The runtime for the next connection, in turn: connections of one agent are spread, and none moves.
    pub(crate) fn next(&self) -> Option<&Handle> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.runtimes.get(turn % self.runtimes.len().max(1))
    }

    /// The runtimes of all threads.
    pub(crate) fn runtimes(&self) -> &[Handle] {
        &self.runtimes
    }
}

/// One thread on a small machine, else half as many as it has processors.
fn threads_for(processors: usize) -> usize {
    (processors / 2).clamp(1, THREADS_MAX)
}

/// A socket that can change its runtime between two reads.
pub(crate) trait MovableStream: Sized {
    /// The socket without a runtime.
    type Unbound: Send + 'static;
    /// Takes the socket out of its runtime.
    fn leave(self) -> io::Result<Self::Unbound>;
    /// Puts it into the current runtime.
    fn enter(socket: Self::Unbound) -> io::Result<Self>;
}

impl MovableStream for TcpStream {
    type Unbound = std::net::TcpStream;

    fn leave(self) -> io::Result<Self::Unbound> {
        self.into_std()
    }

    fn enter(socket: Self::Unbound) -> io::Result<Self> {
        Self::from_std(socket)
    }
}

#[cfg(unix)]
impl MovableStream for UnixStream {
    type Unbound = std::os::unix::net::UnixStream;

    fn leave(self) -> io::Result<Self::Unbound> {
        self.into_std()
    }

    fn enter(socket: Self::Unbound) -> io::Result<Self> {
        Self::from_std(socket)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use engine::runtime::supervisor::Supervisor;
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn half_of_the_processors_serve_agents() {
        for (processors, threads) in [(1, 1), (2, 1), (3, 1), (4, 2), (8, 4), (16, 8), (64, 8)] {
            assert_eq!(threads_for(processors), threads, "of {processors} processors");
        }
    }

    #[tokio::test]
    async fn a_connection_runs_on_its_door_thread_and_what_it_starts_on_the_shared_runtime() {
        let (doors, supervisor) = (DoorThreads::start().expect("threads"), Supervisor::new());
        let (tell, mut told) = mpsc::channel(2);
        let child_of = supervisor.clone();
        let here = std::thread::current().id();
        let runtime = doors.next().expect("a thread").clone();
        supervisor.spawn_draining_on(&runtime, "connection", async move {
            let name = std::thread::current().name().map(ToOwned::to_owned);
            tell.send((name, std::thread::current().id())).await.expect("somebody listens");
            child_of.spawn("lasting work", async move {
                tell.send((None, std::thread::current().id())).await.expect("somebody listens");
            });
        });
        let (name, on_door) = told.recv().await.expect("the connection runs");
        assert!(name.is_some_and(|name| name.starts_with("door ")), "on a thread that logs can name");
        let (_, shared) = told.recv().await.expect("its work runs");
        assert!(on_door != here && shared == here, "the work left the door thread");
        assert!(supervisor.stop(std::time::Duration::from_secs(60)).await, "both are waited for at shutdown");
    }

    #[test]
    fn connections_are_spread_over_the_threads_in_turn() {
        let doors = DoorThreads::start().expect("threads");
        let all = doors.runtimes().len();
        let used: HashSet<_> = (0..all).filter_map(|_| doors.next().map(Handle::id)).collect();
        assert_eq!(used.len(), all, "each thread has one");
    }
}
