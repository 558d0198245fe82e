//! A pending agent call: sent, without a reply, and promoted to a task row when it lasts.
//!
//! Until it needs a row it lives in its caller's future, without a task of its own. Then it becomes a job of the
//! supervisor, which records it, tells the caller and takes in the reply like that of a person's call
//! (`connections/call_reply.rs`). Dropped before that, it is cancelled, or kept for a repeated call. Nothing is sent twice.

use std::sync::Arc;

use domain::audit::Actor;
use domain::ids::{HandleId, JobKey, PersonId};
use domain::ports::{CallError, CallIntent, CallReply, CallRequest, CommitError, RegistryError, UpstreamError};
use domain::rule::{AudienceRule, ResolvedRule};
use domain::server::halt::HaltedWork;
use domain::task::{Home, NewCall, TaskHandle, TaskRunLimits, Transition};
use domain::time::Timestamp;
use futures::future::{Either, select};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::budget::{CallOrigin, ResultText};
use crate::calls::agent_call::{AgentCall, HangUp};
use crate::calls::context::CallContext;
use crate::calls::lineage::{self, Lineage};
use crate::calls::unrecorded::{CallerReply, UnrecordedCall, WaitingCaller};
use crate::calls::{handle_release, recording};
use crate::connections::call_reply::{self, CallEnd, ReplyFuture};
use crate::connections::connection::ServerConnection;
use crate::connections::in_flight_call::InFlightCall;
use crate::connections::lease::ConnectionLease;
use crate::core::{EngineCore, then};
use crate::error::EngineError;
use crate::servers::open_connection::LeasedConnection;

/// The reply of a call, or why there is none.
pub(crate) type CallResult = Result<CallReply, CallError>;

/// An agent's call without a reply.
pub(crate) struct PendingCall {
    core: Arc<EngineCore>,
    connection: Arc<ServerConnection>,
    /// What the connection's actor, deliveries and revocations see of this call.
    in_flight: Arc<InFlightCall>,
    /// Keeps the agent's own connection open.
    lease: ConnectionLease,
    id: HandleId,
    call: AgentCall,
    rules: ResolvedRule,
    began: Timestamp,
    /// Taken when the call goes on without its caller. The mutex is never locked: it only makes the call `Sync`.
    reply: Mutex<Option<ReplyFuture>>,
}

impl PendingCall {
    /// Writes the intent without waiting (ruling 21); the call leaves when its reply is first awaited.
    pub(crate) fn new(
        core: &Arc<EngineCore>,
        leased: LeasedConnection,
        in_flight: Arc<InFlightCall>,
        id: HandleId,
        call: AgentCall,
        rules: ResolvedRule,
        began: Timestamp,
    ) -> Self {
        let LeasedConnection { connection, lease, .. } = leased;
        let request = CallRequest {
            ticket: id,
            tool: Arc::clone(&call.tool),
            arguments: call.arguments.clone(),
            continuation: call.continuation.clone(),
            agent_params: call.agent_params.clone(),
            abilities: call.abilities,
            listener: call.listener.clone(),
            permit: in_flight.permit(),
        };
        core.intents.begin(CallIntent {
            id,
            server: call.server,
            seat: connection.key.seat,
            agent: call.agent,
            tool: Arc::clone(&call.tool),
            arguments_digest: call.digest.clone(),
            at: began,
            host: core.host,
        });
        let reply = call_reply::reply_to(core, &connection, &in_flight, request);
        let (core, reply) = (Arc::clone(core), Mutex::new(Some(reply)));
        Self { core, connection, in_flight, lease, id, call, rules, began, reply }
    }

    /// Waits for the reply; `None` when the call must have a row before it comes.
    pub(crate) async fn first_reply(&mut self) -> Option<CallResult> {
        let Self { in_flight, reply, .. } = self;
        let reply = reply.get_mut().as_mut()?;
        tokio::select! {
            biased;
            reply = reply => Some(reply),
            // Somebody needs the row, or the call lasts (`show_sweep.rs`).
            () = in_flight.row_wanted() => None,
        }
    }

