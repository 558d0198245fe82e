//! The atomic unit that a transition becomes in the registry.
//!
//! Built here, stored by the registry in one transaction, and only then acted on.

use super::{TaskHandle, Transition};
use crate::audit::AuditEvent;
use crate::policy::Policy;
use crate::raw_message::RawMessage;
use crate::task::payload::PayloadWrite;
use crate::task::status::LogLine;
use crate::task::status::Phase;
use crate::time::Timestamp;

/// One atomic change of one handle.
#[derive(Debug, Clone, PartialEq)]
pub struct Commit {
    /// The handle as it should be. Its `version` is the one that was read; the registry stores `version + 1`.
    pub handle: TaskHandle,
    /// Its phase at this moment, for the indexed column.
    pub phase: Phase,
    /// When its phase may change by time alone (`phase::next_tick`), for the sweeper's index.
    pub tick_at: Option<Timestamp>,
    /// When something may be delivered, for the deliverer's index; `None` when there is nothing.
    pub deliver_at: Option<Timestamp>,
    pub audit: Vec<AuditEvent>,
    pub log: Vec<LogLine>,
    /// Payloads to store or erase.
    pub payloads: Vec<PayloadWrite>,
    /// Raw messages to keep; the newest `raw_messages_per_task` stay.
    pub raw: Vec<RawMessage>,
    /// A duration to learn from.
    pub learned_ms: Option<u64>,
}

impl Transition {
    /// The atomic unit to commit.
    #[must_use]
    pub fn unit(&self, now: Timestamp, policy: &Policy) -> Commit {
        Commit {
            handle: self.next.clone(),
            phase: self.next.phase(now),
            tick_at: self.next.next_tick(policy),
            deliver_at: self.next.deliver_at(),
            audit: self.audit.clone(),
            log: self.log.clone(),
            payloads: self.payloads.clone(),
            raw: self.raw.clone(),
            learned_ms: self.learned_ms,
        }
    }
}
