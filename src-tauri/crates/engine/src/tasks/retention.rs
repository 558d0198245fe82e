//! Clean-up at intervals, the limits that people set, and what agents and servers have stored.
//!
//! The registry finds and removes rows in small steps; this says by which limits and when. A call whose agent or server
//! used up its share is refused before it leaves. Old change rows are pruned here too.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::audit::{Actor, AuditEvent, Subject, Verb};
use domain::ids::{AgentId, PersonId, ServerId};
use domain::policy::RetentionPolicy;
use domain::ports::{RegistryError, Removal};
use domain::time::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::core::EngineCore;
use crate::engine::Engine;
use crate::error::EngineError;

/// Where the limits lie among what people keep.
const KIND: &str = "storage";
const KEY: &str = "limits";

/// The share of stored payloads that is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// The share of one agent.
    Agent {
        /// Bytes it may have.
        most: u64,
    },
    /// The share of one server.
    Server {
        /// Bytes it may have.
        most: u64,
    },
}

impl Quota {
    /// The sentence for people and agents.
    #[must_use]
    pub fn words(self) -> String {
        let (whose, most) = match self {
            Self::Agent { most } => ("this agent", most),
            Self::Server { most } => ("this server", most),
        };
        format!("the stored results and arguments of {whose} take more than {} MiB", most >> 20)
    }
}

/// Limits of the moment, and bytes in use as last summed up. Under one lock, which every call of an agent takes.
struct StorageUse {
    limits: RetentionPolicy,
    agents: HashMap<AgentId, u64>,
    servers: HashMap<ServerId, u64>,
}

/// What the clean-up knows beside the registry.
pub(crate) struct RetentionState {
    storage: Mutex<StorageUse>,
    /// One clean-up at a time.
    cleaning: tokio::sync::Mutex<()>,
}

impl RetentionState {
    pub(crate) fn new(limits: RetentionPolicy) -> Self {
        Self {
            storage: Mutex::new(StorageUse { limits, agents: HashMap::new(), servers: HashMap::new() }),
            cleaning: tokio::sync::Mutex::new(()),
        }
    }

    /// The limits that hold.
    pub(crate) fn limits(&self) -> RetentionPolicy {
        self.storage.lock().limits.clone()
    }

    fn set_limits(&self, limits: RetentionPolicy) {
        self.storage.lock().limits = limits;
    }

    /// Whether a new call is within the shares of its agent and its server.
    pub(crate) fn check_quota(&self, agent: AgentId, server: ServerId) -> Result<(), EngineError> {
        let storage = self.storage.lock();
        let (of_agent, of_server) = (storage.limits.agent_payload_bytes, storage.limits.server_payload_bytes);
        if storage.agents.get(&agent).is_some_and(|bytes| *bytes > of_agent) {
            return Err(EngineError::OverQuota(Quota::Agent { most: of_agent }));
        }
        if storage.servers.get(&server).is_some_and(|bytes| *bytes > of_server) {
            return Err(EngineError::OverQuota(Quota::Server { most: of_server }));
        }
        Ok(())
    }

    /// Sums up what is stored; returns whether anything is over its limit.
    async fn sum_up(&self, core: &EngineCore) -> Result<bool, RegistryError> {
        let (mut agents, mut servers, mut all) = (HashMap::new(), HashMap::new(), 0_u64);
        for used in core.registry.payload_use().await? {
            if let Some(agent) = used.agent {
                let sum: &mut u64 = agents.entry(agent).or_default();
                *sum = sum.saturating_add(used.bytes);
            }
            let sum: &mut u64 = servers.entry(used.server).or_default();
            *sum = sum.saturating_add(used.bytes);
            all = all.saturating_add(used.bytes);
        }
        let limits = self.limits();
        let is_over = all > limits.payload_bytes
            || agents.values().any(|bytes| *bytes > limits.agent_payload_bytes)
            || servers.values().any(|bytes| *bytes > limits.server_payload_bytes);
        let mut storage = self.storage.lock();
        (storage.agents, storage.servers) = (agents, servers);
        Ok(is_over)
    }
}

/// The limits by which something may be removed at this moment: after the clock was set, nothing goes for its age.
pub(crate) fn limits_now(core: &EngineCore) -> RetentionPolicy {
    let limits = core.retention.limits();
    if core.time.ages_are_sure() {
        return limits;
    }
    RetentionPolicy { payload_age: Duration::MAX, task_age: Duration::MAX, audit_age: Duration::MAX, ..limits }
}