    /// Whether this reply must be remembered: a task, a question that is asked here, a result that a person sees
    /// first or that may be larger than allowed, or anything when the agent wants a task.
    pub(crate) fn needs_row(&self, reply: &CallReply) -> bool {
        let may_hold = |payload, is_error| {
            let AgentCall { agent, server, tool, place, .. } = &self.call;
            let origin = CallOrigin { agent: *agent, server: *server, tool, conversation: place.as_ref() };
            self.core.budget.may_hold(&origin, ResultText { payload, is_error })
        };
        match reply {
            CallReply::Task { .. } => true,
            CallReply::Result { .. } | CallReply::Error { .. } if self.call.own_task || self.rules.hold_results => true,
            CallReply::Result { payload, .. } => may_hold(payload, false),
            CallReply::Error { payload, .. } => may_hold(payload, true),
            CallReply::NeedsInput { questions, .. } => {
                // One question for people keeps the round here: the agent is asked for the rest alone.
                let agents = !questions.is_empty() && questions.values().all(|ask| !ask.is_for_people());
                let relayed = self.call.relay_rounds && (agents || self.rules.asked == AudienceRule::Agent);
                !relayed
            }
        }
    }

    /// The call is over, and nothing of it is remembered.
    pub(crate) fn finish(mut self) {
        self.reply.get_mut().take();
        self.forget();
    }

    /// Why a halt refused the call at the wire, if one did and is still in force.
    pub(crate) fn refused_by_halt(&self) -> Option<EngineError> {
        let AgentCall { server, agent, tool, .. } = &self.call;
        let work = HaltedWork { server: *server, agent: Some(*agent), tool: Some(&**tool) };
        let halted = self.in_flight.is_refused().then(|| self.core.gate.refuses(work))?;
        halted.map(EngineError::Halted)
    }

    /// The call never left, because of this error.
    ///
    /// It is forgotten first: the connection's actor drops a dead connection at once only while nothing is in flight
    /// over it, and the report of the error wakes that actor.
    pub(crate) fn finish_unsent(mut self, error: &UpstreamError) {
        self.reply.get_mut().take();
        self.forget();
        // A call that a halt refused says nothing about its server.
        if !self.in_flight.is_refused() {
            self.connection.request_failed(error);
        }
    }

    /// Lets the call continue in a task of the supervisor, which records it; its caller receives the outcome here.
    pub(crate) fn detach(mut self, reply: Option<CallResult>) -> Option<oneshot::Receiver<CallerReply>> {
        let future = self.reply.get_mut().take()?;
        let (sender, receiver) = oneshot::channel();
        let core = Arc::clone(&self.core);
        core.supervisor.spawn("call", self.run(future, reply, Some(sender)));
        Some(receiver)
    }

    fn forget(&self) {
        self.in_flight.set_finished();
        self.connection.forget_call(self.id);
        self.core.intents.end(self.id);
        self.in_flight.live.upstream.taken(self.id);
    }

    /// Records the call, tells its caller, and takes in the reply however late. While the call cannot be recorded, its
    /// reply goes back without a row, and a person can cancel it.
    async fn run(
        self,
        mut future: ReplyFuture,
        reply: Option<CallResult>,
        caller: Option<oneshot::Sender<CallerReply>>,
    ) {
        let Self { core, connection, in_flight, id, .. } = &self;
        core.calls.contexts.insert(*id, CallContext::of(&self.call), &core.ledger);
        core.budget.call_became_task(*id, self.call.place.as_ref());
        let waiting = self.waiting_caller(caller);
        // What came before the row was begun is part of it; what comes while it is written is taken in afterwards.
        let mut early: Option<CallResult> = None;
        {
            let mut recording = std::pin::pin!(self.record(reply.as_ref(), &waiting));
            loop {
                let here = early.as_ref().or(reply.as_ref());
                let (is_in, may_go) = (here.is_some(), here.is_some_and(|reply| self.may_go_unrecorded(reply)));
                tokio::select! {
                    biased;
                    is_open = &mut recording => {
                        if !is_open {
                            return;
                        }
                        break;
                    }
                    // The call goes on while the row is stored.
                    came = &mut future, if !is_in => early = Some(came),
                    () = waiting.until_answerable(), if may_go => {
                        let Some(given) = early.clone().or_else(|| reply.clone()) else { continue };
                        if waiting.tell(CallerReply::Reply(Box::new(given))) {
                            return self.finish_unrecorded();
                        }
                    }
                    by = waiting.cancelled(), if !is_in => {
                        early = Some(self.cancel_unrecorded(&mut future, by).await);
                        waiting.tell(CallerReply::Cancelled);
                    }
                }
            }
        }
        let is_in = reply.is_some();
        if !waiting.tell(CallerReply::Row(*id)) {
            handle_release::hung_up(core, *id, if is_in { HangUp::Keep } else { self.call.hang_up }).await;
        }
        if let Some(Err(CallError::ReplyLost(error) | CallError::NotSent(error))) = &reply
            && !in_flight.is_refused()
        {
            connection.request_failed(error);
        }
        if is_in {
            return call_reply::finish(core, connection, in_flight, *id);
        }
        let promote_at = self.in_flight.since + self.rules.promote_after.unwrap_or(core.policy.promote_after);
        let end = match early {
            Some(reply) => CallEnd::from(reply),
            None => call_reply::await_reply(core, in_flight, *id, future, promote_at).await,
        };
        call_reply::take_in(core, connection, in_flight, *id, end).await;
    }

