//! A connection to an MCP server, in terms that do not know MCP.
//!
//! A [`Connector`] opens connections; one [`Upstream`] is one connection from connect to close, with a stream of what
//! the server sends unasked. It never retries a call and never reconnects: the engine decides that.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;

use super::PortFuture;
use super::process_news::ProcessListener;
use super::server_processes::{FreezeReading, ProcessWatch};
use crate::ids::{AgentId, ConnectionId, HandleId, ServerId, SessionKey, UpstreamTaskId};
use crate::raw_message::RawText;
use crate::server::{Negotiated, Server};
use crate::task::CallReply;
use crate::task::input_request::{AnswerAction, AskDoor, LiveQuestion};
use crate::task::observation::{Observation, Progress};
use crate::task::payload::Payload;
use crate::task::status::RpcError;
use crate::time::Timestamp;

/// Why the server could not be asked, or what it said instead. Classifies itself; nobody matches text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// No connection, or it broke, or no answer in time. `hint` is what a person can do.
    #[error("{why}")]
    Unreachable {
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// The server asks to slow down.
    #[error("the server asks to wait{}", after.map_or(String::new(), |d| format!(" {} s", d.as_secs())))]
    RateLimited {
        /// For how long, when it says.
        after: Option<Duration>,
    },
    /// Sign-in or another token is needed.
    #[error("{why}")]
    Unauthorized {
        why: String,
        /// What a person can do.
        hint: String,
    },
    /// The server knows no such task: missing, expired and not permitted are one answer.
    #[error("the server does not know this task")]
    UnknownTask,
    /// A JSON-RPC error.
    #[error("the server answered with error {}: {}", .0.code, .0.message)]
    Refused(RpcError),
    /// The server wants something of its client that this version does not have; its name.
    #[error("the server needs a capability that Taskwarden does not have: {0}")]
    MissingCapability(String),
    /// Neither this dialect nor this server can do that.
    #[error("this server cannot {0}")]
    Unsupported(&'static str),
    /// The answer is not what the protocol says, at this JSON path.
    #[error("the server's answer cannot be read at `{path}`: {why}")]
    Unreadable {
        /// JSON path, such as `$.result.status`.
        path: String,
        why: String,
        /// The message, cut, for `doctor`.
        raw: Option<Payload>,
    },
    /// The request was cancelled, so nobody waits for its answer. It says nothing about the server.
    #[error("the request was cancelled")]
    GivenUp,
    /// The question was asked on a connection that is gone; it cannot be answered there any more.
    #[error("the connection on which this was asked is gone")]
    ChannelGone,
}

/// How a call failed to bring a reply. Whether anything may have run is the point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing of it ran, so it is safe to try again: nothing was sent, or the server turned it away with its answer: it
    /// refused the sign-in ([`UpstreamError::Unauthorized`]) or asked to wait ([`UpstreamError::RateLimited`]).
    #[error(transparent)]
    NotSent(UpstreamError),
    /// It was sent, or may have been, and the reply can no longer arrive.
    #[error("the reply was lost: {0}")]
    ReplyLost(UpstreamError),
}

/// A call to make.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRequest {
    /// Names the call on this connection, for progress, questions and cancelling it.
    pub ticket: HandleId,
    pub tool: Arc<str>,
    /// Its arguments, a JSON object, exactly as they should go out.
    pub arguments: Payload,
    /// Answers to an earlier round of questions.
    pub continuation: Option<Continuation>,
    /// The agent's own `params` object: everything in it but `name`, `arguments`, `task`, answers of earlier rounds and
    /// the `_meta` keys that are ours goes out as it came. `None` for calls of people.
    pub agent_params: Option<Payload>,
    /// What the agent can be asked by this call; only then it is declared to the server.
    pub abilities: Abilities,
    /// Receives what the server sends before the reply, raw; `None` when nobody does.
    pub listener: Option<CallListener>,
    /// Asked right before the first byte leaves.
    pub permit: SendPermit,
}

/// Decides at the last moment whether a call may leave. Never waits, and allocates nothing.
pub trait SendGate: Send + Sync + 'static {
    /// The call is about to leave; false when it may not, and never will.
    fn begin_sending(&self) -> bool;
}

