//! What is remembered of the tools of servers: one row for each tool, with at most two versions of its definition.
//!
//! A definition is the server's own text and may hold what only its user should read, so it is sealed; names and digests are
//! not. What is remembered is decided in `domain::server::tool_memory`.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::audit::AuditEvent;
use domain::ids::{PersonId, ServerId};
use domain::ports::RegistryError;
use domain::server::tool_memory::{RememberedTool, ToolMemory, ToolMemoryUnit, ToolVersion, ToolsSeen};
use domain::time::Timestamp;
use serde_json::json;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::DecodeError;
use crate::seal::{FieldLocation, Sealer};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::row_name;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// Rows read at most; the limit only keeps a damaged file from filling the memory.
const ROWS_MAX: u32 = 100_000;
const SEEN: &str = "seen_sealed";
const LISTED: &str = "listed_sealed";

/// A change of what is remembered, ready to write.
#[derive(Debug)]
pub(crate) struct ToolRows {
    server: String,
    seen_at: i64,
    seen_by: Option<String>,
    left_out: i64,
    told: Option<String>,
    /// As the JSON array that the statement reads.
    forget: String,
    pub(crate) put: Vec<ToolRow>,
    pub(crate) audit: Vec<AuditEvent>,
}

/// A tool, ready to write.
#[derive(Debug)]
pub(crate) struct ToolRow {
    name: String,
    seen: Option<String>,
    listed: Option<String>,
    seen_sealed: Option<Vec<u8>>,
    listed_sealed: Option<Vec<u8>>,
}

fn place<'a>(column: &'static str, row: &'a str) -> FieldLocation<'a> {
    FieldLocation { table: "tools", column, row }
}

impl ToolRows {
    /// Encodes and seals.
    pub(crate) fn of(unit: &ToolMemoryUnit, sealer: &Sealer) -> Result<Self, RegistryError> {
        let server = unit.server.to_string();
        let put = unit.put.iter().map(|tool| ToolRow::of(&server, tool, sealer)).collect::<Result<_, _>>()?;
        let names: Vec<&str> = unit.forget.iter().map(|name| &**name).collect();
        Ok(Self {
            server,
            seen_at: unit.seen.at.as_millis(),
            seen_by: unit.seen.by.as_ref().map(PersonId::to_string),
            left_out: whole(unit.left_out),
            told: unit.told.clone(),
            forget: json!(names).to_string(),
            put,
            audit: unit.audit.clone(),
        })
    }

    /// The state of the list, and what is forgotten.
    pub(crate) fn put_list(&self, batch: &mut StatementBatch) {
        batch
            .add(
                "INSERT INTO tool_lists (server, seen_at, seen_by, left_out, told) VALUES (?, ?, ?, ?, ?) \
                 ON CONFLICT (server) DO UPDATE SET seen_at = excluded.seen_at, seen_by = excluded.seen_by, \
                 left_out = excluded.left_out, told = excluded.told",
            )
            .with(self.server.clone())
            .with(self.seen_at)
            .with(self.seen_by.clone())
            .with(self.left_out)
            .with(self.told.clone());
        batch
            .add("DELETE FROM tools WHERE server = ? AND name IN (SELECT value FROM json_each(?))")
            .with(self.server.clone())
            .with(self.forget.clone());
    }

    /// Both versions of one tool.
    pub(crate) fn put_tool(&self, batch: &mut StatementBatch, row: &ToolRow) {
        batch
            .add(
                "INSERT INTO tools (server, name, seen, listed, seen_sealed, listed_sealed) VALUES (?, ?, ?, ?, ?, ?) \
                 ON CONFLICT (server, name) DO UPDATE SET seen = excluded.seen, listed = excluded.listed, \
                 seen_sealed = excluded.seen_sealed, listed_sealed = excluded.listed_sealed",
            )
            .with(self.server.clone())
            .with(row.name.clone())
            .with(row.seen.clone())
            .with(row.listed.clone())
            .with(row.seen_sealed.clone())
            .with(row.listed_sealed.clone());
    }
}

