//! The ports of a scripted server: every action is recorded, then the script is followed.

use std::collections::VecDeque;
use std::sync::Arc;

use domain::ids::{ConnectionId, HandleId, RequestKey, ServerId, SessionKey, UpstreamTaskId};
use domain::ports::{
    AnswerToSend, ArgumentError, CallError, CallReply, CallRequest, Closure, Connected, ConnectionSpec, Connector,
    ListedTasks, PortFuture, ToolFacts, Upstream, UpstreamError, UpstreamEvent,
};
use domain::raw_message::RawText;
use domain::server::Server;
use domain::task::input_request::AskDoor;
use domain::task::observation::{Observation, ObservationDoor};
use domain::task::payload::Payload;
use futures::channel::mpsc;
use tokio::time::sleep;

use super::{
    EVENTS_MAX, EngineAction, OnCancel, PlannedReply, ScriptedServer, ScriptedServers, refused_at_the_wire, unreachable,
};

/// Connects to scripted servers by their id.
#[derive(Default)]
pub struct ScriptedConnector {
    servers: ScriptedServers,
}

impl ScriptedConnector {
    /// This server is behind this id.
    pub fn serve(&self, id: ServerId, server: &ScriptedServer) {
        self.servers.lock().insert(id, server.clone());
    }
}

impl Connector for ScriptedConnector {
    fn connect<'a>(
        &'a self,
        server: &'a Server,
        _line: &'a ConnectionSpec,
    ) -> PortFuture<'a, Result<Connected, UpstreamError>> {
        let scripted = self.servers.lock().get(&server.id).cloned();
        Box::pin(async move { scripted.ok_or_else(unreachable)?.open().await })
    }

    fn may_keep(&self) -> bool {
        self.servers.lock().values().any(|server| server.state.lock().keeps)
    }
}

impl ScriptedServer {
    async fn open(self) -> Result<Connected, UpstreamError> {
        self.record(EngineAction::Connect);
        let takes = self.state.lock().connect_takes;
        sleep(takes).await;
        let mut state = self.state.lock();
        if let Some(error) = &state.connect {
            return Err(error.clone());
        }
        // Whoever ends a child closes its connection; a core that is killed does not.
        let is_resumed = state.keeps && state.connection.is_some();
        state.connections += 1;
        let id = ConnectionId::from_random(u128::from(state.connections));
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        state.connection = Some((id, sender));
        let mut negotiated = state.negotiated.clone();
        if state.session_per_connection {
            negotiated.session = Some(SessionKey::new(format!("child-{}", state.connections)));
        }
        let child = state.session_per_connection.then_some(4_711);
        drop(state);
        let upstream = Arc::new(ScriptedUpstream { server: self, id });
        Ok(Connected { id, upstream, negotiated, child, is_resumed, events: Box::pin(events) })
    }
}

struct ScriptedUpstream {
    server: ScriptedServer,
    id: ConnectionId,
}

impl ScriptedUpstream {
    fn is_open(&self) -> bool {
        self.server.connection() == Some(self.id)
    }

    /// Records, waits as long as requests take, and fails when the connection is gone.
    async fn ask(&self, act: EngineAction) -> Result<(), UpstreamError> {
        if !self.is_open() {
            return Err(unreachable());
        }
        self.server.record(act);
        sleep(self.server.latency()).await;
        if self.is_open() { Ok(()) } else { Err(unreachable()) }
    }

    async fn reply(&self, tool: &str) -> Result<CallReply, CallError> {
        let planned = {
            let mut state = self.server.state.lock();
            state.replies.get_mut(tool).and_then(VecDeque::pop_front)
        };
        let Some(PlannedReply { after, outcome }) = planned else {
            return Err(CallError::NotSent(UpstreamError::Unsupported("do anything that was not planned")));
        };
        sleep(after).await;
        let now = self.server.clock.now();
        match outcome {
            Ok(CallReply::Task { id, seen }) => {
                let seen = Observation { door: ObservationDoor::Create, begun: now, seen: now, ..seen };
                Ok(CallReply::Task { id, seen })
            }
            other => other,
        }
    }
}