/// A shared [`SendGate`]; compared by identity. Without one, a call may always leave.
#[derive(Clone, Default)]
pub struct SendPermit(pub Option<Arc<dyn SendGate>>);

impl SendPermit {
    #[must_use]
    pub fn begin_sending(&self) -> bool {
        self.0.as_ref().is_none_or(|gate| gate.begin_sending())
    }
}

impl PartialEq for SendPermit {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl fmt::Debug for SendPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendPermit")
    }
}

/// Receives what a server sends about one call while it runs: progress, log messages and whatever else names it.
pub trait CallObserver: Send + Sync + 'static {
    /// A notification of this method came with these params, exactly as they were. Never waits.
    fn heard(&self, method: &str, params: Payload);
}

/// A shared observer of one call; compared by identity.
#[derive(Clone)]
pub struct CallListener(pub Arc<dyn CallObserver>);

impl PartialEq for CallListener {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for CallListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CallListener")
    }
}

/// What the agent behind a call or a connection can be asked besides what people answer here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Abilities {
    pub sampling: bool,
    pub roots: bool,
    /// `elicitation/create`. Declared to servers in any case: people answer here. Without it the agent is not asked.
    pub elicitation: bool,
}

/// How urgent a server calls a message of its log, the least urgent first (MCP 2025-06-18, server/utilities/logging).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

/// A message that a server sent for the log. All of it is the server's, capped and harmless to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogMessage {
    /// `None` for a level that MCP does not know.
    pub level: Option<LogLevel>,
    /// Which part of the server says it.
    pub logger: Option<String>,
    /// Its text, or its data as JSON.
    pub text: String,
}

/// For whom a connection is opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectionSpec {
    /// The agent whose own connection it is (ruling 14); `None` for the one that people and modern agents share.
    pub seat: Option<AgentId>,
    /// A legacy session to resume, instead of the server's last negotiated one when there is a seat.
    pub session: Option<SessionKey>,
    /// What the agent can be asked; declared in `initialize` of a legacy connection.
    pub abilities: Abilities,
    /// Receives what the server logs and its process writes, and when it starts and ends; `None` when nobody does.
    pub process: Option<ProcessListener>,
    /// Only a process that an earlier core left is connected to; none is started, and without one connecting fails.
    pub kept_only: bool,
}

/// The second and later rounds of a call that asked before it started.
#[derive(Debug, Clone, PartialEq)]
pub struct Continuation {
    /// `requestState`, byte for byte, if and only if it was given.
    pub state: Option<Payload>,
    /// Answers under the server's keys.
    pub answers: Vec<AnswerToSend>,
}

/// One answer on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerToSend {
    /// How the question came.
    pub door: AskDoor,
    /// Which of the three outcomes.
    pub action: AnswerAction,
    /// Content of an accepted form: a JSON object.
    pub content: Option<Payload>,
}

/// A page of the server's own list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTasks {
    pub tasks: Vec<(UpstreamTaskId, Observation)>,
    /// Where the next page begins.
    pub next: Option<String>,
}

