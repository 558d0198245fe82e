//! The one writer: it owns the writing connection and commits in groups.
//!
//! Whatever waits when it looks goes into one transaction and one fsync; a lone unit goes at once. Its work is a future
//! that the host's supervisor runs; the disk is waited for on the connection's own thread, never on the runtime's.
//! On a full disk it frees the reserve and from then on writes only what may use it (ruling 28); `health.rs` is what
//! others see of that. Long work (pruning, giving space back) comes as many small jobs, so that commits pass between.

use std::sync::Arc;
use std::time::Instant;

use domain::ports::{Recording, RecordingFault, RegistryError};
use domain::time::Timestamp;
use futures_core::future::BoxFuture;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, SqlitePool};
use tokio::sync::{mpsc, oneshot};

use super::group::Group;
use super::known::Knowledge;
use super::maintenance::{compact, prune_stretch, shrink_step};
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
    PruneStretch(Timestamp, Answer<u64>),
    Shrink {
        whole: bool,
        answer: Answer<bool>,
    },
    TryRecording(Answer<Recording>),
    Close(Answer<()>),
    #[cfg(test)]
    FailAfterCommit(Answer<()>),
}

/// The way to the writer. When all clones are gone, it finishes what was accepted and ends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl Writer {
    /// The way to a new writer, and its work: a future that ends after [`Writer::close`] or with the last clone.
    /// `readers` tell what is durable when a commit failed.
    pub(crate) fn new(
        base: Arc<Base>,
        connection: SqliteConnection,
        readers: SqlitePool,
        reserve: Reserve,
    ) -> (Self, BoxFuture<'static, ()>) {
        let (jobs, queue) = mpsc::channel(QUEUE);
        if !reserve.stands() {
            base.health.met(RecordingFault::DiskFull);
        }
        let known = Knowledge::default();
        let desk = Desk {
            base,
            connection,
            readers,
            reserve,
            known,
            restore_at: None,
            #[cfg(test)]
            fails_after_commit: false,
        };
        (Self { jobs }, Box::pin(desk.work(queue)))
    }

    /// The commit that comes next is durable and reported as failed.
    #[cfg(test)]
    pub(crate) async fn fail_after_commit(&self) -> Result<(), RegistryError> {
        self.ask(Job::FailAfterCommit).await
    }

    /// Writes a unit; durable when it returns.
    pub(crate) async fn write(&self, unit: Unit) -> Result<Written, RegistryError> {
        self.ask(|answer| Job::Write(unit, answer)).await
    }

    /// Removes old change rows, one stretch after the other: other changes are written in between.
    pub(crate) async fn prune(&self, before: Timestamp) -> Result<u64, RegistryError> {
        let mut all: u64 = 0;
        loop {
            match self.ask(|answer| Job::PruneStretch(before, answer)).await? {
                0 => return Ok(all),
                some => all = all.saturating_add(some),
            }
        }
    }

    /// Gives one step of free space back to the disk, or writes the whole file anew; returns whether there is more.
    pub(crate) async fn shrink(&self, whole: bool) -> Result<bool, RegistryError> {
        self.ask(|answer| Job::Shrink { whole, answer }).await
    }

    /// Tries to record again, and says whether it is possible.
    pub(crate) async fn try_recording(&self) -> Result<Recording, RegistryError> {
        self.ask(Job::TryRecording).await
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
    readers: SqlitePool,
    reserve: Reserve,
    known: Knowledge,
    /// The reserve is not made again before this.
    restore_at: Option<Instant>,
    /// The commit that comes next is durable and reported as failed.
    #[cfg(test)]
    fails_after_commit: bool,
}

/// Units that wait, each with who waits for it.
type Waiting = Vec<(Unit, Answer<Written>)>;

