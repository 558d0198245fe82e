//! What the writer knows from its earlier transactions, so that a usual commit needs no reading.
//!
//! It holds no truth of its own: versions, phases and marks as last committed by this writer. It is thrown away after
//! any failure, and bounded. Group commits check it against the `store` row before they become durable.

use std::collections::HashMap;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::unsigned;

/// Handles and requests remembered at most; some megabytes. Beyond it everything is forgotten and read again.
const KEPT: usize = 30_000;

/// The counters of the `store` row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters {
    pub(crate) seq: u64,
    pub(crate) changed_at: i64,
    pub(crate) handle_number: i64,
    pub(crate) audit_number: u64,
    pub(crate) audit_hash: [u8; 32],
    /// Names the last transaction.
    pub(crate) last_commit: i64,
}

/// What is known of one handle.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) number: i64,
    pub(crate) version: u64,
    pub(crate) phase: &'static str,
    pub(crate) server: String,
    pub(crate) agent: String,
    pub(crate) log_number: i64,
    pub(crate) task_mark: Option<[u8; 32]>,
    /// Marks of its questions by key.
    pub(crate) requests: HashMap<String, [u8; 32]>,
}

/// All that is known.
#[derive(Debug, Default)]
pub(crate) struct Knowledge {
    /// `None` when nothing is known.
    pub(crate) counters: Option<Counters>,
    /// By the text of the id.
    pub(crate) handles: HashMap<String, Known>,
    /// Which handle holds an upstream task: what was read or written in the transaction at hand.
    pub(crate) marks: HashMap<[u8; 32], String>,
    /// Handles and requests that were taken in since it was empty.
    pub(crate) weight: usize,
}

fn bytes(row: &SqliteRow, column: usize) -> Result<[u8; 32], sqlx::Error> {
    let bytes: &[u8] = row.try_get(column)?;
    bytes.try_into().map_err(|_| sqlx::Error::Decode("a hash is not 32 bytes long".into()))
}

impl Knowledge {
    /// Takes in one row of what `Group::begin` reads; its first column says which kind it is.
    pub(crate) fn learn(&mut self, row: &SqliteRow) -> Result<(), sqlx::Error> {
        match row.try_get::<i64, _>(0)? {
            0 => {
                self.counters = Some(Counters {
                    seq: unsigned(row.try_get(1)?),
                    changed_at: row.try_get(2)?,
                    handle_number: row.try_get(3)?,
                    audit_number: unsigned(row.try_get(4)?),
                    audit_hash: bytes(row, 5)?,
                    last_commit: row.try_get(6)?,
                });
            }
            1 => {
                let has_mark: Option<&[u8]> = row.try_get(8)?;
                let phase: &str = row.try_get(4)?;
                let phase = domain::task::status::Phase::from_word(phase)
                    .ok_or_else(|| sqlx::Error::Decode("column `phase` has an unknown word".into()))?;
                let known = Known {
                    number: row.try_get(2)?,
                    version: unsigned(row.try_get(3)?),
                    phase: phase.word(),
                    server: row.try_get(5)?,
                    agent: row.try_get(6)?,
                    log_number: row.try_get(7)?,
                    task_mark: has_mark.map(|_| bytes(row, 8)).transpose()?,
                    requests: HashMap::new(),
                };
                self.handles.insert(row.try_get(1)?, known);
                self.weight += 1;
            }
            2 => {
                let mark = bytes(row, 3)?;
                if let Some(known) = self.handles.get_mut(row.try_get::<&str, _>(1)?) {
                    known.requests.insert(row.try_get(2)?, mark);
                    self.weight += 1;
                }
            }
            _ => {
                self.marks.insert(bytes(row, 2)?, row.try_get(1)?);
            }
        }
        Ok(())
    }

    /// What is still known after the transaction committed with these counters.
    pub(crate) fn after(mut self, counters: Counters) -> Self {
        self.counters = Some(counters);
        self.marks.clear();
        if self.weight > KEPT {
            self.handles = HashMap::new();
            self.weight = 0;
        }
        self
    }
}
