//! Clean-up at intervals, the limits that people set, and what agents and servers have stored.
//!
//! The registry finds and removes rows in small steps; this says when, and `storage_limits.rs` by which limits. A call
//! whose agent or server used up its share (`stored_shares.rs`) is refused before it leaves. Old change rows are pruned
//! here too.

use std::sync::Arc;
use std::time::Duration;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, PersonId, ServerId};
use domain::policy::RetentionPolicy;
use domain::ports::{RegistryError, Removal};
use domain::time::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::tasks::storage_limits::{KEY, KIND, StorageLimits};
use crate::tasks::stored_shares::StoredShares;

/// Limits of the moment, and what is stored as last summed up. Under one lock, which every call of an agent takes.
struct StorageUse {
    limits: StorageLimits,
    shares: StoredShares,
}

/// What the clean-up knows beside the registry.
pub(crate) struct RetentionState {
    storage: Mutex<StorageUse>,
    /// One clean-up at a time.
    cleaning: tokio::sync::Mutex<()>,
}

impl RetentionState {
    pub(crate) fn new(limits: RetentionPolicy) -> Self {
        let limits = StorageLimits::built_in(limits);
        Self {
            storage: Mutex::new(StorageUse { limits, shares: StoredShares::default() }),
            cleaning: tokio::sync::Mutex::new(()),
        }
    }

    fn limits(&self) -> StorageLimits {
        self.storage.lock().limits.clone()
    }

    fn set_limits(&self, limits: StorageLimits) {
        self.storage.lock().limits = limits;
    }

    /// Whether a new call is within the shares of its agent and its server.
    pub(crate) fn check_quota(&self, agent: AgentId, server: ServerId) -> Result<(), EngineError> {
        let storage = self.storage.lock();
        if !storage.shares.has_full() {
            return Ok(());
        }
        let refusal = storage.shares.refusal(agent, server, &storage.limits.in_force());
        refusal.map_or(Ok(()), |quota| Err(EngineError::OverQuota(quota)))
    }

    /// What a reader makes of what is stored and of the limits in force.
    pub(crate) fn read<T>(&self, reader: impl FnOnce(&StoredShares, &RetentionPolicy) -> T) -> T {
        let storage = self.storage.lock();
        reader(&storage.shares, &storage.limits.in_force())
    }

    /// Sums up what is stored.
    async fn sum_up(&self, core: &EngineCore) -> Result<(), RegistryError> {
        let used = core.registry.stored_use().await?;
        let mut storage = self.storage.lock();
        let limits = storage.limits.in_force();
        storage.shares.take(&used, &limits);
        Ok(())
    }

    /// Nothing more may go now: what is over its limit by the newest sums is full.
    fn close_full(&self) {
        let mut storage = self.storage.lock();
        let limits = storage.limits.in_force();
        storage.shares.close_full(&limits);
    }
}

/// The part of limits by which something may be removed at this moment: after the clock was set, nothing goes for its
/// age.
fn sure_limits(core: &EngineCore, limits: RetentionPolicy) -> RetentionPolicy {
    if core.time.ages_are_sure() {
        return limits;
    }
    let never = Duration::MAX;
    RetentionPolicy { payload_age: never, task_age: never, receipt_age: never, audit_age: never, ..limits }
}

/// Reads the limits that people set.
pub(crate) async fn read_limits(core: &EngineCore) -> Result<(), RegistryError> {
    let limits = StorageLimits::on_record(&*core.registry, &core.policy.retention, core.time.now()).await?;
    core.retention.set_limits(limits);
    Ok(())
}

/// Why a clean-up runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CleanUp {
    /// By itself: what was lowered lately waits.
    ByItself,
    /// A person asked for it and saw what goes.
    Asked,
}

/// Removes everything that is over a limit, step by step, and gives the space back to the disk.
async fn clean(core: &EngineCore, why: CleanUp) -> Result<Removal, RegistryError> {
    let _one_at_a_time = core.retention.cleaning.lock().await;
    let now = core.time.now();
    let mut all = Removal::default();
    loop {
        core.retention.sum_up(core).await?;
        // Looked at before each step: a limit may be raised meanwhile.
        let limits = core.retention.limits();
        let limits = match why {
            CleanUp::ByItself => limits.in_force(),
            CleanUp::Asked => limits.limits().clone(),
        };
        let removed = core.registry.clean(sure_limits(core, limits), now).await?;
        if removed.is_nothing() {
            // What came meanwhile was not looked at, and makes nothing full.
            core.retention.close_full();
            break;
        }
        all = all.and(removed);
    }
    if all.payload_tasks > 0 || all.tasks > 0 {
        core.text.forget();
    }
    if !all.is_nothing() {
        tracing::info!(
            contents = all.payload_tasks,
            bytes = all.payload_bytes,
            tasks = all.tasks,
            audit = all.audit_rows,
            "clean-up removed what is over its limit"
        );
        core.effects.commits.committed(core.registry.newest_seq().await?);
    }
    while core.registry.shrink(false).await? {}
    core.retention.sum_up(core).await?;
    Ok(all)
}

