//! Holds a call that has a task until there is something to answer: its end, a handle, or a question.
//!
//! From here on only the handle is watched. A client that takes tasks gets one as soon as there is one, or when a plain
//! call outlasts `promote_after`; any other is held with progress, and shortly before its program gives up
//! (`clients/call_timeout.rs`) it gets an ordinary result that names the task. A handle leaves only after it is recorded
//! as given. When the client goes first, the engine is told how: whether the work is cancelled is the engine's decision.

use std::sync::Arc;
use std::time::Duration;

use domain::ids::HandleId;
use domain::task::{AgentView, TaskHandle, agent_view};
use engine::HangUp;
use tokio::time::Instant;

use crate::gateway::calls::progress::ProgressSender;
use crate::gateway::clients::call_timeout::WaitingProgram;
use crate::gateway::clients::usage::UsageReport;
use crate::gateway::engine_errors;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::{earlier_call, outcome};
use crate::gateway::servers::names::TargetTool;
use crate::gateway::state::GatewayState;
use crate::gateway::tasks::{modern_elicitation, modern_tasks, notes};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{CancelReason, RawResult, ResponseStream};

/// A call to hold.
pub(crate) struct HeldCall {
    id: HandleId,
    limit: HoldLimit,
    /// `tasks_wait`: the task has its handle already, so giving up says nothing about the task.
    is_wait: bool,
    /// What `tasks_wait` was called with as `since`.
    since: Option<u64>,
    /// It repeats a call whose reply was not delivered.
    is_repeat: bool,
}

impl HeldCall {
    pub(crate) const fn of(id: HandleId, limit: HoldLimit) -> Self {
        Self { id, limit, is_wait: false, since: None, is_repeat: false }
    }

    /// A call that joined the task of an earlier one.
    pub(crate) const fn of_repeat(id: HandleId, limit: HoldLimit) -> Self {
        Self { is_repeat: true, ..Self::of(id, limit) }
    }

    /// A call of `tasks_wait`.
    pub(crate) const fn of_wait(id: HandleId, until: Instant, since: Option<u64>) -> Self {
        Self { id, limit: HoldLimit::AnswerAt(until), is_wait: true, since, is_repeat: false }
    }
}

/// Until when a call is held, and what happens then.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HoldLimit {
    /// The client takes tasks: from then on the call is one.
    PromoteAt(Instant),
    /// The client does not: it gets an ordinary result that names the task.
    AnswerAt(Instant),
}

impl HoldLimit {
    /// The limit for a call of this client that began at `begun`.
    pub(crate) fn of(context: &RequestContext, target: &TargetTool, program: &WaitingProgram, begun: Instant) -> Self {
        let policy = &context.state.policy;
        if context.accepts_tasks() {
            let rules = context.state.engine.agents().rules();
            let after = rules.resolve(context.agent, target.server, &target.tool).promote_after;
            return Self::PromoteAt(begun + after.unwrap_or(policy.promote_after));
        }
        // Without the task tools the agent could do nothing with a handle: its call is held as long as possible.
        let limit = if context.has_task_tools() {
            program.call_limit(&policy.gateway)
        } else {
            policy.gateway.call_limit_ceiling
        };
        Self::AnswerAt(begun + limit)
    }

    /// The limit for a call that the bridge makes again for a client that has been waiting for `age`. If its program
    /// waits less long than that, it gave the first call up, and this is a new one.
    pub(crate) fn joined(self, now: Instant, age: Duration) -> Self {
        match self {
            Self::AnswerAt(at) => Self::AnswerAt(at.checked_sub(age).filter(|at| *at > now).unwrap_or(at)),
            Self::PromoteAt(_) => self,
        }
    }

    const fn at(self) -> Instant {
        match self {
            Self::PromoteAt(at) | Self::AnswerAt(at) => at,
        }
    }
}

/// Holds the call for as long as its client is there: a reply that nobody reads is not a delivery, and the same call,
/// made again, joins the task (ruling 24).
///
/// # Errors
/// The error it ended with, raw, or the one answer when it was taken from its agent.
pub(crate) async fn hold(
    context: &RequestContext,
    call: HeldCall,
    progress: &mut ProgressSender<'_>,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    tokio::select! {
        biased;
        answered = until_answered(context, call, progress, stream, usage) => answered,
        // Where closing the stream cancels, the listener says so.
        () = stream.gone(), if !stream.closing_cancels() => Err(RequestError::new(RequestErrorKind::Internal, "the client hung up")),
    }
}

