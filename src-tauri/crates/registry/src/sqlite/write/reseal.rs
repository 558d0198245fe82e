//! Seals values anew that were sealed before they were bound to the version of their task (layout 1, decision 0096).
//!
//! Works in small transactions while the writer has nothing else to do. When all are done, `store.resealed` says so, and
//! from the next start on layout 1 is refused: an older value of a field does not open any more. A start that finds it
//! undone begins anew, which passes quickly over what is done.

use domain::ports::RegistryError;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::seal::FieldLocation;
use crate::sqlite::StoreContext;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::maintenance::number;
use crate::sqlite::tables::task_row::handle_place;
use crate::sqlite::tables::{requests, row_name};
use crate::sqlite::unsigned;

/// Values sealed anew in one transaction: a few milliseconds. Judgement.
const AT_ONCE: u32 = 100;

/// The tables that have such values, in the order of work.
#[derive(Debug, Clone, Copy)]
enum SealedTable {
    Tasks,
    Questions,
    Payloads,
}

impl SealedTable {
    /// Row, id of the task, name within the task, version to seal for, and the value. Questions and payloads from before
    /// have version 0.
    const fn find(self) -> &'static str {
        match self {
            Self::Tasks => {
                "SELECT number, id, '', version, body_sealed FROM handles \
                 WHERE number > ? AND substr(body_sealed, 1, 1) = x'01' ORDER BY number LIMIT ?"
            }
            Self::Questions => {
                "SELECT r.rowid, h.id, r.key, h.version, r.body_sealed FROM requests r \
                 CROSS JOIN handles h ON h.number = r.handle WHERE r.rowid > ? AND r.version = 0 ORDER BY r.rowid LIMIT ?"
            }
            Self::Payloads => {
                "SELECT p.rowid, h.id, p.kind, h.version, p.sealed FROM payloads p \
                 CROSS JOIN handles h ON h.number = p.handle WHERE p.rowid > ? AND p.version = 0 ORDER BY p.rowid LIMIT ?"
            }
        }
    }

    const fn write(self) -> &'static str {
        match self {
            Self::Tasks => "UPDATE handles SET body_sealed = ? WHERE version = ? AND number = ?",
            Self::Questions => "UPDATE requests SET body_sealed = ?, version = ? WHERE rowid = ?",
            Self::Payloads => "UPDATE payloads SET sealed = ?, version = ? WHERE rowid = ?",
        }
    }

    const fn next(self) -> Option<Self> {
        match self {
            Self::Tasks => Some(Self::Questions),
            Self::Questions => Some(Self::Payloads),
            Self::Payloads => None,
        }
    }

    fn place<'a>(self, handle: &'a str, row: &'a str) -> FieldLocation<'a> {
        match self {
            Self::Tasks => handle_place(handle),
            Self::Questions => requests::place(row),
            Self::Payloads => FieldLocation { table: "payloads", column: "sealed", row },
        }
    }
}

/// How far the work has come.
#[derive(Debug)]
pub(crate) struct Resealing {
    table: SealedTable,
    after: i64,
}

impl Resealing {
    /// The work that is to be done; `None` when there is none.
    pub(crate) fn needed(base: &StoreContext) -> Option<Self> {
        (!base.is_resealed).then_some(Self { table: SealedTable::Tasks, after: 0 })
    }

    /// One transaction; returns whether there is more to do. After an error the transaction is to be rolled back.
    pub(crate) async fn step(
        &mut self,
        base: &StoreContext,
        connection: &mut SqliteConnection,
    ) -> Result<bool, RegistryError> {
        let failed = || base.failed("seal values anew");
        let mut begin = StatementBatch::default();
        begin.add("BEGIN IMMEDIATE");
        begin.run(connection).await.map_err(failed())?;
        let mut find = StatementBatch::default();
        find.add(self.table.find()).with(self.after).with(AT_ONCE);
        let found = find.rows(connection).await.map_err(failed())?;
        let mut write = StatementBatch::default();
        for row in &found {
            self.after = row.try_get(0).map_err(failed())?;
            let handle: &str = row.try_get(1).map_err(failed())?;
            let name: &str = row.try_get(2).map_err(failed())?;
            let version: i64 = row.try_get(3).map_err(failed())?;
            let sealed: &[u8] = row.try_get(4).map_err(failed())?;
            let name = row_name(handle, name);
            let place = self.table.place(handle, &name);
            // What does not open is damaged, and whoever reads it is told; it does not hold up the others.
            let Ok(plain) = base.sealer.open(place, sealed) else {
                tracing::warn!(table = place.table, "a value that does not open was left as it is");
                continue;
            };
            let anew = base
                .sealer
                .seal_version(place, unsigned(version), &plain)
                .map_err(StoreContext::sealing("seal values anew"))?;
            write.add(self.table.write()).with(anew).with(version).with(self.after);
        }
        let is_table_done = u32::try_from(found.len()).unwrap_or(AT_ONCE) < AT_ONCE;
        let is_done = is_table_done && self.table.next().is_none();
        if is_done {
            write.add("UPDATE store SET resealed = 1 WHERE one = 1");
        }
        write.add("COMMIT");
        write.run(connection).await.map_err(failed())?;
        if is_table_done && let Some(next) = self.table.next() {
            *self = Self { table: next, after: 0 };
        }
        if is_done {
            tracing::info!("every value of a task is sealed for its version");
        }
        Ok(!is_done)
    }
}

/// Reads whether every value is bound to its version; a schema from before this work cannot say so.
pub(crate) async fn is_done(base: &StoreContext, connection: &mut SqliteConnection) -> Result<bool, RegistryError> {
    let failed = || base.failed("read how values are sealed");
    let knows = "SELECT count(*) FROM pragma_table_info('store') WHERE name = 'resealed'";
    if number(connection, knows).await.map_err(failed())? == 0 {
        return Ok(false);
    }
    Ok(number(connection, "SELECT resealed FROM store WHERE one = 1").await.map_err(failed())? == 1)
}
