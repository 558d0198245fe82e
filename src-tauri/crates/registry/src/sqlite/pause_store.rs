//! The `PauseStore` port on SQLite: agents and local servers that people paused.
//!
//! Rows are in `tables/rules/pauses.rs`. Nothing is decided here.

use domain::ids::Seq;
use domain::ports::{PauseStore, PauseUnit, PortFuture, RegistryError};
use domain::server::pause::Pause;

use super::SqliteRegistry;
use super::tables::rules::pauses::{self, PauseRow};
use super::write::mutation::Mutation;

impl PauseStore for SqliteRegistry {
    fn put_pause(&self, unit: PauseUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(
            async move { self.writer()?.write(Mutation::PutPause(Box::new(PauseRow::of(unit)))).await?.into_seq() },
        )
    }

    fn pauses(&self) -> PortFuture<'_, Result<Vec<Pause>, RegistryError>> {
        Box::pin(async move {
            let failed = || self.base.failed("read pauses");
            let mut reader = self.reader().await?;
            // Those in force are few, and of those that are over `kept` remain.
            let found = sqlx::query(pauses::ALL).fetch_all(&mut *reader).await.map_err(failed())?;
            let mut read = Vec::with_capacity(found.len());
            for row in &found {
                match pauses::read(&self.base, row) {
                    Ok(pause) => read.push(pause),
                    Err(error) if pauses::is_over(&self.base, row)? => {
                        tracing::warn!(%error, "a pause that is over cannot be read");
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(read)
        })
    }
}
