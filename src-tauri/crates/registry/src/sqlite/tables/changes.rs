//! The change log: which entities changed, in the order of commits, never how.
//!
//! Places are given out inside the transaction (`write/transaction.rs`), so a cursor cannot step over a row that commits
//! late. Old rows are removed by `maintenance.rs`.

use domain::ids::Seq;
use domain::ports::RegistryError;
use domain::ports::change::{Change, Changes, Entity};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::codec::DecodeError;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned, whole};

/// Adds a change row.
pub(crate) const INSERT: &str = "INSERT INTO changes (seq, at, kind, entity, removed) VALUES (?, ?, ?, ?, ?)";

/// The kind and the id of an entity, as the change log keeps them.
pub(crate) fn entity(entity: Entity) -> (&'static str, String) {
    match entity {
        Entity::Handle(id) => ("handle", id.to_string()),
        Entity::Server(id) => ("server", id.to_string()),
        Entity::Agent(id) => ("agent", id.to_string()),
        Entity::Halt(id) => ("halt", id.to_string()),
        Entity::Alarm(id) => ("alarm", id.to_string()),
    }
}

fn change(row: &SqliteRow) -> Result<Change, RegistryError> {
    let failed = |error: sqlx::Error| RegistryError::Other { operation: "read `changes`", why: error.to_string() };
    let seq = unsigned(row.try_get(2).map_err(failed)?);
    let kind: &str = row.try_get(3).map_err(failed)?;
    let entity: &str = row.try_get(4).map_err(failed)?;
    let bad_row = |error: DecodeError| StoreContext::bad_row("read `changes`", &seq.to_string(), &error);
    let id = || DecodeError::new("entity", "does not read as an id");
    let entity = match kind {
        "handle" => entity.parse().map(Entity::Handle).map_err(|_| bad_row(id()))?,
        "alarm" => entity.parse().map(Entity::Alarm).map_err(|_| bad_row(id()))?,
        "halt" => entity.parse().map(Entity::Halt).map_err(|_| bad_row(id()))?,
        "agent" => entity.parse().map(Entity::Agent).map_err(|_| bad_row(id()))?,
        "server" => entity.parse().map(Entity::Server).map_err(|_| bad_row(id()))?,
        other => return Err(bad_row(DecodeError::word("kind", other))),
    };
    Ok(Change { seq: Seq(seq), entity, removed: row.try_get(5).map_err(failed)? })
}

impl SqliteRegistry {
    /// The newest place of the change log.
    pub(crate) async fn read_newest(&self) -> Result<Seq, RegistryError> {
        let asked = self.writes_so_far();
        if let Some(seq) = self.base.kept.newest.get(asked) {
            return Ok(seq);
        }
        let failed = || self.base.failed("read the change log");
        let mut reader = self.reader().await?;
        let seq: i64 =
            sqlx::query_scalar("SELECT seq FROM store WHERE one = 1").fetch_one(&mut *reader).await.map_err(failed())?;
        let seq = Seq(unsigned(seq));
        self.base.kept.newest.keep(asked, seq);
        Ok(seq)
    }

    /// What changed after a place. A reader behind what is kept, or ahead of what there is (another registry was put
    /// in place), must read everything anew.
    pub(crate) async fn read_changes(&self, after: Seq, limit: u32) -> Result<Changes, RegistryError> {
        let failed = || self.base.failed("read the change log");
        let mut reader = self.reader().await?;
        let found = sqlx::query(
            "SELECT s.seq, s.pruned_upto, c.seq, c.kind, c.entity, c.removed FROM store s \
             LEFT JOIN changes c ON c.seq > ? WHERE s.one = 1 ORDER BY c.seq LIMIT ?",
        )
        .bind(whole(after.0))
        .bind(limit.max(1))
        .fetch_all(&mut *reader)
        .await
        .map_err(failed())?;
        let Some(first) = found.first() else {
            return Err(RegistryError::Other { operation: "read the change log", why: "the counters are gone".into() });
        };
        let newest = unsigned(first.try_get(0).map_err(failed())?);
        let pruned_upto = unsigned(first.try_get(1).map_err(failed())?);
        if after.0 < pruned_upto || after.0 > newest {
            return Ok(Changes { upto: Seq(newest), truncated: true, rows: Vec::new() });
        }
        if after.0 == newest {
            return Ok(Changes { upto: after, truncated: false, rows: Vec::new() });
        }
        let rows = found.iter().map(change).collect::<Result<Vec<_>, _>>()?;
        Ok(Changes { upto: rows.last().map_or(after, |last| last.seq), truncated: false, rows })
    }
}
