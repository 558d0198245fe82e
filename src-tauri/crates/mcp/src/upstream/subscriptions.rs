//! `subscriptions/listen` of one connection (2026; protocol.md §2.7): one stream for the engine's tasks, one for
//! agents.
//!
//! Two streams, because the engine waits for bursts of tasks to settle and a change of an agent's filter must not. Both
//! open, replace and retry their stream by `stream.rs`; 2025 servers notify without any of this.

mod agents;
mod stream;
mod tasks;

use super::connection::Connection;
use crate::upstream::transport::link::RequestTag;
use crate::wire::view::JsonFields;

pub(crate) use agents::keep_agents_subscribed;
pub(crate) use tasks::keep_tasks_subscribed;

impl Connection {
    /// The first message of a stream: what the server will push on it.
    pub(crate) fn acknowledged(&self, params: &JsonFields<'_>, on: Option<RequestTag>) {
        if !self.leases.acknowledged(params, on) {
            self.tasks_acknowledged(params, on);
        }
    }
}