impl ToolRow {
    fn of(server: &str, tool: &RememberedTool, sealer: &Sealer) -> Result<Self, RegistryError> {
        let row = row_name(server, &tool.name);
        let seal = |column, version: Option<&ToolVersion>| {
            let text = version.and_then(|version| version.text.as_deref());
            text.map(|text| sealer.seal(place(column, &row), text.as_bytes()))
                .transpose()
                .map_err(StoreContext::sealing("seal the definition of a tool"))
        };
        let is_same = tool.seen == tool.listed;
        let digest = |version: &Option<ToolVersion>| version.as_ref().map(|version| version.digest.to_string());
        Ok(Self {
            name: tool.name.to_string(),
            seen: digest(&tool.seen),
            listed: digest(&tool.listed),
            seen_sealed: seal(SEEN, tool.seen.as_ref())?,
            listed_sealed: seal(LISTED, tool.listed.as_ref().filter(|_| !is_same))?,
        })
    }
}

/// Nothing is remembered of the tools of a server that was removed.
pub(crate) fn remove(batch: &mut StatementBatch, server: ServerId) {
    for table in ["tools", "tool_lists"] {
        batch.add(&format!("DELETE FROM {table} WHERE server = ?")).with(server.to_string());
    }
}

impl SqliteRegistry {
    /// What is remembered of the tools of a server.
    pub(crate) async fn read_tool_memory(&self, server: ServerId) -> Result<Option<ToolMemory>, RegistryError> {
        let failed = || self.base.failed("read tools");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT l.seen_at, l.seen_by, l.left_out, t.name, t.seen, t.listed, t.seen_sealed, t.listed_sealed, l.told \
             FROM tool_lists l LEFT JOIN tools t ON t.server = l.server WHERE l.server = ? LIMIT ?",
        )
        .bind(server.to_string())
        .bind(ROWS_MAX)
        .fetch_all(&mut *reader)
        .await
        .map_err(failed())?;
        let Some(first) = found.first() else { return Ok(None) };
        let by: Option<String> = first.try_get(1).map_err(failed())?;
        let seen =
            ToolsSeen { at: Timestamp::from_millis(first.try_get(0).map_err(failed())?), by: by.map(PersonId::new) };
        let left_out = unsigned(first.try_get(2).map_err(failed())?);
        let told: Option<String> = first.try_get(8).map_err(failed())?;
        let mut tools = BTreeMap::new();
        for row in &found {
            let name: Option<&str> = row.try_get(3).map_err(failed())?;
            let Some(name) = name else { continue };
            let tool = self.tool_of(server, name, row)?;
            tools.insert(Arc::clone(&tool.name), tool);
        }
        Ok(Some(ToolMemory { seen, tools, left_out, told }))
    }

    fn tool_of(&self, server: ServerId, name: &str, row: &SqliteRow) -> Result<RememberedTool, RegistryError> {
        let failed = || self.base.failed("read tools");
        let owner = row_name(&server.to_string(), name);
        let version = |digest: usize, sealed: usize, column: &'static str| {
            let digest: Option<&str> = row.try_get(digest).map_err(failed())?;
            let sealed: Option<&[u8]> = row.try_get(sealed).map_err(failed())?;
            let Some(digest) = digest else { return Ok(None) };
            let text = match sealed {
                Some(sealed) => {
                    let plain = self.base.unseal(place(column, &owner), sealed)?;
                    let text = String::from_utf8(plain).map_err(|_| {
                        StoreContext::bad_row("read `tools`", &owner, &DecodeError::new(column, "is not text"))
                    })?;
                    Some(Arc::from(text))
                }
                None => None,
            };
            Ok::<_, RegistryError>(Some(ToolVersion { digest: Arc::from(digest), text }))
        };
        let (seen, listed) = (version(4, 6, SEEN)?, version(5, 7, LISTED)?);
        let is_same = |listed: &ToolVersion| seen.as_ref().is_some_and(|seen| seen.digest == listed.digest);
        let listed = if listed.as_ref().is_some_and(is_same) { seen.clone() } else { listed };
        Ok(RememberedTool { name: Arc::from(name), seen, listed })
    }
}
