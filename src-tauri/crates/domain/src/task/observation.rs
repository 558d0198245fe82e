//! What was seen of a task on its server, when, and by which message.
//!
//! An observation is a claim by the server. It changes nothing by itself: `observe.rs` decides what it means, and
//! `missed_polls.rs` what it means when there is none.

pub(crate) mod missed_polls;
pub(crate) mod observe;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ids::RequestKey;
use crate::raw_message::RawText;
use crate::task::input_request::Ask;
use crate::task::payload::Payload;
pub use crate::task::status::LogLine;
use crate::task::status::{TaskStatus, Ttl};
use crate::time::Timestamp;

/// How the observation reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObservationDoor {
    /// In reply to the call that created the task.
    Create,
    Poll,
    /// The server pushed it.
    Push,
    /// It was in the server's list.
    List,
}

impl ObservationDoor {
    /// The method of the message that came through it.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Create => "tools/call",
            Self::Poll => "tasks/get",
            Self::Push => "notifications/tasks",
            Self::List => "tasks/list",
        }
    }
}

/// One sighting of one task.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// How it reached us.
    pub door: ObservationDoor,
    /// When the read began; for a push, when it arrived.
    pub begun: Timestamp,
    /// When it was complete, by our clock.
    pub seen: Timestamp,
    /// The server's word. Terminal words carry a [`crate::task::payload::ResultRef`] only together with `payload`.
    pub status: TaskStatus,
    pub message: Option<String>,
    /// `createdAt`, server clock.
    pub created: Option<Timestamp>,
    /// `lastUpdatedAt`, server clock.
    pub updated: Option<Timestamp>,
    /// `ttl` / `ttlMs`.
    pub ttl: Ttl,
    /// `pollInterval` / `pollIntervalMs`.
    pub hint: Option<Duration>,
    /// The complete set of what is outstanding now; `None` when this door or dialect does not say
    /// (2025, lists, creation): then nothing may be concluded about questions (ruling 1).
    pub outstanding: Option<BTreeMap<RequestKey, Ask>>,
    /// The questions of `outstanding` by their keys, each as received (`{method, params}`), for an agent that is asked.
    pub asks_raw: BTreeMap<RequestKey, Payload>,
    /// The task object as received, without result, error and questions; capped by `gateway.task_raw_cap_bytes`.
    pub task_raw: Option<Payload>,
    /// The terminal payload: the result, or the JSON-RPC error object, as received.
    pub payload: Option<Payload>,
    /// The message that carried questions, as received; `None` when it carried none.
    pub raw: Option<RawText>,
}

/// Numeric or spoken progress of a call or task.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Done so far, in the server's unit.
    pub done: Option<f64>,
    /// Of how much, when the server says.
    pub total: Option<f64>,
    /// The server's words, capped.
    pub message: Option<String>,
}