/// Reads the limits that people set.
pub(crate) async fn read_limits(core: &EngineCore) -> Result<(), RegistryError> {
    let kept = core.registry.desk_list(KIND).await?;
    if let Some(item) = kept.iter().find(|item| item.key == KEY)
        && let Ok(value) = serde_json::from_str::<Value>(&item.value)
    {
        let limits = limits_of(&value, core.policy.retention.clone());
        match limits.check() {
            Ok(()) => core.retention.set_limits(limits),
            Err(error) => {
                tracing::warn!(%error, "the limits of storage that were set do not fit; the built-in ones hold")
            }
        }
    }
    Ok(())
}

fn limits_of(value: &Value, built_in: RetentionPolicy) -> RetentionPolicy {
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let days = |name: &str, otherwise: Duration| number(name).map_or(otherwise, Duration::from_millis);
    RetentionPolicy {
        payload_age: days("payloadAgeMs", built_in.payload_age),
        task_age: days("taskAgeMs", built_in.task_age),
        audit_age: days("auditAgeMs", built_in.audit_age),
        payload_bytes: number("payloadBytes").unwrap_or(built_in.payload_bytes),
        agent_payload_bytes: number("agentPayloadBytes").unwrap_or(built_in.agent_payload_bytes),
        server_payload_bytes: number("serverPayloadBytes").unwrap_or(built_in.server_payload_bytes),
        ..built_in
    }
}

/// Removes everything that is over a limit, step by step, and gives the space back to the disk.
pub(crate) async fn clean(core: &EngineCore) -> Result<Removal, RegistryError> {
    let _one_at_a_time = core.retention.cleaning.lock().await;
    let (limits, now) = (limits_now(core), core.time.now());
    let mut all = Removal::default();
    loop {
        let removed = core.registry.clean(limits.clone(), now).await?;
        if removed.is_nothing() {
            break;
        }
        all = all.and(removed);
    }
    if all.payload_tasks > 0 || all.tasks > 0 {
        core.text.forget();
    }
    if !all.is_nothing() {
        tracing::info!(
            payloads = all.payload_tasks,
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
    pub fn storage_limits(&self) -> RetentionPolicy {
        self.core.retention.limits()
    }

    /// The limits by which clean-up would remove something now: none for age while the clock is not sure.
    #[must_use]
    pub fn clean_up_limits(&self) -> RetentionPolicy {
        limits_now(&self.core)
    }

    /// Sets how long what is stored is kept; recorded before it holds.
    ///
    /// # Errors
    /// When it cannot be recorded.
    pub async fn set_storage_limits(&self, limits: RetentionPolicy, by: &PersonId) -> Result<(), EngineError> {
        let core = &self.core;
        let ms = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        let value = json!({
            "payloadAgeMs": ms(limits.payload_age),
            "taskAgeMs": ms(limits.task_age),
            "auditAgeMs": ms(limits.audit_age),
            "payloadBytes": limits.payload_bytes,
            "agentPayloadBytes": limits.agent_payload_bytes,
            "serverPayloadBytes": limits.server_payload_bytes,
        });
        let now = core.time.now();
        let fact = AuditEvent {
            at: now,
            actor: Actor::Person(by.clone()),
            verb: Verb::StorageChanged,
            subject: Subject::Store,
            note: value.to_string(),
        };
        core.registry.desk_decide(KIND, KEY, value.to_string(), vec![fact]).await?;
        core.retention.set_limits(limits);
        Ok(())
    }

    /// Removes what is over its limit now, and gives the space back; `whole` rewrites the registry for that.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub async fn clean_storage(&self, whole: bool) -> Result<Removal, EngineError> {
        let removed = clean(&self.core).await?;
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
    // What nothing can remove is not tried again at every check.
    let mut hurry_at = Instant::now();
    loop {
        core.time.next_interval(core.policy.retention.usage_every).await;
        let is_over = match core.retention.sum_up(&core).await {
            Ok(is_over) => is_over,
            Err(RegistryError::Closed) => return,
            Err(error) => {
                tracing::warn!(%error, "what is stored cannot be summed up, trying again");
                false
            }
        };
        let now = Instant::now();
        // After a step of the wall clock nothing is removed for its age until the ages are sure again.
        if core.time.ages_are_sure() && (clean_at <= now || (is_over && hurry_at <= now)) {
            (clean_at, hurry_at) = (now + every, now + core.policy.contact_flush * 10);
            if let Err(error) = clean(&core).await {
                tracing::warn!(%error, "clean-up did not come to its end, trying again later");
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
