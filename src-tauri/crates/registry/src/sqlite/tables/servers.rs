//! Servers as configured, and removed ones that tasks still name.
//!
//! A removed server keeps its row, and its name is free for the next one. Secrets are not here, only the session last
//! negotiated, sealed. The encoding is in `codec/server.rs`.

pub(crate) mod routes;
pub(crate) mod tool_memory;

use domain::audit::AuditEvent;
use domain::ids::{ServerId, SessionKey};
use domain::ports::{RegistryError, ServerUnit};
use domain::server::Server;
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::{self, DecodeError, ServerDef};
use crate::seal::{FieldLocation, Sealer};
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::tables::durations;
use crate::sqlite::{SqliteRegistry, StoreContext};

/// A server, ready to write.
#[derive(Debug)]
pub(crate) struct ServerRow {
    pub(crate) id: ServerId,
    pub(crate) name: String,
    pub(crate) created: i64,
    pub(crate) body: String,
    /// The session last negotiated.
    pub(crate) session_sealed: Option<Vec<u8>>,
    pub(crate) audit: Vec<AuditEvent>,
}

impl ServerRow {
    /// Encodes and seals a server.
    pub(crate) fn of(unit: &ServerUnit, sealer: &Sealer) -> Result<Self, RegistryError> {
        let ServerUnit { server, audit } = unit;
        let session = server.negotiated.as_ref().and_then(|spoken| spoken.session.as_ref());
        let place = FieldLocation { table: "servers", column: "session_sealed", row: &server.id.to_string() };
        Ok(Self {
            id: server.id,
            name: server.name.clone(),
            created: server.created.as_millis(),
            body: codec::encode::<ServerDef>(server)?,
            session_sealed: session
                .map(|session| sealer.seal(place, session.as_str().as_bytes()))
                .transpose()
                .map_err(StoreContext::sealing("seal a session"))?,
            audit: audit.clone(),
        })
    }
}

/// Writes a server; one that was removed is here again.
pub(crate) fn put(batch: &mut StatementBatch, row: &ServerRow) {
    batch
        .add(
            "INSERT INTO servers (id, name, removed, created, body, session_sealed) VALUES (?, ?, 0, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET name = excluded.name, removed = 0, created = excluded.created, \
             body = excluded.body, session_sealed = excluded.session_sealed",
        )
        .with(row.id.to_string())
        .with(row.name.clone())
        .with(row.created)
        .with(row.body.clone())
        .with(row.session_sealed.clone());
}

/// Marks a server as removed; its row stays for its tasks.
pub(crate) fn remove(batch: &mut StatementBatch, id: ServerId) {
    batch.add("UPDATE servers SET removed = 1 WHERE id = ?").with(id.to_string());
    tool_memory::remove(batch, id);
    durations::remove(batch, id);
}

impl SqliteRegistry {
    /// All configured servers by name.
    pub(crate) async fn read_servers(&self) -> Result<Vec<Server>, RegistryError> {
        // People configure servers by hand; the limit only keeps a damaged file from filling the memory.
        self.find_servers(
            "SELECT id, name, created, body, session_sealed FROM servers WHERE removed = 0 AND ? IS NULL \
             ORDER BY name LIMIT 10000",
            None,
        )
        .await
    }

    /// One server, also when it was removed.
    pub(crate) async fn read_server(&self, id: ServerId) -> Result<Option<Server>, RegistryError> {
        let sql = "SELECT id, name, created, body, session_sealed FROM servers WHERE id = ? LIMIT 1";
        Ok(self.find_servers(sql, Some(id.to_string())).await?.into_iter().next())
    }

    async fn find_servers(&self, sql: &'static str, id: Option<String>) -> Result<Vec<Server>, RegistryError> {
        let failed = || self.base.failed("read servers");
        let mut reader = self.reader().await?;
        let found = sqlx::query(sql).bind(id).fetch_all(&mut *reader).await.map_err(failed())?;
        found.iter().map(|row| self.server_of(row)).collect()
    }

    fn server_of(&self, row: &SqliteRow) -> Result<Server, RegistryError> {
        let failed = || self.base.failed("read servers");
        let id: &str = row.try_get(0).map_err(failed())?;
        let name: &str = row.try_get(1).map_err(failed())?;
        let created = Timestamp::from_millis(row.try_get(2).map_err(failed())?);
        let body: &str = row.try_get(3).map_err(failed())?;
        let sealed: Option<&[u8]> = row.try_get(4).map_err(failed())?;
        let bad_row = |error: DecodeError| StoreContext::bad_row("read `servers`", id, &error);
        let session = match sealed {
            Some(sealed) => {
                let place = FieldLocation { table: "servers", column: "session_sealed", row: id };
                let plain = self.base.unseal(place, sealed)?;
                let text =
                    String::from_utf8(plain).map_err(|_| bad_row(DecodeError::new("session_sealed", "is not text")))?;
                Some(SessionKey::new(text))
            }
            None => None,
        };
        let body = serde_json::from_str(body).map_err(|error| StoreContext::not_json("read `servers`", id, &error))?;
        codec::server::read(id, name, created, session, body).map_err(bad_row)
    }
}
