//! A session of the eras that begin with `initialize`: one child process, or one `Mcp-Session-Id`.
//!
//! It holds what the client said of itself, its standing stream (standard output, or the GET stream) and the
//! questions that wait for it. Tasks and methods are the service's matter; the table of HTTP sessions is in
//! `http/sessions.rs`.

use std::sync::Arc;

use domain::policy::ServingPolicy;
use engine::runtime::supervisor::Supervisor;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::watch;

use super::asks::{AskError, Asks};
use super::fault::Fault;
use super::in_work::InWork;
use super::modern::PROGRAM_CHARS_MAX;
use super::params::Params;
use super::seat::{Gone, Outlet};
use super::service::{Program, Visitor};
use super::version;
use crate::message::Answer;

/// Which way a session's client is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// Pipes: always open while the session lives.
    Stdio,
    /// Streamable HTTP: the standing stream comes and goes.
    Http,
}

/// One session.
pub struct Session {
    id: String,
    version: &'static str,
    door: Door,
    capabilities: Value,
    program: Option<Program>,
    visitor: Option<Visitor>,
    scope: Supervisor,
    standing: watch::Sender<Option<Outlet>>,
    asks: Asks,
    in_work: InWork,
    last_used: Mutex<tokio::time::Instant>,
}

/// What a session begins with.
pub(crate) struct Opening {
    /// Unguessable.
    pub(crate) id: String,
    /// The version that the client asked for.
    pub(crate) asked: String,
    /// What the client declared.
    pub(crate) capabilities: Value,
    /// What the client says it is.
    pub(crate) program: Option<Program>,
    /// Whom the door let in.
    pub(crate) visitor: Option<Visitor>,
}

impl Opening {
    /// Reads the params of `initialize`. Any version is answered with one of ours.
    ///
    /// # Errors
    /// When `protocolVersion` is missing.
    pub(crate) fn read(id: String, params: &Params, visitor: Option<Visitor>) -> Result<Self, Fault> {
        let asked = params.text("protocolVersion").ok_or_else(|| Fault::params("`protocolVersion` must be a text"))?;
        Ok(Self {
            id,
            asked,
            capabilities: params.value("capabilities").unwrap_or_default(),
            program: Program::read(params.value("clientInfo").as_ref(), PROGRAM_CHARS_MAX),
            visitor,
        })
    }
}

impl Session {
    /// Begins a session, or one of an earlier core again.
    pub(crate) fn open(opening: Opening, door: Door, scope: Supervisor, limits: &ServingPolicy) -> Arc<Self> {
        let Opening { id, asked, capabilities, program, visitor } = opening;
        Arc::new(Self {
            id,
            version: version::agree(&asked),
            door,
            capabilities,
            program,
            visitor,
            scope,
            standing: watch::Sender::new(None),
            asks: Asks::new(limits.asks_per_session_max),
            in_work: InWork::new(limits.requests_in_work_max),
            last_used: Mutex::new(tokio::time::Instant::now()),
        })
    }

    /// Unguessable; names the session to its client. Never for logs.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The version agreed.
    #[must_use]
    pub const fn version(&self) -> &'static str {
        self.version
    }

    /// Which way the client is reached.
    #[must_use]
    pub const fn door(&self) -> Door {
        self.door
    }

    /// Whether the session speaks the tasks of 2025-11-25.
    #[must_use]
    pub fn has_tasks(&self) -> bool {
        self.version == version::LEGACY_WITH_TASKS
    }

    /// What the client declared.
    #[must_use]
    pub const fn capabilities(&self) -> &Value {
        &self.capabilities
    }

    /// What the client says it is.
    #[must_use]
    pub const fn program(&self) -> Option<&Program> {
        self.program.as_ref()
    }

    /// Whom the door let in when the session began; nobody else finds it.
    #[must_use]
    pub const fn visitor(&self) -> Option<Visitor> {
        self.visitor
    }

    /// What runs for this session and ends with it.
    #[must_use]
    pub const fn scope(&self) -> &Supervisor {
        &self.scope
    }

    /// Says a notification on the standing stream.
    ///
    /// # Errors
    /// When there is none now.
    pub async fn notify<P: Serialize + Sync + ?Sized>(&self, method: &str, params: &P) -> Result<(), Gone> {
        let outlet = self.standing.borrow().clone();
        outlet.ok_or(Gone)?.notify(method, params).await
    }

    /// Asks on the standing stream. Dropping the future withdraws the question.
    ///
    /// # Errors
    /// When the client refuses, or there is no standing stream now.
    pub async fn ask(&self, method: &str, params: &Value) -> Result<Value, AskError> {
        let outlet = self.standing.borrow().clone();
        self.asks.ask(&outlet.ok_or(AskError::Gone)?, method, params).await
    }

    /// As [`Session::ask`], with the client's reply as it came, be it a result or an error.
    ///
    /// # Errors
    /// When there is no standing stream now, or it goes away, or too many questions wait.
    pub async fn ask_raw<P: Serialize + Sync + ?Sized>(&self, method: &str, params: &P) -> Result<Answer, AskError> {
        let outlet = self.standing.borrow().clone();
        self.asks.ask_raw(&outlet.ok_or(AskError::Gone)?, method, params).await
    }

    /// Resolves when there is a standing stream.
    pub async fn reachable(&self) {
        let mut standing = self.standing.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        drop(standing.wait_for(|outlet| outlet.as_ref().is_some_and(|outlet| !outlet.is_closed())).await);
    }

    pub(crate) const fn asks(&self) -> &Asks {
        &self.asks
    }

    pub(crate) const fn in_work(&self) -> &InWork {
        &self.in_work
    }

    /// Whether the client can be reached now: over its pipes, or on its standing stream.
    #[must_use]
    pub fn is_reachable(&self) -> bool {
        match self.door {
            Door::Stdio => true,
            Door::Http => self.standing.borrow().as_ref().is_some_and(|outlet| !outlet.is_closed()),
        }
    }

    /// The standing stream is here; an older one is ended by this.
    pub(crate) fn stand(&self, outlet: Outlet) {
        self.standing.send_replace(Some(outlet));
    }

    /// The standing stream `outlet` is gone; a newer one stays.
    pub(crate) fn unstand(&self, outlet: &Outlet) {
        self.standing.send_if_modified(|standing| {
            let was_it = standing.as_ref().is_some_and(|standing| standing.is_same(outlet));
            if was_it {
                *standing = None;
            }
            was_it
        });
    }

    /// The session is over: what runs for it ends, and nothing is said any more.
    pub(crate) fn leave(&self) {
        self.scope.cancel();
        self.standing.send_replace(None);
    }

    pub(crate) fn touch(&self) {
        *self.last_used.lock() = tokio::time::Instant::now();
    }

    /// Nothing of the client was heard for `span`, and nothing waits for it.
    pub(crate) fn is_idle_for(&self, span: std::time::Duration) -> bool {
        self.in_work.is_empty()
            && self.asks.is_empty()
            && self.standing.borrow().as_ref().is_none_or(Outlet::is_closed)
            && self.last_used.lock().elapsed() >= span
    }
}
