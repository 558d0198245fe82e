//! How long the registry keeps what it stores, how much of it, and when it counts as unable to record.
//!
//! Payloads (arguments, results, answers) go first, tasks later, audit rows last and only in sealed segments (ruling
//! 8). Limits of bytes count the contents of tasks: their payloads, raw messages, questions and status lines. Nothing that is open, held or unanswered is ever removed, and no reply while a repeated call may
//! still ask for it. People change the limits with `taskwarden storage set`; a lowered one waits (decision 0095).

mod audit_log;

use std::time::Duration;

use super::{BadPolicy, DAY, MINUTE, SECOND};
pub use audit_log::AuditPolicy;

/// Bytes in a GiB.
const GIB: u64 = 1_073_741_824;

/// Limits of what is stored, and how clean-up and checks are divided into small steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Payloads of tasks that ended longer ago are removed. Issue 11.
    pub payload_age: Duration,
    /// Stored bytes of payloads and all other contents of tasks; beyond it the contents of the oldest tasks that are
    /// over are removed. Issue 11.
    pub payload_bytes: u64,
    /// The same of one agent; beyond it its oldest are removed, and its calls are refused when nothing of it may be
    /// removed. Judgement: half of everything, so that no agent uses up what others need.
    pub agent_payload_bytes: u64,
    /// The same for one server. Judgement: as for an agent.
    pub server_payload_bytes: u64,
    /// Tasks that ended longer ago are removed with all that belongs to them. Issue 11.
    pub task_age: Duration,
    /// Stored tasks; beyond it those that ended first are removed with all that belongs to them. Judgement: a task
    /// without its contents takes about 2 KiB, so that all of them take a GiB, and a year of one call a minute fits.
    pub tasks: u64,
    /// Stored tasks of one agent; beyond it those of it that ended first are removed, and its calls are refused when
    /// none of them may be. Judgement: as for bytes.
    pub agent_tasks: u64,
    /// The same for one server. Judgement: as for an agent.
    pub server_tasks: u64,
    /// How long a reply that its agent never got is kept whatever the limits say; then it goes like any other.
    /// Judgement: far more than the time in which a repeated call is given it (`GatewayPolicy::repeat_within`).
    pub undelivered_for: Duration,
    /// Receipts of calls that are older are removed, in whole batches, and none is kept longer than the audit log. What the
    /// log has of a batch stays. Judgement: three times as long as payloads, so that a quarter can be looked into.
    pub receipt_age: Duration,
    /// Receipts beyond this number are removed before their age, the oldest first, so that calls without end fill no disk.
    /// Judgement: 2.5 GB, as much as payloads have.
    pub receipts: u64,
    /// Audit segments whose rows are all older are removed. Judgement: as tasks.
    pub audit_age: Duration,
    /// Rows of an audit segment. audit.md §3.3: a multiple of 256.
    pub segment_rows: u64,
    /// Tasks removed in one transaction. Judgement: some milliseconds, so that commits pass in between.
    pub removed_at_once: u32,
    /// Tasks of servers that are remembered after they were removed, so that a server that goes on listing them does not
    /// bring them back; beyond it the oldest are forgotten. Judgement: about 10 MB, and as many as a server may have.
    pub removed_tasks_kept: u32,
    /// Tools of one server of which it is known how long they usually take; beyond it those that finished a call longest
    /// ago are forgotten. Judgement: as many as are remembered of a server (`ToolMemoryPolicy::tools_per_server`).
    pub learned_tools: u32,
    /// Free pages given back to the disk in one step. Judgement: 1 MiB, some milliseconds.
    pub pages_at_once: u32,
    /// How often what is stored is summed up for the quotas. Judgement: a call stores 4 MiB at most.
    pub usage_every: Duration,
    /// How often clean-up runs by itself. Judgement.
    pub clean_every: Duration,
    /// How long nothing is removed because of a limit that a person lowered, so that it can be undone. Judgement: a person
    /// reads what will go, and looks at some of it.
    pub lowered_wait: Duration,
    /// Audit rows verified in one read, after which the place is stored. Judgement: some 50 ms, and one commit in that time.
    pub verified_at_once: u32,
    /// A commit that takes longer counts as a disk that does not keep up: calls of agents are refused until it is
    /// through. Judgement: an agent's own patience starts at about 25 s.
    pub slow_commit: Duration,
    /// How often recording is tried again while it is not possible. Judgement: a person who made room sees it work.
    pub record_again: Duration,
    /// Bytes that others are taken to write to the disk in a second, at most: free space is looked at so often that it
    /// cannot be used up between two looks. Judgement: what a fast disk takes for longer than a moment.
    pub disk_fill_rate: u64,
    /// The shortest time between two looks at free space; the longest is `record_again`. Judgement: a call to the system
    /// that takes a microsecond.
    pub disk_look_min: Duration,
    /// Largest change that may take space of the reserve without being a person's. Judgement: a status, not a result.
    pub reserve_change_bytes: usize,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self {
            payload_age: 30 * DAY,
            payload_bytes: 2 * GIB,
            agent_payload_bytes: GIB,
            server_payload_bytes: GIB,
            task_age: 400 * DAY,
            tasks: 500_000,
            agent_tasks: 250_000,
            server_tasks: 250_000,
            undelivered_for: 60 * MINUTE,
            receipt_age: 90 * DAY,
            receipts: 10_000_000,
            audit_age: 400 * DAY,
            segment_rows: 4_096,
            removed_at_once: 200,
            removed_tasks_kept: 250_000,
            learned_tools: 2_000,
            pages_at_once: 256,
            usage_every: 3 * SECOND,
            clean_every: 60 * MINUTE,
            lowered_wait: 5 * MINUTE,
            verified_at_once: 20_000,
            slow_commit: 5 * SECOND,
            record_again: SECOND,
            disk_fill_rate: 2 * GIB,
            disk_look_min: Duration::from_millis(50),
            reserve_change_bytes: 65_536,
        }
    }
}