/// A tool as its server describes it. All text is the server's, capped.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFacts {
    pub name: String,
    /// Title for people.
    pub title: Option<String>,
    pub description: Option<String>,
    /// `inputSchema` as it came.
    pub input_schema: Value,
    /// The whole entry of the list in canonical JSON: what is compared when a tool may have changed.
    pub definition: Arc<str>,
    /// Whether calls of it may or must be tasks: `forbidden`, `optional`, `required`, or `server decides` (2026).
    pub task_support: &'static str,
    /// `annotations.destructiveHint`, a hint of an untrusted server.
    pub destructive_hint: Option<bool>,
    pub read_only_hint: Option<bool>,
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamSubject {
    /// A call by its ticket (also after it became a task).
    Call(HandleId),
    /// A task by its id.
    Task(UpstreamTaskId),
    /// The server did not say.
    Unsaid,
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closure {
    /// One line; may quote the end of the child's stderr.
    pub why: String,
    /// What a person can do.
    pub hint: String,
    /// A child process ended: its tasks died with it unless it proves otherwise.
    pub process_ended: bool,
}

/// Something the server said unasked, in order of arrival.
#[derive(Debug, Clone, PartialEq)]
pub enum UpstreamEvent {
    /// The state of a task.
    Seen(UpstreamTaskId, Box<Observation>),
    /// A question on the live connection.
    Question(UpstreamSubject, LiveQuestion),
    /// The server took a live question back.
    QuestionWithdrawn {
        token: String,
    },
    /// So many live questions were refused at once, because too many are open on this connection.
    QuestionsRefused(u64),
    /// 2025: a visit was completed, by its elicitation id.
    VisitDone {
        elicitation: String,
    },
    Progress(UpstreamSubject, Progress),
    /// From now on exactly these tasks are pushed; all others must be polled.
    Subscribed(Vec<UpstreamTaskId>),
    /// A blocking read ended or a stream came back: poll this task soon.
    PollSoon(UpstreamTaskId),
    /// The tools changed.
    ToolsChanged,
    /// The stream on which it speaks unasked broke and cannot be opened again now: it may be out of reach.
    StreamLost,
    /// The connection is over; always the last event.
    Closed(Closure),
}

/// A fresh connection.
pub struct Connected {
    /// Names the connection.
    pub id: ConnectionId,
    /// What to talk to.
    pub upstream: Arc<dyn Upstream>,
    /// What was agreed.
    pub negotiated: Negotiated,
    /// Process id and process group of a child, for the record of leftovers (ruling 15).
    pub child: Option<u32>,
    /// An earlier run of the core started the child.
    pub is_resumed: bool,
    /// What the server says unasked. Ends after `Closed`.
    pub events: Pin<Box<dyn Stream<Item = UpstreamEvent> + Send>>,
}

pub trait Connector: Send + Sync + 'static {
    /// Connects to a server whose consent was checked. Uses `server.verdict` when its fingerprint fits, and resumes
    /// `line.session`, or without a seat `server.negotiated.session`, of a legacy HTTP server when it can.
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>>;
    /// Whether children may outlive the core, so that what they asked is still asked after a restart (ruling 16).
    fn may_keep(&self) -> bool {
        false
    }
    /// Those of these agents whose own process of this server an earlier core left with a keeper (ruling 16).
    fn kept_seats(&self, _server: ServerId, _agents: &[AgentId]) -> Vec<AgentId> {
        Vec::new()
    }
    /// Why the process in which work from this moment lived may go on although this core is not connected to it; `None`
    /// where nothing says so. `own` is the process that this core is connected to.
    fn out_of_reach(
        &self,
        _server: ServerId,
        _seat: Option<AgentId>,
        _since: Timestamp,
        _own: Option<u32>,
    ) -> Option<String> {
        None
    }
    /// Ends what earlier cores left of the process of this server, the agent's own or the shared one, whoever is
    /// connected to it. Gives the numbers of the processes that ended.
    fn end_kept(&self, _server: ServerId, _seat: Option<AgentId>) -> PortFuture<'_, Vec<u32>> {
        Box::pin(std::future::ready(Vec::new()))
    }
    /// Begins to watch the processes of the server whose first process has this number; `None` where they cannot be seen.
    fn watch_processes(&self, _leader: u32) -> Option<Box<dyn ProcessWatch>> {
        None
    }
}

