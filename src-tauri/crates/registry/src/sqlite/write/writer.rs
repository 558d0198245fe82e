//! The one writer: it owns the writing connection and commits in groups.
//!
//! Everything that waits goes into one transaction and one sync to the disk; a mutation that comes alone does not wait. Its
//! work is a future that the host's supervisor runs; the disk is waited for on the connection's own thread. On a full disk it
//! gives up the reserve and then writes only what may use it (ruling 28); `health.rs` tells others. Long work (pruning,
//! shrinking) comes as many small jobs, so that commits pass in between.

use std::sync::Arc;
use std::time::Instant;

use domain::ports::{Recording, RecordingFault, RegistryError};
use domain::time::Timestamp;
use futures_core::future::BoxFuture;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, SqlitePool};
use tokio::sync::{mpsc, oneshot};

use super::reserve::DiskReserve;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::maintenance::{compact, prune_stretch, shrink_step};
use crate::sqlite::tables::durations;
use crate::sqlite::write::cache::WriterCache;
use crate::sqlite::write::mutation::{Mutation, MutationOutcome};
use crate::sqlite::write::reseal::Resealing;
use crate::sqlite::write::transaction::WriteTransaction;
use crate::sqlite::{StoreContext, errors};

/// Mutations that may wait for the writer. More than four groups: beyond it callers wait for room, which slows down
/// whoever produces faster than the disk.
const QUEUE: usize = 1_024;

type Answer<T> = oneshot::Sender<Result<T, RegistryError>>;

/// A job of the writer.
enum WriterJob {
    Write(Mutation, Answer<MutationOutcome>),
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

/// A handle to the writer. When all clones are gone, the writer finishes what it accepted and ends.
#[derive(Debug, Clone)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<WriterJob>,
}

impl Writer {
    /// A new writer and its work: a future that ends after [`Writer::close`] or with the last clone. `readers` tell what is
    /// durable when a commit failed.
    pub(crate) fn new(
        base: Arc<StoreContext>,
        connection: SqliteConnection,
        readers: SqlitePool,
        reserve: DiskReserve,
    ) -> (Self, BoxFuture<'static, ()>) {
        let (jobs, queue) = mpsc::channel(QUEUE);
        if !reserve.is_whole() {
            base.health.met(RecordingFault::DiskFull);
        }
        let cache = WriterCache::default();
        let resealing = Resealing::needed(&base);
        let writer_loop = WriterLoop {
            base,
            resealing,
            connection,
            readers,
            reserve,
            cache,
            restore_at: None,
            #[cfg(test)]
            fails_after_commit: false,
        };
        (Self { jobs }, Box::pin(writer_loop.work(queue)))
    }

    /// Makes the next commit durable and reports it as failed.
    #[cfg(test)]
    pub(crate) async fn fail_after_commit(&self) -> Result<(), RegistryError> {
        self.ask(WriterJob::FailAfterCommit).await
    }

    /// Writes a mutation; durable when it returns.
    pub(crate) async fn write(&self, mutation: Mutation) -> Result<MutationOutcome, RegistryError> {
        self.ask(|answer| WriterJob::Write(mutation, answer)).await
    }

    /// Removes old change rows, one stretch after the other: other changes are written in between.
    pub(crate) async fn prune(&self, before: Timestamp) -> Result<u64, RegistryError> {
        let mut all: u64 = 0;
        loop {
            match self.ask(|answer| WriterJob::PruneStretch(before, answer)).await? {
                0 => return Ok(all),
                some => all = all.saturating_add(some),
            }
        }
    }

    /// Gives one step of free space back to the disk, or writes the whole file anew; returns whether there is more.
    pub(crate) async fn shrink(&self, whole: bool) -> Result<bool, RegistryError> {
        self.ask(|answer| WriterJob::Shrink { whole, answer }).await
    }

    /// Tries to record again, and says whether it is possible.
    pub(crate) async fn try_recording(&self) -> Result<Recording, RegistryError> {
        self.ask(WriterJob::TryRecording).await
    }

    /// Finishes what was accepted and closes the connection.
    pub(crate) async fn close(&self) -> Result<(), RegistryError> {
        self.ask(WriterJob::Close).await
    }

    async fn ask<T>(&self, job: impl FnOnce(Answer<T>) -> WriterJob) -> Result<T, RegistryError> {
        let (answer, answered) = oneshot::channel();
        self.jobs.send(job(answer)).await.map_err(|_| RegistryError::Closed)?;
        answered.await.map_err(|_| RegistryError::Closed)?
    }
}

/// The writer itself: its connection and what it remembers.
struct WriterLoop {
    base: Arc<StoreContext>,
    connection: SqliteConnection,
    readers: SqlitePool,
    reserve: DiskReserve,
    cache: WriterCache,
    /// Values of an earlier version that are sealed anew while nothing else is to do.
    resealing: Option<Resealing>,
    /// When the reserve may be made again.
    restore_at: Option<Instant>,
    /// Makes the next commit durable and reports it as failed.
    #[cfg(test)]
    fails_after_commit: bool,
}

