//! The engine's face: what hosts and the api may ask of it.

use std::sync::Arc;
use std::time::Duration;

use domain::handle::{AnswerInput, Refusal};
use domain::ids::{HandleId, HostId, PersonId, RequestKey, Seq, ServerId, UpstreamTaskId};
use domain::payload::Payload;
use domain::policy::Policy;
use domain::ports::{ArgumentError, Clock, Connector, Notifier, Registry, RegistryError, ToolFacts, UpstreamError};
use domain::server::ServerHealth;
use domain::time::Timestamp;

use crate::supervisor::Supervisor;

/// Draws 128 random bits; given from outside so that tests repeat.
pub type Draw = Arc<dyn Fn() -> u128 + Send + Sync>;

/// What the engine is made of.
pub struct Parts {
    /// The durable registry.
    pub registry: Arc<dyn Registry>,
    /// Opens connections.
    pub connector: Arc<dyn Connector>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Tells people.
    pub notifier: Arc<dyn Notifier>,
    /// Random bits.
    pub draw: Draw,
    /// Numbers.
    pub policy: Policy,
    /// This run of the core.
    pub host: HostId,
    /// The scope everything runs in.
    pub supervisor: Supervisor,
}

/// A call a person starts.
#[derive(Debug, Clone)]
pub struct StartCall {
    /// Where.
    pub server: ServerId,
    /// Which tool.
    pub tool: String,
    /// A JSON object.
    pub arguments: Payload,
    /// Who.
    pub by: PersonId,
    /// Time agreed for it.
    pub limit: Option<Duration>,
}

/// Why the engine did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No such server.
    #[error("there is no such server")]
    UnknownServer,
    /// No such task.
    #[error("there is no such task")]
    UnknownHandle,
    /// The server cannot be reached now.
    #[error("the server is not connected: {why}")]
    NotConnected {
        /// One line.
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// The arguments do not fit the tool.
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    /// It makes no sense in the task's state.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A budget says no.
    #[error("too many calls are open on this server ({most})")]
    OverBudget {
        /// The limit.
        most: u64,
    },
    /// The server said no, or something unreadable.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// The registry.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The engine is stopping.
    #[error("the core is stopping")]
    Stopping,
}

/// What the engine knows of a task beyond the registry, from memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveFacts {
    /// Last heard.
    pub seen: Timestamp,
    /// Looked at next; `None` when it is not looked at.
    pub next_look: Option<Timestamp>,
}

/// A stretch of news: what changed, in absolute terms. Read the current rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Everything up to here is covered.
    pub upto: Seq,
    /// The reader fell behind: read everything anew.
    pub resync: bool,
    /// Tasks that changed.
    pub handles: Vec<HandleId>,
    /// Servers that changed (also their health, which is not in the change log).
    pub servers: Vec<ServerId>,
}

/// The running engine. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    _private: Arc<()>,
}

impl Engine {
    /// Takes up all work found in the registry and starts following the configured servers that have consent.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn start(parts: Parts) -> Result<Self, RegistryError> {
        let _ = parts;
        todo!()
    }

    /// Admits a call (durable when this returns) and sends it. Waits for the server's connection for a short while.
    ///
    /// # Errors
    /// When the server is unknown or unreachable, or the arguments do not fit: then nothing was recorded or sent.
    pub async fn call(&self, call: StartCall) -> Result<HandleId, EngineError> {
        let _ = call;
        todo!()
    }

    /// Takes up a task by the server's id of it. Returns the existing handle when it is here already.
    ///
    /// # Errors
    /// When the server does not know it, or cannot be reached.
    pub async fn adopt(&self, server: ServerId, task: UpstreamTaskId, by: PersonId) -> Result<HandleId, EngineError> {
        let _ = (server, task, by);
        todo!()
    }

    /// Records an answer; its delivery follows by itself.
    ///
    /// # Errors
    /// A refusal when there is nothing to answer or somebody was faster.
    pub async fn answer(&self, id: HandleId, input: AnswerInput) -> Result<RequestKey, EngineError> {
        let _ = (id, input);
        todo!()
    }

    /// Takes back an answer that is still held back.
    ///
    /// # Errors
    /// A refusal when it already left.
    pub async fn undo_answer(&self, id: HandleId, key: RequestKey, by: PersonId) -> Result<(), EngineError> {
        let _ = (id, key, by);
        todo!()
    }

    /// Records a wish to stop; its delivery follows by itself.
    ///
    /// # Errors
    /// A refusal when the task is over or a stop was asked before.
    pub async fn cancel(&self, id: HandleId, by: PersonId, reason: Option<String>) -> Result<(), EngineError> {
        let _ = (id, by, reason);
        todo!()
    }

    /// Takes the handle from its agent and asks for a stop.
    ///
    /// # Errors
    /// A refusal when it was revoked before.
    pub async fn revoke(&self, id: HandleId, by: PersonId, reason: Option<String>) -> Result<(), EngineError> {
        let _ = (id, by, reason);
        todo!()
    }

    /// Looks at a task as soon as the server's hint allows.
    pub fn look_soon(&self, id: HandleId) {
        let _ = id;
        todo!()
    }

    /// The configuration of a server changed, or it is new: (re)connect when it has consent.
    ///
    /// # Errors
    /// When the registry cannot be read.
    pub async fn server_changed(&self, id: ServerId) -> Result<(), EngineError> {
        let _ = id;
        todo!()
    }

    /// A server was removed: disconnect; its open tasks are gone with that reason.
    ///
    /// # Errors
    /// When the registry cannot be written.
    pub async fn server_removed(&self, id: ServerId) -> Result<(), EngineError> {
        let _ = id;
        todo!()
    }

    /// Health of the moment.
    #[must_use]
    pub fn health(&self, id: ServerId) -> ServerHealth {
        let _ = id;
        todo!()
    }

    /// Waits until the server is up, down or blocked, at most `limit`, and says which.
    pub async fn settled(&self, id: ServerId, limit: Duration) -> ServerHealth {
        let _ = (id, limit);
        todo!()
    }

    /// The server's tools.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn tools(&self, id: ServerId) -> Result<Vec<ToolFacts>, EngineError> {
        let _ = id;
        todo!()
    }

    /// The end of a child's stderr.
    #[must_use]
    pub fn stderr_tail(&self, id: ServerId) -> String {
        let _ = id;
        todo!()
    }

    /// Contact of the moment, newer than the registry's.
    #[must_use]
    pub fn live(&self, id: HandleId) -> Option<LiveFacts> {
        let _ = id;
        todo!()
    }

    /// News after a place (from now on when `None`): a bounded stream that never loses, because each frame is
    /// read from the change log. The first change is sent at once, later ones at most every `feed_frame`.
    #[must_use]
    pub fn feed(&self, after: Option<Seq>) -> futures::stream::BoxStream<'static, Frame> {
        let _ = after;
        todo!()
    }

    /// Refuses new calls, lets deliveries finish within the drain limit, flushes, closes connections and registry.
    pub async fn stop(&self) {
        todo!()
    }
}
