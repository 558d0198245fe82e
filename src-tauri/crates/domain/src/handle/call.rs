//! Birth of a handle: admission, and what became of the call (rule 11, ruling 2).

use std::sync::Arc;
use std::time::Duration;

use super::{Home, Origin, TaskHandle, Transition, Usual};
use crate::audit::Actor;
use crate::ids::{AgentId, HandleId, HostId, ServerId, UpstreamTaskId};
use crate::observation::Observation;
use crate::payload::Payload;
use crate::policy::Policy;
use crate::ports::CallReply;
use crate::time::Timestamp;

/// A call about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCall {
    /// Its handle.
    pub id: HandleId,
    /// Where it goes.
    pub server: ServerId,
    /// Whose it is, when an agent's.
    pub agent: Option<AgentId>,
    /// Who started it.
    pub by: Actor,
    /// The tool.
    pub tool: Arc<str>,
    /// Its arguments.
    pub arguments: Payload,
    /// Hex SHA-256 of the canonical arguments.
    pub arguments_digest: Arc<str>,
    /// What it usually takes.
    pub usual: Option<Usual>,
    /// Time agreed for it.
    pub limit: Option<Duration>,
    /// The run of the core that makes the call.
    pub host: HostId,
    /// Where its task will live.
    pub home: Home,
}

/// A task that was found on a server.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTask {
    /// Its handle.
    pub id: HandleId,
    /// Where.
    pub server: ServerId,
    /// `Discovered` or `Adopted`.
    pub origin: Origin,
    /// Who found it.
    pub by: Actor,
    /// Where it lives.
    pub home: Home,
    /// The server's id.
    pub task: UpstreamTaskId,
}

impl TaskHandle {
    /// A new handle for a call that has not left yet, with audit *admitted* and its arguments as payload.
    #[must_use]
    pub fn admit(call: NewCall, now: Timestamp) -> Transition {
        let _ = (call, now);
        todo!()
    }

    /// A new handle for a task that exists already, with what was seen of it.
    #[must_use]
    pub fn found(task: FoundTask, seen: &Observation, policy: &Policy) -> Transition {
        let _ = (task, seen, policy);
        todo!()
    }

    /// The call outlasts `promote_after`: it is now a task of our own.
    #[must_use]
    pub fn promoted(&self, now: Timestamp) -> Transition {
        let _ = now;
        todo!()
    }

    /// The reply came. `home` is where a created task lives.
    #[must_use]
    pub fn replied(&self, reply: &CallReply, home: &Home, now: Timestamp, policy: &Policy) -> Transition {
        let _ = (reply, home, now, policy);
        todo!()
    }

    /// A further round of the call is leaving in this run of the core (its answers are marked sent before).
    #[must_use]
    pub fn resumed(&self, host: HostId, now: Timestamp) -> Transition {
        let _ = (host, now);
        todo!()
    }

    /// Nothing left this machine.
    #[must_use]
    pub fn not_sent(&self, why: &str, now: Timestamp) -> Transition {
        let _ = (why, now);
        todo!()
    }

    /// The reply can no longer arrive; the call is never sent again.
    #[must_use]
    pub fn reply_lost(&self, why: &str, now: Timestamp) -> Transition {
        let _ = (why, now);
        todo!()
    }
}