/// Mutations that wait, each with the caller that waits for it.
type PendingWrites = Vec<(Mutation, Answer<MutationOutcome>)>;

/// Why a transaction did not go through.
enum TransactionError {
    /// Nothing of it was recorded.
    Database(sqlx::Error),
    /// Its COMMIT failed, and whether it is durable cannot be read.
    Uncertain,
}

impl From<sqlx::Error> for TransactionError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl WriterLoop {
    async fn work(mut self, mut queue: mpsc::Receiver<WriterJob>) {
        let mut closing = Vec::new();
        while let Some(first) = self.next_job(&mut queue).await {
            let mut waiting = PendingWrites::new();
            let mut next = Some(first);
            while let Some(job) = next {
                let other = match job {
                    WriterJob::Write(mutation, answer) => {
                        waiting.push((mutation, answer));
                        None
                    }
                    other => Some(other),
                };
                if let Some(other) = other {
                    self.write(std::mem::take(&mut waiting)).await;
                    match other {
                        WriterJob::PruneStretch(before, answer) => {
                            let _ = answer.send(self.prune_stretch(before).await);
                        }
                        WriterJob::Shrink { whole, answer } => {
                            let _ = answer.send(self.shrink(whole).await);
                        }
                        WriterJob::TryRecording(answer) => {
                            let _ = answer.send(Ok(self.try_recording().await));
                        }
                        WriterJob::Close(answer) => {
                            queue.close();
                            closing.push(answer);
                        }
                        #[cfg(test)]
                        WriterJob::FailAfterCommit(answer) => {
                            self.fails_after_commit = true;
                            let _ = answer.send(Ok(()));
                        }
                        WriterJob::Write(..) => {}
                    }
                }
                let full = waiting.len() >= self.base.limits.group_commit_max;
                next = if full { None } else { queue.try_recv().ok() };
            }
            self.write(waiting).await;
        }
        let path = self.base.path.clone();
        self.checkpoint().await;
        let closed = self.connection.close().await.map_err(|error| errors::of(&path, "close the registry", error));
        for answer in closing {
            let _ = answer.send(closed.clone());
        }
    }