impl RetentionPolicy {
    /// What stays stored by either of both: each limit that a person can set, as the one that keeps more has it.
    #[must_use]
    pub fn looser(&self, other: &Self) -> Self {
        Self {
            payload_age: self.payload_age.max(other.payload_age),
            task_age: self.task_age.max(other.task_age),
            receipt_age: self.receipt_age.max(other.receipt_age),
            receipts: self.receipts.max(other.receipts),
            audit_age: self.audit_age.max(other.audit_age),
            payload_bytes: self.payload_bytes.max(other.payload_bytes),
            agent_payload_bytes: self.agent_payload_bytes.max(other.agent_payload_bytes),
            server_payload_bytes: self.server_payload_bytes.max(other.server_payload_bytes),
            tasks: self.tasks.max(other.tasks),
            agent_tasks: self.agent_tasks.max(other.agent_tasks),
            server_tasks: self.server_tasks.max(other.server_tasks),
            ..self.clone()
        }
    }

    /// How long receipts are kept: never longer than the rows that vouch for them.
    #[must_use]
    pub fn receipts_kept_for(&self) -> Duration {
        self.receipt_age.min(self.audit_age)
    }

    /// Whether something may go by these limits that stays by the others.
    #[must_use]
    pub fn lowers(&self, others: &Self) -> bool {
        *self != self.looser(others)
    }

    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// Names the first field that does not.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let rule = |holds: bool, field, why| if holds { Ok(()) } else { Err(BadPolicy { field, why }) };
        rule(self.payload_age >= DAY, "retention.payload_age", "must be a day or more")?;
        rule(self.task_age >= self.payload_age, "retention.task_age", "must not be below payload_age")?;
        rule(self.audit_age >= self.task_age, "retention.audit_age", "must not be below task_age")?;
        rule(self.receipt_age >= DAY, "retention.receipt_age", "must be a day or more")?;
        rule(self.receipts > 0, "retention.receipts", "must be above zero")?;
        rule(self.payload_bytes > 0, "retention.payload_bytes", "must be above zero")?;
        rule(
            (1..=self.payload_bytes).contains(&self.agent_payload_bytes),
            "retention.agent_payload_bytes",
            "must be above zero and not above payload_bytes",
        )?;
        rule(
            (1..=self.payload_bytes).contains(&self.server_payload_bytes),
            "retention.server_payload_bytes",
            "must be above zero and not above payload_bytes",
        )?;
        rule(self.tasks > 0, "retention.tasks", "must be above zero")?;
        rule(
            (1..=self.tasks).contains(&self.agent_tasks),
            "retention.agent_tasks",
            "must be above zero and not above tasks",
        )?;
        rule(
            (1..=self.tasks).contains(&self.server_tasks),
            "retention.server_tasks",
            "must be above zero and not above tasks",
        )?;
        rule(
            self.segment_rows >= 256 && self.segment_rows.is_multiple_of(256),
            "retention.segment_rows",
            "must be a multiple of 256",
        )?;
        rule(self.removed_at_once > 0, "retention.removed_at_once", "must be above zero")?;
        rule(!self.disk_look_min.is_zero(), "retention.disk_look_min", "must be above zero")?;
        rule(self.verified_at_once > 0, "retention.verified_at_once", "must be above zero")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_lowered_by_each_that_keeps_less() {
        let limits = RetentionPolicy::default;
        assert!(!limits().lowers(&limits()), "the same keep the same");
        for lower in [
            RetentionPolicy { payload_age: DAY, ..limits() },
            RetentionPolicy { task_age: DAY, ..limits() },
            RetentionPolicy { receipt_age: DAY, ..limits() },
            RetentionPolicy { receipts: 1, ..limits() },
            RetentionPolicy { audit_age: DAY, ..limits() },
            RetentionPolicy { payload_bytes: 1, ..limits() },
            RetentionPolicy { agent_payload_bytes: 1, ..limits() },
            RetentionPolicy { server_payload_bytes: 1, ..limits() },
            RetentionPolicy { tasks: 1, ..limits() },
            RetentionPolicy { agent_tasks: 1, ..limits() },
            RetentionPolicy { server_tasks: 1, ..limits() },
        ] {
            assert!(lower.lowers(&limits()) && !limits().lowers(&lower), "{lower:?}");
            assert_eq!(lower.looser(&limits()), limits(), "by either of both everything stays");
        }
        let mixed = RetentionPolicy { payload_age: DAY, task_age: 1_000 * DAY, ..limits() };
        assert!(mixed.lowers(&limits()) && limits().lowers(&mixed), "one keeps less and one more");
    }
}