async fn until_answered(
    context: &RequestContext,
    call: HeldCall,
    progress: &mut ProgressSender<'_>,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let state = &context.state;
    progress.hold();
    let give = async || state.engine.give(call.id).await.map_err(|error| engine_errors::fault(&error));
    let mut watch = state.watch(call.id).await?.ok_or_else(RequestError::unknown_task)?;
    match call.is_wait {
        true => usage.set_task(&watch.now()),
        false => usage.set_call_task(&watch.now()),
    }
    // The reply was ready before this call came: it is the reply of an earlier call, and says so.
    let earlier = Some(watch.now()).filter(|handle| call.is_repeat && handle.reply_ready_at().is_some());
    let mut guard =
        HangUpGuard { state: Arc::clone(state), id: (!call.is_wait).then_some(call.id), stream: stream.clone() };
    loop {
        let handle = watch.now();
        let sight = agent_view(&handle, state.clock.now());
        if earlier.is_none() && becomes_task(call.limit, &handle, &sight) {
            let given = if handle.given.is_some() { handle } else { give().await? };
            guard.deliver();
            let task = modern_tasks::created(context, &given).await?;
            usage.add_shown_task(&given, &task, false);
            return Ok(RawResult::Raw(task));
        }
        match &sight {
            AgentView::Completed | AgentView::Failed | AgentView::Cancelled | AgentView::Gone => {
                let end = outcome::of_call(context, &handle, &sight).await?;
                let end = match &earlier {
                    Some(earlier) => earlier_call::name_call(end, earlier.created),
                    None => end,
                };
                progress.flush(Some(&handle), stream).await;
                if !stream.is_gone() {
                    guard.disarm();
                    state.engine.delivered(call.id);
                }
                usage.add_end(&end);
                return outcome::reply(context, end).map(RawResult::Text);
            }
            AgentView::InputRequired { keys } => {
                let asking = modern_elicitation::on_call(context, &handle, keys, stream);
                tokio::pin!(asking);
                // It ends by itself when somebody else answers: mere progress must not take the question off the screen.
                loop {
                    tokio::select! {
                        asked = &mut asking => match asked? {
                            Some(result) => {
                                guard.disarm();
                                return Ok(RawResult::Raw(result));
                            }
                            None => break,
                        },
                        () = progress.send_next(Some(&handle), stream) => {}
                        () = tokio::time::sleep_until(call.limit.at()) => break,
                    }
                }
            }
            AgentView::Working { message } => {
                progress.send_progress_of(&handle, message.as_deref(), stream).await;
                tokio::select! {
                    _ = watch.changed() => {}
                    () = progress.send_next(Some(&handle), stream) => {}
                    () = tokio::time::sleep_until(call.limit.at()) => {}
                }
            }
        }
        if let HoldLimit::AnswerAt(at) = call.limit
            && at <= Instant::now()
            && !agent_view(&watch.now(), state.clock.now()).is_terminal()
        {
            let given = give().await?;
            guard.deliver();
            let note = notes::still_running(context, &given, call.since).await?;
            if call.is_wait {
                usage.add_poll(&given, &note);
            } else {
                usage.add_shown_task(&given, &note, false);
            }
            return Ok(RawResult::Raw(note));
        }
    }
}

/// Whether the client gets the call as a task now: the server made one, a plain call has lasted long enough, or the call
/// waits until a person ends a pause.
fn becomes_task(limit: HoldLimit, handle: &TaskHandle, sight: &AgentView) -> bool {
    let HoldLimit::PromoteAt(at) = limit else { return false };
    let has_lasted = at <= Instant::now() && !sight.is_terminal();
    *sight != AgentView::Gone && (handle.view.task().is_some() || handle.view.is_gated() || has_lasted)
}

/// Tells the engine how the client went, if it goes before its answer.
struct HangUpGuard {
    state: Arc<GatewayState>,
    id: Option<HandleId>,
    stream: ResponseStream,
}

impl HangUpGuard {
    const fn disarm(&mut self) {
        self.id = None;
    }

    /// The reply leaves now. While the client is there it counts as delivered: the same call again is a new one.
    fn deliver(&mut self) {
        if !self.stream.is_gone()
            && let Some(id) = self.id.take()
        {
            self.state.engine.delivered(id);
        }
    }
}

impl Drop for HangUpGuard {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let how = match self.stream.given_up() {
            Some(CancelReason::Cancelled) => HangUp::Cancel,
            Some(CancelReason::TimedOut) | None => HangUp::Keep,
        };
        let state = Arc::clone(&self.state);
        self.state.scope.spawn("hung up call", async move { state.engine.hung_up(id, how).await });
    }
}
