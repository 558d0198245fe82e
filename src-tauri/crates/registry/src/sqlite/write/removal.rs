//! What retention removes in one small transaction: payloads, all contents of tasks, whole tasks, receipts
//! of calls, or one segment of the audit log.
//!
//! What may go was found by readers (`retention.rs`) and is checked again by the statements that remove it, because the
//! task may have changed meanwhile.

use domain::audit::AuditEvent;
use domain::ids::HandleId;
use domain::ports::change::Entity;
use serde_json::Value;
use sqlx::sqlite::SqliteConnection;

use super::transaction::WriteTransaction;
use crate::sqlite::tables::audit::AuditSegment;
use crate::sqlite::tables::audit::receipts::RemovedBatches;
use crate::sqlite::tables::tasks::REMOVABLE;

/// Tables with a column `handle`, from which a task is removed before its own row.
const PARTS: [&str; 7] =
    ["payloads", "requests", "status_log", "raw_messages", "contacts", "hidden_tasks", "task_bytes"];
/// Those of them whose bytes count.
const CONTENTS: [&str; 4] = ["payloads", "requests", "status_log", "raw_messages"];

/// One stretch of removal, ready to write.
#[derive(Debug, Default)]
pub(crate) struct RemovalPlan {
    /// Numbers of tasks that lose their payloads.
    pub(crate) payloads: Vec<i64>,
    /// Numbers and ids of tasks that lose all their contents.
    pub(crate) contents: Vec<(i64, HandleId)>,
    /// Numbers and ids of tasks that go.
    pub(crate) tasks: Vec<(i64, HandleId)>,
    /// How many removed tasks are remembered.
    pub(crate) removed_tasks_kept: i64,
    /// Undelivered replies that changed before this (milliseconds) go like others.
    pub(crate) undelivered_before: i64,
    /// Batches whose receipts go.
    pub(crate) receipts: Option<RemovedBatches>,
    /// Audit rows that go.
    pub(crate) segment: Option<AuditSegment>,
    pub(crate) audit: Vec<AuditEvent>,
}

impl RemovalPlan {
    /// What makes two removals one prepared text.
    pub(crate) fn shape(&self) -> usize {
        usize::from(!self.payloads.is_empty())
            + 2 * usize::from(!self.tasks.is_empty())
            + 4 * usize::from(self.segment.is_some())
            + 8 * usize::from(!self.contents.is_empty())
            + 16 * usize::from(self.receipts.is_some())
    }
}

fn numbers(of: impl Iterator<Item = i64>) -> String {
    Value::Array(of.map(Value::from).collect()).to_string()
}

impl WriteTransaction<'_> {
    /// Removes one stretch, with its audit and change rows.
    pub(crate) async fn remove(
        &mut self,
        connection: &mut SqliteConnection,
        rows: &RemovalPlan,
    ) -> Result<(), sqlx::Error> {
        let of_list =
            format!("SELECT h.number FROM json_each(?) j JOIN handles h ON h.number = j.value WHERE {REMOVABLE}");
        if !rows.payloads.is_empty() {
            self.batch
                .add(&format!("DELETE FROM payloads WHERE handle IN ({of_list})"))
                .with(numbers(rows.payloads.iter().copied()))
                .with(rows.undelivered_before);
        }
        if !rows.contents.is_empty() {
            let list = numbers(rows.contents.iter().map(|(number, _)| *number));
            for table in CONTENTS {
                self.batch
                    .add(&format!("DELETE FROM {table} WHERE handle IN ({of_list})"))
                    .with(list.clone())
                    .with(rows.undelivered_before);
            }
            // What is left without a byte is not looked at again.
            self.batch
                .add(
                    "DELETE FROM task_bytes WHERE handle IN (SELECT value FROM json_each(?)) \
                     AND payloads = 0 AND messages = 0 AND questions = 0 AND lines = 0",
                )
                .with(list);
            for (_, id) in &rows.contents {
                self.make_room(connection).await?;
                // Its questions are gone: what the writer remembers of them is read again.
                self.cache.handles.remove(id);
                self.add_change_row(Entity::Handle(*id), rows.audit.last().map(|event| event.at.as_millis()), false);
            }
        }
        if !rows.tasks.is_empty() {
            let list = numbers(rows.tasks.iter().map(|(number, _)| *number));
            for table in PARTS {
                self.batch
                    .add(&format!("DELETE FROM {table} WHERE handle IN ({of_list})"))
                    .with(list.clone())
                    .with(rows.undelivered_before);
            }
            // Their parts are gone, so only the row itself is asked: the rest of the condition still holds.
            self.batch
                .add(&format!(
                    "INSERT OR IGNORE INTO removed_tasks (mark) \
                     SELECT task_mark FROM handles WHERE task_mark IS NOT NULL AND number IN ({of_list})"
                ))
                .with(list.clone())
                .with(rows.undelivered_before);
            self.batch
                .add("DELETE FROM removed_tasks WHERE number <= (SELECT max(number) FROM removed_tasks) - ?")
                .with(rows.removed_tasks_kept);
            self.batch
                .add(&format!("DELETE FROM handles WHERE number IN ({of_list})"))
                .with(list)
                .with(rows.undelivered_before);
            for (_, id) in &rows.tasks {
                self.make_room(connection).await?;
                self.cache.handles.remove(id);
                self.add_change_row(Entity::Handle(*id), rows.audit.last().map(|event| event.at.as_millis()), true);
            }
        }
        if let Some(receipts) = &rows.receipts {
            receipts.remove(&mut self.batch);
        }
        if let Some(segment) = &rows.segment {
            segment.remove(&mut self.batch);
        }
        self.add_audit(connection, &rows.audit).await
    }
}
