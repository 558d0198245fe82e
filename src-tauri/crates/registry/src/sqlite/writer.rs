//! The one writer: it owns the writing connection and commits in groups.
//!
//! Whatever waits when it looks goes into one transaction and one fsync; a lone unit goes at once. Its work is a future
//! that the host's supervisor runs; the disk is waited for on the connection's own thread, never on the runtime's. When the disk is full it frees the reserve
//! and tries once more, and from then on refuses what can wait (ruling 28).

use std::sync::Arc;

use domain::ports::RegistryError;
use domain::time::Timestamp;
use futures_core::future::BoxFuture;
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use super::group::Group;
use super::known::Knowledge;
use super::maintenance::prune_stretch;
use super::reserve::Reserve;
use super::script::Script;
use super::unit::{Unit, Written};
use super::{Base, fault};

/// Units that may wait for the writer. More than four groups: beyond it callers wait for room, which slows down
/// whoever produces faster than the disk.
const QUEUE: usize = 1_024;

type Answer<T> = oneshot::Sender<Result<T, RegistryError>>;

/// Something for the writer to do.
enum Job {
    Write(Unit, Answer<Written>),
    Prune(Timestamp, Answer<u64>),
    Close(Answer<()>),
}

/// The way to the writer. When all clones are gone, it finishes what was accepted and ends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// The way to a new writer, and its work: a future that ends after [`Writer::close`] or with the last clone.
    pub(crate) fn new(
        base: Arc<Base>,
        connection: SqliteConnection,
        reserve: Reserve,
    ) -> (Self, BoxFuture<'static, ()>) {
        let (jobs, queue) = mpsc::channel(QUEUE);
        let desk = Desk { base, connection, reserve, known: Knowledge::default() };
        (Self { jobs }, Box::pin(desk.work(queue)))
    }

    /// Writes a unit; durable when it returns.
    pub(crate) async fn write(&self, unit: Unit) -> Result<Written, RegistryError> {
        self.ask(|answer| Job::Write(unit, answer)).await
    }

    /// Removes old change rows.
    pub(crate) async fn prune(&self, before: Timestamp) -> Result<u64, RegistryError> {
        self.ask(|answer| Job::Prune(before, answer)).await
    }

    /// Finishes what was accepted and closes the connection.
    pub(crate) async fn close(&self) -> Result<(), RegistryError> {
        self.ask(Job::Close).await
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> Job) -> Result<T, RegistryError> {
        let (answer, answered) = oneshot::channel();
        self.jobs.send(job(answer)).await.map_err(|_| RegistryError::Closed)?;
        answered.await.map_err(|_| RegistryError::Closed)?
    }
}

/// The writer at work.
struct Desk {
    base: Arc<Base>,
    connection: SqliteConnection,
    reserve: Reserve,
    known: Knowledge,
}

/// Units that wait, each with who waits for it.
type Waiting = Vec<(Unit, Answer<Written>)>;

impl Desk {
    async fn work(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut closing = Vec::new();
        while let Some(first) = queue.recv().await {
            let mut waiting = Waiting::new();
            let mut next = Some(first);
            while let Some(job) = next {
                match job {
                    Job::Write(unit, answer) => waiting.push((unit, answer)),
                    Job::Prune(before, answer) => {
                        self.write(std::mem::take(&mut waiting)).await;
                        let _ = answer.send(self.prune(before).await);
                    }
                    Job::Close(answer) => {
                        queue.close();
                        closing.push(answer);
                    }
                }
                let full = waiting.len() >= self.base.limits.group_commit_max;
                next = if full { None } else { queue.try_recv().ok() };
            }
            self.write(waiting).await;
        }
        let path = self.base.path.clone();
        self.fold_in().await;
        let closed = self.connection.close().await.map_err(|error| fault::of(&path, "close the registry", error));
        for answer in closing {
            let _ = answer.send(closed.clone());
        }
    }

