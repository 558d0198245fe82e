//! The tree over the audit log as it is stored, checkpoints, the keys that signed them, and the mark of what was signed last.
//!
//! Of the tree, the right edge is kept and every complete subtree of 256, 65,536, … rows; everything else follows from
//! the rows. Nothing is signed or verified here.

use domain::audit::AuditEvent;
use domain::digest::hex;
use domain::ports::{Checkpoint, CheckpointUnit, EpochUnit, LogHash, LogKey};
use domain::time::Timestamp;
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;
use verify::chain::Hash;
use verify::tree::{Frontier, Subtree};

use crate::seal::Sealer;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{unsigned, whole};

/// Levels between stored subtrees: each stored node stands for 256 of the level below.
pub(crate) const NODE_LEVELS: u32 = 8;

/// A change of the tree or of what was signed, ready to write.
#[derive(Debug)]
pub(crate) enum SigningRow {
    Tree {
        /// As the JSON array that the statement reads.
        nodes: String,
        frontier: Vec<u8>,
    },
    Checkpoint(Box<CheckpointUnit>, SignedMark),
    Epoch(Box<EpochUnit>, SignedMark),
}

/// What was signed last. With the key of the registry only, a mark of it can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SignedPlace {
    /// Rows that the newest checkpoint covers; 0 without one.
    pub(crate) size: u64,
    pub(crate) root: LogHash,
    /// An epoch began there, and its first checkpoint is not made yet.
    pub(crate) begins_epoch: bool,
}

impl SignedPlace {
    /// The mark of it in the log of this name, without the name of the program.
    pub(crate) fn marked(self, sealer: &Sealer, log_id: &str) -> SignedMark {
        let mark = sealer.mark(&[
            b"audit signed",
            &self.size.to_be_bytes(),
            &self.root,
            &[u8::from(self.begins_epoch)],
            log_id.as_bytes(),
        ]);
        SignedMark { place: self, mark }
    }
}

/// What was signed last, with its mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SignedMark {
    pub(crate) place: SignedPlace,
    pub(crate) mark: LogHash,
}

impl SignedMark {
    fn write(&self, batch: &mut StatementBatch) {
        batch
            .add("UPDATE store SET signed_size = ?, signed_root = ?, signed_begins = ?, signed_mark = ? WHERE one = 1")
            .with(whole(self.place.size))
            .with(self.place.root.to_vec())
            .with(self.place.begins_epoch)
            .with(self.mark.to_vec());
    }
}

/// The id of a log in the epoch of this name.
pub(crate) fn id_of(origin: &str) -> &str {
    origin.strip_prefix(PROGRAM).unwrap_or(origin)
}

/// The beginning of the name of a log.
pub(crate) const PROGRAM: &str = "taskwarden/";

impl SigningRow {
    pub(crate) fn tree(nodes: &[(Subtree, Hash)], frontier: &Frontier) -> Self {
        let node = |(Subtree { level, index }, hash): &(Subtree, Hash)| json!([level, index, hex(hash)]);
        Self::Tree { nodes: Value::Array(nodes.iter().map(node).collect()).to_string(), frontier: frontier.to_bytes() }
    }

    /// The audit rows of this change.
    pub(crate) fn audit(&self) -> &[AuditEvent] {
        match self {
            Self::Tree { .. } => &[],
            Self::Checkpoint(unit, _) => &unit.audit,
            Self::Epoch(unit, _) => &unit.audit,
        }
    }

    /// Which statements it is written with.
    pub(crate) const fn shape(&self) -> u8 {
        match self {
            Self::Tree { .. } => 23,
            Self::Checkpoint(..) => 24,
            Self::Epoch(..) => 32,
        }
    }
}

/// Writes one change.
pub(crate) fn put(batch: &mut StatementBatch, row: &SigningRow) {
    match row {
        SigningRow::Tree { nodes, frontier } => {
            batch
                .add(
                    "INSERT OR REPLACE INTO audit_nodes (level, number, hash) \
                     SELECT value ->> 0, value ->> 1, unhex(value ->> 2) FROM json_each(?)",
                )
                .with(nodes.clone());
            batch.add("UPDATE store SET audit_frontier = ? WHERE one = 1").with(frontier.clone());
        }
        SigningRow::Epoch(unit, mark) => {
            // A person goes on from the rows that are there: what was verified before of others says nothing about them.
            batch
                .add(
                    "UPDATE store SET log_id = ?, verified_number = 0, verified_mark = NULL, reverified_number = 0, \
                     reverified_mark = NULL WHERE one = 1",
                )
                .with(id_of(&unit.origin).to_owned());
            // Checkpoints of rows that are gone; the audit row of the epoch says so.
            batch.add("DELETE FROM checkpoints WHERE size > ?").with(whole(unit.size));
            mark.write(batch);
        }
        SigningRow::Checkpoint(unit, mark) => {
            let Checkpoint { size, root, note, at, key } = &unit.checkpoint;
            batch
                .add("INSERT OR REPLACE INTO checkpoints (size, root, note, at, key) VALUES (?, ?, ?, ?, ?)")
                .with(whole(*size))
                .with(root.to_vec())
                .with(note.clone())
                .with(at.as_millis())
                .with(key.clone());
            batch
                .add("UPDATE signing_keys SET retired = ? WHERE retired IS NULL AND id <> ?")
                .with(at.as_millis())
                .with(key.clone());
            batch
                .add(
                    "INSERT INTO signing_keys (id, public, created) VALUES (?, ?, ?) \
                     ON CONFLICT (id) DO UPDATE SET retired = NULL",
                )
                .with(key.clone())
                .with(unit.public.clone())
                .with(at.as_millis());
            mark.write(batch);
        }
    }
}

/// The columns that [`read_checkpoint`] reads.
pub(crate) const CHECKPOINT_COLUMNS: &str = "size, root, note, at, key";

pub(crate) fn read_checkpoint(row: &SqliteRow) -> Result<Checkpoint, sqlx::Error> {
    let root: &[u8] = row.try_get(1)?;
    Ok(Checkpoint {
        size: unsigned(row.try_get(0)?),
        // A root of another length is compared like any other, and contradicts the rows.
        root: root.try_into().unwrap_or_default(),
        note: row.try_get(2)?,
        at: Timestamp::from_millis(row.try_get(3)?),
        key: row.try_get(4)?,
    })
}

/// Reads the columns `id, public, created, retired`.
pub(crate) fn read_key(row: &SqliteRow) -> Result<LogKey, sqlx::Error> {
    let retired: Option<i64> = row.try_get(3)?;
    Ok(LogKey {
        id: row.try_get(0)?,
        public: row.try_get(1)?,
        created: Timestamp::from_millis(row.try_get(2)?),
        retired: retired.map(Timestamp::from_millis),
    })
}