/// Why a transaction did not go through.
enum Failure {
    /// Nothing of it was recorded.
    Database(sqlx::Error),
    /// Its COMMIT failed, and whether it is durable cannot be read.
    Uncertain,
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl Desk {
    async fn work(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut closing = Vec::new();
        while let Some(first) = queue.recv().await {
            let mut waiting = Waiting::new();
            let mut next = Some(first);
            while let Some(job) = next {
                let other = match job {
                    Job::Write(unit, answer) => {
                        waiting.push((unit, answer));
                        None
                    }
                    other => Some(other),
                };
                if let Some(other) = other {
                    self.write(std::mem::take(&mut waiting)).await;
                    match other {
                        Job::PruneStretch(before, answer) => {
                            let _ = answer.send(self.prune_stretch(before).await);
                        }
                        Job::Shrink { whole, answer } => {
                            let _ = answer.send(self.shrink(whole).await);
                        }
                        Job::TryRecording(answer) => {
                            let _ = answer.send(Ok(self.try_recording().await));
                        }
                        Job::Close(answer) => {
                            queue.close();
                            closing.push(answer);
                        }
                        #[cfg(test)]
                        Job::FailAfterCommit(answer) => {
                            self.fails_after_commit = true;
                            let _ = answer.send(Ok(()));
                        }
                        Job::Write(..) => {}
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

    async fn prune_stretch(&mut self, before: Timestamp) -> Result<u64, RegistryError> {
        let pruned = prune_stretch(&self.base, &mut self.connection, before).await;
        if pruned.is_err() {
            self.roll_back().await;
        }
        pruned
    }

    async fn shrink(&mut self, whole: bool) -> Result<bool, RegistryError> {
        if whole {
            compact(&self.base, &mut self.connection).await.map(|()| false)
        } else {
            shrink_step(&self.base, &mut self.connection).await
        }
    }

    /// Makes the reserve again and commits nothing but the counters.
    async fn try_recording(&mut self) -> Recording {
        match self.base.health.fault() {
            None | Some(RecordingFault::Damaged) => return self.base.health.recording(),
            Some(_) => {}
        }
        self.restore_at = None;
        if self.restores_reserve() {
            self.known = Knowledge::default();
            match self.transact(&[]).await {
                Ok(_) | Err(Failure::Uncertain) => {}
                Err(Failure::Database(error)) => {
                    if fault::is_full(&error) {
                        self.reserve.begin_use();
                    }
                }
            }
        }
        self.base.health.recording()
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
        if matches!(outcome, Err(Failure::Database(_))) && units.len() > 1 {
            outcome = self.transact(&units).await;
        }
        match outcome {
            Ok(written) => {
                for ((_, answer), written) in waiting.into_iter().zip(written) {
                    let _ = answer.send(Ok(written));
                }
            }
            Err(Failure::Uncertain) => {
                for (_, answer) in waiting {
                    let _ = answer.send(Err(self.uncertain()));
                }
            }
            Err(Failure::Database(_)) => {
                for (unit, answer) in waiting {
                    let _ = answer.send(self.alone(&unit).await);
                }
            }
        }
    }

    /// Writes one unit in a transaction of its own, relying on nothing; on a full disk again with one piece of the
    /// reserve's space after the other, if it may use that.
    async fn alone(&mut self, unit: &Unit) -> Result<Written, RegistryError> {
        self.known = Knowledge::default();
        let mut outcome = self.transact(&[unit]).await;
        if is_full(&outcome) {
            self.reserve.begin_use();
        }
        // A checkpoint alone may do: the log is then written from its beginning, in space that it has already.
        let mut has_space = unit.may_use_reserve();
        while is_full(&outcome) && has_space {
            self.fold_in().await;
            outcome = self.transact(&[unit]).await;
            has_space = is_full(&outcome) && self.reserve.give_piece();
        }
        match outcome {
            Ok(written) => written.into_iter().next().ok_or(RegistryError::Closed),
            Err(Failure::Database(error)) => Err(fault::of(&self.base.path, "commit", error)),
            Err(Failure::Uncertain) => Err(self.uncertain()),
        }
    }

    fn uncertain(&self) -> RegistryError {
        RegistryError::Uncertain { path: self.base.path.clone() }
    }

    /// While the disk is full, only what may use the reserve is written; into a damaged file nothing is.
    fn turn_away(&mut self, waiting: Waiting) -> Waiting {
        let path = self.base.path.clone();
        let (refused, kept): (Waiting, Waiting) = match self.base.health.fault() {
            Some(RecordingFault::Damaged) => (waiting, Waiting::new()),
            _ if self.reserve.stands() || waiting.iter().all(|(unit, _)| unit.may_use_reserve()) => return waiting,
            _ if self.restores_reserve() => return waiting,
            _ => waiting.into_iter().partition(|(unit, _)| !unit.may_use_reserve()),
        };
        for (_, answer) in refused {
            let why = match self.base.health.fault() {
                Some(RecordingFault::Damaged) => {
                    RegistryError::Damaged { path: path.clone(), finding: "it was found while writing".into() }
                }
                _ => RegistryError::Full { path: path.clone() },
            };
            let _ = answer.send(Err(why));
        }
        kept
    }

    /// Makes the reserve again, at most once in a while: on a full disk each try writes what fits.
    fn restores_reserve(&mut self) -> bool {
        if self.reserve.stands() {
            return true;
        }
        let now = Instant::now();
        if self.restore_at.is_some_and(|at| now < at) {
            return false;
        }
        self.restore_at = Some(now + self.base.limits.record_again);
        let stands = self.reserve.restore();
        if !stands {
            self.base.health.met(RecordingFault::DiskFull);
        }
        stands
    }

    async fn transact(&mut self, units: &[&Unit]) -> Result<Vec<Written>, Failure> {
        self.base.health.begins();
        let written = self.attempt(units).await;
        if written.is_err() {
            self.roll_back().await;
        }
        self.base.health.ended();
        match &written {
            // With the reserve in use, what can wait still waits.
            Ok(_) if !self.reserve.stands() => {}
            Ok(_) => self.base.health.recovered(),
            Err(Failure::Database(error)) => {
                if let Some(fault) = fault::recording(&self.base.path, error) {
                    self.base.health.met(fault);
                }
            }
            Err(Failure::Uncertain) => self.base.health.met(RecordingFault::Failing),
        }
        written
    }

    /// One transaction. What is known survives only its success.
    async fn attempt(&mut self, units: &[&Unit]) -> Result<Vec<Written>, Failure> {
        let shared = (&self.base.sealer, self.base.limits);
        let known = std::mem::take(&mut self.known);
        let mut group = Group::begin(&mut self.connection, units, shared, known).await?;
        let mut written = Vec::with_capacity(units.len());
        for unit in units {
            written.push(group.write(&mut self.connection, unit).await?);
        }
        let token = group.token();
        let ended = group.end(&mut self.connection).await;
        #[cfg(test)]
        let ended = if std::mem::take(&mut self.fails_after_commit) { Err(sqlx::Error::WorkerCrashed) } else { ended };
        match ended {
            Ok(known) => {
                self.known = known;
                Ok(written)
            }
            Err(error) => {
                self.roll_back().await;
                match self.last_commit().await {
                    Ok(last) if last == token => {
                        tracing::warn!(%error, "a commit was reported as failed, and is recorded all the same");
                        Ok(written)
                    }
                    Ok(_) => Err(error.into()),
                    Err(unread) => {
                        tracing::error!(%error, %unread, "whether a failed commit was recorded cannot be read");
                        Err(Failure::Uncertain)
                    }
                }
            }
        }
    }

    /// The newest durable transaction, by a connection that sees only what is committed.
    async fn last_commit(&self) -> Result<i64, sqlx::Error> {
        let mut reader = self.readers.acquire().await?;
        sqlx::query_scalar("SELECT last_commit FROM store WHERE one = 1").fetch_one(&mut *reader).await
    }

    /// Folds the write-ahead log into the database, and keeps the log's space: on a full disk somebody else would take
    /// it, and the commits that come next need it.
    async fn fold_in(&mut self) {
        let mut script = Script::default();
        script.add("PRAGMA wal_checkpoint(RESTART)");
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

fn is_full<T>(outcome: &Result<T, Failure>) -> bool {
    matches!(outcome, Err(Failure::Database(error)) if fault::is_full(error))
}
