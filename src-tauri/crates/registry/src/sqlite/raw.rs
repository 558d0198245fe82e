//! Raw messages of tasks: evidence for people, sealed, the newest few of each task.
//!
//! What is worth keeping is decided in the domain; the cap holds at every insertion.

use domain::ids::HandleId;
use domain::task::payload::Payload;
use domain::ports::RegistryError;
use domain::raw_message::{Direction, RawMessage, RawNote};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::script::Script;
use super::unit::row_of;
use super::{Base, Sqlite, unsigned, whole};
use crate::rows::Flaw;
use crate::seal::{Place, Sealer};

/// A message, ready to write.
#[derive(Debug)]
pub(crate) struct RawRow {
    at: i64,
    direction: &'static str,
    about: String,
    bytes: i64,
    cut: bool,
    body_sealed: Vec<u8>,
}

fn place(row: &str) -> Place<'_> {
    Place { table: "raw_messages", column: "body_sealed", row }
}

impl RawRow {
    /// Seals a message of this handle.
    pub(crate) fn of(key: &str, message: &RawMessage, sealer: &Sealer) -> Result<Self, RegistryError> {
        let RawMessage { at, direction, about, body, bytes, cut } = message;
        let row = row_of(key, &at.as_millis().to_string());
        Ok(Self {
            at: at.as_millis(),
            direction: direction.word(),
            about: about.clone(),
            bytes: whole(*bytes),
            cut: *cut,
            body_sealed: sealer
                .seal(place(&row), body.as_str().as_bytes())
                .map_err(Base::sealing("seal a message of a task"))?,
        })
    }
}

/// Adds a message.
pub(crate) fn insert(script: &mut Script, handle: i64, row: &RawRow) {
    script
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
pub(crate) fn cut(script: &mut Script, handle: i64, kept: u32) {
    script
        .add(
            "DELETE FROM raw_messages WHERE handle = ? AND number <= \
             (SELECT max(number) FROM raw_messages WHERE handle = ?) - ?",
        )
        .with(handle)
        .with(handle)
        .with(kept);
}

impl Sqlite {
    /// The kept messages of a task, oldest first.
    pub(crate) async fn read_raw_list(&self, id: HandleId) -> Result<Vec<RawNote>, RegistryError> {
        let trouble = || self.base.fault("read messages of a task");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT m.number, m.at, m.direction, m.about, m.bytes, m.cut FROM handles h \
             JOIN raw_messages m ON m.handle = h.number WHERE h.id = ? ORDER BY m.number LIMIT ?",
        )
        .bind(id.to_string())
        .bind(self.base.limits.raw_messages_per_task)
        .fetch_all(&mut *reader)
        .await
        .map_err(trouble())?;
        let note = |row: &SqliteRow| {
            let word: &str = row.try_get(2).map_err(trouble())?;
            let direction = Direction::from_word(word)
                .ok_or_else(|| Base::bad_row("read `raw_messages`", &id.to_string(), &Flaw::word("direction", word)))?;
            Ok(RawNote {
                n: unsigned(row.try_get(0).map_err(trouble())?),
                at: Timestamp::from_millis(row.try_get(1).map_err(trouble())?),
                direction,
                about: row.try_get(3).map_err(trouble())?,
                bytes: unsigned(row.try_get(4).map_err(trouble())?),
                cut: row.try_get(5).map_err(trouble())?,
            })
        };
        found.iter().map(note).collect()
    }

    /// One of them.
    pub(crate) async fn read_raw(&self, id: HandleId, n: u64) -> Result<Option<Payload>, RegistryError> {
        let trouble = || self.base.fault("read a message of a task");
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
        .map_err(trouble())?;
        let Some(row) = row else { return Ok(None) };
        let at: i64 = row.try_get(0).map_err(trouble())?;
        let sealed: &[u8] = row.try_get(1).map_err(trouble())?;
        let plain = self.base.unseal(place(&row_of(&key, &at.to_string())), sealed)?;
        String::from_utf8(plain)
            .map(|text| Some(Payload::new(text)))
            .map_err(|_| Base::bad_row("read `raw_messages`", &key, &Flaw::new("body_sealed", "is not text")))
    }
}
