//! A connector whose connections have kill points around every act that the server sees.

use std::sync::Arc;

use domain::ids::{AgentId, HandleId, ServerId, UpstreamTaskId};
use domain::ports::{
    AnswerToSend, ArgumentError, CallError, CallReply, CallRequest, Connected, ConnectionSpec, Connector,
    FreezeReading, ListedTasks, PortFuture, ProcessWatch, ToolFacts, Upstream, UpstreamError,
};
use domain::raw_message::RawText;
use domain::server::Server;
use domain::task::observation::Observation;
use domain::task::payload::Payload;
use domain::time::Timestamp;

use super::KillPoints;

/// Wraps a connector.
pub struct KillPointConnector {
    inner: Arc<dyn Connector>,
    points: KillPoints,
}

impl KillPointConnector {
    /// Every connection of `inner` gets these points.
    #[must_use]
    pub fn new(inner: Arc<dyn Connector>, points: KillPoints) -> Self {
        Self { inner, points }
    }
}

impl Connector for KillPointConnector {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        Box::pin(async move {
            let connected = self.points.around("upstream.connect", move || self.inner.connect(server, line)).await?;
            let upstream = Arc::new(KillPointUpstream { inner: connected.upstream, points: self.points.clone() });
            Ok(Connected { upstream, ..connected })
        })
    }

    fn may_keep(&self) -> bool {
        self.inner.may_keep()
    }

    fn kept_seats(&self, server: ServerId, agents: &[AgentId]) -> Vec<AgentId> {
        self.inner.kept_seats(server, agents)
    }

    fn out_of_reach(
        &self,
        server: ServerId,
        seat: Option<AgentId>,
        since: Timestamp,
        own: Option<u32>,
    ) -> Option<String> {
        self.inner.out_of_reach(server, seat, since, own)
    }

    fn end_kept(&self, server: ServerId, seat: Option<AgentId>) -> PortFuture<'_, Vec<u32>> {
        self.inner.end_kept(server, seat)
    }

    fn watch_processes(&self, leader: u32) -> Option<Box<dyn ProcessWatch>> {
        self.inner.watch_processes(leader)
    }
}

struct KillPointUpstream {
    inner: Arc<dyn Upstream>,
    points: KillPoints,
}

impl Upstream for KillPointUpstream {
    fn call(&self, request: CallRequest) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(self.points.around("upstream.call", move || self.inner.call(request)))
    }

    fn cancel_call(&self, ticket: HandleId, reason: Option<String>) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(self.points.around("upstream.cancel_call", move || self.inner.cancel_call(ticket, reason)))
    }

    fn read(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Observation, UpstreamError>> {
        Box::pin(self.points.around("upstream.read", move || self.inner.read(task)))
    }

    fn answer(
        &self,
        task: Option<UpstreamTaskId>,
        answers: Vec<AnswerToSend>,
    ) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(self.points.around("upstream.answer", move || self.inner.answer(task, answers)))
    }

    fn refuse_question(&self, token: String) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(self.points.around("upstream.refuse_question", move || self.inner.refuse_question(token)))
    }

    fn answer_text(&self, task: Option<&UpstreamTaskId>, answers: &[AnswerToSend]) -> Option<RawText> {
        self.inner.answer_text(task, answers)
    }

    fn cancel(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Option<Observation>, UpstreamError>> {
        Box::pin(self.points.around("upstream.cancel", move || self.inner.cancel(task)))
    }

    fn ping(&self) -> PortFuture<'_, Result<(), UpstreamError>> {
        self.inner.ping()
    }

    fn list(&self, cursor: Option<String>) -> PortFuture<'_, Result<ListedTasks, UpstreamError>> {
        Box::pin(self.points.around("upstream.list", move || self.inner.list(cursor)))
    }

    fn tools(&self) -> PortFuture<'_, Result<Vec<ToolFacts>, UpstreamError>> {
        self.inner.tools()
    }

    fn check_arguments(&self, tool: Arc<str>, arguments: Payload) -> PortFuture<'_, Result<(), ArgumentError>> {
        self.inner.check_arguments(tool, arguments)
    }

    fn watch(&self, tasks: Vec<UpstreamTaskId>) {
        self.inner.watch(tasks);
    }

    fn stderr_tail(&self) -> String {
        self.inner.stderr_tail()
    }

    fn taken(&self, ticket: HandleId) {
        self.inner.taken(ticket);
    }

    fn regained(&self) -> Vec<HandleId> {
        self.inner.regained()
    }

    fn rejoin(&self, ticket: HandleId) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(self.points.around("upstream.rejoin", move || self.inner.rejoin(ticket)))
    }

    fn can_freeze(&self) -> bool {
        self.inner.can_freeze()
    }

    fn freeze(&self, is_frozen: bool) -> PortFuture<'_, Option<FreezeReading>> {
        Box::pin(self.points.around("upstream.freeze", move || self.inner.freeze(is_frozen)))
    }

    fn leave(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        self.inner.leave(tasks_live)
    }

    fn close(&self, tasks_live: bool) -> PortFuture<'_, ()> {
        self.inner.close(tasks_live)
    }
}
