//! One connection, from open to close: what it remembers, and the face it shows the engine.
//!
//! It remembers only what the wire needs (tags, open questions, tools); facts are the engine's. Tasks of its scope end
//! when the link is over or the engine lets go of it. Where to read next: `calls.rs`, `tasks.rs`, `hearing.rs`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::ids::{ConnectionId, HandleId, UpstreamTaskId};
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::Payload;
use domain::policy::Policy;
use domain::ports::{Abilities, AnswerToSend, ArgumentError, CallError, CallReply, CallRequest, Clock, Closure, ListedTasks, PortFuture, ToolFacts, Upstream, UpstreamError, UpstreamEvent};
use domain::raw_message::RawText;
use domain::server::{Era, Negotiated};
use domain::task::status::{Outcome, TaskStatus};
use domain::time::Timestamp;
use engine::runtime::supervisor::Supervisor;
use futures_core::Stream;
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use super::aside::Ears;
use super::calls::Calls;
use super::events::EventQueue;
use super::greeting::{Agreement, Generation, agree};
use super::hearing;
use super::questions::{Questions, REFUSALS, send_refusals};
use super::relay::{Relay, keep_relayed};
use super::results::Results;
use super::subscription::{Listening, Wanted, keep_subscribed};
use super::toolbox::Toolbox;
use super::unasked::Readers;
use crate::link::{Link, Opened, RegainedCall, Response, Tag};
use crate::view::Glimpse;

/// Tags count from here; zero is easily taken for none.
const FIRST_TAG: u64 = 1;

/// What a connection needs of its surroundings.
pub(crate) struct Surroundings {
    pub(crate) policy: Arc<Policy>,
    pub(crate) supervisor: Supervisor,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) abilities: Abilities,
}

/// What a fresh connection gives to the engine.
pub(crate) type Begun = (Arc<Connection>, Negotiated, Pin<Box<dyn Stream<Item = UpstreamEvent> + Send>>);

/// One connection.
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) link: Arc<dyn Link>,
    pub(crate) policy: Arc<Policy>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Outlives the connection, so that calls still hear why it ended.
    pub(crate) supervisor: Supervisor,
    /// Ends with the connection.
    pub(crate) scope: Supervisor,
    pub(crate) generation: Generation,
    pub(crate) era: Era,
    /// What the agent whose connection this is can be asked.
    pub(crate) abilities: Abilities,
    pub(crate) version: String,
    /// The greeting, raw.
    pub(crate) hello: Box<RawValue>,
    /// 2025: tools that support tasks are called as tasks.
    pub(crate) augments: bool,
    /// 2025: `tasks/list` may be called.
    pub(crate) lists: bool,
    /// Modern HTTP: annotated parameters are mirrored into headers.
    pub(crate) mirrors_params: bool,
    pub(crate) tells_tool_changes: bool,
    pub(crate) events: Arc<EventQueue>,
    /// Who hears what is said on the way to one answer.
    pub(crate) ears: Arc<Ears>,
    /// Whether the link tells them itself, in order with its answers.
    pub(crate) told_aside: bool,
    /// Who hears what is said to everybody.
    pub(crate) unasked: Readers,
    /// What agents want to be told.
    pub(crate) relay: Relay,
    pub(crate) calls: Mutex<Calls>,
    /// Calls that an earlier core sent to this child, until somebody waits for their replies.
    pub(crate) regained: Mutex<HashMap<HandleId, RegainedCall>>,
    pub(crate) questions: Mutex<Questions>,
    pub(crate) results: Mutex<Results>,
    pub(crate) toolbox: Toolbox,
    pub(crate) listening: Listening,
    pub(crate) refusals: mpsc::Sender<(String, Response)>,
    /// Tasks made by calls of this connection that are not over and not watched yet.
    pub(crate) created: Mutex<BTreeSet<UpstreamTaskId>>,
    /// Handles of the modern generation that a legacy server gave all the same (protocol.md §9.12).
    modern: Mutex<HashSet<UpstreamTaskId>>,
    wanted: watch::Sender<Wanted>,
    tags: AtomicU64,
}

