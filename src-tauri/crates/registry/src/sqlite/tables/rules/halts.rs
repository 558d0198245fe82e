//! Halts, one row each, and the tasks that they cancel.
//!
//! It decides nothing: what a halt means is in `domain::server::halt`; the encoding is in `codec/halt.rs`.

use domain::audit::AuditEvent;
use domain::ids::{HaltId, HandleId};
use domain::ports::{HaltUnit, RegistryError};
use domain::server::halt::Halt;
use serde_json::json;
use sqlx::Row;

use crate::codec::{self, DecodeError, HaltDef};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext};

/// A halt, ready to write.
#[derive(Debug)]
pub(crate) struct HaltRow {
    pub(crate) id: HaltId,
    at: i64,
    is_over: bool,
    body: String,
    /// As the JSON array that the statement reads.
    targets: String,
    pub(crate) audit: Vec<AuditEvent>,
}

impl HaltRow {
    pub(crate) fn of(unit: HaltUnit) -> Result<Self, RegistryError> {
        let HaltUnit { halt, targets, audit } = unit;
        let body = codec::encode::<HaltDef>(&halt)?;
        let targets: Vec<String> = targets.iter().map(HandleId::to_string).collect();
        let targets = json!(targets).to_string();
        Ok(Self { id: halt.id, at: halt.at().as_millis(), is_over: halt.is_over(), body, targets, audit })
    }
}

/// Puts a halt and adds its tasks.
pub(crate) fn put(batch: &mut StatementBatch, row: &HaltRow) {
    batch
        .add(
            "INSERT INTO halts (id, at, over, body) VALUES (?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET over = excluded.over, body = excluded.body",
        )
        .with(row.id.to_string())
        .with(row.at)
        .with(row.is_over)
        .with(row.body.clone());
    // At most one is not over: another one that is left cannot be read.
    batch.add("UPDATE halts SET over = 1 WHERE over = 0 AND id <> ?").with(row.id.to_string());
    batch
        .add("INSERT OR IGNORE INTO halt_tasks (halt, handle) SELECT ?, value FROM json_each(?)")
        .with(row.id.to_string())
        .with(row.targets.clone());
}

fn read(id: &str, body: &str) -> Result<Halt, RegistryError> {
    let bad = |error: &DecodeError| StoreContext::bad_row("read `halts`", id, error);
    let body = serde_json::from_str(body).map_err(|error| StoreContext::not_json("read `halts`", id, &error))?;
    let mut halt = codec::decode::<HaltDef>(body).map_err(|error| bad(&error))?;
    halt.id = id.parse().map_err(|_| bad(&DecodeError::new("id", "does not read as an id")))?;
    Ok(halt)
}

impl SqliteRegistry {
    /// Halts, the newest first. One that is over and cannot be read is left out.
    pub(crate) async fn read_halts(&self, limit: u32) -> Result<Vec<Halt>, RegistryError> {
        let failed = || self.base.failed("read halts");
        let mut reader = self.reader().await?;
        let found = sqlx::query("SELECT id, body, over FROM halts ORDER BY at DESC, id DESC LIMIT ?")
            .bind(limit)
            .fetch_all(&mut *reader)
            .await
            .map_err(failed())?;
        let mut halts = Vec::with_capacity(found.len());
        for row in &found {
            let id: &str = row.try_get(0).map_err(failed())?;
            let body: &str = row.try_get(1).map_err(failed())?;
            let is_over: bool = row.try_get(2).map_err(failed())?;
            match read(id, body) {
                Ok(halt) => halts.push(halt),
                Err(error) if is_over => tracing::warn!(%error, "a halt that is over cannot be read"),
                Err(error) => return Err(error),
            }
        }
        Ok(halts)
    }

    /// The tasks that a halt cancels, by id.
    pub(crate) async fn read_halted_tasks(
        &self,
        halt: HaltId,
        after: Option<HandleId>,
        limit: u32,
    ) -> Result<Vec<HandleId>, RegistryError> {
        let failed = || self.base.failed("read the tasks of a halt");
        let mut reader = self.reader().await?;
        let found: Vec<String> =
            sqlx::query_scalar("SELECT handle FROM halt_tasks WHERE halt = ? AND handle > ? ORDER BY handle LIMIT ?")
                .bind(halt.to_string())
                .bind(after.map(|id| id.to_string()).unwrap_or_default())
                .bind(limit)
                .fetch_all(&mut *reader)
                .await
                .map_err(failed())?;
        let id = |text: &String| {
            let bad = DecodeError::new("handle", "does not read as an id");
            text.parse().map_err(|_| StoreContext::bad_row("read `halt_tasks`", text, &bad))
        };
        found.iter().map(id).collect()
    }
}