impl Upstream for ScriptedUpstream {
    fn call(&self, request: CallRequest) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(async move {
            if !self.is_open() {
                return Err(CallError::NotSent(unreachable()));
            }
            self.server.until_sendable().await;
            if !request.permit.begin_sending() {
                return Err(CallError::NotSent(refused_at_the_wire()));
            }
            let answers = request.continuation.as_ref().map(|round| round.answers.len());
            let tool = request.tool.to_string();
            self.server.record(EngineAction::Call { ticket: request.ticket, tool: tool.clone(), answers });
            let cut = self.server.cut.notified();
            tokio::select! {
                reply = self.reply(&tool) => reply,
                () = cut => Err(CallError::ReplyLost(unreachable())),
            }
        })
    }

    fn cancel_call(&self, ticket: HandleId, _reason: Option<String>) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async move {
            self.ask(EngineAction::CancelCall(ticket)).await?;
            self.server.state.lock().on_cancel_call.clone()
        })
    }

    fn read(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Observation, UpstreamError>> {
        Box::pin(async move {
            let begun = self.server.clock.now();
            {
                let mut state = self.server.state.lock();
                state.reading += 1;
                state.most_reads = state.most_reads.max(state.reading);
            }
            let asked = self.ask(EngineAction::Read(task.clone())).await;
            self.server.state.lock().reading -= 1;
            asked?;
            let look = self.server.next_poll(&task)?;
            Ok(self.server.sighting(&task, &look, begun))
        })
    }

    fn answer(
        &self,
        task: Option<UpstreamTaskId>,
        answers: Vec<AnswerToSend>,
    ) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async move {
            let named = |door: &AskDoor| match door {
                AskDoor::Listed { key } | AskDoor::Round { key, .. } => key.clone(),
                AskDoor::Live { token, .. } => token.clone(),
            };
            let content = |payload: &Option<Payload>| payload.as_ref().map(|payload| payload.as_str().to_owned());
            let recorded =
                answers.iter().map(|answer| (named(&answer.door), answer.action, content(&answer.content))).collect();
            self.ask(EngineAction::Answer { task: task.clone(), answers: recorded }).await?;
            if let Some(error) = self.server.state.lock().answer_failures.pop_front() {
                return Err(error);
            }
            for answer in &answers {
                if let AskDoor::Live { connection, .. } = &answer.door
                    && *connection != self.id
                {
                    return Err(UpstreamError::ChannelGone);
                }
            }
            if let Some(task) = task {
                let keys: Vec<_> =
                    answers.iter().map(|answer| (RequestKey::new(named(&answer.door)), answer.action)).collect();
                self.server.take_answers(&task, &keys);
            }
            Ok(())
        })
    }

    fn refuse_question(&self, token: String) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(self.ask(EngineAction::RefuseQuestion(token)))
    }

    fn answer_text(&self, _task: Option<&UpstreamTaskId>, answers: &[AnswerToSend]) -> Option<RawText> {
        let contents = answers.iter().map(|answer| answer.content.as_ref().map_or("null", Payload::as_str));
        let text = format!("[{}]", contents.collect::<Vec<_>>().join(","));
        Some(RawText::of(&text, &domain::policy::Policy::default()))
    }

    fn cancel(&self, task: UpstreamTaskId) -> PortFuture<'_, Result<Option<Observation>, UpstreamError>> {
        Box::pin(async move {
            self.ask(EngineAction::Cancel(task.clone())).await?;
            let how = self.server.state.lock().on_cancel.clone();
            match how {
                OnCancel::Obey => {
                    self.server.obey_cancel(&task);
                    Ok(None)
                }
                OnCancel::Ignore => Ok(None),
                OnCancel::Fail(error) => Err(error),
            }
        })
    }

    fn ping(&self) -> PortFuture<'_, Result<(), UpstreamError>> {
        Box::pin(async {
            self.ask(EngineAction::Ping).await?;
            self.server.state.lock().ping_failure.take().map_or(Ok(()), Err)
        })
    }

    fn list(&self, _cursor: Option<String>) -> PortFuture<'_, Result<ListedTasks, UpstreamError>> {
        Box::pin(async move {
            self.ask(EngineAction::List).await?;
            let listed = self.server.state.lock().listed.clone();
            let now = self.server.clock.now();
            let look = |task: &UpstreamTaskId| {
                let state = self.server.state.lock();
                let look = state.tasks.get(task).and_then(|known| known.looks.front().cloned());
                look.unwrap_or_else(super::PollReply::working)
            };
            let tasks = listed
                .into_iter()
                .map(|task| {
                    let look = look(&task);
                    let seen = self.server.sighting(&task, &look, now);
                    let seen = Observation { door: ObservationDoor::List, outstanding: None, payload: None, ..seen };
                    (task, seen)
                })
                .collect();
            Ok(ListedTasks { tasks, next: None })
        })
    }

    fn tools(&self) -> PortFuture<'_, Result<Vec<ToolFacts>, UpstreamError>> {
        Box::pin(async {
            let mut state = self.server.state.lock();
            state.tool_listings += 1;
            Ok(state.tools.clone())
        })
    }

    fn check_arguments(&self, _tool: Arc<str>, _arguments: Payload) -> PortFuture<'_, Result<(), ArgumentError>> {
        Box::pin(async { Ok(()) })
    }

    fn watch(&self, tasks: Vec<UpstreamTaskId>) {
        self.server.record(EngineAction::Watch(tasks.clone()));
        if self.server.state.lock().pushes && self.is_open() {
            self.server.say(UpstreamEvent::Subscribed(tasks));
        }
    }

    fn stderr_tail(&self) -> String {
        String::new()
    }

    fn regained(&self) -> Vec<HandleId> {
        self.server.state.lock().regained.keys().copied().collect()
    }

    fn rejoin(&self, ticket: HandleId) -> PortFuture<'_, Result<CallReply, CallError>> {
        Box::pin(async move {
            let kept = self.server.state.lock().regained.remove(&ticket);
            let Some(PlannedReply { after, outcome }) = kept else { return Err(CallError::ReplyLost(unreachable())) };
            sleep(after).await;
            outcome
        })
    }

    fn close(&self, _tasks_live: bool) -> PortFuture<'_, ()> {
        Box::pin(async move {
            self.server.record(EngineAction::Close);
            if self.is_open() {
                let process_ended = self.server.state.lock().session_per_connection;
                let why = "closed by us".into();
                self.server.close_connection(Closure { why, hint: String::new(), process_ended });
            }
        })
    }
}
