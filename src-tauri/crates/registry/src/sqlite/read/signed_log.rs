//! Compares what was signed last with the checkpoints and rows that are there, and builds the tree anew from the rows.
//!
//! Whoever has the file can write rows, hashes, tree and checkpoints anew that fit each other. They cannot make the mark of
//! what was signed last, which needs the key of the registry (decision 0115).

use domain::ports::{BrokenCheckpoint, Checkpoint, LogHash, LogHead, RegistryError};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection, Row};
use verify::tree::{Frontier, leaf_hash};

use super::audit_tree::TreeReader;
use super::checkpoint_check::row_hashes;
use crate::sqlite::tables::audit::checkpoints::{
    CHECKPOINT_COLUMNS, NODE_LEVELS, SignedMark, SignedPlace, SigningRow, read_checkpoint,
};
use crate::sqlite::{SqliteRegistry, unsigned};

/// Rows of which the hashes are read at once; some megabytes. Judgement.
const PART_ROWS: u32 = 20_000;
/// What is said of rows that are not those that were signed.
const OTHER_ROWS: &str = "the rows up to it are not those that were signed";

/// The name of the log, and what is stored as signed last.
struct StoredMark {
    log_id: String,
    /// `None` where there is none, or a column has a value of another type.
    signed: Option<SignedMark>,
}

fn signed_of(row: &SqliteRow) -> Option<SignedMark> {
    let bytes = |column: usize| -> Option<LogHash> { row.try_get::<&[u8], _>(column).ok()?.try_into().ok() };
    let place = SignedPlace {
        size: unsigned(row.try_get(1).ok()?),
        root: bytes(2)?,
        begins_epoch: row.try_get::<i64, _>(3).ok()? == 1,
    };
    Some(SignedMark { place, mark: bytes(4)? })
}

/// Why the newest checkpoint is not what was signed last.
fn against_newest(place: SignedPlace, newest: Option<&Checkpoint>) -> Option<BrokenCheckpoint> {
    let covered = newest.map_or(0, |newest| newest.size);
    let broken = |size, why: String| Some(BrokenCheckpoint { size, why });
    match newest {
        // Of an epoch that began, no checkpoint is made yet.
        _ if place.begins_epoch => None,
        None if place.size > 0 => broken(place.size, "all checkpoints were removed, and this is the newest one".into()),
        Some(_) if covered < place.size => broken(place.size, format!("checkpoints after row {covered} were removed")),
        Some(_) if covered > place.size => {
            broken(covered, format!("the core did not store it, and signed up to row {} last", place.size))
        }
        Some(newest) if newest.root != place.root => broken(covered, "the core signed another root".into()),
        None | Some(_) => None,
    }
}

impl SqliteRegistry {
    async fn stored_mark(&self, connection: &mut SqliteConnection) -> Result<StoredMark, RegistryError> {
        let failed = || self.base.failed("read what was signed last of the audit log");
        let row =
            sqlx::query("SELECT log_id, signed_size, signed_root, signed_begins, signed_mark FROM store WHERE one = 1")
                .fetch_one(connection)
                .await
                .map_err(failed())?;
        Ok(StoredMark { log_id: row.try_get(0).map_err(failed())?, signed: signed_of(&row) })
    }

