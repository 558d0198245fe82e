//! Compares checkpoints with the rows of the audit log, in stretches and off the writer.
//!
//! A checkpoint holds when its note is signed by a key of the log, says what its columns say, and the rows give its root.
//! The hashes of rows are read as they are stored: whether they fit the rows is the chain's (`audit_check.rs`). That the newest
//! checkpoint is the one that was signed last is in `signed_log.rs`.

use domain::ports::{BrokenCheckpoint, Checkpoint, LogEpoch, RegistryError, TreeCheck, TreeStart};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection};
use verify::note::{NoteKey, SignedNote, TreeHead};
use verify::tree::{Frontier, leaf_hash};

use super::audit_tree::TreeReader;
use crate::sqlite::tables::audit::checkpoints::{CHECKPOINT_COLUMNS, read_checkpoint};
use crate::sqlite::tables::audit::packed::PackedBytes;
use crate::sqlite::{SqliteRegistry, unsigned, whole};

/// Who may have signed, and what.
struct SignedLog {
    origin: String,
    keys: Vec<NoteKey>,
}

impl SignedLog {
    /// Why a checkpoint does not hold by itself.
    fn fault(&self, checkpoint: &Checkpoint) -> Option<String> {
        let note = match SignedNote::parse(&checkpoint.note) {
            Ok(note) => note,
            Err(fault) => return Some(fault.to_string()),
        };
        let head = match TreeHead::parse(note.text()) {
            Ok(head) => head,
            Err(fault) => return Some(fault.to_string()),
        };
        if let Err(fault) = note.signer(&self.keys) {
            return Some(fault.to_string());
        }
        // What was signed in an earlier epoch keeps the name that the log had then.
        let (then, now) = (LogEpoch::of(&head.origin), LogEpoch::of(&self.origin));
        let is_of_log = then.log == now.log && then.number <= now.number;
        let says_the_same = is_of_log && head.size == checkpoint.size && head.root == checkpoint.root;
        (!says_the_same).then(|| "its note is about another log, size or root".into())
    }

    /// Whether a checkpoint that holds by itself was signed before the epoch of the log began.
    fn is_of_earlier_epoch(&self, checkpoint: &Checkpoint) -> bool {
        let note = SignedNote::parse(&checkpoint.note).ok();
        let head = note.and_then(|note| TreeHead::parse(note.text()).ok());
        head.is_some_and(|head| LogEpoch::of(&head.origin).number < LogEpoch::of(&self.origin).number)
    }

    /// Why a checkpoint does not hold against the tree over the rows that it covers.
    fn compare(&self, checkpoint: &Checkpoint, rows: &Frontier) -> Option<BrokenCheckpoint> {
        // A person put on record that the log goes on from other rows; what is signed since then covers those before, too.
        let is_other = || rows.root() != checkpoint.root && !self.is_of_earlier_epoch(checkpoint);
        let contradicts = || is_other().then(|| "the rows up to it are not those that were signed".to_owned());
        let why = self.fault(checkpoint).or_else(contradicts)?;
        Some(BrokenCheckpoint { size: checkpoint.size, why })
    }

    /// Adds a checkpoint to a comparison, unless one before it does not hold.
    fn take(&self, check: &mut TreeCheck, checkpoint: &Checkpoint, rows: &Frontier) {
        check.compared += 1;
        if check.broken.is_some() {
            return;
        }
        check.broken = self.compare(checkpoint, rows);
        if check.broken.is_none() && rows.root() == checkpoint.root {
            check.proven = Some((checkpoint.size, checkpoint.root));
        }
    }
}

/// Checkpoints with sizes from `first` to `last`, the smallest first.
async fn checkpoints(connection: &mut SqliteConnection, first: u64, last: u64) -> Result<Vec<Checkpoint>, sqlx::Error> {
    let sql = format!("SELECT {CHECKPOINT_COLUMNS} FROM checkpoints WHERE size BETWEEN ? AND ? ORDER BY size");
    let found = sqlx::query(AssertSqlSafe(sql)).bind(whole(first)).bind(whole(last)).fetch_all(connection).await?;
    found.iter().map(read_checkpoint).collect()
}

/// The hashes of rows after this one, with their numbers, as they are stored.
pub(crate) async fn row_hashes(
    connection: &mut SqliteConnection,
    after: u64,
    rows: u32,
) -> Result<Vec<(u64, PackedBytes)>, sqlx::Error> {
    // In one column, as in `tables/audit/packed.rs`.
    let read: String = sqlx::query_scalar(
        "SELECT json_group_array(json_array(number, hex(hash))) FROM \
         (SELECT number, hash FROM audit WHERE number > ? ORDER BY number LIMIT ?)",
    )
    .bind(whole(after))
    .bind(rows)
    .fetch_one(connection)
    .await?;
    serde_json::from_str(&read).map_err(|why| sqlx::Error::Decode(why.into()))
}

