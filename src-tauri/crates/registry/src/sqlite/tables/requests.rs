//! Questions of tasks, in rows of their own so that the inbox reads open ones only.
//!
//! Nothing is decided here about who is asked or what an answer means. Bodies are sealed: words and addresses of servers are
//! private. The encoding is in `codec/request.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::ids::RequestKey;
use domain::ports::{InboxItem, InboxPage, RegistryError};
use domain::task::decider::Decider;
use domain::task::input_request::InputRequest;
use domain::time::Timestamp;
use serde_json::Value;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Connection, Row, Sqlite};

use super::row_name;
use super::task_row::{RequestRow, TaskVersion};
use crate::codec;
use crate::seal::FieldLocation;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// A query over questions.
type Query = sqlx::query::Query<'static, Sqlite, SqliteArguments>;
/// The questions of some handles, by the handle's number.
pub(crate) type ByHandle = BTreeMap<i64, BTreeMap<RequestKey, InputRequest>>;

/// Where the body of a question is stored.
pub(crate) fn place(row: &str) -> FieldLocation<'_> {
    FieldLocation { table: "requests", column: "body_sealed", row }
}

/// Writes a question.
pub(crate) fn write(batch: &mut StatementBatch, row: TaskVersion, request: &RequestRow, sealed: Vec<u8>) {
    batch
        .add(
            "INSERT INTO requests (handle, key, opened, state, mark, body_sealed, version, answered, answered_by) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) \
             ON CONFLICT (handle, key) DO UPDATE SET opened = excluded.opened, state = excluded.state, \
             mark = excluded.mark, body_sealed = excluded.body_sealed, version = excluded.version, \
             answered = excluded.answered, answered_by = excluded.answered_by",
        )
        .with(row.number)
        .with(request.key.clone())
        .with(request.opened)
        .with(request.state)
        .with(request.mark.to_vec())
        .with(sealed)
        .with(whole(row.version))
        .with(request.answered.as_ref().map(|(at, _)| *at))
        .with(request.answered.as_ref().map(|(_, by)| by.clone()));
}

/// Removes a question that the handle no longer has.
pub(crate) fn delete(batch: &mut StatementBatch, handle: i64, key: &str) {
    batch.add("DELETE FROM requests WHERE handle = ? AND key = ?").with(handle).with(key.to_owned());
}

/// Reads the questions of these handles (JSON array of numbers).
pub(crate) async fn read(
    base: &StoreContext,
    connection: &mut SqliteConnection,
    numbers: &Value,
) -> Result<ByHandle, RegistryError> {
    let failed = || base.failed("read requests");
    let found = sqlx::query(
        "SELECT r.handle, h.id, r.key, r.opened, r.body_sealed, r.version FROM json_each(?) j \
         CROSS JOIN requests r ON r.handle = j.value CROSS JOIN handles h ON h.number = r.handle",
    )
    .bind(numbers.to_string())
    .fetch_all(connection)
    .await
    .map_err(failed())?;
    let mut all = ByHandle::new();
    for row in &found {
        let handle: &str = row.try_get(1).map_err(failed())?;
        let key: &str = row.try_get(2).map_err(failed())?;
        let opened = Timestamp::from_millis(row.try_get(3).map_err(failed())?);
        let sealed: &[u8] = row.try_get(4).map_err(failed())?;
        let name = row_name(handle, key);
        let plain = base.unseal_version(place(&name), unsigned(row.try_get(5).map_err(failed())?), sealed)?;
        let body = serde_json::from_slice(&plain)
            .map_err(|error| StoreContext::not_json("read `requests`", handle, &error))?;
        let request = codec::request::read(key, opened, body)
            .map_err(|error| StoreContext::bad_row("read `requests`", handle, &error))?;
        all.entry(row.try_get(0).map_err(failed())?).or_default().insert(request.key.clone(), request);
    }
    Ok(all)
}

impl SqliteRegistry {
    /// Open questions of tasks whose [`domain::task::status::Phase::asks_people`], oldest first.
    pub(crate) async fn read_inbox(&self, offset: u64, limit: u32) -> Result<InboxPage, RegistryError> {
        let page = sqlx::query(
            "SELECT h.number, r.key FROM requests r CROSS JOIN handles h ON h.number = r.handle \
             WHERE r.state = 'open' AND h.is_open = 1 AND h.phase NOT IN ('cancelling', 'revoked') \
             ORDER BY r.opened, h.id, r.key LIMIT ? OFFSET ?",
        );
        let total = sqlx::query(
            "SELECT count(*) FROM requests r CROSS JOIN handles h ON h.number = r.handle \
             WHERE r.state = 'open' AND h.is_open = 1 AND h.phase NOT IN ('cancelling', 'revoked')",
        );
        self.read_questions(page, total, offset, limit).await
    }

    /// Answered questions, the last answered first; of one decider, or of all.
    pub(crate) async fn read_answered(
        &self,
        by: Option<Decider>,
        offset: u64,
        limit: u32,
    ) -> Result<InboxPage, RegistryError> {
        let Some(by) = by.map(|by| by.to_string()) else {
            let page = sqlx::query(
                "SELECT handle, key FROM requests WHERE answered IS NOT NULL \
                 ORDER BY answered DESC, handle, key LIMIT ? OFFSET ?",
            );
            let total = sqlx::query("SELECT count(*) FROM requests WHERE answered IS NOT NULL");
            return self.read_questions(page, total, offset, limit).await;
        };
        let page = sqlx::query(
            "SELECT handle, key FROM requests WHERE answered_by = ? ORDER BY answered DESC, handle, key LIMIT ? OFFSET ?",
        );
        let total = sqlx::query("SELECT count(*) FROM requests WHERE answered_by = ?");
        self.read_questions(page.bind(by.clone()), total.bind(by), offset, limit).await
    }

    /// The page of questions whose handles and keys `page` finds, and how many `total` counts, as of one moment.
    async fn read_questions(
        &self,
        page: Query,
        total: Query,
        offset: u64,
        limit: u32,
    ) -> Result<InboxPage, RegistryError> {
        let failed = || self.base.failed("read the inbox");
        let mut reader = self.reader().await?;
        let mut transaction = reader.begin().await.map_err(failed())?;
        let found = page
            .bind(limit.min(self.base.limits.inbox_rows_max))
            .bind(whole(offset))
            .fetch_all(&mut *transaction)
            .await
            .map_err(failed())?;
        let mut order = Vec::with_capacity(found.len());
        for row in &found {
            let number: i64 = row.try_get(0).map_err(failed())?;
            order.push((number, RequestKey::new(row.try_get::<String, _>(1).map_err(failed())?)));
        }
        let numbers = Value::Array(
            order
                .iter()
                .map(|(number, _)| *number)
                .collect::<std::collections::BTreeSet<_>>()
                .into_iter()
                .map(Value::from)
                .collect(),
        );
        let tasks: BTreeMap<i64, _> = crate::sqlite::tables::tasks::read(&self.base, &mut transaction, &numbers)
            .await?
            .into_iter()
            .map(|(number, (handle, _))| (number, Arc::new(handle)))
            .collect();
        let total: i64 = total.fetch_one(&mut *transaction).await.and_then(|row| row.try_get(0)).map_err(failed())?;
        transaction.rollback().await.map_err(failed())?;
        let item = |(number, key): &(i64, RequestKey)| {
            let handle = tasks.get(number)?;
            let request = handle.requests.get(key)?.clone();
            Some(InboxItem { handle: Arc::clone(handle), request })
        };
        Ok(InboxPage { items: order.iter().filter_map(item).collect(), total: unsigned(total) })
    }
}
