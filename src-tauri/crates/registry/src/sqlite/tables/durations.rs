//! How long a tool on a server usually takes: its latest durations and their percentiles.
//!
//! A percentile is the nearest rank: the smallest duration that at least that share of the samples does not exceed. Names of
//! tools come from servers: of each server the tools of the latest calls are kept, and of a removed one nothing.

use domain::ids::ServerId;
use domain::ports::RegistryError;
use domain::task::UsualDuration;
use sqlx::sqlite::SqliteConnection;

use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, StoreContext, unsigned};

/// How long a finished call took.
pub(crate) struct LearnedDuration<'a> {
    pub(crate) server: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) took_ms: i64,
    /// When it finished, in milliseconds since 1970.
    pub(crate) at: i64,
}

/// Adds a duration and forgets the oldest beyond `kept`.
pub(crate) fn learn(batch: &mut StatementBatch, learned: &LearnedDuration<'_>, kept: u32) {
    let LearnedDuration { server, tool, took_ms, at } = *learned;
    batch
        .add(
            "INSERT INTO durations (server, tool, number, took_ms, at) \
             SELECT ?, ?, coalesce(max(number), 0) + 1, ?, ? FROM durations WHERE server = ? AND tool = ?",
        )
        .with(server.to_owned())
        .with(tool.to_owned())
        .with(took_ms)
        .with(at)
        .with(server.to_owned())
        .with(tool.to_owned());
    batch
        .add(
            "DELETE FROM durations WHERE server = ? AND tool = ? AND number <= \
             (SELECT max(number) FROM durations WHERE server = ? AND tool = ?) - ?",
        )
        .with(server.to_owned())
        .with(tool.to_owned())
        .with(server.to_owned())
        .with(tool.to_owned())
        .with(kept);
}

/// Forgets what was learned of the tools of a server that was removed.
pub(crate) fn remove(batch: &mut StatementBatch, server: ServerId) {
    batch.add("DELETE FROM durations WHERE server = ?").with(server.to_string());
}

/// Forgets the tools of each server beyond the limit, those that finished a call longest ago first, and what a call
/// taught that finished after its server was removed.
pub(crate) async fn forget_tools(base: &StoreContext, connection: &mut SqliteConnection) -> Result<(), RegistryError> {
    let mut batch = StatementBatch::default();
    batch.add("DELETE FROM durations WHERE server IN (SELECT id FROM servers WHERE removed = 1)");
    batch
        .add(
            "DELETE FROM durations WHERE (server, tool) IN (SELECT server, tool FROM ( \
              SELECT server, tool, row_number() OVER (PARTITION BY server ORDER BY newest DESC, tool) AS place FROM ( \
               SELECT server, tool, max(at) AS newest FROM durations GROUP BY server, tool)) WHERE place > ?)",
        )
        .with(base.limits.learned_tools);
    batch.run(connection).await.map_err(base.failed("forget durations"))
}

/// The nearest rank of a sorted list; `percent` is between 1 and 100.
fn rank(sorted: &[u64], percent: usize) -> Option<u64> {
    let place = (sorted.len() * percent).div_ceil(100);
    sorted.get(place.checked_sub(1)?).copied()
}

impl SqliteRegistry {
    /// What this tool on this server usually takes.
    pub(crate) async fn read_usual(
        &self,
        server: ServerId,
        tool: &str,
        samples_min: u32,
    ) -> Result<Option<UsualDuration>, RegistryError> {
        let failed = || self.base.failed("read durations");
        let mut reader = self.reader().await?;
        let found: Vec<i64> =
            sqlx::query_scalar("SELECT took_ms FROM durations WHERE server = ? AND tool = ? ORDER BY took_ms LIMIT ?")
                .bind(server.to_string())
                .bind(tool.to_owned())
                .bind(self.base.limits.usual_samples_kept)
                .fetch_all(&mut *reader)
                .await
                .map_err(failed())?;
        let sorted: Vec<u64> = found.into_iter().map(unsigned).collect();
        let samples = u32::try_from(sorted.len()).unwrap_or(u32::MAX);
        if samples < samples_min {
            return Ok(None);
        }
        let figures = rank(&sorted, 50).zip(rank(&sorted, 90)).zip(rank(&sorted, 95));
        Ok(figures.map(|((median_ms, p90_ms), p95_ms)| UsualDuration { samples, median_ms, p90_ms, p95_ms }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_nearest_rank() {
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!(rank(&hundred, 50), Some(50));
        assert_eq!(rank(&hundred, 95), Some(95));
        assert_eq!(rank(&[7], 95), Some(7), "one sample is every percentile");
        assert_eq!(rank(&[1, 2, 3, 4, 5], 90), Some(5), "of five samples the fifth");
        assert_eq!(rank(&[], 50), None, "no samples, no figure");
    }
}