impl SqliteRegistry {
    /// Compares checkpoints with a stretch of rows, and at the end the newest one with what was signed last.
    pub(crate) async fn compare_checkpoints(&self, start: TreeStart, rows: u32) -> Result<TreeCheck, RegistryError> {
        let mut check = self.compare_stretch(start, rows).await?;
        if check.broken.is_none() && check.next.is_none() {
            check.broken = self.mark_fault().await?;
        }
        Ok(check)
    }

    /// Compares checkpoints with a stretch of rows.
    pub(crate) async fn compare_stretch(&self, start: TreeStart, rows: u32) -> Result<TreeCheck, RegistryError> {
        let failed = || self.base.failed("compare checkpoints with the audit log");
        let mut reader = self.reader().await?;
        let mut snapshot = reader.begin().await.map_err(failed())?;
        let log = self.log_state(&mut snapshot).await?;
        let newest: Option<i64> =
            sqlx::query_scalar("SELECT max(size) FROM checkpoints").fetch_one(&mut *snapshot).await.map_err(failed())?;
        let newest = newest.map_or(0, unsigned);
        let found = sqlx::query_scalar::<_, String>("SELECT public FROM signing_keys")
            .fetch_all(&mut *snapshot)
            .await
            .map_err(failed())?;
        let signed =
            SignedLog { origin: log.origin, keys: found.iter().filter_map(|key| NoteKey::parse(key).ok()).collect() };
        let epoch = LogEpoch::of(&signed.origin).number;
        let mut check = TreeCheck { newest, epoch, ..TreeCheck::default() };
        // The one at the start was compared by the stretch before.
        let skipped = u64::from(matches!(start, TreeStart::After(_)));
        let begins = self.tree_start(&mut snapshot, start, log.first, newest.saturating_sub(u64::from(rows))).await?;
        let Some(mut frontier) = begins else {
            check.broken = Some(BrokenCheckpoint {
                size: newest,
                why: "the tree over the rows that retention removed is not complete".into(),
            });
            return Ok(check);
        };
        let begin = frontier.size();
        let found = checkpoints(&mut snapshot, begin + skipped, begin + u64::from(rows)).await.map_err(failed())?;
        let mut wanted = found.into_iter().peekable();
        while let Some(checkpoint) = wanted.next_if(|checkpoint| checkpoint.size == frontier.size()) {
            signed.take(&mut check, &checkpoint, &frontier);
        }
        for (number, hash) in row_hashes(&mut snapshot, begin, rows).await.map_err(failed())? {
            if check.broken.is_some() || number != frontier.size() + 1 {
                break;
            }
            frontier.push(leaf_hash(&hash.0), |_, _| {});
            while let Some(checkpoint) = wanted.next_if(|checkpoint| checkpoint.size == number) {
                signed.take(&mut check, &checkpoint, &frontier);
            }
        }
        snapshot.rollback().await.map_err(failed())?;
        check.upto = frontier.size();
        if check.broken.is_none() {
            if frontier.size() >= newest {
                // Everything that was signed was compared.
            } else if frontier.size() == begin + u64::from(rows) {
                check.next = Some(frontier.to_bytes());
            } else {
                check.broken = Some(BrokenCheckpoint {
                    size: wanted.next().map_or(newest, |checkpoint| checkpoint.size),
                    why: format!("row {}, which it covers, is missing", frontier.size() + 1),
                });
            }
        }
        Ok(check)
    }

    /// The tree over the rows before those that are compared; `None` when it cannot be known.
    async fn tree_start(
        &self,
        connection: &mut SqliteConnection,
        start: TreeStart,
        first: u64,
        recent: u64,
    ) -> Result<Option<Frontier>, RegistryError> {
        let failed = || self.base.failed("read the tree of the audit log");
        let at_most = match start {
            TreeStart::After(place) => return Ok(Frontier::from_bytes(&place)),
            TreeStart::First => 0,
            TreeStart::Recent => recent,
            TreeStart::Before(row) => row.saturating_sub(1),
        };
        let size: Option<i64> = sqlx::query_scalar("SELECT max(size) FROM checkpoints WHERE size <= ?")
            .bind(whole(at_most))
            .fetch_one(&mut *connection)
            .await
            .map_err(failed())?;
        let size = size.map_or(0, unsigned).max(first.saturating_sub(1));
        TreeReader::new(connection).frontier(size).await.map_err(failed())
    }
}
