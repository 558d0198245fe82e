//! What people keep at their desk: saved views, drafts, snoozes, settings. Sealed, capped, the oldest falls out.
//!
//! The registry does not know what the values mean. The caps hold at every put, so that a window that saves without end
//! only pushes out its own oldest things.

use domain::ports::{RegistryError, UserDataItem};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::script::Script;
use super::unit::row_of;
use super::{Base, Limits, Sqlite, whole};
use crate::rows::Flaw;
use crate::seal::{Place, Sealer};

/// Something to put on the desk, or to take away.
#[derive(Debug)]
pub(crate) struct DeskRow {
    kind: String,
    key: String,
    changed: i64,
    value_sealed: Option<Vec<u8>>,
}

fn place(row: &str) -> Place<'_> {
    Place { table: "desk", column: "value_sealed", row }
}

impl DeskRow {
    /// Checks and seals.
    pub(crate) fn of(
        (kind, key): (&str, &str),
        value: Option<&str>,
        at: Timestamp,
        (sealer, limits): (&Sealer, Limits),
    ) -> Result<Self, RegistryError> {
        let operation = "keep this at the desk";
        let too_large = |what: &str, bytes: usize, cap: usize| RegistryError::Other {
            operation,
            why: format!("its {what} has {bytes} bytes, more than {cap}"),
        };
        if kind.len().saturating_add(key.len()) > limits.desk_key_bytes {
            return Err(too_large("name", kind.len().saturating_add(key.len()), limits.desk_key_bytes));
        }
        if let Some(value) = value.filter(|value| value.len() > limits.desk_value_bytes) {
            return Err(too_large("value", value.len(), limits.desk_value_bytes));
        }
        let row = row_of(kind, key);
        let seal = |value: &str| sealer.seal(place(&row), value.as_bytes()).map_err(Base::sealing(operation));
        let value_sealed = value.map(seal).transpose()?;
        Ok(Self { kind: kind.to_owned(), key: key.to_owned(), changed: at.as_millis(), value_sealed })
    }
}

/// Puts it there or takes it away, and lets the oldest of its kind fall out.
pub(crate) fn put(script: &mut Script, row: &DeskRow, limits: Limits) {
    let Some(sealed) = &row.value_sealed else {
        script.add("DELETE FROM desk WHERE kind = ? AND key = ?").with(row.kind.clone()).with(row.key.clone());
        return;
    };
    script
        .add(
            "INSERT INTO desk (kind, key, changed, value_sealed) VALUES (?, ?, ?, ?) ON CONFLICT (kind, key) \
             DO UPDATE SET changed = excluded.changed, value_sealed = excluded.value_sealed",
        )
        .with(row.kind.clone())
        .with(row.key.clone())
        .with(row.changed)
        .with(sealed.clone());
    script
        .add(
            "DELETE FROM desk WHERE kind = ? AND key IN (SELECT key FROM (SELECT key, row_number() OVER newest AS place, \
             sum(length(value_sealed)) OVER newest AS bytes FROM desk WHERE kind = ? \
             WINDOW newest AS (ORDER BY changed DESC, key ROWS UNBOUNDED PRECEDING)) WHERE place > ? OR bytes > ?)",
        )
        .with(row.kind.clone())
        .with(row.kind.clone())
        .with(limits.desk_items_max)
        .with(whole(limits.desk_kind_bytes));
}

impl Sqlite {
    /// What of one kind lies on the desk, the last put first.
    pub(crate) async fn read_desk(&self, kind: &str) -> Result<Vec<UserDataItem>, RegistryError> {
        let trouble = || self.base.fault("read the desk");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT key, changed, value_sealed FROM desk WHERE kind = ? ORDER BY changed DESC, key LIMIT ?",
        )
        .bind(kind.to_owned())
        .bind(self.base.limits.desk_items_max)
        .fetch_all(&mut *reader)
        .await
        .map_err(trouble())?;
        let item = |row: &SqliteRow| {
            let key: &str = row.try_get(0).map_err(trouble())?;
            let sealed: &[u8] = row.try_get(2).map_err(trouble())?;
            let plain = self.base.unseal(place(&row_of(kind, key)), sealed)?;
            let value = String::from_utf8(plain)
                .map_err(|_| Base::bad_row("read `desk`", kind, &Flaw::new("value_sealed", "is not text")))?;
            let changed = Timestamp::from_millis(row.try_get(1).map_err(trouble())?);
            Ok(UserDataItem { key: key.to_owned(), value, changed })
        };
        found.iter().map(item).collect()
    }
}
