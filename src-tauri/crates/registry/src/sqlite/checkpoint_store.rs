//! The `CheckpointStore` and `SinkStore` ports on SQLite: the tree over the audit log grows, what was signed of it is stored,
//! and so is how far its rows were sent.
//!
//! Rows and columns are in `tables/audit/checkpoints.rs` and `tables/audit/sinks.rs`, subtrees in `read/audit_tree.rs`, the
//! comparison with the rows in `read/checkpoint_check.rs`. Nothing is signed or sent here.

use domain::audit::AuditEvent;
use domain::ports::{
    AuditFilter, AuditRecheck, BrokenCheckpoint, Checkpoint, CheckpointStore, CheckpointUnit, EpochUnit, LeafSpan,
    LogHash, LogHead, LogKey, MonthRead, PortFuture, Recording, RegistryError, SinkNote, SinkStore, SinkUnit,
    StoredSinks, TreeCheck, TreeGrowth, TreeStart, UnsignedRows,
};
use domain::time::Timestamp;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Row};
use verify::chain::{Hash, START};
use verify::tree::{Frontier, LeafRange, Subtree, leaf_hash};

use super::read::audit_tree::TreeReader;
use super::tables::audit::VerifiedMark;
use super::tables::audit::checkpoints::{
    CHECKPOINT_COLUMNS, NODE_LEVELS, PROGRAM, SignedPlace, SigningRow, id_of, read_checkpoint, read_key,
};
use super::tables::audit::sinks::{self, SinkRow, SinkWrite};
use super::write::mutation::Mutation;
use super::{SqliteRegistry, unsigned, whole};

/// Keys read at most; the limit only keeps a damaged file from filling the memory.
const KEYS_MAX: u32 = 10_000;

/// What the tree is about at one moment.
pub(crate) struct LogState {
    pub(crate) origin: String,
    pub(crate) frontier: Frontier,
    /// The last row that was written.
    pub(crate) last: u64,
    /// The first row that is still there, or the next one when none is.
    pub(crate) first: u64,
}

impl SqliteRegistry {
    pub(crate) async fn log_state(&self, connection: &mut SqliteConnection) -> Result<LogState, RegistryError> {
        let failed = || self.base.failed("read the tree of the audit log");
        let row = sqlx::query(
            "SELECT log_id, audit_frontier, audit_number, \
             (SELECT coalesce(min(number), store.audit_number + 1) FROM audit) FROM store WHERE one = 1",
        )
        .fetch_one(connection)
        .await
        .map_err(failed())?;
        let id: &str = row.try_get(0).map_err(failed())?;
        let frontier: Option<&[u8]> = row.try_get(1).map_err(failed())?;
        let frontier = match frontier {
            Some(bytes) => Frontier::from_bytes(bytes).ok_or_else(|| RegistryError::Damaged {
                path: self.base.path.clone(),
                finding: "the edge of the tree over the audit log does not read".into(),
            })?,
            None => Frontier::default(),
        };
        Ok(LogState {
            origin: format!("{PROGRAM}{id}"),
            frontier,
            last: unsigned(row.try_get(2).map_err(failed())?),
            first: unsigned(row.try_get(3).map_err(failed())?),
        })
    }

    /// The tree with at most `rows` further rows, and the subtrees that they complete.
    async fn grown(&self, rows: u32) -> Result<(LogState, Vec<(Subtree, Hash)>), RegistryError> {
        let failed = || self.base.failed("read rows for the tree of the audit log");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let mut log = self.log_state(&mut snapshot).await?;
        let mut nodes = Vec::new();
        let mut push = |frontier: &mut Frontier, leaf: Hash| {
            frontier.push(leaf, |subtree, hash| {
                if subtree.level.is_multiple_of(NODE_LEVELS) {
                    nodes.push((subtree, *hash));
                }
            });
        };
        let mut left = rows;
        // Rows that went before the tree was begun have no hash any more.
        while left > 0 && log.frontier.size() + 1 < log.first {
            push(&mut log.frontier, leaf_hash(&START));
            left -= 1;
        }
        let found = sqlx::query("SELECT number, hash FROM audit WHERE number > ? ORDER BY number LIMIT ?")
            .bind(whole(log.frontier.size()))
            .bind(left)
            .fetch_all(&mut *snapshot)
            .await
            .map_err(failed())?;
        for row in &found {
            let next = log.frontier.size() + 1;
            let number = unsigned(row.try_get(0).map_err(failed())?);
            let hash: &[u8] = row.try_get(1).map_err(failed())?;
            if number != next {
                return Err(missing(next));
            }
            push(&mut log.frontier, leaf_hash(hash));
        }
        snapshot.rollback().await.map_err(failed())?;
        if left > 0 && found.is_empty() && log.frontier.size() < log.last {
            return Err(missing(log.frontier.size() + 1));
        }
        Ok((log, nodes))
    }

