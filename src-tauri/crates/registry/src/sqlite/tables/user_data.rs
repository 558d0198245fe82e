//! What people keep in the app: saved views, drafts, snoozes, settings. Sealed and capped; the oldest items are dropped.
//!
//! The registry does not know what the values mean. The caps hold at every put, so a window that saves without end only
//! drops its own oldest items. The table is called `desk`.

use domain::ports::{RegistryError, UserDataItem};
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::row_name;
use crate::codec::DecodeError;
use crate::seal::FieldLocation;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, StoreLimits, whole};

/// Something to put on the desk, or to take away.
#[derive(Debug)]
pub(crate) struct UserDataRow {
    kind: String,
    key: String,
    changed: i64,
    value_sealed: Option<Vec<u8>>,
    /// It is taken away, or so short that it may use the reserve when the disk is full.
    is_small: bool,
}

fn place(row: &str) -> FieldLocation<'_> {
    FieldLocation { table: "desk", column: "value_sealed", row }
}

impl UserDataRow {
    /// Checks and seals.
    pub(crate) fn of(
        base: &StoreContext,
        kind: &str,
        key: &str,
        value: Option<&str>,
        at: Timestamp,
    ) -> Result<Self, RegistryError> {
        let operation = "store this item";
        let StoreContext { sealer, limits, .. } = base;
        let too_large = |what: &str, bytes: usize, cap: usize| RegistryError::Other {
            operation,
            why: format!("its {what} is {bytes} bytes; at most {cap} are kept"),
        };
        if kind.len().saturating_add(key.len()) > limits.desk_key_bytes {
            return Err(too_large("name", kind.len().saturating_add(key.len()), limits.desk_key_bytes));
        }
        if let Some(value) = value.filter(|value| value.len() > limits.desk_value_bytes) {
            return Err(too_large("value", value.len(), limits.desk_value_bytes));
        }
        let row = row_name(kind, key);
        let seal = |value: &str| sealer.seal(place(&row), value.as_bytes()).map_err(StoreContext::sealing(operation));
        let value_sealed = value.map(seal).transpose()?;
        let is_small = value_sealed.as_ref().is_none_or(|sealed| sealed.len() <= limits.reserve_change_bytes);
        Ok(Self { kind: kind.to_owned(), key: key.to_owned(), changed: at.as_millis(), value_sealed, is_small })
    }

    /// Whether it is taken away, or small. Everything here is put by people: an answer that is being written, a snooze, a
    /// setting.
    pub(crate) const fn is_small(&self) -> bool {
        self.is_small
    }
}

/// Puts it there or takes it away, and lets the oldest of its kind fall out.
pub(crate) fn put(batch: &mut StatementBatch, row: &UserDataRow, limits: StoreLimits) {
    let Some(sealed) = &row.value_sealed else {
        batch.add("DELETE FROM desk WHERE kind = ? AND key = ?").with(row.kind.clone()).with(row.key.clone());
        return;
    };
    batch
        .add(
            "INSERT INTO desk (kind, key, changed, value_sealed) VALUES (?, ?, ?, ?) ON CONFLICT (kind, key) \
             DO UPDATE SET changed = excluded.changed, value_sealed = excluded.value_sealed",
        )
        .with(row.kind.clone())
        .with(row.key.clone())
        .with(row.changed)
        .with(sealed.clone());
    batch
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

impl SqliteRegistry {
    /// What of one kind lies on the desk, the last put first.
    pub(crate) async fn read_desk(&self, kind: &str) -> Result<Vec<UserDataItem>, RegistryError> {
        let failed = || self.base.failed("read the desk");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT key, changed, value_sealed FROM desk WHERE kind = ? ORDER BY changed DESC, key LIMIT ?",
        )
        .bind(kind.to_owned())
        .bind(self.base.limits.desk_items_max)
        .fetch_all(&mut *reader)
        .await
        .map_err(failed())?;
        let item = |row: &SqliteRow| {
            let key: &str = row.try_get(0).map_err(failed())?;
            let sealed: &[u8] = row.try_get(2).map_err(failed())?;
            let plain = self.base.unseal(place(&row_name(kind, key)), sealed)?;
            let value = String::from_utf8(plain).map_err(|_| {
                StoreContext::bad_row("read `desk`", kind, &DecodeError::new("value_sealed", "is not text"))
            })?;
            let changed = Timestamp::from_millis(row.try_get(1).map_err(failed())?);
            Ok(UserDataItem { key: key.to_owned(), value, changed })
        };
        found.iter().map(item).collect()
    }
}