    /// The agent hung up before there was a row.
    async fn abandoned(self, mut future: ReplyFuture) {
        match self.call.hang_up {
            HangUp::Keep => Box::pin(self.run(future, None, None)).await,
            HangUp::Cancel => match self.cancel(&mut future, Some("the agent hung up".to_owned())).await {
                // There is a task all the same, and it lives on (statement 65).
                Some(Ok(reply @ CallReply::Task { .. })) => {
                    Box::pin(self.run(future, Some(Ok(reply)), None)).await;
                }
                Some(_) | None => self.forget(),
            },
        }
    }

    /// Asks the server to cancel a call without a row; returns the reply, should one come all the same.
    async fn cancel(&self, future: &mut ReplyFuture, reason: Option<String>) -> Option<CallResult> {
        let cancel = self.core.ask(self.in_flight.live.upstream.cancel_call(self.id, reason));
        // A cancelled request gets no reply by the protocol.
        let cancelled = std::pin::pin!(async {
            if let Err(error) = cancel.await {
                tracing::debug!(handle.id = %self.id, %error, "a call whose agent hung up could not be cancelled");
            }
            tokio::time::sleep(self.core.policy.cancel_grace).await;
        });
        match select(future, cancelled).await {
            Either::Left((reply, _)) => Some(reply),
            Either::Right(_) => None,
        }
    }

    /// Cancels a call that has no row, in the name of a person; its row will say so.
    async fn cancel_unrecorded(&self, future: &mut ReplyFuture, by: Option<PersonId>) -> CallResult {
        let who = by.map_or_else(|| "a person".into(), |person| person.to_string());
        tracing::warn!(handle.id = %self.id, "a call that cannot be recorded is cancelled from memory");
        match self.cancel(future, Some(format!("cancelled by {who}"))).await {
            Some(reply) => reply,
            None => Err(CallError::ReplyLost(UpstreamError::Unreachable {
                why: format!("{who} cancelled it while the registry could not record, and the server sent no reply"),
                hint: "Nothing needs to be done.".into(),
            })),
        }
    }

    /// The row of a new task. Its reply counts as undelivered until somebody says otherwise: then a repeated call
    /// joins it even when the core ends in this moment.
    fn new_task(&self, lineage: Lineage, reply: Option<&CallResult>, home: &Home) -> Transition {
        let (core, call, now) = (&self.core, &self.call, self.core.time.now());
        let new = NewCall {
            id: self.id,
            server: call.server,
            agent: Some(call.agent),
            by: Actor::Agent(call.agent),
            tool: Arc::clone(&call.tool),
            arguments: call.arguments.clone(),
            arguments_digest: Arc::clone(call.digest.get()),
            usual: lineage.usual,
            usual_late_min: core.policy.usual_late_min,
            limit: call.limit,
            host: core.host,
            home: self.in_flight.live.home.clone(),
            seat: self.connection.key.seat,
            audience: self.rules.asked.audience(self.began),
            parent: lineage.parent,
            trace: call.trace.clone(),
            job: Some(self.job()),
            attempt: lineage.attempt,
            hold: self.rules.hold_results,
            run_limits: TaskRunLimits::begun(&self.rules, self.began),
            agent_ttl: call.agent_ttl,
        };
        let admitted = TaskHandle::admit(new, self.began);
        let replied = match reply {
            None => admitted,
            Some(Ok(reply)) => {
                let reply = call_reply::without_bare_failure(reply);
                then(admitted, |next| next.replied(&reply, home, now, &core.policy))
            }
            Some(Err(error)) => {
                let why = error.to_string();
                then(admitted, |next| call_reply::lost(next, &self.in_flight.live, &why, now))
            }
        };
        let releases_handle = match reply {
            Some(Ok(CallReply::Task { .. })) => true,
            Some(_) | None => self.call.own_task,
        };
        if releases_handle { call_reply::released(replied, now) } else { then(replied, |next| next.undeliver(now)) }
    }

