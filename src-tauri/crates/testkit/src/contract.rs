//! The contract of the registry: what every implementation must do, in the same way.
//!
//! Open an empty registry with [`policy`] and hand it to [`check`]; a broken promise panics with its reason. The parts run in
//! order and share the registry, as real tasks do. A new database joins by one test that opens it and calls [`check`]. What
//! only one implementation can do (files, disks, keys) is tested beside that implementation.

#![expect(clippy::expect_used, clippy::panic, reason = "a broken promise fails its test")]

mod agents;
pub mod call_intents;
mod change_log;
mod counts;
mod fixtures;
mod halts;
mod inbox;
mod plans;
mod prices;
mod servers;
mod storage;
mod task_list;
mod task_pages;
mod tasks;
mod token_usage;

use std::time::Duration;

use domain::policy::{CountingPolicy, Policy, RetentionPolicy};
use domain::ports::{Registry, RegistryError, TaskQuery};

pub use fixtures::{ContractFixtures, commit_of};

/// A policy with caps that are small enough to be reached.
#[must_use]
pub fn policy() -> Policy {
    Policy {
        log_lines_per_task: 5,
        usual_samples_kept: 10,
        desk_items_max: 5,
        desk_value_bytes: 8_000,
        desk_kind_bytes: 10_000,
        raw_messages_per_task: 4,
        counting: CountingPolicy {
            windows_shown: 2,
            series_kept: Duration::from_secs(10 * 3_600),
            ..CountingPolicy::default()
        },
        retention: RetentionPolicy { learned_tools: 2, ..RetentionPolicy::default() },
        ..Policy::default()
    }
}

/// Checks the whole contract and closes the registry.
pub async fn check(registry: &dyn Registry) {
    let nothing = registry.list(TaskQuery { limit: 10, ..TaskQuery::default() }).await;
    assert_eq!(nothing.map(|page| page.rows.len()), Ok(0), "a new registry has no tasks");
    tasks::check(registry).await;
    task_pages::check(registry).await;
    inbox::check(registry).await;
    servers::check(registry).await;
    change_log::check(registry).await;
    task_list::check(registry).await;
    agents::check(registry).await;
    counts::check(registry).await;
    Box::pin(token_usage::check(registry)).await;
    Box::pin(prices::check(registry)).await;
    halts::check(registry).await;
    halts::pauses::check(registry).await;
    plans::check(registry).await;
    agents::control::check(registry).await;
    agents::alarms::check(registry).await;
    agents::receipts::check(registry).await;
    servers::routes::check(registry).await;
    storage::checkpoints::check(registry).await;
    storage::sinks::check(registry).await;
    storage::check(registry).await;
    storage::shares::check(registry).await;

    let facts = registry.facts().await.expect("facts can be read");
    assert_eq!(facts.findings, Vec::<String>::new(), "after all this the store is sound");
    let counts = registry.counts(TaskQuery::default()).await.expect("tasks can be counted");
    assert_eq!(facts.tasks, counts.iter().map(|(_, count)| count).sum::<u64>(), "each task is counted once");
    registry.close().await;
    registry.close().await;
    assert_eq!(registry.newest_seq().await, Err(RegistryError::Closed), "a closed registry is not read");
    assert_eq!(registry.record(Vec::new()).await, Err(RegistryError::Closed), "nor written");
}
