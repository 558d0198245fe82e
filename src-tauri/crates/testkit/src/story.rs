//! The contract of the registry, as one story that every implementation must tell the same way.
//!
//! Open an empty registry with [`policy`] and hand it to [`run`]; a failed promise panics with its reason. The chapters
//! are told in order and share the registry, as real tasks do. A new database joins by one test that opens it and
//! calls [`run`]. What only one implementation can do (files, disks, keys) is tested beside that implementation.

#![expect(clippy::expect_used, clippy::panic, reason = "a story that cannot go on fails its test")]

mod agents;
mod budget;
mod cast;
mod figures;
mod inbox;
pub mod intents;
mod lists;
mod record;
mod screens;
mod servers;
mod storage;
mod tasks;

use std::time::Duration;

use domain::policy::{CountingPolicy, Policy};
use domain::ports::{Registry, RegistryError, TaskQuery};

pub use cast::{Cast, unit};

/// The policy of the story: caps small enough to be reached.
#[must_use]
pub fn policy() -> Policy {
    Policy {
        log_lines_per_task: 5,
        usual_samples_kept: 10,
        desk_items_max: 5,
        desk_value_bytes: 8_000,
        desk_kind_bytes: 10_000,
        raw_messages_per_task: 4,
        counting: CountingPolicy { windows_shown: 2, series_kept: Duration::from_secs(10 * 3_600), ..CountingPolicy::default() },
        ..Policy::default()
    }
}

/// Tells the whole story and closes the registry.
pub async fn run(registry: &dyn Registry) {
    let nothing = registry.list(TaskQuery { limit: 10, ..TaskQuery::default() }).await;
    assert_eq!(nothing.map(|page| page.rows.len()), Ok(0), "a new registry has no tasks");
    tasks::told(registry).await;
    lists::told(registry).await;
    inbox::told(registry).await;
    servers::told(registry).await;
    record::told(registry).await;
    screens::told(registry).await;
    agents::told(registry).await;
    figures::told(registry).await;
    Box::pin(budget::told(registry)).await;
    storage::told(registry).await;

    let facts = registry.facts().await.expect("facts can be read");
    assert_eq!(facts.findings, Vec::<String>::new(), "after all this the store is sound");
    let counts = registry.counts(TaskQuery::default()).await.expect("tasks can be counted");
    assert_eq!(facts.tasks, counts.iter().map(|(_, count)| count).sum::<u64>(), "each task is counted once");
    registry.close().await;
    registry.close().await;
    assert_eq!(registry.newest_seq().await, Err(RegistryError::Closed), "a closed registry is not read");
    assert_eq!(registry.record(Vec::new()).await, Err(RegistryError::Closed), "nor written");
}