impl Engine {
    /// How long what is stored is kept.
    #[must_use]
    pub fn storage_limits(&self) -> StorageLimits {
        self.core.retention.limits()
    }

    /// How long it would be kept if a person set these limits now.
    #[must_use]
    pub fn storage_limits_after(&self, limits: RetentionPolicy) -> StorageLimits {
        self.core.retention.limits().changed_to(limits, self.core.time.now())
    }

    /// By what part of these limits a clean-up would remove something now: by none for age while the clock is not sure.
    #[must_use]
    pub fn clean_up_limits(&self, limits: RetentionPolicy) -> RetentionPolicy {
        sure_limits(&self.core, limits)
    }

    /// Sets how long what is stored is kept; recorded before it holds. What is lowered waits for `lowered_wait`.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub async fn set_storage_limits(&self, limits: RetentionPolicy, by: &PersonId) -> Result<(), EngineError> {
        let core = &self.core;
        let now = core.time.now();
        let limits = core.retention.limits().changed_to(limits, now);
        let (set, stored) = limits.stored();
        let fact = AuditEvent {
            at: now,
            actor: Actor::Person(by.clone()),
            verb: Verb::StorageChanged,
            subject: Subject::Store,
            note: set.to_string(),
        };
        core.registry.desk_decide(KIND, KEY, Some(stored.to_string()), vec![fact]).await?;
        core.retention.set_limits(limits);
        Ok(())
    }

    /// Removes what is over its limit now, and gives the space back; `whole` rewrites the registry for that.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub async fn clean_storage(&self, whole: bool) -> Result<Removal, EngineError> {
        let removed = clean(&self.core, CleanUp::Asked).await?;
        if whole {
            self.core.registry.shrink(true).await?;
        }
        Ok(removed)
    }
}

/// Sums up, cleans and prunes at intervals, for ever.
pub(crate) async fn run(core: Arc<EngineCore>) {
    if let Err(error) = read_limits(&core).await {
        tracing::warn!(%error, "the limits of storage cannot be read; the built-in ones hold");
    }
    let every = core.policy.retention.clean_every;
    let (mut clean_at, mut prune_at) = (Instant::now() + every, Instant::now() + core.policy.prune_every);
    // What nothing can remove is tried again later, and holds up nobody whose excess can go.
    let mut hurry_at = Instant::now();
    loop {
        core.time.next_interval(core.policy.retention.usage_every).await;
        match core.retention.sum_up(&core).await {
            Ok(()) => {}
            Err(RegistryError::Closed) => return,
            Err(error) => tracing::warn!(%error, "what is stored cannot be summed up, trying again"),
        }
        let now = Instant::now();
        let (is_over, is_new) =
            core.retention.read(|shares, limits| (shares.is_over(limits), shares.is_newly_over(limits)));
        if !core.time.ages_are_sure() {
            // After a step of the wall clock nothing is removed until the ages are sure again.
            core.retention.close_full();
        } else if clean_at <= now || is_new || (is_over && hurry_at <= now) {
            (clean_at, hurry_at) = (now + every, now + core.policy.contact_flush * 10);
            if let Err(error) = clean(&core, CleanUp::ByItself).await {
                tracing::warn!(%error, "clean-up did not come to its end, trying again later");
                core.retention.close_full();
            }
        }
        if prune_at <= now {
            prune_at = now + core.policy.prune_every;
            prune(&core).await;
        }
    }
}

async fn prune(core: &EngineCore) {
    if !core.time.ages_are_sure() {
        return;
    }
    let kept = i64::try_from(core.policy.change_log_kept.as_millis()).unwrap_or(i64::MAX);
    let before = Timestamp::from_millis(core.time.now().as_millis().saturating_sub(kept));
    match core.registry.prune(before).await {
        Ok(rows) if rows > 0 => tracing::info!(rows, "old change rows are gone"),
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "old change rows could not be removed, trying again later"),
    }
}
