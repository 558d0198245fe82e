//! What the writer remembers of its earlier transactions, so that a usual commit needs no reads.
//!
//! It holds versions, phases and marks as this writer last committed them, and nothing that the tables do not say. It is
//! bounded, and dropped after any failure; each transaction checks it against the `store` row before it becomes durable.

use std::collections::HashMap;

use domain::ids::HandleId;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::sqlite::tables::task_row::TaskVersion;
use crate::sqlite::unsigned;

/// Tasks and requests remembered at most; a few megabytes: 150 bytes each. Beyond it the cache is emptied and filled again.
const KEPT: usize = 30_000;

/// The counters of the `store` row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreCounters {
    pub(crate) seq: u64,
    pub(crate) changed_at: i64,
    pub(crate) handle_number: i64,
    pub(crate) audit_number: u64,
    pub(crate) audit_hash: [u8; 32],
    /// Names the last transaction.
    pub(crate) last_commit: i64,
}

/// One task as last committed.
#[derive(Debug)]
pub(crate) struct CachedTask {
    pub(crate) number: i64,
    pub(crate) version: u64,
    pub(crate) log_number: i64,
    pub(crate) task_mark: Option<[u8; 32]>,
    /// Marks of its questions by key; most tasks have none, and every open task is here.
    #[expect(clippy::box_collection, reason = "a map in place takes 48 bytes of every task for the few that ask")]
    pub(crate) requests: Option<Box<HashMap<String, [u8; 32]>>>,
}

impl CachedTask {
    pub(crate) fn row(&self) -> TaskVersion {
        TaskVersion { number: self.number, version: self.version }
    }
}

/// The cache of one writer.
#[derive(Debug, Default)]
pub(crate) struct WriterCache {
    /// `None` when the cache is empty.
    pub(crate) counters: Option<StoreCounters>,
    pub(crate) handles: HashMap<HandleId, CachedTask>,
    /// Which task is recorded for an upstream task, as read or written in the current transaction.
    pub(crate) marks: HashMap<[u8; 32], HandleId>,
    /// How many tasks and requests were added since it was empty.
    pub(crate) weight: usize,
}

fn bytes(row: &SqliteRow, column: usize) -> Result<[u8; 32], sqlx::Error> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map_err(|_| sqlx::Error::Decode("a hash is not 32 bytes long".into()))
}

fn id(row: &SqliteRow, column: usize) -> Result<HandleId, sqlx::Error> {
    let text: &str = row.try_get(column)?;
    text.parse().map_err(|_| sqlx::Error::Decode("an id of a task does not read".into()))
}

impl WriterCache {
    /// Takes in one row of what the beginning of a transaction reads; its first column says which kind it is.
    pub(crate) fn learn(&mut self, row: &SqliteRow) -> Result<(), sqlx::Error> {
        match row.try_get::<i64, _>(0)? {
            0 => {
                self.counters = Some(StoreCounters {
                    seq: unsigned(row.try_get(1)?),
                    changed_at: row.try_get(2)?,
                    handle_number: row.try_get(3)?,
                    audit_number: unsigned(row.try_get(4)?),
                    audit_hash: bytes(row, 5)?,
                    last_commit: row.try_get(6)?,
                });
            }
            1 => {
                let has_mark: Option<&[u8]> = row.try_get(5)?;
                let cached = CachedTask {
                    number: row.try_get(2)?,
                    version: unsigned(row.try_get(3)?),
                    log_number: row.try_get(4)?,
                    task_mark: has_mark.map(|_| bytes(row, 5)).transpose()?,
                    requests: None,
                };
                self.handles.insert(id(row, 1)?, cached);
                self.weight += 1;
            }
            2 => {
                let mark = bytes(row, 3)?;
                if let Some(cached) = self.handles.get_mut(&id(row, 1)?) {
                    cached.requests.get_or_insert_default().insert(row.try_get(2)?, mark);
                    self.weight += 1;
                }
            }
            _ => {
                self.marks.insert(bytes(row, 2)?, id(row, 1)?);
            }
        }
        Ok(())
    }

    /// The cache after a transaction that committed with these counters.
    pub(crate) fn after(mut self, counters: StoreCounters) -> Self {
        self.counters = Some(counters);
        self.marks.clear();
        if self.weight > KEPT {
            self.handles = HashMap::new();
            self.weight = 0;
        }
        self
    }
}