impl Connection {
    /// Takes up an open link and begins to listen.
    pub(crate) fn begin(id: ConnectionId, opened: Opened, over_http: bool, around: Surroundings) -> Begun {
        let Agreement { negotiated, generation, augments, tells_tool_changes } = agree(&opened, &around.policy);
        let (refusals, refused) = mpsc::channel(REFUSALS);
        let (wanted, wants) = watch::channel(Wanted::from([]));
        let mut calls = Calls::default();
        let (first_tag, regained) = match opened.regained {
            Some(regained) => (regained.first_tag, regained.calls),
            None => (FIRST_TAG, Vec::new()),
        };
        for call in &regained {
            calls.regain(call.tag, call.ticket);
        }
        let ears = Arc::new(Ears::new(generation == Generation::Extension2026));
        let told_aside = opened.link.tell_aside(Arc::clone(&ears) as _);
        let connection = Arc::new(Self {
            id,
            link: opened.link,
            era: opened.era,
            abilities: around.abilities,
            version: opened.version,
            hello: opened.hello,
            policy: around.policy,
            clock: around.clock,
            scope: around.supervisor.scope(),
            supervisor: around.supervisor,
            generation,
            augments,
            lists: negotiated.can_list,
            mirrors_params: over_http && generation == Generation::Extension2026,
            tells_tool_changes,
            events: Arc::new(EventQueue::default()),
            ears,
            told_aside,
            unasked: Readers::default(),
            relay: Relay::default(),
            calls: Mutex::new(calls),
            regained: Mutex::new(regained.into_iter().map(|call| (call.ticket, call)).collect()),
            questions: Mutex::default(),
            results: Mutex::default(),
            toolbox: Toolbox::default(),
            listening: Listening::default(),
            refusals,
            created: Mutex::default(),
            modern: Mutex::default(),
            wanted,
            tags: AtomicU64::new(first_tag),
        });
        let events = Box::pin(connection.events.stream());
        let scope = &connection.scope;
        scope.spawn("mcp listening", hearing::listen(Arc::clone(&connection), opened.inbound));
        match generation {
            Generation::Experimental2025 => {
                scope.spawn("mcp refusals", send_refusals(Arc::clone(&connection), refused));
            }
            Generation::Extension2026 => {
                scope.spawn("mcp subscriptions", keep_subscribed(Arc::clone(&connection), wants));
                scope.spawn("mcp relayed subscriptions", keep_relayed(Arc::clone(&connection)));
            }
        }
        (connection, negotiated, events)
    }

    /// The link is over. Closed comes before anybody is woken, so that whoever looks for a connection then does not find
    /// this one again.
    pub(crate) fn end(&self, closure: Closure) {
        self.events.close(closure);
        self.close_down();
    }

    /// Nothing more happens here: background tasks end, and readers are told.
    fn close_down(&self) {
        self.scope.cancel();
        self.unasked.end();
    }

    /// Whether the link is over, or the engine let go of the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.scope.stopping().is_cancelled()
    }

    /// A fresh tag, unique on this link.
    pub(crate) fn next_tag(&self) -> Tag {
        Tag(self.tags.fetch_add(1, Ordering::Relaxed))
    }

    /// Something seen now.
    pub(crate) fn glimpse(&self, door: ObservationDoor, begun: Timestamp) -> Glimpse {
        Glimpse { door, begun, seen: self.clock.now() }
    }

    /// How this task is talked about.
    pub(crate) fn generation_of(&self, task: &UpstreamTaskId) -> Generation {
        match self.generation {
            Generation::Experimental2025 if self.modern.lock().contains(task) => Generation::Extension2026,
            own => own,
        }
    }

    /// Remembers a modern handle of a legacy server.
    pub(crate) fn note_modern(&self, reply: &CallReply) {
        if let CallReply::Task { id, .. } = reply {
            let mut modern = self.modern.lock();
            if modern.len() < self.policy.discovered_max {
                modern.insert(id.clone());
            }
        }
    }

    /// Whether this connection has something to do with the task.
    pub(crate) fn lives_here(&self, task: &UpstreamTaskId) -> bool {
        self.created.lock().contains(task) || self.events.watched().binary_search(task).is_ok()
    }

    /// The task is over, or the server does not know it: nothing more is expected of it.
    pub(crate) fn forget(self: &Arc<Self>, task: &UpstreamTaskId) {
        if let Some(tag) = self.calls.lock().forget(task) {
            self.ears.remove(tag);
        }
        self.created.lock().remove(task);
        self.modern.lock().remove(task);
        self.forget_asking(task);
        self.forget_result(task);
    }

    fn watch(&self, mut tasks: Vec<UpstreamTaskId>) {
        tasks.sort_unstable();
        tasks.dedup();
        let tasks: Wanted = tasks.into();
        self.created.lock().retain(|task| tasks.binary_search(task).is_err());
        self.events.set_watched(Arc::clone(&tasks));
        self.wanted.send_replace(tasks);
    }
}

