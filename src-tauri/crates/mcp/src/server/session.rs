//! A session of the eras that begin with `initialize`: one child process, or one `Mcp-Session-Id`.
//!
//! It holds what the client declared, its own stream (standard output, or the GET stream) and its unanswered questions.
//! Tasks and methods are the service's; the table of HTTP sessions is `http/sessions.rs`.

use std::sync::Arc;

use domain::policy::ServingPolicy;
use engine::AgentDoor;
use engine::runtime::supervisor::Supervisor;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use super::principal::{ClientProgram, Principal};
use super::version;
use crate::server::client_requests::{ClientRequestError, ClientRequests};
use crate::server::in_flight::InFlightRequests;
use crate::server::request_params::RequestParams;
use crate::server::rpc_error::RequestError;
use crate::server::stream_writer::{StreamGone, StreamWriter};
use crate::wire::message::Answer;

/// The transport of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionTransport {
    /// Pipes, which are open as long as the session.
    Stdio,
    /// Streamable HTTP: the session's own stream comes and goes.
    Http,
}

/// One session of a 2025 client.
pub struct Session {
    id: String,
    version: &'static str,
    door: SessionTransport,
    capabilities: Value,
    program: Option<ClientProgram>,
    principal: Option<Principal>,
    scope: Supervisor,
    standing: watch::Sender<Option<StreamWriter>>,
    asks: ClientRequests,
    in_flight: InFlightRequests,
    opened: tokio::time::Instant,
    last_used: Mutex<tokio::time::Instant>,
}

/// What a session starts with, from `initialize` or from its name.
pub(crate) struct SessionStart {
    /// An unguessable id.
    pub(crate) id: String,
    /// The version that the client asked for.
    pub(crate) asked: String,
    /// The capabilities that the client declared.
    pub(crate) capabilities: Value,
    /// The client's program, as it says.
    pub(crate) program: Option<ClientProgram>,
    /// Whom a token proved.
    pub(crate) principal: Option<Principal>,
}

impl SessionStart {
    /// Reads the params of `initialize`. Any version is answered with one of ours.
    ///
    /// # Errors
    /// When `protocolVersion` is missing.
    pub(crate) fn read(id: String, params: &RequestParams, principal: Option<Principal>) -> Result<Self, RequestError> {
        let asked =
            params.text("protocolVersion").ok_or_else(|| RequestError::params("`protocolVersion` must be a string"))?;
        Ok(Self {
            id,
            asked,
            capabilities: params.value("capabilities").unwrap_or_default(),
            program: ClientProgram::read(params.value("clientInfo").as_ref()),
            principal,
        })
    }
}

impl Session {
    /// Starts a session, or restores one of an earlier core.
    pub(crate) fn open(
        opening: SessionStart,
        door: SessionTransport,
        scope: Supervisor,
        limits: &ServingPolicy,
    ) -> Arc<Self> {
        let SessionStart { id, asked, capabilities, program, principal } = opening;
        Arc::new(Self {
            id,
            version: version::agree(&asked),
            door,
            capabilities,
            program,
            principal,
            scope,
            standing: watch::Sender::new(None),
            asks: ClientRequests::new(limits.asks_per_session_max),
            in_flight: InFlightRequests::new(limits.requests_in_work_max),
            opened: tokio::time::Instant::now(),
            last_used: Mutex::new(tokio::time::Instant::now()),
        })
    }

