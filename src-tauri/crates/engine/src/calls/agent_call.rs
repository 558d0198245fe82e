//! A tool call of an agent as the gateway makes it, and what the gateway gets for it.
//!
//! How it is admitted and sent is in `admission.rs`, how it waits for its reply in `pending_call.rs`.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::{AgentId, HandleId, ServerId};
use domain::ports::{Abilities, ArgumentsDigest, CallListener, Continuation};
use domain::task::payload::Payload;

use crate::budget::Conversation;

/// A call of an agent.
#[derive(Debug, Clone)]
pub struct AgentCall {
    /// The agent that makes the call.
    pub agent: AgentId,
    /// The conversation it is made from, whose window limits its result; `None`: the fullest window counts.
    pub place: Option<Conversation>,
    /// Where the tool runs.
    pub server: ServerId,
    /// The server's name for the tool.
    pub tool: Arc<str>,
    /// A JSON object, as it came.
    pub arguments: Payload,
    /// The digest of the arguments, for whoever wants it.
    pub digest: ArgumentsDigest,
    /// The agent's own `params` object, whose other members are forwarded.
    pub agent_params: Option<Payload>,
    /// Answers to a round of questions that was relayed to the agent.
    pub continuation: Option<Continuation>,
    /// The 32 hex digits of its trace id.
    pub trace: Option<Arc<str>>,
    /// What the agent can be asked.
    pub abilities: Abilities,
    /// Receives what the server sends before the reply.
    pub listener: Option<CallListener>,
    /// Whether questions before a task may be relayed to the agent instead of people.
    pub relay_rounds: bool,
    /// After this it is overdue.
    pub limit: Option<Duration>,
    /// The `ttl` a 2025 agent asked for.
    pub agent_ttl: Option<Duration>,
    /// The agent asked for a task: there is a row in any case.
    pub own_task: bool,
    /// What happens when the agent hangs up.
    pub hang_up: HangUp,
}

/// What happens when an agent hangs up before it has its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangUp {
    /// A call that has no task yet is cancelled.
    Cancel,
    /// The call continues, and a repeated call joins it.
    Keep,
}

/// The first outcome of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// A plain result; there is no row.
    Result {
        /// The result as received.
        payload: Payload,
        /// Whether the tool reports an error.
        is_error: bool,
    },
    /// A JSON-RPC error; there is no row.
    Error {
        /// The error object as received.
        payload: Payload,
    },
    /// The server asks before it starts, and the agent answers; there is no row.
    NeedsInput {
        /// The `result` member as received.
        whole: Payload,
    },
    /// There is a row: watch it.
    Handle(HandleId),
    /// The agent made this call before and never got its reply: watch the first.
    Joined(HandleId),
}
