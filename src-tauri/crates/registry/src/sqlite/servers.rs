//! Servers as configured, and removed ones that tasks still name.
//!
//! A removed server keeps its row and loses its name to whoever takes it next. Secrets are not here, only the session
//! last negotiated, sealed. The encoding is in `rows/server.rs`.

use domain::ids::{ServerId, SessionKey};
use domain::ports::RegistryError;
use domain::server::Server;
use domain::time::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::script::Script;
use super::unit::ServerRow;
use super::{Base, Sqlite};
use crate::rows::{self, Flaw};
use crate::seal::Place;

/// Writes a server; one that was removed is here again.
pub(crate) fn put(script: &mut Script, row: &ServerRow) {
    script
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
pub(crate) fn remove(script: &mut Script, id: ServerId) {
    script.add("UPDATE servers SET removed = 1 WHERE id = ?").with(id.to_string());
}

impl Sqlite {
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
        let trouble = || self.base.fault("read servers");
        let mut reader = self.reader().await?;
        let found = sqlx::query(sql).bind(id).fetch_all(&mut *reader).await.map_err(trouble())?;
        found.iter().map(|row| self.server_of(row)).collect()
    }

    fn server_of(&self, row: &SqliteRow) -> Result<Server, RegistryError> {
        let trouble = || self.base.fault("read servers");
        let id: &str = row.try_get(0).map_err(trouble())?;
        let name: &str = row.try_get(1).map_err(trouble())?;
        let created = Timestamp::from_millis(row.try_get(2).map_err(trouble())?);
        let body: &str = row.try_get(3).map_err(trouble())?;
        let sealed: Option<&[u8]> = row.try_get(4).map_err(trouble())?;
        let flaw = |flaw: Flaw| Base::bad_row("read `servers`", id, &flaw);
        let session = match sealed {
            Some(sealed) => {
                let place = Place { table: "servers", column: "session_sealed", row: id };
                let plain = self.base.unseal(place, sealed)?;
                let text = String::from_utf8(plain).map_err(|_| flaw(Flaw::new("session_sealed", "is not text")))?;
                Some(SessionKey::new(text))
            }
            None => None,
        };
        let body = serde_json::from_str(body).map_err(|error| Base::not_json("read `servers`", id, &error))?;
        rows::server::read((id, name), created, &body, session).map_err(flaw)
    }
}