    /// An unguessable id that names the session to its client. Never for logs.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The version agreed.
    #[must_use]
    pub const fn version(&self) -> &'static str {
        self.version
    }

    /// How the client is connected.
    #[must_use]
    pub const fn door(&self) -> SessionTransport {
        self.door
    }

    /// The same, as an agent's door.
    #[must_use]
    pub const fn agent_door(&self) -> AgentDoor {
        match self.door {
            SessionTransport::Stdio => AgentDoor::Command,
            SessionTransport::Http => AgentDoor::Http,
        }
    }

    /// Whether the session speaks the tasks of 2025-11-25.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        self.version == version::LEGACY_WITH_TASKS
    }

    /// The capabilities that the client declared.
    #[must_use]
    pub const fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    /// The client's program, as it says.
    #[must_use]
    pub const fn program(&self) -> Option<&ClientProgram> {
        self.program.as_ref()
    }

    /// The agent that started the session; no other agent finds it.
    #[must_use]
    pub const fn principal(&self) -> Option<Principal> {
        self.principal
    }

    /// The scope of tasks that end with this session.
    #[must_use]
    pub const fn scope(&self) -> &Supervisor {
        &self.scope
    }

    /// Sends a notification on the session's stream.
    ///
    /// # Errors
    /// When there is none now.
    pub async fn notify<P: Serialize + Sync + ?Sized>(&self, method: &str, params: &P) -> Result<(), StreamGone> {
        let writer = self.standing.borrow().clone();
        writer.ok_or(StreamGone)?.notify(method, params).await
    }

    /// Sends a request on the session's stream. Dropping the future cancels it.
    ///
    /// # Errors
    /// When the client refuses, or there is no standing stream now.
    pub async fn ask(&self, method: &str, params: &Value) -> Result<Value, ClientRequestError> {
        let writer = self.standing.borrow().clone();
        self.asks.ask(&writer.ok_or(ClientRequestError::Gone)?, method, params).await
    }

    /// As [`Session::ask`], with the client's reply as it came, be it a result or an error.
    ///
    /// # Errors
    /// When there is no standing stream now, or it goes away, or too many questions wait.
    pub async fn ask_raw<P: Serialize + Sync + ?Sized>(
        &self,
        method: &str,
        params: &P,
    ) -> Result<Answer, ClientRequestError> {
        let writer = self.standing.borrow().clone();
        self.asks.ask_raw(&writer.ok_or(ClientRequestError::Gone)?, method, params).await
    }

    /// Resolves when the session has a stream.
    pub async fn reachable(&self) {
        let mut standing = self.standing.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        drop(standing.wait_for(|writer| writer.as_ref().is_some_and(|writer| !writer.is_closed())).await);
    }

    pub(crate) const fn asks(&self) -> &ClientRequests {
        &self.asks
    }

    pub(crate) const fn in_flight(&self) -> &InFlightRequests {
        &self.in_flight
    }

    /// Whether the session has a stream now; pipes always have one.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        match self.door {
            SessionTransport::Stdio => true,
            SessionTransport::Http => self.standing.borrow().as_ref().is_some_and(|writer| !writer.is_closed()),
        }
    }

    /// Sets the session's stream; an older one ends.
    pub(crate) fn stand(&self, writer: StreamWriter) {
        self.standing.send_replace(Some(writer));
    }

    /// Removes this stream if it is still the session's.
    pub(crate) fn unstand(&self, writer: &StreamWriter) {
        self.standing.send_if_modified(|standing| {
            let was_it = standing.as_ref().is_some_and(|standing| standing.is_same(writer));
            if was_it {
                *standing = None;
            }
            was_it
        });
    }

    /// Ends the session: its tasks and its stream.
    pub(crate) fn leave(&self) {
        self.scope.cancel();
        self.standing.send_replace(None);
    }

    pub(crate) fn touch(&self) {
        *self.last_used.lock() = tokio::time::Instant::now();
    }

    /// Time since it was opened, or restored by this core.
    #[must_use]
    pub fn age(&self) -> std::time::Duration {
        self.opened.elapsed()
    }

    /// Time since its last request.
    #[must_use]
    pub fn idle(&self) -> std::time::Duration {
        self.last_used.lock().elapsed()
    }

    /// Whether the client sent nothing for `span`, and nothing is open for it.
    pub(crate) fn is_idle_for(&self, span: std::time::Duration) -> bool {
        self.in_flight.is_empty()
            && self.asks.is_empty()
            && self.standing.borrow().as_ref().is_none_or(StreamWriter::is_closed)
            && self.idle() >= span
    }
}
