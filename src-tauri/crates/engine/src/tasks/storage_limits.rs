//! The limits of storage that people set, and how long a lowered one waits before anything goes because of it.
//!
//! Kept in one place with the limits that held before, so that a restart shortens no wait (decision 0095). What is
//! removed by them is decided in `retention.rs`.

use std::time::Duration;

use domain::policy::RetentionPolicy;
use domain::ports::{Registry, RegistryError};
use domain::time::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Where the limits lie among what people keep.
pub(super) const KIND: &str = "storage";
pub(super) const KEY: &str = "limits";

/// What was kept before a limit was lowered.
#[derive(Debug, Clone)]
struct FormerLimits {
    limits: RetentionPolicy,
    until: Timestamp,
    /// The same moment on a clock that nobody sets.
    ends: Instant,
}

/// The limits of storage of this moment.
#[derive(Debug, Clone)]
pub struct StorageLimits {
    set: RetentionPolicy,
    former: Option<FormerLimits>,
}

impl StorageLimits {
    /// The limits before anybody set any.
    pub(crate) const fn built_in(set: RetentionPolicy) -> Self {
        Self { set, former: None }
    }

    /// The limits that people set, as the registry has them; the built-in ones where nobody set any, or where those that
    /// were set do not fit together. A core and whoever reads the registry without one judge by the same.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn on_record(
        registry: &dyn Registry,
        built_in: &RetentionPolicy,
        now: Timestamp,
    ) -> Result<Self, RegistryError> {
        let kept = registry.desk_list(KIND).await?;
        let value = kept.iter().find(|item| item.key == KEY);
        let Some(value) = value.and_then(|item| serde_json::from_str::<Value>(&item.value).ok()) else {
            return Ok(Self::built_in(built_in.clone()));
        };
        let limits = Self::read(&value, built_in, now);
        Ok(match limits.set.check() {
            Ok(()) => limits,
            Err(error) => {
                tracing::warn!(%error, "the limits of storage that were set do not fit; the built-in ones hold");
                Self::built_in(built_in.clone())
            }
        })
    }

    /// The limits as they are set.
    #[must_use]
    pub const fn limits(&self) -> &RetentionPolicy {
        &self.set
    }

    /// Before this moment nothing goes because of a lowered limit; `None` when no limit was lowered lately.
    #[must_use]
    pub fn waits_until(&self) -> Option<Timestamp> {
        self.waiting().map(|former| former.until)
    }

    fn waiting(&self) -> Option<&FormerLimits> {
        self.former.as_ref().filter(|former| Instant::now() < former.ends)
    }

    /// The limits by which things are removed, and calls refused, without anybody asking for it: while a lowered limit
    /// waits, the former one.
    pub(crate) fn in_force(&self) -> RetentionPolicy {
        match self.waiting() {
            Some(former) => self.set.looser(&former.limits),
            None => self.set.clone(),
        }
    }

    /// As they are once a person sets these: what is lowered waits for as long as it can be undone.
    pub(crate) fn changed_to(&self, set: RetentionPolicy, now: Timestamp) -> Self {
        let limits = self.in_force();
        let wait = set.lowered_wait;
        let former =
            set.lowers(&limits).then(|| FormerLimits { limits, until: now.plus(wait), ends: Instant::now() + wait });
        Self { set, former }
    }

    /// As they are stored. The first part, which says what is set, is also what the audit log has.
    pub(crate) fn stored(&self) -> (Value, Value) {
        let set = numbers(&self.set);
        let mut whole = set.clone();
        if let (Some(former), Value::Object(members)) = (self.waiting(), &mut whole) {
            members.insert("former".into(), numbers(&former.limits));
            members.insert("waitsUntilMs".into(), former.until.as_millis().into());
        }
        (set, whole)
    }

    /// Reads what is stored; what is missing is as it is built in. A clock that was set back makes no wait longer.
    pub(crate) fn read(value: &Value, built_in: &RetentionPolicy, now: Timestamp) -> Self {
        let set = limits_of(value, built_in.clone());
        let until = value.get("waitsUntilMs").and_then(Value::as_i64).map(Timestamp::from_millis);
        let former = until.zip(value.get("former")).map(|(until, former)| {
            let left = until.since(now).min(set.lowered_wait);
            FormerLimits {
                limits: limits_of(former, built_in.clone()),
                until: now.plus(left),
                ends: Instant::now() + left,
            }
        });
        Self { set, former }
    }
}

