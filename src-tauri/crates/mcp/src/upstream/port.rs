//! The `Upstream` port over a connection: starts what runs on it, and ends it when the engine lets go.
//!
//! Each method is one line into the file that does it: `calls.rs`, `tasks.rs`, `tool_cache.rs`.

use std::pin::Pin;
use std::sync::Arc;

use domain::ids::{ConnectionId, HandleId, UpstreamTaskId};
use domain::ports::{
    AnswerToSend, ArgumentError, CallError, CallReply, CallRequest, FreezeReading, ListedTasks, PortFuture, ToolFacts,
    Upstream, UpstreamError, UpstreamEvent,
};
use domain::raw_message::RawText;
use domain::server::Negotiated;
use domain::task::observation::Observation;
use domain::task::payload::Payload;
use futures_core::Stream;

use super::connection::{Connection, ConnectionParts, NewConnection};
use super::elicitation::send_refusals;
use super::inbound;
use super::negotiation::Generation;
use super::subscriptions::{keep_agents_subscribed, keep_tasks_subscribed};
use super::transport::link::OpenedLink;

/// A started connection: for forwarding, for the engine's records, and for the engine's event loop.
pub(crate) type StartedConnection = (Arc<Connection>, Negotiated, Pin<Box<dyn Stream<Item = UpstreamEvent> + Send>>);

impl Connection {
    /// Starts to read and to subscribe on an open link.
    pub(crate) fn begin(
        id: ConnectionId,
        opened: OpenedLink,
        over_http: bool,
        parts: ConnectionParts,
    ) -> StartedConnection {
        let NewConnection { connection, negotiated, inbound, refused } = Self::prepare(id, opened, over_http, parts);
        let events = Box::pin(connection.events.stream());
        let scope = &connection.scope;
        scope.spawn("mcp inbound", inbound::listen(Arc::clone(&connection), inbound));
        match connection.generation {
            Generation::Experimental2025 => {
                scope.spawn("mcp refusals", send_refusals(Arc::clone(&connection), refused));
            }
            Generation::Extension2026 => {
                let watched = connection.watched.subscribe();
                scope.spawn("mcp task subscription", keep_tasks_subscribed(Arc::clone(&connection), watched));
                scope.spawn("mcp agent subscription", keep_agents_subscribed(Arc::clone(&connection)));
            }
        }
        (connection, negotiated, events)
    }
}

/// The engine's handle of a connection. Dropping it ends everything on the connection.
pub(crate) struct McpUpstream(Arc<Connection>);

impl McpUpstream {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self(connection)
    }
}

impl Drop for McpUpstream {
    /// An agent's request may hold the connection longer than the engine does; broadcast readers must not wait for
    /// notifications that nobody reads from the link any more.
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

    fn refuse_question(&self, token: String) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async move { self.0.refuse_question(&token).await })
    }

    fn answer_text(&self, task: Option<&UpstreamTaskId>, answers: &[AnswerToSend]) -> Option<RawText> {
        self.0.answer_text(task, answers)
    }

    fn cancel(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Option<Observation>, UpstreamError>> {
        Box::pin(async move { self.0.cancel(&task).await })
    }

    fn ping(&self) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(self.0.ping())
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
        self.0.taken(ticket);
    }

    fn regained(&self) -> Vec<HandleId> {
        self.0.regained.lock().keys().copied().collect()
    }

    fn rejoin(&self, ticket: HandleId) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(self.0.rejoin(ticket))
    }

    fn can_freeze(&self) -> bool {
        self.0.link.can_freeze()
    }

    fn freeze(&self, is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        self.0.link.freeze(is_frozen)
    }

    fn leave(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        if tasks_live { self.0.link.leave() } else { self.0.link.close(false) }
    }

    fn close(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        self.0.link.close(tasks_live)
    }
}
