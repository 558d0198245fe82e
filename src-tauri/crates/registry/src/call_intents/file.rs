//! The file of intents: one table, written without waiting for the disk.
//!
//! `synchronous = OFF` in WAL mode hands every commit to the operating system and returns: a killed process loses nothing, a
//! machine without power may. The file holds only what is in flight, so it stays small. A damaged file is moved aside,
//! because starting matters more.

use std::path::Path;

use domain::digest::hex;
use domain::ids::HandleId;
use domain::policy::Policy;
use domain::ports::{CallIntent, RegistryError};
use serde_json::{Value, json};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Row};

use super::queue::IntentBatch;
use crate::codec::{self, CallIntentDef};
use crate::seal::{FieldLocation, Sealer};
use crate::sqlite::errors;
use crate::sqlite::write::reserve;

/// The schema, its version with it: an older file of the same version is kept.
const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS intents (id TEXT NOT NULL PRIMARY KEY, body_sealed BLOB NOT NULL) \
     WITHOUT ROWID; PRAGMA user_version = 1";
/// Writes what is given as a JSON array of `[id, hex of the sealed body]`.
const BEGIN: &str = "INSERT OR REPLACE INTO intents (id, body_sealed) \
     SELECT json_extract(value, '$[0]'), unhex(json_extract(value, '$[1]')) FROM json_each(?)";
/// Removes what is given as a JSON array of ids.
const END: &str = "DELETE FROM intents WHERE id IN (SELECT value FROM json_each(?))";

/// The open file.
pub(crate) struct IntentFile {
    connection: SqliteConnection,
    sealer: Sealer,
    path: std::path::PathBuf,
}

fn place(id: &str) -> FieldLocation<'_> {
    FieldLocation { table: "intents", column: "body_sealed", row: id }
}

impl IntentFile {
    /// Opens or makes the file, and reads what is in it.
    pub(crate) async fn open(
        path: &Path,
        sealer: Sealer,
        policy: &Policy,
    ) -> Result<(Self, Vec<CallIntent>), RegistryError> {
        match Self::opened(path, policy).await {
            Ok(connection) => {
                let mut file = Self { connection, sealer, path: path.into() };
                let left = file.left_over(policy.gateway.intents_left_max).await?;
                Ok((file, left))
            }
            Err(RegistryError::Damaged { finding, .. }) => {
                tracing::warn!(%finding, "the file of intents is damaged; it is moved aside, and calls that a crash cut off are not known");
                move_aside(path)?;
                let connection = Self::opened(path, policy).await?;
                Ok((Self { connection, sealer, path: path.into() }, Vec::new()))
            }
            Err(other) => Err(other),
        }
    }

    async fn opened(path: &Path, policy: &Policy) -> Result<SqliteConnection, RegistryError> {
        let failed = |error| errors::of(path, "open the file of intents", error);
        reserve::private_file()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|error| errors::of_file(path, "make the file of intents", &error))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Off)
            .busy_timeout(policy.registry_busy_wait)
            .pragma("temp_store", "MEMORY")
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(failed)?;
        sqlx::raw_sql(SCHEMA).execute(&mut connection).await.map_err(failed)?;
        let finding: String =
            sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await.map_err(failed)?;
        if finding == "ok" { Ok(connection) } else { Err(RegistryError::Damaged { path: path.into(), finding }) }
    }

    /// What is in the file. Rows that do not open or read are of no use to anybody; they are told and removed.
    async fn left_over(&mut self, limit: u32) -> Result<Vec<CallIntent>, RegistryError> {
        let found = sqlx::query("SELECT id, body_sealed FROM intents ORDER BY id LIMIT ?")
            .bind(limit)
            .fetch_all(&mut self.connection)
            .await
            .map_err(|error| errors::of(&self.path, "read the file of intents", error))?;
        let (mut left, mut unreadable) = (Vec::new(), Vec::new());
        for row in &found {
            let id: &str = row.try_get(0).map_err(|error| errors::of(&self.path, "read the file of intents", error))?;
            let sealed: &[u8] =
                row.try_get(1).map_err(|error| errors::of(&self.path, "read the file of intents", error))?;
            match self.intent(id, sealed) {
                Some(intent) => left.push(intent),
                None => unreadable.push(Value::from(id)),
            }
        }
        if !unreadable.is_empty() {
            tracing::warn!(count = unreadable.len(), "intents of an earlier run do not read; they are forgotten");
            sqlx::query(END)
                .bind(Value::Array(unreadable).to_string())
                .execute(&mut self.connection)
                .await
                .map_err(|error| errors::of(&self.path, "clean the file of intents", error))?;
        }
        Ok(left)
    }

    fn intent(&self, id: &str, sealed: &[u8]) -> Option<CallIntent> {
        let handle: HandleId = id.parse().ok()?;
        let plain = self.sealer.open(place(id), sealed).ok()?;
        codec::call_intent::read(handle, serde_json::from_slice(&plain).ok()?).ok()
    }

    /// Writes a batch in one transaction.
    pub(crate) async fn write(&mut self, batch: &IntentBatch) -> Result<(), RegistryError> {
        if batch.begun.is_empty() && batch.ended.is_empty() {
            return Ok(());
        }
        let mut begun = Vec::with_capacity(batch.begun.len());
        for intent in &batch.begun {
            let id = intent.id.to_string();
            let body = codec::encode::<CallIntentDef>(intent)?;
            let sealed = self
                .sealer
                .seal(place(&id), body.as_bytes())
                .map_err(|error| RegistryError::Other { operation: "seal an intent", why: error.to_string() })?;
            begun.push(json!([id, hex(&sealed)]));
        }
        let ended: Vec<Value> = batch.ended.iter().map(|id| id.to_string().into()).collect();
        self.commit(begun, ended).await.map_err(|error| errors::of(&self.path, "write intents", error))
    }

    async fn commit(&mut self, begun: Vec<Value>, ended: Vec<Value>) -> Result<(), sqlx::Error> {
        // Each statement is a transaction of its own: an intent that ends was begun in an earlier batch.
        if !begun.is_empty() {
            sqlx::query(BEGIN).bind(Value::Array(begun).to_string()).execute(&mut self.connection).await?;
        }
        if !ended.is_empty() {
            sqlx::query(END).bind(Value::Array(ended).to_string()).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Closes the file.
    pub(crate) async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "the file of intents did not close in order");
        }
    }
}

/// Moves a damaged file and its log out of the way; an earlier one of that name is overwritten.
fn move_aside(path: &Path) -> Result<(), RegistryError> {
    for suffix in ["", "-wal", "-shm"] {
        let (mut from, mut to) = (path.as_os_str().to_owned(), path.as_os_str().to_owned());
        from.push(suffix);
        to.push(".damaged");
        to.push(suffix);
        match std::fs::rename(&from, &to) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(errors::of_file(path, "move the damaged file of intents aside", &error)),
        }
    }
    Ok(())
}
