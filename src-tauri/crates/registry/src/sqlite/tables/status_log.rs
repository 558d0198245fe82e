//! The status log of a task, and when it was last seen.
//!
//! Lines are words of servers, so they are sealed. The cap holds at every insertion: a server that talks without end only
//! drops its own oldest lines.

use domain::ids::HandleId;
use domain::ports::RegistryError;
use domain::task::observation::LogLine;
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::row_name;
use crate::codec::DecodeError;
use crate::seal::FieldLocation;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext};

/// Flushes contact notes given as a JSON array of `[id, seen, next look]`; unknown handles find no row.
pub(crate) const NOTE_CONTACTS: &str = "INSERT INTO contacts (handle, seen, next_look) \
     SELECT h.number, json_extract(j.value, '$[1]'), json_extract(j.value, '$[2]') FROM json_each(?) j \
     CROSS JOIN handles h ON h.id = json_extract(j.value, '$[0]') WHERE true \
     ON CONFLICT (handle) DO UPDATE SET seen = max(seen, excluded.seen), next_look = excluded.next_look";

/// A status line, ready to write.
#[derive(Debug)]
pub(crate) struct SealedLine {
    pub(crate) at: i64,
    pub(crate) sealed: Vec<u8>,
}

/// Adds a line.
pub(crate) fn insert(batch: &mut StatementBatch, handle: i64, number: i64, line: &SealedLine) {
    batch
        .add("INSERT INTO status_log (handle, number, at, line_sealed) VALUES (?, ?, ?, ?)")
        .with(handle)
        .with(number)
        .with(line.at)
        .with(line.sealed.clone());
}

/// Keeps the count of lines, and removes those up to `beyond`.
pub(crate) fn cut(batch: &mut StatementBatch, handle: i64, last: i64, beyond: i64) {
    batch.add("UPDATE handles SET log_number = ? WHERE number = ?").with(last).with(handle);
    if beyond > 0 {
        batch.add("DELETE FROM status_log WHERE handle = ? AND number <= ?").with(handle).with(beyond);
    }
}

impl SqliteRegistry {
    /// The latest `limit` lines, oldest first.
    pub(crate) async fn read_log(&self, id: HandleId, limit: u32) -> Result<Vec<LogLine>, RegistryError> {
        let failed = || self.base.failed("read the status log");
        let key = id.to_string();
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT l.at, l.line_sealed FROM handles h JOIN status_log l ON l.handle = h.number WHERE h.id = ? \
             ORDER BY l.number DESC LIMIT ?",
        )
        .bind(key.clone())
        .bind(limit)
        .fetch_all(&mut *reader)
        .await
        .map_err(failed())?;
        let line = |row: &SqliteRow| {
            let at: i64 = row.try_get(0).map_err(failed())?;
            let sealed: &[u8] = row.try_get(1).map_err(failed())?;
            let place =
                FieldLocation { table: "status_log", column: "line_sealed", row: &row_name(&key, &at.to_string()) };
            let plain = self.base.unseal(place, sealed)?;
            let (status, text): (String, String) = serde_json::from_slice(&plain).map_err(|_| {
                StoreContext::bad_row("read `status_log`", &key, &DecodeError::new("line", "is not two texts"))
            })?;
            Ok(LogLine { at: Timestamp::from_millis(at), status, text })
        };
        found.iter().rev().map(line).collect()
    }
}