fn numbers(limits: &RetentionPolicy) -> Value {
    let ms = |age: Duration| u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    json!({
        "payloadAgeMs": ms(limits.payload_age),
        "taskAgeMs": ms(limits.task_age),
        "receiptAgeMs": ms(limits.receipt_age),
        "receipts": limits.receipts,
        "auditAgeMs": ms(limits.audit_age),
        "payloadBytes": limits.payload_bytes,
        "agentPayloadBytes": limits.agent_payload_bytes,
        "serverPayloadBytes": limits.server_payload_bytes,
        "tasks": limits.tasks,
        "agentTasks": limits.agent_tasks,
        "serverTasks": limits.server_tasks,
    })
}

fn limits_of(value: &Value, built_in: RetentionPolicy) -> RetentionPolicy {
    let number = |name: &str| value.get(name).and_then(Value::as_u64);
    let days = |name: &str, otherwise: Duration| number(name).map_or(otherwise, Duration::from_millis);
    RetentionPolicy {
        payload_age: days("payloadAgeMs", built_in.payload_age),
        task_age: days("taskAgeMs", built_in.task_age),
        receipt_age: days("receiptAgeMs", built_in.receipt_age),
        receipts: number("receipts").unwrap_or(built_in.receipts),
        audit_age: days("auditAgeMs", built_in.audit_age),
        payload_bytes: number("payloadBytes").unwrap_or(built_in.payload_bytes),
        agent_payload_bytes: number("agentPayloadBytes").unwrap_or(built_in.agent_payload_bytes),
        server_payload_bytes: number("serverPayloadBytes").unwrap_or(built_in.server_payload_bytes),
        tasks: number("tasks").unwrap_or(built_in.tasks),
        agent_tasks: number("agentTasks").unwrap_or(built_in.agent_tasks),
        server_tasks: number("serverTasks").unwrap_or(built_in.server_tasks),
        ..built_in
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_000_000_000);

    fn built_in() -> RetentionPolicy {
        RetentionPolicy::default()
    }

    fn lowered() -> StorageLimits {
        let set = RetentionPolicy { agent_payload_bytes: 10, task_age: built_in().task_age * 2, ..built_in() };
        StorageLimits::built_in(built_in()).changed_to(set, NOW)
    }

    #[tokio::test(start_paused = true)]
    async fn a_lowered_limit_waits_and_a_raised_one_holds_at_once() {
        let limits = lowered();
        let in_force = limits.in_force();
        assert_eq!(in_force.agent_payload_bytes, built_in().agent_payload_bytes, "what was kept is kept");
        assert_eq!(in_force.task_age, built_in().task_age * 2, "and what is kept longer is");
        assert_eq!(limits.waits_until(), Some(NOW.plus(built_in().lowered_wait)), "it is said until when");
        tokio::time::advance(built_in().lowered_wait).await;
        assert_eq!(limits.in_force(), *limits.limits(), "then the limits are as they were set");
        assert_eq!(limits.waits_until(), None, "and nothing waits");
    }

    #[tokio::test(start_paused = true)]
    async fn limits_that_are_set_back_in_time_leave_nothing_that_waits() {
        let set = RetentionPolicy { agent_payload_bytes: 10, ..built_in() };
        let undone = StorageLimits::built_in(built_in()).changed_to(set, NOW).changed_to(built_in(), NOW);
        assert_eq!(undone.waits_until(), None);
        assert_eq!(undone.in_force(), built_in());
    }

    #[tokio::test(start_paused = true)]
    async fn another_change_while_one_waits_keeps_what_was_kept_before_both() {
        let once = lowered();
        tokio::time::advance(built_in().lowered_wait / 2).await;
        let now = NOW.plus(built_in().lowered_wait / 2);
        let set = RetentionPolicy { server_payload_bytes: 10, ..once.limits().clone() };
        let twice = once.changed_to(set, now);
        assert_eq!(twice.in_force().agent_payload_bytes, built_in().agent_payload_bytes, "the first waits on");
        assert_eq!(twice.waits_until(), Some(now.plus(built_in().lowered_wait)), "as long as the second");
    }

    #[tokio::test(start_paused = true)]
    async fn a_restart_shortens_no_wait_and_a_clock_that_was_set_back_makes_none_longer() {
        let (audited, stored) = lowered().stored();
        assert_eq!(audited.get("former"), None, "the audit log has what was set");
        let later = NOW.plus(built_in().lowered_wait / 2);
        let read = StorageLimits::read(&stored, &built_in(), later);
        assert_eq!(read.limits(), lowered().limits(), "what was set is set");
        assert_eq!(read.waits_until(), Some(NOW.plus(built_in().lowered_wait)), "and waits as long as was said");
        let long_before = Timestamp::from_millis(0);
        let read = StorageLimits::read(&stored, &built_in(), long_before);
        assert_eq!(read.waits_until(), Some(long_before.plus(built_in().lowered_wait)));
        let after = NOW.plus(built_in().lowered_wait * 2);
        assert_eq!(StorageLimits::read(&stored, &built_in(), after).waits_until(), None, "what is over is over");
    }
}
