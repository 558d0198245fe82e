//! Routes of agent programs, one row each. The file before and the entries are sealed, because they may hold secrets.
//!
//! Of a route that is undone, neither is kept. What a route means is in `domain::server::route`.

use domain::audit::AuditEvent;
use domain::ids::PersonId;
use domain::ports::{RegistryError, RouteUnit};
use domain::server::route::{ClientRoute, RouteState, RouteText};
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::DecodeError;
use crate::seal::FieldLocation;
use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext};

/// Open routes read at most; the limit only keeps a damaged file from filling the memory.
const OPEN_MAX: u32 = 1_000;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RouteBody {
    client: String,
    path: String,
    agent: String,
    entries: Vec<String>,
    after_digest: String,
    backup: Option<String>,
    by: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteContent {
    before: String,
    changes: String,
}

/// A route, ready to write.
#[derive(Debug)]
pub(crate) struct RouteRow {
    id: String,
    at: i64,
    is_open: bool,
    state: &'static str,
    body: String,
    content_sealed: Option<Vec<u8>>,
    pub(crate) audit: Vec<AuditEvent>,
}

fn place(row: &str) -> FieldLocation<'_> {
    FieldLocation { table: "routes", column: "content_sealed", row }
}

impl RouteRow {
    pub(crate) fn of(base: &StoreContext, unit: RouteUnit) -> Result<Self, RegistryError> {
        let operation = "store a route";
        let unwritable = |error: serde_json::Error| RegistryError::Other { operation, why: error.to_string() };
        let RouteUnit { route, audit } = unit;
        let (id, is_open) = (route.id.to_string(), route.is_open());
        let content =
            RouteContent { before: route.before.reveal().to_owned(), changes: route.changes.reveal().to_owned() };
        let content_sealed = if is_open {
            let plain = serde_json::to_vec(&content).map_err(unwritable)?;
            Some(base.sealer.seal(place(&id), &plain).map_err(StoreContext::sealing(operation))?)
        } else {
            None
        };
        let body = RouteBody {
            client: route.client,
            path: route.path,
            agent: route.agent,
            entries: route.entries,
            after_digest: route.after_digest,
            backup: route.backup,
            by: route.by.as_str().to_owned(),
        };
        let body = serde_json::to_string(&body).map_err(unwritable)?;
        Ok(Self { id, at: route.at.as_millis(), is_open, state: route.state.word(), body, content_sealed, audit })
    }
}

/// Puts a route.
pub(crate) fn put(batch: &mut StatementBatch, row: &RouteRow) {
    batch
        .add(
            "INSERT INTO routes (id, at, open, state, body, content_sealed) VALUES (?, ?, ?, ?, ?, ?) \
             ON CONFLICT (id) DO UPDATE SET open = excluded.open, state = excluded.state, body = excluded.body, \
             content_sealed = excluded.content_sealed",
        )
        .with(row.id.clone())
        .with(row.at)
        .with(row.is_open)
        .with(row.state)
        .with(row.body.clone())
        .with(row.content_sealed.clone());
}

impl SqliteRegistry {
    fn read_route(&self, row: &SqliteRow) -> Result<ClientRoute, RegistryError> {
        let failed = || self.base.failed("read a route");
        let id: &str = row.try_get(0).map_err(failed())?;
        let bad = |error: &DecodeError| StoreContext::bad_row("read `routes`", id, error);
        let not_json = |error: serde_json::Error| StoreContext::not_json("read `routes`", id, &error);
        let body: &str = row.try_get(3).map_err(failed())?;
        let body: RouteBody = serde_json::from_str(body).map_err(not_json)?;
        let sealed: &[u8] = row.try_get(4).map_err(failed())?;
        let plain = self.base.unseal(place(id), sealed)?;
        let content: RouteContent = serde_json::from_slice(&plain).map_err(not_json)?;
        let state: &str = row.try_get(2).map_err(failed())?;
        Ok(ClientRoute {
            id: id.parse().map_err(|_| bad(&DecodeError::new("id", "does not read as an id")))?,
            client: body.client,
            path: body.path,
            agent: body.agent,
            state: RouteState::from_word(state).ok_or_else(|| bad(&DecodeError::new("state", "is not known")))?,
            entries: body.entries,
            after_digest: body.after_digest,
            backup: body.backup,
            at: Timestamp::from_millis(row.try_get(1).map_err(failed())?),
            by: PersonId::new(&*body.by),
            before: RouteText::new(content.before),
            changes: RouteText::new(content.changes),
        })
    }

    /// Routes that are not undone, the newest first.
    pub(crate) async fn read_open_routes(&self) -> Result<Vec<ClientRoute>, RegistryError> {
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT id, at, state, body, content_sealed FROM routes WHERE open = 1 ORDER BY at DESC, id DESC LIMIT ?",
        )
        .bind(OPEN_MAX)
        .fetch_all(&mut *reader)
        .await
        .map_err(self.base.failed("read routes"))?;
        found.iter().map(|row| self.read_route(row)).collect()
    }
}