    /// The next job; while none waits, values of an earlier version are sealed anew.
    async fn next_job(&mut self, queue: &mut mpsc::Receiver<WriterJob>) -> Option<WriterJob> {
        while let Some(mut resealing) = self.resealing.take_if(|_| self.base.health.fault().is_none()) {
            match queue.try_recv() {
                Ok(job) => {
                    self.resealing = Some(resealing);
                    return Some(job);
                }
                Err(mpsc::error::TryRecvError::Disconnected) => return None,
                Err(mpsc::error::TryRecvError::Empty) => {}
            }
            match resealing.step(&self.base, &mut self.connection).await {
                Ok(true) => self.resealing = Some(resealing),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "values of an earlier version could not be sealed anew; the next start tries again");
                    self.roll_back().await;
                }
            }
        }
        queue.recv().await
    }

    async fn prune_stretch(&mut self, before: Timestamp) -> Result<u64, RegistryError> {
        let mut pruned = prune_stretch(&self.base, &mut self.connection, before).await;
        if pruned == Ok(0) {
            pruned = durations::forget_tools(&self.base, &mut self.connection).await.map(|()| 0);
        }
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

    /// Makes the reserve again and commits the counters alone, to find out whether recording works.
    async fn try_recording(&mut self) -> Recording {
        match self.base.health.fault() {
            None | Some(RecordingFault::Damaged) => return self.base.health.recording(),
            Some(_) => {}
        }
        self.restore_at = None;
        if self.restores_reserve() {
            self.cache = WriterCache::default();
            match self.transact(&[]).await {
                Ok(_) | Err(TransactionError::Uncertain) => {}
                Err(TransactionError::Database(error)) => {
                    if errors::is_full(&error) {
                        self.reserve.begin_use();
                    }
                }
            }
        }
        self.base.health.recording()
    }

    /// Writes what waits, and answers. A group that fails is tried again without relying on the cache; when it
    /// fails again, each of its mutations is tried alone, so that a failure concerns only the mutation that causes it.
    async fn write(&mut self, waiting: PendingWrites) {
        let waiting = self.refuse_unwritable(waiting);
        if waiting.is_empty() {
            return;
        }
        let mutations: Vec<&Mutation> = waiting.iter().map(|(mutation, _)| mutation).collect();
        let mut outcome = self.transact(&mutations).await;
        if matches!(outcome, Err(TransactionError::Database(_))) && mutations.len() > 1 {
            outcome = self.transact(&mutations).await;
        }
        match outcome {
            Ok(written) => {
                for ((_, answer), written) in waiting.into_iter().zip(written) {
                    let _ = answer.send(Ok(written));
                }
            }
            Err(TransactionError::Uncertain) => {
                for (_, answer) in waiting {
                    let _ = answer.send(Err(self.uncertain()));
                }
            }
            Err(TransactionError::Database(_)) => {
                for (mutation, answer) in waiting {
                    let _ = answer.send(self.write_alone(&mutation).await);
                }
            }
        }
    }

    /// Writes one mutation in a transaction of its own, relying on nothing; on a full disk again with one piece of the
    /// reserve's space after the other, if it may use that.
    async fn write_alone(&mut self, mutation: &Mutation) -> Result<MutationOutcome, RegistryError> {
        self.cache = WriterCache::default();
        let mut outcome = self.transact(&[mutation]).await;
        if is_full(&outcome) {
            self.reserve.begin_use();
        }
        // A checkpoint alone may do: the log is then written from its beginning, in space that it has already.
        let mut has_space = mutation.may_use_reserve();
        while is_full(&outcome) && has_space {
            self.checkpoint().await;
            outcome = self.transact(&[mutation]).await;
            has_space = is_full(&outcome) && self.reserve.give_piece();
        }
        match outcome {
            Ok(written) => written.into_iter().next().ok_or(RegistryError::Closed),
            Err(TransactionError::Database(error)) => Err(errors::of(&self.base.path, "commit", error)),
            Err(TransactionError::Uncertain) => Err(self.uncertain()),
        }
    }

    fn uncertain(&self) -> RegistryError {
        RegistryError::Uncertain { path: self.base.path.clone() }
    }

    /// Refuses what cannot be written: on a full disk all that may not use the reserve, in a damaged file everything.
    fn refuse_unwritable(&mut self, waiting: PendingWrites) -> PendingWrites {
        let path = self.base.path.clone();
        let (refused, kept): (PendingWrites, PendingWrites) = match self.base.health.fault() {
            Some(RecordingFault::Damaged) => (waiting, PendingWrites::new()),
            _ if self.reserve.is_whole() || waiting.iter().all(|(mutation, _)| mutation.may_use_reserve()) => {
                return waiting;
            }
            _ if self.restores_reserve() => return waiting,
            _ => waiting.into_iter().partition(|(mutation, _)| !mutation.may_use_reserve()),
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
        if self.reserve.is_whole() {
            return true;
        }
        let now = Instant::now();
        if self.restore_at.is_some_and(|at| now < at) {
            return false;
        }
        self.restore_at = Some(now + self.base.limits.record_again);
        let is_whole = self.reserve.restore();
        if !is_whole {
            self.base.health.met(RecordingFault::DiskFull);
        }
        is_whole
    }

    async fn transact(&mut self, mutations: &[&Mutation]) -> Result<Vec<MutationOutcome>, TransactionError> {
        self.base.health.begins();
        self.base.kept.writes.advance();
        let written = self.attempt(mutations).await;
        if written.is_err() {
            self.roll_back().await;
        }
        self.base.kept.writes.advance();
        self.base.health.ended();
        match &written {
            // With the reserve in use, what can wait still waits.
            Ok(_) if !self.reserve.is_whole() => {}
            Ok(_) => self.base.health.recovered(),
            Err(TransactionError::Database(error)) => {
                if let Some(fault) = errors::recording(&self.base.path, error) {
                    self.base.health.met(fault);
                }
            }
            Err(TransactionError::Uncertain) => self.base.health.met(RecordingFault::Failing),
        }
        written
    }

    /// One transaction. The cache survives only its success.
    async fn attempt(&mut self, mutations: &[&Mutation]) -> Result<Vec<MutationOutcome>, TransactionError> {
        let cache = std::mem::take(&mut self.cache);
        let mut group = WriteTransaction::begin(&mut self.connection, &self.base, mutations, cache).await?;
        let mut written = Vec::with_capacity(mutations.len());
        for mutation in mutations {
            written.push(group.write(&mut self.connection, mutation).await?);
        }
        let token = group.token();
        let ended = group.end(&mut self.connection).await;
        #[cfg(test)]
        let ended = if std::mem::take(&mut self.fails_after_commit) { Err(sqlx::Error::WorkerCrashed) } else { ended };
        match ended {
            Ok(cache) => {
                self.cache = cache;
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
                        Err(TransactionError::Uncertain)
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

    /// Moves the write-ahead log into the database and keeps the log's space: on a full disk another program would take it,
    /// and the next commits need it.
    async fn checkpoint(&mut self) {
        let mut batch = StatementBatch::default();
        batch.add("PRAGMA wal_checkpoint(RESTART)");
        if let Err(error) = batch.run(&mut self.connection).await {
            tracing::warn!(%error, "the registry's write-ahead log could not be checkpointed; it is tried again later");
        }
    }

    /// SQLite may have rolled back by itself; then this is refused, and that is fine.
    async fn roll_back(&mut self) {
        let mut batch = StatementBatch::default();
        batch.add("ROLLBACK");
        if let Err(error) = batch.run(&mut self.connection).await {
            tracing::debug!(%error, "nothing was left to roll back");
        }
    }
}

fn is_full<T>(outcome: &Result<T, TransactionError>) -> bool {
    matches!(outcome, Err(TransactionError::Database(error)) if errors::is_full(error))
}