/// One connected server.
pub trait Upstream: Send + Sync + 'static {
    /// Whether the connection is over, whether or not its last event was read: what is sent on it fails.
    fn is_closed(&self) -> bool {
        false
    }
    /// Calls a tool. Resolves at the reply, however late; never retried. Asks for a task where the dialect lets it.
    /// The future holds the request and is driven by whoever polls it. Dropping it tells the server nothing, and its reply
    /// may be lost: whoever stops waiting lets another task poll it on, or uses [`Upstream::cancel_call`] first.
    fn call(&self, request: CallRequest) -> PortFuture<'_, Result<CallReply, CallError>>;
    /// Asks the server to cancel a call that has no task yet (and may never have).
    fn cancel_call(&self, ticket: HandleId, reason: Option<String>) -> PortFuture<'_, Result<(), UpstreamError>>;
    /// Polls a task. A terminal state comes with its payload where it can be had; in the 2025 dialect an
    /// `input_required` also opens the stream on which the question comes.
    fn read(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Observation, UpstreamError>>;
    /// Sends answers of one task or call. `task` is `None` for live questions of a plain call.
    fn answer(
        &self,
        task: Option<UpstreamTaskId>,
        answers: Vec<AnswerToSend>,
    ) -> PortFuture<'_, Result<(), UpstreamError>>;
    /// Refuses a live question with an error: it named a task that is not open here.
    fn refuse_question(&self, token: String) -> PortFuture<'_, Result<(), UpstreamError>>;
    /// The message that carries these answers, for people to read; never sent. `None` when they do not go together.
    fn answer_text(&self, task: Option<&UpstreamTaskId>, answers: &[AnswerToSend]) -> Option<RawText>;
    /// Asks the server to cancel a task. In the 2025 dialect the reply is an observation.
    fn cancel(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Option<Observation>, UpstreamError>>;
    /// Asks whether the server is there; any answer shows that it is. `Unsupported` where the dialect has no such request.
    fn ping(&self) -> PortFuture<'_, Result<(), UpstreamError>>;
    /// One page of the server's own list; `Unsupported` where there is none.
    fn list(&self, cursor: Option<String>) -> PortFuture<'_, Result<ListedTasks, UpstreamError>>;
    /// The server's tools.
    fn tools(&self) -> PortFuture<'_, Result<Vec<ToolFacts>, UpstreamError>>;
    /// Checks arguments against the tool's schema; the error names the place in the arguments.
    /// `Ok` when the tool or its schema is unknown: the server decides then.
    fn check_arguments(&self, tool: Arc<str>, arguments: Payload) -> PortFuture<'_, Result<(), ArgumentError>>;
    /// Tells which tasks are live, so that the connection may subscribe to them. Replaces the earlier set.
    fn watch(&self, tasks: Vec<UpstreamTaskId>);
    /// The end of a child's stderr, or nothing.
    fn stderr_tail(&self) -> String;
    /// The reply of this call, or its loss, is on record: it need not be kept for a restart of the core.
    fn taken(&self, _ticket: HandleId) {}
    /// Calls of an earlier core that are still in flight on this connection, because its child was kept (ruling 16).
    fn regained(&self) -> Vec<HandleId> {
        Vec::new()
    }
    /// Waits for the reply of one of [`Upstream::regained`], as [`Upstream::call`] does.
    fn rejoin(&self, _ticket: HandleId) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(std::future::ready(Err(CallError::ReplyLost(UpstreamError::ChannelGone))))
    }
    /// Whether the processes behind the connection can be frozen.
    fn can_freeze(&self) -> bool {
        false
    }
    /// Stops the processes behind the connection, or lets them continue (`false`). What is found is one reading: a process
    /// that was just started is stopped by the next. `None` when nobody can stop them, or not any more.
    fn freeze(&self, _is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        Box::pin(std::future::ready(None))
    }
    /// The core ends. As [`Upstream::close`], but a kept child lives on for a while when tasks or calls are live.
    fn leave(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        self.close(tasks_live)
    }
    /// Ends the connection: an ordered shutdown of a child with everything it started, no `DELETE` while tasks live.
    fn close(&self, tasks_live: bool) -> PortFuture<'_, ()>;
}

/// Arguments that do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// The server has no such tool; the names it has, at most a few.
    #[error("the server has no tool `{tool}`")]
    UnknownTool {
        /// What was asked for.
        tool: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Not a JSON object, or not JSON; where.
    #[error("the arguments are not a JSON object: {0}")]
    NotAnObject(String),
    /// Breaks the schema at this place.
    #[error("argument `{path}`: {why}")]
    BreaksSchema {
        /// JSON pointer into the arguments.
        path: String,
        /// Which rule it breaks; never quotes a value.
        why: String,
    },
    /// Larger than `arguments_cap_bytes`.
    #[error("the arguments have {bytes} bytes; at most {cap} are allowed")]
    TooLarge { bytes: u64, cap: u64 },
}