    /// Takes rows into the tree up to this one, before retention removes them.
    pub(crate) async fn grow_tree_to(&self, last: u64, rows: u32) -> Result<(), RegistryError> {
        while self.grow_tree(rows).await?.head.size < last {}
        Ok(())
    }

    /// Stores how far rows are verified. Without the mark they are read again; whoever asks, such as `doctor`, never waits
    /// for a slow disk.
    pub(super) async fn keep_verified(&self, mark: Option<VerifiedMark>) {
        let (Ok(writer), Some(mark), Recording::Possible) = (self.writer(), mark, self.base.health.recording()) else {
            return;
        };
        let stored = writer.write(Mutation::MarkVerified(mark));
        match tokio::time::timeout(self.base.health.slow_commit(), stored).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "how far the audit log is verified was not stored"),
            Err(_) => tracing::debug!("how far the audit log is verified is stored later"),
        }
    }

    async fn read_unsigned(&self, newest: u64) -> Result<UnsignedRows, RegistryError> {
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "WITH signed AS (SELECT signed_size AS size FROM store WHERE one = 1) \
             SELECT audit_number - signed.size, \
             EXISTS (SELECT 1 FROM audit a WHERE a.number > max(signed.size, store.audit_number - ?) AND \
              (+a.actor LIKE 'person:%' OR +a.actor LIKE 'control:%' OR +a.actor = 'system:rule' \
               OR +a.verb IN ('halted', 'resumed'))), \
             (SELECT a.at FROM audit a WHERE a.number > signed.size ORDER BY a.number LIMIT 1) \
             FROM store, signed WHERE one = 1",
        )
        .bind(whole(newest))
        .fetch_one(&mut *reader)
        .await
        .map_err(self.base.failed("read rows without a checkpoint"))?;
        let failed = || self.base.failed("read rows without a checkpoint");
        let since: Option<i64> = row.try_get(2).map_err(failed())?;
        Ok(UnsignedRows {
            rows: unsigned(row.try_get(0).map_err(failed())?),
            has_decision: row.try_get(1).map_err(failed())?,
            since: since.map(Timestamp::from_millis),
        })
    }
}

fn missing(number: u64) -> RegistryError {
    RegistryError::Other {
        operation: "take rows into the tree of the audit log",
        why: format!("row {number} is missing; `taskwarden audit verify` checks the whole log"),
    }
}