    async fn prune(&mut self, before: Timestamp) -> Result<u64, RegistryError> {
        let mut all = 0;
        loop {
            match prune_stretch(&self.base, &mut self.connection, before).await {
                Ok(0) => return Ok(all),
                Ok(some) => all += some,
                Err(error) => {
                    self.roll_back().await;
                    return Err(error);
                }
            }
        }
    }

    /// Writes what waits, and answers. A group that fails is tried again without relying on what was known; when it
    /// fails again, each of its units is tried alone, so that a failure concerns only the unit that causes it.
    async fn write(&mut self, waiting: Waiting) {
        let waiting = self.turn_away(waiting);
        if waiting.is_empty() {
            return;
        }
        let units: Vec<&Unit> = waiting.iter().map(|(unit, _)| unit).collect();
        let mut outcome = self.transact(&units).await;
        if outcome.is_err() && units.len() > 1 {
            outcome = self.transact(&units).await;
        }
        match outcome {
            Ok(written) => {
                for ((_, answer), written) in waiting.into_iter().zip(written) {
                    let _ = answer.send(Ok(written));
                }
            }
            Err(_) => {
                for (unit, answer) in waiting {
                    let _ = answer.send(self.alone(&unit).await);
                }
            }
        }
    }

    /// Writes one unit in a transaction of its own, relying on nothing; on a full disk once more with the reserve's
    /// space.
    async fn alone(&mut self, unit: &Unit) -> Result<Written, RegistryError> {
        self.known = Knowledge::default();
        let mut outcome = self.transact(&[unit]).await;
        if outcome.as_ref().is_err_and(fault::is_full) {
            self.reserve.free();
            self.fold_in().await;
            if !unit.can_wait() {
                outcome = self.transact(&[unit]).await;
            }
        }
        match outcome {
            Ok(written) => written.into_iter().next().ok_or(RegistryError::Closed),
            Err(error) => Err(fault::of(&self.base.path, "commit", error)),
        }
    }

    /// While the reserve is used up and there is no room for it, what can wait is refused.
    fn turn_away(&mut self, waiting: Waiting) -> Waiting {
        if self.reserve.stands() || !waiting.iter().any(|(unit, _)| unit.can_wait()) || self.reserve.restore() {
            return waiting;
        }
        let (refused, kept): (Waiting, Waiting) = waiting.into_iter().partition(|(unit, _)| unit.can_wait());
        for (_, answer) in refused {
            let _ = answer.send(Err(RegistryError::Full { path: self.base.path.clone() }));
        }
        kept
    }

    async fn transact(&mut self, units: &[&Unit]) -> Result<Vec<Written>, sqlx::Error> {
        let written = self.attempt(units).await;
        if written.is_err() {
            self.roll_back().await;
        }
        written
    }

    /// One transaction. What is known survives only its success.
    async fn attempt(&mut self, units: &[&Unit]) -> Result<Vec<Written>, sqlx::Error> {
        let shared = (&self.base.sealer, self.base.limits);
        let known = std::mem::take(&mut self.known);
        let mut group = Group::begin(&mut self.connection, units, shared, known).await?;
        let mut written = Vec::with_capacity(units.len());
        for unit in units {
            written.push(group.write(&mut self.connection, unit).await?);
        }
        self.known = group.end(&mut self.connection).await?;
        Ok(written)
    }

    /// Folds the write-ahead log into the database and gives its space back. On a full disk this needs the reserve's
    /// space for a moment, and then makes room for many small commits.
    async fn fold_in(&mut self) {
        let mut script = Script::default();
        script.add("PRAGMA wal_checkpoint(TRUNCATE)");
        if let Err(error) = script.run(&mut self.connection).await {
            tracing::warn!(%error, "the registry's log could not be folded in; it is tried again later");
        }
    }

    /// SQLite may have rolled back by itself; then this is refused, and that is fine.
    async fn roll_back(&mut self) {
        let mut script = Script::default();
        script.add("ROLLBACK");
        if let Err(error) = script.run(&mut self.connection).await {
            tracing::debug!(%error, "nothing was left to roll back");
        }
    }
}