    fn job(&self) -> JobKey {
        JobKey::of(self.call.server, &self.call.tool, self.call.digest.get())
    }

    /// Whether a reply may go to its agent without a row when there can be none.
    fn may_go_unrecorded(&self, reply: &CallResult) -> bool {
        match reply {
            Ok(reply) => !self.needs_row(reply),
            Err(_) => true,
        }
    }

    fn waiting_caller(&self, caller: Option<oneshot::Sender<CallerReply>>) -> Arc<WaitingCaller> {
        let facts = UnrecordedCall {
            id: self.id,
            server: self.call.server,
            agent: self.call.agent,
            tool: Arc::clone(&self.call.tool),
            since: self.began,
        };
        Arc::new(WaitingCaller::new(facts, self.job(), caller))
    }

    /// Stores the row, however long the registry takes; false when the registry is closed.
    async fn record(&self, reply: Option<&CallResult>, waiting: &Arc<WaitingCaller>) -> bool {
        let lineage = lineage::of(&self.core, &self.call, &self.job()).await;
        let (core, mut home, mut failures) = (&self.core, self.in_flight.live.home.clone(), 0);
        loop {
            match core.ledger.admit(self.new_task(lineage, reply, &home)).await {
                Ok(_) => break,
                // The server's own list was faster, or it uses an id again: as in `connections/call_reply.rs`.
                Err(CommitError::Exists(other)) if other != self.id => {
                    call_reply::replaced(core, &self.connection, self.id, other).await;
                    let Some(next) = home.generation.checked_add(1) else { return false };
                    home.generation = next;
                }
                // It was recorded by an attempt whose outcome did not arrive.
                Err(CommitError::Exists(_) | CommitError::Conflict) => break,
                Err(CommitError::Registry(RegistryError::Closed)) => return false,
                Err(CommitError::Registry(error)) => {
                    failures += 1;
                    if failures == 1 {
                        tracing::error!(handle.id = %self.id, %error, "a call of an agent cannot be stored, trying again");
                        core.calls.unrecorded.add(waiting);
                        recording::refresh(core);
                    }
                    waiting.set_waiting(true);
                    core.pause(failures).await;
                    waiting.set_waiting(false);
                }
            }
        }
        core.intents.end(self.id);
        self.in_flight.set_recorded();
        if failures > 0 {
            core.calls.unrecorded.remove(self.id);
            recording::refresh(core);
        }
        true
    }

    /// The call is over, and its reply went back without a row.
    fn finish_unrecorded(&self) {
        self.core.calls.contexts.round_finished(self.id, None);
        self.core.calls.unrecorded.remove(self.id);
        self.forget();
        recording::refresh(&self.core);
    }
}

impl Drop for PendingCall {
    /// A call whose caller is dropped continues in a task of the supervisor, as [`HangUp`] says.
    fn drop(&mut self) {
        let Some(future) = self.reply.get_mut().take() else { return };
        // Without its future, so that dropping this one again does nothing.
        let abandoned = Self {
            core: Arc::clone(&self.core),
            connection: Arc::clone(&self.connection),
            in_flight: Arc::clone(&self.in_flight),
            lease: std::mem::replace(&mut self.lease, ConnectionLease::shared()),
            id: self.id,
            call: self.call.clone(),
            rules: self.rules,
            began: self.began,
            reply: Mutex::new(None),
        };
        self.core.supervisor.spawn("call", abandoned.abandoned(future));
    }
}
