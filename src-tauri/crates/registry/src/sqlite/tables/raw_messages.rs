//! Raw messages of tasks: evidence for people, sealed, the newest few of each task.
//!
//! What is worth keeping is decided in the domain; the cap holds at every insertion.

use domain::ids::HandleId;
use domain::ports::RegistryError;
use domain::raw_message::{Direction, RawMessage, RawNote};
use domain::task::payload::Payload;
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::row_name;
use crate::codec::DecodeError;
use crate::seal::{FieldLocation, Sealer};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// A message, ready to write.
#[derive(Debug)]
pub(crate) struct RawMessageRow {
    at: i64,
    direction: &'static str,
    about: String,
    bytes: i64,
    cut: bool,
    body_sealed: Vec<u8>,
}

fn place(row: &str) -> FieldLocation<'_> {
    FieldLocation { table: "raw_messages", column: "body_sealed", row }
}

impl RawMessageRow {
    /// Seals a message of this handle.
    pub(crate) fn of(key: &str, message: &RawMessage, sealer: &Sealer) -> Result<Self, RegistryError> {
        let RawMessage { at, direction, about, body, bytes, cut } = message;
        let row = row_name(key, &at.as_millis().to_string());
        Ok(Self {
            at: at.as_millis(),
            direction: direction.word(),
            about: about.clone(),
            bytes: whole(*bytes),
            cut: *cut,
            body_sealed: sealer
                .seal(place(&row), body.as_str().as_bytes())
                .map_err(StoreContext::sealing("seal a message of a task"))?,
        })
    }
}

/// Adds a message.
pub(crate) fn insert(batch: &mut StatementBatch, handle: i64, row: &RawMessageRow) {
    batch
        .add(
            "INSERT INTO raw_messages (handle, number, at, direction, about, bytes, cut, body_sealed) \
             SELECT ?, coalesce(max(number), 0) + 1, ?, ?, ?, ?, ?, ? FROM raw_messages WHERE handle = ?",
        )
        .with(handle)
        .with(row.at)
        .with(row.direction)
        .with(row.about.clone())
        .with(row.bytes)
        .with(row.cut)
        .with(row.body_sealed.clone())
        .with(handle);
}

/// Removes all but the newest `kept`.
pub(crate) fn cut(batch: &mut StatementBatch, handle: i64, kept: u32) {
    batch
        .add(
            "DELETE FROM raw_messages WHERE handle = ? AND number <= \
             (SELECT max(number) FROM raw_messages WHERE handle = ?) - ?",
        )
        .with(handle)
        .with(handle)
        .with(kept);
}

impl SqliteRegistry {
    /// The kept messages of a task, oldest first.
    pub(crate) async fn read_raw_list(&self, id: HandleId) -> Result<Vec<RawNote>, RegistryError> {
        let failed = || self.base.failed("read messages of a task");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT m.number, m.at, m.direction, m.about, m.bytes, m.cut FROM handles h \
             JOIN raw_messages m ON m.handle = h.number WHERE h.id = ? ORDER BY m.number LIMIT ?",
        )
        .bind(id.to_string())
        .bind(self.base.limits.raw_messages_per_task)
        .fetch_all(&mut *reader)
        .await
        .map_err(failed())?;
        let note = |row: &SqliteRow| {
            let word: &str = row.try_get(2).map_err(failed())?;
            let direction = Direction::from_word(word).ok_or_else(|| {
                StoreContext::bad_row("read `raw_messages`", &id.to_string(), &DecodeError::word("direction", word))
            })?;
            Ok(RawNote {
                n: unsigned(row.try_get(0).map_err(failed())?),
                at: Timestamp::from_millis(row.try_get(1).map_err(failed())?),
                direction,
                about: row.try_get(3).map_err(failed())?,
                bytes: unsigned(row.try_get(4).map_err(failed())?),
                cut: row.try_get(5).map_err(failed())?,
            })
        };
        found.iter().map(note).collect()
    }

    /// One of them.
    pub(crate) async fn read_raw(&self, id: HandleId, n: u64) -> Result<Option<Payload>, RegistryError> {
        let failed = || self.base.failed("read a message of a task");
        let key = id.to_string();
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT m.at, m.body_sealed FROM handles h JOIN raw_messages m ON m.handle = h.number \
             WHERE h.id = ? AND m.number = ?",
        )
        .bind(key.clone())
        .bind(whole(n))
        .fetch_optional(&mut *reader)
        .await
        .map_err(failed())?;
        let Some(row) = row else { return Ok(None) };
        let at: i64 = row.try_get(0).map_err(failed())?;
        let sealed: &[u8] = row.try_get(1).map_err(failed())?;
        let plain = self.base.unseal(place(&row_name(&key, &at.to_string())), sealed)?;
        String::from_utf8(plain).map(|text| Some(Payload::new(text))).map_err(|_| {
            StoreContext::bad_row("read `raw_messages`", &key, &DecodeError::new("body_sealed", "is not text"))
        })
    }
}
