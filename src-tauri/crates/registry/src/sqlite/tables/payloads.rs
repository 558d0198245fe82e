//! Arguments, results and answers: always sealed, whatever their kind, and kept apart from the handle.
//!
//! Erasing removes the row; what may remain of it in free pages is sealed (ruling 9).

use domain::ids::HandleId;
use domain::ports::RegistryError;
use domain::task::payload::{Payload, PayloadKind};
use sqlx::Row;

use super::row_name;
use super::task_row::TaskVersion;
use crate::codec::DecodeError;
use crate::seal::FieldLocation;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// Stores a sealed payload, or erases it.
pub(crate) fn write(batch: &mut StatementBatch, row: TaskVersion, kind: &str, sealed: Option<&[u8]>) {
    match sealed {
        Some(sealed) => batch
            .add(
                "INSERT INTO payloads (handle, kind, sealed, version) VALUES (?, ?, ?, ?) \
                 ON CONFLICT (handle, kind) DO UPDATE SET sealed = excluded.sealed, version = excluded.version",
            )
            .with(row.number)
            .with(kind.to_owned())
            .with(sealed.to_vec())
            .with(whole(row.version)),
        None => batch.add("DELETE FROM payloads WHERE handle = ? AND kind = ?").with(row.number).with(kind.to_owned()),
    };
}

impl SqliteRegistry {
    /// A stored payload.
    pub(crate) async fn read_payload(&self, id: HandleId, kind: PayloadKind) -> Result<Option<Payload>, RegistryError> {
        let failed = || self.base.failed("read a payload");
        let (key, kind) = (id.to_string(), kind.text());
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT p.sealed, p.version FROM handles h JOIN payloads p ON p.handle = h.number WHERE h.id = ? AND p.kind = ?",
        )
        .bind(key.clone())
        .bind(kind.clone())
        .fetch_optional(&mut *reader)
        .await
        .map_err(failed())?;
        let Some(row) = row else { return Ok(None) };
        let sealed: &[u8] = row.try_get(0).map_err(failed())?;
        let place = FieldLocation { table: "payloads", column: "sealed", row: &row_name(&key, &kind) };
        let plain = self.base.unseal_version(place, unsigned(row.try_get(1).map_err(failed())?), sealed)?;
        String::from_utf8(plain)
            .map(|text| Some(Payload::new(text)))
            .map_err(|_| StoreContext::bad_row("read `payloads`", &key, &DecodeError::new("sealed", "is not text")))
    }
}