/// Whether nothing of the task is left to be fetched.
pub(crate) fn is_settled(status: &TaskStatus) -> bool {
    match status {
        TaskStatus::Completed(Outcome::NotFetched) | TaskStatus::Failed(None) => false,
        TaskStatus::Completed(_) | TaskStatus::Failed(Some(_)) | TaskStatus::Cancelled => true,
        TaskStatus::Working | TaskStatus::InputRequired | TaskStatus::Other(_) => false,
    }
}

/// The face of a connection. When the engine lets go of it, everything on it ends.
pub(crate) struct McpUpstream(Arc<Connection>);

impl McpUpstream {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self(connection)
    }
}

impl Drop for McpUpstream {
    /// An agent's request may hold the connection longer than the engine does; its readers must not wait for words that
    /// nobody receives any more.
    fn drop(&mut self) {
        self.0.close_down();
    }
}

impl Upstream for McpUpstream {
    fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    fn call(&self, request: CallRequest) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(self.0.call(request))
    }

    fn cancel_call(&self, ticket: HandleId, reason: Option<String>) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(self.0.cancel_call(ticket, reason))
    }

    fn read(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Observation, UpstreamError>> {
        Box::pin(async move { self.0.read(&task).await })
    }

    fn answer(
        &self,
        task: Option<UpstreamTaskId>,
        answers: Vec<AnswerToSend>,
    ) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async move { self.0.answer(task.as_ref(), &answers).await })
    }

    fn answer_text(&self, task: Option<&UpstreamTaskId>, answers: &[AnswerToSend]) -> Option<RawText> {
        self.0.answer_text(task, answers)
    }

    fn cancel(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Option<Observation>, UpstreamError>> {
        Box::pin(async move { self.0.cancel(&task).await })
    }

    fn list(&self, cursor: Option<String>) -> PortFuture<'_, Result<ListedTasks, UpstreamError>> {
        Box::pin(self.0.list(cursor))
    }

    fn tools(&self) -> PortFuture<'_, Result<Vec<ToolFacts>, UpstreamError>> {
        Box::pin(self.0.tool_facts())
    }

    fn check_arguments(&self, tool: Arc<str>, arguments: Payload) -> PortFuture<'_, Result<(), ArgumentError>> {
        Box::pin(async move { self.0.check_tool_arguments(&tool, &arguments).await })
    }

    fn watch(&self, tasks: Vec<UpstreamTaskId>) {
        self.0.watch(tasks);
    }

    fn stderr_tail(&self) -> String {
        self.0.link.stderr_tail()
    }

    fn taken(&self, ticket: HandleId) {
        self.0.link.settle(ticket);
    }

    fn regained(&self) -> Vec<HandleId> {
        self.0.regained.lock().keys().copied().collect()
    }

    fn rejoin(&self, ticket: HandleId) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(self.0.rejoin(ticket))
    }

    fn leave(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        if tasks_live { self.0.link.leave() } else { self.0.link.close(false) }
    }

    fn close(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        self.0.link.close(tasks_live)
    }
}
