//! `tasks/*` of 2025-11-25: get, result, list, cancel (protocol.md §1.4, §7.3).
//!
//! Served from memory and registry, never by a server. A cancelled task must read `cancelled` at once in this dialect: the
//! agent's view is declared so, while the server's own state is still followed.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::task::payload::Payload;
use domain::task::{AgentView, agent_view};
use engine::HandleWatch;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::legacy_task::tied;
use crate::gateway::conversion::{legacy_task, raw_json};
use crate::gateway::engine_errors;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::outcome;
use crate::gateway::tasks::elicitation::{ElicitationOutcome, ElicitationStream};
use crate::gateway::tasks::{elicitation, legacy_view, lookup, session_notifier};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RequestParams, ResponseStream, Session};

/// `tasks/get`. From here on the session is notified about the task, too.
///
/// # Errors
/// When the task is unknown to this agent.
pub(crate) async fn get(
    context: &RequestContext,
    params: &RequestParams,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let watch = named(context, params).await?;
    let handle = watch.now();
    let task = legacy_view::polled(context, &handle, Some(usage.poll_interval(&handle))).await?;
    usage.set_task(&handle);
    usage.add_poll(&handle, &task.raw);
    if !task.is_over() {
        session_notifier::start(context, watch, None);
    }
    Ok(task.raw)
}

/// `tasks/result`: waits for the end, and asks the questions of the task on its stream until then.
///
/// # Errors
/// When the task is unknown to this agent, or the call's own error, raw.
pub(crate) async fn result(
    context: &RequestContext,
    session: &Arc<Session>,
    params: &RequestParams,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<Payload, RequestError> {
    let mut watch = named(context, params).await?;
    loop {
        let released = context.state.elicitations.released();
        let handle = watch.now();
        let sight = agent_view(&handle, context.state.clock.now());
        if sight.is_terminal() || sight == AgentView::Gone {
            usage.set_task(&handle);
            let end = outcome::of_task(context, &handle, &sight).await?;
            usage.add_end(&end);
            return Ok(Payload::new(tied(outcome::reply(context, end)?.as_str(), handle.id)));
        }
        match elicitation::ask_next(&context.state, session, ElicitationStream::Call(stream), &handle).await? {
            ElicitationOutcome::Settled => continue,
            // Nobody waits for the result here any more: another stream may ask.
            ElicitationOutcome::StreamLost => {
                return Err(RequestError::new(RequestErrorKind::Internal, "the client's stream is gone"));
            }
            ElicitationOutcome::Nothing => {}
        }
        tokio::select! {
            () = legacy_view::changed(&mut watch) => {}
            () = released => {}
        }
    }
}

/// `tasks/list`: the agent's tasks at this endpoint, newest first.
///
/// # Errors
/// When the cursor is not one of this list.
pub(crate) async fn list(
    context: &RequestContext,
    params: &RequestParams,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let unknown = || RequestError::params("this `cursor` is not known here");
    let mut after = match params.said("cursor") {
        None => None,
        Some(_) => {
            let id = params.text("cursor").and_then(|id| id.parse::<HandleId>().ok()).ok_or_else(unknown)?;
            lookup::task(context, &id.to_string()).await.map_err(|_| unknown())?;
            Some(id)
        }
    };
    let is_first = after.is_none();
    let most = context.state.policy.gateway.tasks_per_page;
    let now = context.state.clock.now();
    let mut tasks = Vec::new();
    let more = loop {
        let page = context.state.registry.agent_tasks(context.agent, after, most).await;
        let page = page.map_err(|failed| engine_errors::unreadable(&failed))?;
        let full = page.len() >= most as usize;
        for handle in page {
            after = Some(handle.id);
            if context.server.is_none_or(|server| server == handle.server)
                && let Some(task) = legacy_task::legacy_task(&handle, None, None, now, &context.state.policy)
            {
                tasks.push(task.raw.get().to_owned());
            }
            if tasks.len() >= most as usize {
                break;
            }
        }
        // One server's tasks may be few among many.
        if !full || tasks.len() >= most as usize {
            break full;
        }
    };
    let next = after.filter(|_| more).map(|id| format!(",\"nextCursor\":{}", Value::from(id.to_string())));
    let list = format!("{{\"tasks\":[{}]{}}}", tasks.join(","), next.unwrap_or_default());
    let answer = Payload::new(list.as_str());
    // A list of several pages is one poll.
    if is_first {
        usage.add_list_poll(&list, answer);
    } else {
        usage.add_list_page(answer);
    }
    raw_json::raw(list).ok_or_else(unwritten)
}

/// `tasks/cancel`.
///
/// # Errors
/// When the task is unknown to this agent, or over.
pub(crate) async fn cancel(
    context: &RequestContext,
    params: &RequestParams,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let watch = named(context, params).await?;
    let handle = watch.now();
    match agent_view(&handle, context.state.clock.now()) {
        AgentView::Working { .. } | AgentView::InputRequired { .. } => {}
        AgentView::Completed | AgentView::Failed | AgentView::Cancelled => {
            return Err(RequestError::params("the task is over already"));
        }
        AgentView::Gone => return Err(RequestError::unknown_task()),
    }
    context
        .state
        .engine
        .agent_told_cancelled(handle.id, context.agent)
        .await
        .map_err(|failed| engine_errors::fault(&failed))?;
    let handle = watch.now();
    let task = legacy_view::task(context, &handle).await?;
    usage.set_task(&handle);
    usage.add_shown_task(&handle, &task.raw, false);
    Ok(task.raw)
}

/// The task that the params name, if its handle was given to this agent.
async fn named(context: &RequestContext, params: &RequestParams) -> Result<HandleWatch, RequestError> {
    let handle = lookup::named(context, params).await?;
    if handle.given.is_none() {
        return Err(RequestError::unknown_task());
    }
    context.state.watch(handle.id).await?.ok_or_else(RequestError::unknown_task)
}

fn unwritten() -> RequestError {
    RequestError::new(RequestErrorKind::Internal, "the result could not be written")
}