impl CheckpointStore for SqliteRegistry {
    fn grow_tree(&self, rows: u32) -> PortFuture<'_, Result<TreeGrowth, RegistryError>> {
        Box::pin(async move {
            let writer = self.writer()?;
            let before = self.grown(rows).await?;
            let (LogState { origin, frontier, last, .. }, nodes) = before;
            let row = SigningRow::tree(&nodes, &frontier);
            writer.write(Mutation::Sign(Box::new(row))).await?.into_done()?;
            Ok(TreeGrowth { head: LogHead { origin, size: frontier.size(), root: frontier.root() }, last })
        })
    }

    fn unsigned_rows(&self, newest: u64) -> PortFuture<'_, Result<UnsignedRows, RegistryError>> {
        Box::pin(self.read_unsigned(newest))
    }

    fn put_checkpoint(&self, unit: CheckpointUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let Checkpoint { size, root, .. } = unit.checkpoint;
            let mut reader = self.reader().await?;
            let origin = self.log_state(&mut reader).await?.origin;
            drop(reader);
            let place = SignedPlace { size, root, begins_epoch: false };
            let row = SigningRow::Checkpoint(Box::new(unit), place.marked(&self.base.sealer, id_of(&origin)));
            self.writer()?.write(Mutation::Sign(Box::new(row))).await?.into_done()
        })
    }

    fn begin_epoch(&self, unit: EpochUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let place = SignedPlace { size: unit.size, root: unit.root, begins_epoch: true };
            let mark = place.marked(&self.base.sealer, id_of(&unit.origin));
            let row = SigningRow::Epoch(Box::new(unit), mark);
            self.writer()?.write(Mutation::Sign(Box::new(row))).await?.into_done()
        })
    }

    fn signing_fault(&self, head: LogHead) -> PortFuture<'_, Result<Option<BrokenCheckpoint>, RegistryError>> {
        Box::pin(async move { self.fault_before_signing(&head).await })
    }

    fn rebuild_tree(&self) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move {
            let row = self.tree_of_rows().await?;
            self.writer()?.write(Mutation::Sign(Box::new(row))).await?.into_done()
        })
    }

    fn checkpoints(&self, limit: u32) -> PortFuture<'_, Result<Vec<Checkpoint>, RegistryError>> {
        Box::pin(async move {
            let failed = || self.base.failed("read checkpoints");
            let mut reader = self.reader().await?;
            let sql = format!("SELECT {CHECKPOINT_COLUMNS} FROM checkpoints ORDER BY size DESC LIMIT ?");
            let found = sqlx::query(AssertSqlSafe(sql)).bind(limit).fetch_all(&mut *reader).await.map_err(failed())?;
            found.iter().map(read_checkpoint).collect::<Result<_, _>>().map_err(failed())
        })
    }

    fn log_keys(&self) -> PortFuture<'_, Result<Vec<LogKey>, RegistryError>> {
        Box::pin(async move {
            let failed = || self.base.failed("read keys of the audit log");
            let mut reader = self.reader().await?;
            let found = sqlx::query(
                "SELECT id, public, created, retired FROM signing_keys \
                 ORDER BY retired IS NOT NULL, created DESC, id LIMIT ?",
            )
            .bind(KEYS_MAX)
            .fetch_all(&mut *reader)
            .await
            .map_err(failed())?;
            found.iter().map(read_key).collect::<Result<_, _>>().map_err(failed())
        })
    }

    fn tree_roots(&self, spans: Vec<LeafSpan>) -> PortFuture<'_, Result<Vec<Option<LogHash>>, RegistryError>> {
        Box::pin(async move {
            let failed = || self.base.failed("read the tree of the audit log");
            let mut reader = self.reader().await?;
            let mut snapshot = reader.begin().await.map_err(failed())?;
            let log = self.log_state(&mut snapshot).await?;
            let mut tree = TreeReader::new(&mut snapshot);
            let mut roots = Vec::with_capacity(spans.len());
            for LeafSpan { begin, end } in &spans {
                let range = LeafRange { begin: *begin, end: *end };
                roots.push(tree.root(range).await.map_err(failed())?);
            }
            for (LeafSpan { begin, end }, root) in spans.into_iter().zip(&mut roots) {
                // Somebody may have removed the tree; the rows are there all the same.
                if root.is_none() && begin == 0 && (1..=log.last).contains(&end) && log.first == 1 {
                    *root = self.root_of_rows(&mut snapshot, end).await?;
                }
            }
            snapshot.rollback().await.map_err(failed())?;
            Ok(roots)
        })
    }

    fn check_tree(&self, start: TreeStart, rows: u32) -> PortFuture<'_, Result<TreeCheck, RegistryError>> {
        Box::pin(self.compare_checkpoints(start, rows))
    }

    fn reverify_audit(&self, after: Option<u64>, rows: u32) -> PortFuture<'_, Result<AuditRecheck, RegistryError>> {
        Box::pin(async move {
            let (check, mark) = self.reverify_stretch(after, rows).await?;
            self.keep_verified(mark).await;
            Ok(check)
        })
    }

    fn audit_count(&self, filter: AuditFilter, last: u64) -> PortFuture<'_, Result<u64, RegistryError>> {
        Box::pin(self.count_audit_rows(filter, last))
    }

    fn month_report(&self, since: Timestamp, until: Timestamp) -> PortFuture<'_, Result<MonthRead, RegistryError>> {
        Box::pin(self.read_month(since, until))
    }
}

impl SqliteRegistry {
    async fn write_sink(&self, write: SinkWrite) -> Result<(), RegistryError> {
        self.writer()?.write(Mutation::PutSink(write)).await?.into_done()
    }
}

impl SinkStore for SqliteRegistry {
    fn put_sink(&self, unit: SinkUnit) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(async move { self.write_sink(SinkWrite::Put(SinkRow::of(unit.sink)?, unit.audit)).await })
    }

    fn remove_sink(&self, id: u32, audit: Vec<AuditEvent>) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write_sink(SinkWrite::Remove(id, audit)))
    }

    fn note_sink(&self, note: SinkNote) -> PortFuture<'_, Result<(), RegistryError>> {
        Box::pin(self.write_sink(SinkWrite::Note(Box::new(note))))
    }

    fn sinks(&self) -> PortFuture<'_, Result<StoredSinks, RegistryError>> {
        Box::pin(async move {
            let failed = || self.base.failed("read sinks of the audit log");
            let mut reader = self.reader().await?;
            let log = self.log_state(&mut reader).await?;
            let found = sqlx::query(sinks::ALL).fetch_all(&mut *reader).await.map_err(failed())?;
            let sinks = sinks::read_all(&self.base, &found)?;
            Ok(StoredSinks { sinks, origin: log.origin, last: log.last })
        })
    }
}
