//! The `AlarmStore` port on SQLite: alarms about what agents call again and again.
//!
//! Rows are in `tables/agents/alarms.rs`. Nothing is decided here.

use domain::agent::alarm::CallAlarm;
use domain::ids::{AlarmId, Seq};
use domain::ports::{AlarmStore, AlarmUnit, PortFuture, RegistryError};

use super::SqliteRegistry;
use super::tables::agents::alarms::AlarmRow;
use super::write::mutation::Mutation;

impl AlarmStore for SqliteRegistry {
    fn put_alarm(&self, unit: AlarmUnit) -> PortFuture<'_, Result<Seq, RegistryError>> {
        Box::pin(async move {
            let row = AlarmRow::of(&self.base, unit)?;
            self.writer()?.write(Mutation::PutAlarm(Box::new(row))).await?.into_seq()
        })
    }

    fn alarms(&self, limit: u32) -> PortFuture<'_, Result<Vec<CallAlarm>, RegistryError>> {
        Box::pin(async move {
            let mut reader = self.reader().await?;
            let found = sqlx::query(
                "SELECT id, agent, kind, state, raised, body_sealed FROM alarms ORDER BY raised DESC, id DESC LIMIT ?",
            )
            .bind(limit)
            .fetch_all(&mut *reader)
            .await
            .map_err(self.base.failed("read alarms"))?;
            found.iter().map(|row| self.read_alarm(row)).collect()
        })
    }

    fn alarm(&self, id: AlarmId) -> PortFuture<'_, Result<Option<CallAlarm>, RegistryError>> {
        Box::pin(async move {
            let mut reader = self.reader().await?;
            let found = sqlx::query("SELECT id, agent, kind, state, raised, body_sealed FROM alarms WHERE id = ?")
                .bind(id.to_string())
                .fetch_optional(&mut *reader)
                .await
                .map_err(self.base.failed("read an alarm"))?;
            found.map(|row| self.read_alarm(&row)).transpose()
        })
    }
}
