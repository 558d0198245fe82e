//! Arguments, results and answers: always sealed, whatever their kind, and kept apart from the handle.
//!
//! Erasing removes the row; what may remain of it in free pages is sealed (ruling 9).

use domain::ids::HandleId;
use domain::task::payload::{Payload, PayloadKind};
use domain::ports::RegistryError;
use sqlx::Row;

use super::script::Script;
use super::unit::row_of;
use super::{Base, Sqlite, unsigned};
use crate::rows::Flaw;
use crate::seal::Place;

/// Stores a sealed payload, or erases it.
pub(crate) fn write(script: &mut Script, (handle, version): (i64, i64), (kind, sealed): (&str, Option<&[u8]>)) {
    match sealed {
        Some(sealed) => script
            .add(
                "INSERT INTO payloads (handle, kind, sealed, version) VALUES (?, ?, ?, ?) \
                 ON CONFLICT (handle, kind) DO UPDATE SET sealed = excluded.sealed, version = excluded.version",
            )
            .with(handle)
            .with(kind.to_owned())
            .with(sealed.to_vec())
            .with(version),
        None => script.add("DELETE FROM payloads WHERE handle = ? AND kind = ?").with(handle).with(kind.to_owned()),
    };
}

impl Sqlite {
    /// A stored payload.
    pub(crate) async fn read_payload(&self, id: HandleId, kind: PayloadKind) -> Result<Option<Payload>, RegistryError> {
        let trouble = || self.base.fault("read a payload");
        let (key, kind) = (id.to_string(), kind.text());
        let mut reader = self.reader().await?;
        let row = sqlx::query(
            "SELECT p.sealed, p.version FROM handles h JOIN payloads p ON p.handle = h.number WHERE h.id = ? AND p.kind = ?",
        )
        .bind(key.clone())
        .bind(kind.clone())
        .fetch_optional(&mut *reader)
        .await
        .map_err(trouble())?;
        let Some(row) = row else { return Ok(None) };
        let sealed: &[u8] = row.try_get(0).map_err(trouble())?;
        let place = Place { table: "payloads", column: "sealed", row: &row_of(&key, &kind) };
        let plain = self.base.unseal_version(place, unsigned(row.try_get(1).map_err(trouble())?), sealed)?;
        String::from_utf8(plain)
            .map(|text| Some(Payload::new(text)))
            .map_err(|_| Base::bad_row("read `payloads`", &key, &Flaw::new("sealed", "is not text")))
    }
}