    /// The newest checkpoint.
    pub(crate) async fn newest_checkpoint(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Option<Checkpoint>, RegistryError> {
        let failed = || self.base.failed("read the newest checkpoint");
        let sql = format!("SELECT {CHECKPOINT_COLUMNS} FROM checkpoints ORDER BY size DESC LIMIT 1");
        let found = sqlx::query(AssertSqlSafe(sql)).fetch_optional(connection).await.map_err(failed())?;
        found.as_ref().map(read_checkpoint).transpose().map_err(failed())
    }

    /// What was signed last, or why the newest checkpoint is not that.
    pub(crate) async fn signed_last(
        &self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<SignedPlace, BrokenCheckpoint>, RegistryError> {
        let StoredMark { log_id, signed } = self.stored_mark(connection).await?;
        let newest = self.newest_checkpoint(connection).await?;
        let ours = signed.filter(|signed| signed.place.marked(&self.base.sealer, &log_id) == *signed);
        let Some(SignedMark { place, .. }) = ours else {
            let size = newest.map_or(0, |newest| newest.size);
            let why = "the registry does not have its own mark of what was signed last any more".into();
            return Ok(Err(BrokenCheckpoint { size, why }));
        };
        Ok(against_newest(place, newest.as_ref()).map_or(Ok(place), Err))
    }

    /// The same, and that the rows of an epoch without a checkpoint are those with which it began. Checkpoints and their rows
    /// are compared by whoever asks.
    pub(crate) async fn mark_fault(&self) -> Result<Option<BrokenCheckpoint>, RegistryError> {
        let failed = || self.base.failed("read the tree of the audit log");
        let mut reader = self.reader().await?;
        // The core may store a checkpoint meanwhile; mark and checkpoint are of one moment.
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let place = match self.signed_last(&mut snapshot).await? {
            Ok(place) => place,
            Err(broken) => return Ok(Some(broken)),
        };
        if !place.begins_epoch {
            return Ok(None);
        }
        let tree = TreeReader::new(&mut snapshot).frontier(place.size).await.map_err(failed())?;
        let is_same = tree.is_some_and(|tree| tree.root() == place.root);
        Ok((!is_same).then(|| BrokenCheckpoint { size: place.size, why: OTHER_ROWS.into() }))
    }

    /// Why the rows do not lead from what was signed last to this head. What was signed is the root over all rows before, so
    /// the edge of the tree that gives it is genuine, and only the rows after it are read.
    pub(crate) async fn fault_before_signing(&self, head: &LogHead) -> Result<Option<BrokenCheckpoint>, RegistryError> {
        let failed = || self.base.failed("compare the audit log with what was signed last");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let log = self.log_state(&mut snapshot).await?;
        let SignedPlace { size, root, .. } = match self.signed_last(&mut snapshot).await? {
            Ok(place) => place,
            Err(broken) => return Ok(Some(broken)),
        };
        let broken = |why: String| Ok(Some(BrokenCheckpoint { size, why }));
        if size > log.last || head.size > log.last {
            return broken(format!("rows after row {} were removed", log.last));
        }
        let signed = TreeReader::new(&mut snapshot).frontier(size).await.map_err(failed())?;
        let Some(mut tree) = signed.filter(|tree| tree.root() == root) else { return broken(OTHER_ROWS.into()) };
        let before = log.first.saturating_sub(1);
        if size < before {
            // Retention took rows into the tree that were never signed, and removed them.
            let kept = TreeReader::new(&mut snapshot).frontier(before).await.map_err(failed())?;
            let Some(kept) = kept else { return broken(format!("row {}, after it, is missing", size + 1)) };
            tree = kept;
        }
        while tree.size() < head.size {
            let left = u32::try_from(head.size - tree.size()).unwrap_or(u32::MAX).min(PART_ROWS);
            let found = row_hashes(&mut snapshot, tree.size(), left).await.map_err(failed())?;
            let begin = tree.size();
            for (number, hash) in found {
                if number != tree.size() + 1 {
                    break;
                }
                tree.push(leaf_hash(&hash.0), |_, _| {});
            }
            if tree.size() == begin {
                return broken(format!("row {}, after it, is missing", begin + 1));
            }
        }
        snapshot.rollback().await.map_err(failed())?;
        if tree.size() == head.size && tree.root() != head.root {
            return broken("the tree over the rows after it is not that of the rows".into());
        }
        Ok(None)
    }

    /// The root over the first rows from their hashes, where no tree over them is stored; `None` where one is missing.
    pub(crate) async fn root_of_rows(
        &self,
        connection: &mut SqliteConnection,
        size: u64,
    ) -> Result<Option<LogHash>, RegistryError> {
        let failed = || self.base.failed("read rows for the tree of the audit log");
        let mut tree = Frontier::default();
        while tree.size() < size {
            let begin = tree.size();
            let left = u32::try_from(size - begin).unwrap_or(u32::MAX).min(PART_ROWS);
            for (number, hash) in row_hashes(&mut *connection, begin, left).await.map_err(failed())? {
                if number != tree.size() + 1 {
                    return Ok(None);
                }
                tree.push(leaf_hash(&hash.0), |_, _| {});
            }
            if tree.size() == begin {
                return Ok(None);
            }
        }
        Ok(Some(tree.root()))
    }

    /// The tree as the rows that are there give it.
    pub(crate) async fn tree_of_rows(&self) -> Result<SigningRow, RegistryError> {
        let failed = || self.base.failed("build the tree of the audit log from its rows");
        let missing = |number: u64| RegistryError::Other {
            operation: "build the tree of the audit log from its rows",
            why: format!("row {number} is missing; `taskwarden audit verify` checks the whole log"),
        };
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let log = self.log_state(&mut snapshot).await?;
        let before = log.first.saturating_sub(1);
        let kept = TreeReader::new(&mut snapshot).frontier(before).await.map_err(failed())?;
        let mut tree: Frontier = kept.ok_or_else(|| missing(before))?;
        let mut nodes = Vec::new();
        while tree.size() < log.last {
            let found = row_hashes(&mut snapshot, tree.size(), PART_ROWS).await.map_err(failed())?;
            if found.is_empty() {
                return Err(missing(tree.size() + 1));
            }
            for (number, hash) in found {
                if number != tree.size() + 1 {
                    return Err(missing(tree.size() + 1));
                }
                tree.push(leaf_hash(&hash.0), |subtree, hash| {
                    if subtree.level.is_multiple_of(NODE_LEVELS) {
                        nodes.push((subtree, *hash));
                    }
                });
            }
        }
        snapshot.rollback().await.map_err(failed())?;
        Ok(SigningRow::tree(&nodes, &tree))
    }
}
