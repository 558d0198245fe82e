//! The registry on SQLite: one writer with group commit, four readers beside it (WAL).
//!
//! `tables/` has the SQL of each table, `read/` lists over many tasks, `write/` the one writing connection. Readers see only
//! committed state, and a second process that reads the same file sees the same. Beside the writer, some answers are kept
//! until it writes again (`read/kept_answers.rs`). Read `open.rs` for what opening does and refuses, `port.rs` for the
//! methods of the port.

mod alarm_store;
mod batch;
mod checkpoint_store;
mod control_store;
pub(crate) mod errors;
mod maintenance;
mod migrate;
mod open;
mod pause_store;
mod port;
pub(crate) mod read;
mod receipt_store;
mod retention;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod write;

pub use open::RegistryOptions;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::ports::{RecordingFault, RegistryError};
use sqlx::SqlitePool;

use crate::codec::DecodeError;
use crate::seal::{FieldLocation, SealError, Sealer};

/// The registry in one SQLite file.
#[derive(Debug, Clone)]
pub struct SqliteRegistry {
    base: Arc<StoreContext>,
    readers: SqlitePool,
    /// `None` when opened for reading only.
    writer: Option<write::writer::Writer>,
}

/// What readers and the writer share.
#[derive(Debug)]
pub(crate) struct StoreContext {
    path: PathBuf,
    sealer: Sealer,
    limits: StoreLimits,
    health: write::health::WriterHealth,
    kept: read::kept_answers::KeptAnswers,
    /// Whether every value of a task was bound to its version when this was opened (`write/reseal.rs`).
    is_resealed: bool,
}

/// The numbers of the policy that bind here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreLimits {
    group_commit_max: usize,
    page_rows_max: u32,
    log_lines_per_task: u32,
    usual_samples_kept: u32,
    learned_tools: u32,
    inbox_rows_max: u32,
    desk_value_bytes: usize,
    desk_key_bytes: usize,
    desk_items_max: u32,
    desk_kind_bytes: u64,
    raw_messages_per_task: u32,
    reserve_file_bytes: u64,
    repeats_max: u32,
    windows_shown: u32,
    series_kept: Duration,
    record_again: Duration,
    pages_at_once: u32,
    reserve_change_bytes: usize,
}

impl StoreContext {
    fn failed(&self, operation: &'static str) -> impl FnOnce(sqlx::Error) -> RegistryError + '_ {
        move |error| {
            if errors::is_damage(&error) {
                self.health.met(RecordingFault::Damaged);
            }
            errors::of(&self.path, operation, error)
        }
    }

    /// A row that does not read: names the row and the column, shows no content.
    fn bad_row(table: &'static str, row: &str, flaw: &DecodeError) -> RegistryError {
        RegistryError::Other { operation: table, why: format!("row `{row}`: {flaw}") }
    }

    /// A body that is not JSON any more. The parser's words name a position, not content.
    fn not_json(table: &'static str, row: &str, error: &serde_json::Error) -> RegistryError {
        RegistryError::Other {
            operation: table,
            why: format!("row `{row}`, column `body`: not JSON at line {}, column {}", error.line(), error.column()),
        }
    }

    /// A field that the system could not seal.
    fn sealing(operation: &'static str) -> impl FnOnce(SealError) -> RegistryError {
        move |error| RegistryError::Other { operation, why: error.to_string() }
    }

    /// Opens a sealed field. The key was checked at opening, so one that does not open was changed or moved.
    fn unseal(&self, place: FieldLocation<'_>, sealed: &[u8]) -> Result<Vec<u8>, RegistryError> {
        self.sealer.open(place, sealed).map_err(|_| self.moved(place))
    }

    /// The same for a field that is bound to the version of its row. Where not all were at the start,
    /// one that is not opens as well: readers may still have it from before it was sealed anew.
    fn unseal_version(&self, place: FieldLocation<'_>, version: u64, sealed: &[u8]) -> Result<Vec<u8>, RegistryError> {
        let opened = match self.sealer.open_version(place, version, sealed) {
            Err(_) if !self.is_resealed => self.sealer.open(place, sealed),
            opened => opened,
        };
        opened.map_err(|_| self.moved(place))
    }

    fn moved(&self, place: FieldLocation<'_>) -> RegistryError {
        RegistryError::Damaged {
            path: self.path.clone(),
            finding: format!("a row of `{}` has a `{}` that was changed, moved or put back", place.table, place.column),
        }
    }
}

/// Whole numbers as SQLite keeps them. Ours stay far below 2^63; anything else is kept at the end of the range.
fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// And back; negative numbers are not ours.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
