//! How long a tool on a server usually takes: its latest durations and their percentiles.
//!
//! A percentile is the nearest rank: the smallest duration that at least that share of the samples does not exceed.

use domain::ids::ServerId;
use domain::ports::RegistryError;
use domain::task::UsualDuration;

use crate::sqlite::batch::StatementBatch;
use crate::sqlite::{SqliteRegistry, unsigned};

/// Adds a duration and forgets the oldest beyond `kept`.
pub(crate) fn learn(batch: &mut StatementBatch, server: &str, tool: &str, took_ms: i64, kept: u32) {
    batch
        .add(
            "INSERT INTO durations (server, tool, number, took_ms) \
             SELECT ?, ?, coalesce(max(number), 0) + 1, ? FROM durations WHERE server = ? AND tool = ?",
        )
        .with(server.to_owned())
        .with(tool.to_owned())
        .with(took_ms)
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
