//! Hides tasks from the lists of screens, and shows them again.
//!
//! Which tasks may be hidden is the domain's, asked again by the statement: the task may have changed since it was read. What
//! shows a changed task again is a trigger. What lists and counts leave out is in `read/task_kinds.rs`.

use std::sync::LazyLock;

use domain::ports::HideUnit;
use domain::task::figures::CountedState;
use domain::task::status::Phase;
use serde_json::Value;

use crate::sqlite::batch::StatementBatch;
use crate::sqlite::read::counts::{EXCEPTIONS, phases};

/// Tasks to hide or to show, ready to write.
#[derive(Debug)]
pub(crate) struct HiddenRows {
    /// Ids as a JSON array.
    ids: String,
    pub(crate) is_hidden: bool,
    at: i64,
}

static HIDE: LazyLock<String> = LazyLock::new(|| {
    let may = |phase, is_exception| CountedState { phase, is_exception, is_orphaned: false }.may_be_hidden();
    let plain = phases(|phase: Phase| may(phase, false));
    let exceptions = phases(|phase: Phase| may(phase, true));
    format!(
        "INSERT OR IGNORE INTO hidden_tasks (handle, at) SELECT number, ? FROM handles \
         INDEXED BY sqlite_autoindex_handles_1 WHERE id IN (SELECT value FROM json_each(?)) \
         AND CASE WHEN {} THEN phase IN ({exceptions}) ELSE phase IN ({plain}) END",
        *EXCEPTIONS
    )
});
const SHOW: &str = "DELETE FROM hidden_tasks WHERE handle IN (SELECT number FROM handles \
     INDEXED BY sqlite_autoindex_handles_1 WHERE id IN (SELECT value FROM json_each(?)))";

impl HiddenRows {
    pub(crate) fn of(unit: &HideUnit) -> Self {
        let ids = unit.tasks.iter().map(|id| Value::from(id.to_string())).collect();
        Self { ids: Value::Array(ids).to_string(), is_hidden: unit.is_hidden, at: unit.at.as_millis() }
    }

    pub(crate) fn write(&self, batch: &mut StatementBatch) {
        if self.is_hidden {
            batch.add(&HIDE).with(self.at).with(self.ids.clone());
        } else {
            batch.add(SHOW).with(self.ids.clone());
        }
    }
}
