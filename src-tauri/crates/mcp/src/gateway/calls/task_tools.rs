//! Calls of the four task tools, for clients that know no tasks (ruling 23): wait, read, list, cancel.
//!
//! Offered by token and by what the client declares. A task is found by its handle alone, never by equal arguments. The
//! four names are ours: a server's tool of such a name has a prefix (`servers/offered_names.rs`). The definitions are
//! `model_text/tool_definitions.rs`.

use std::time::Duration;

use domain::task::payload::Payload;
use domain::task::{AgentView, ResultForm, TaskHandle, agent_view};
use engine::Passed;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::gateway::calls::held_call::{HeldCall, hold};
use crate::gateway::calls::progress::ProgressSender;
use crate::gateway::clients::call_timeout::{TimeoutWatch, WaitingProgram};
use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::modern_task;
use crate::gateway::engine_errors;
use crate::gateway::model_text::tool_definitions::{LIST, RESULT, WAIT};
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::outcome::LostTask;
use crate::gateway::results::pages::PageRange;
use crate::gateway::results::{cutting, outcome, pages, preview};
use crate::gateway::tasks::{lookup, modern_tasks, notes};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, RequestParams, ResponseStream};

/// Answers the call of a task tool.
///
/// # Errors
/// The error that a task ended with, raw, or the gateway's.
pub(crate) async fn call(
    context: &RequestContext,
    name: &str,
    params: &RequestParams,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let arguments = match params.value("arguments") {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    if name == LIST {
        return list(context, usage).await;
    }
    let Some(task) = arguments.get("task").and_then(Value::as_str) else {
        return notes::refusal(context, "`task` must be the handle of a task.", None, usage);
    };
    let handle = match lookup::by_words(context, task).await {
        Ok(handle) => handle,
        Err(fault) if fault.kind == RequestErrorKind::InvalidParams => {
            return match lookup::why_none(context, task).await {
                LostTask::Decided(words) => notes::note(context, &words, None, usage),
                LostTask::Failed(words) => notes::refusal(context, &words, None, usage),
            };
        }
        Err(fault) => return Err(fault),
    };
    usage.set_task(&handle);
    match name {
        WAIT => {
            let number = |name: &str| arguments.get(name).and_then(pages::whole_number);
            let program = WaitingProgram::of(context, params, stream);
            let most = program.wait_limit(&context.state.policy.gateway);
            let wait = number("seconds").map_or(most, |seconds| Duration::from_secs(seconds).min(most));
            let begun = Instant::now();
            let call = HeldCall::of_wait(handle.id, begun + wait, number("since"));
            let mut progress = ProgressSender::new(context, handle.server, Some(params), begun);
            let _timeout_watch = TimeoutWatch::new(context, params, stream, begun);
            hold(context, call, &mut progress, stream, usage).await
        }
        RESULT => result(context, &handle, &arguments, usage).await,
        _ => {
            modern_tasks::request_cancel(context, handle.id).await?;
            let text = match agent_view(&handle, context.state.clock.now()) {
                sight if sight.is_terminal() => "The task is over already.",
                _ => "The server was asked to stop. It may finish all the same; `tasks_wait` tells how it ends.",
            };
            notes::note(context, text, Some(&handle), usage)
        }
    }
}

async fn result(
    context: &RequestContext,
    handle: &TaskHandle,
    arguments: &Map<String, Value>,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let sight = agent_view(handle, context.state.clock.now());
    if !sight.is_terminal() {
        let note = notes::no_result_yet(context, handle).await?;
        usage.add_poll(handle, &note);
        return Ok(RawResult::Raw(note));
    }
    let (offset, limit) = match range(arguments) {
        Ok(range) => range,
        Err(wrong) => return notes::refusal(context, &wrong, Some(handle), usage),
    };
    let page_bytes = context.state.policy.gateway.result_page_bytes;
    if let Some((text, form)) = outcome::readable(context, handle).await? {
        let in_pages = match form {
            ResultForm::Slices => true,
            ResultForm::Whole | ResultForm::Trimmed { .. } => {
                let is_long = text.as_str().len() > page_bytes;
                // Pages are text: pictures and sounds come only with the whole.
                offset.is_some() || limit.is_some() || (is_long && preview::omitted(text.as_str()).is_empty())
            }
        };
        if in_pages {
            let range = PageRange { offset: offset.unwrap_or(0), tokens: None, chars: limit, bytes: Some(page_bytes) };
            let page = cutting::page(context, handle, text, range).await?;
            let note = notes::page(context, handle, page)?;
            usage.add(Passed::Slice(Payload::new(note.get())));
            return Ok(RawResult::Raw(note));
        }
    }
    if let (AgentView::Failed | AgentView::Completed, Some(text)) = (&sight, outcome::withheld(handle)) {
        return notes::note(context, &text, Some(handle), usage);
    }
    let end = outcome::of_call(context, handle, &sight).await?;
    usage.add_end(&end);
    outcome::reply(context, end).map(RawResult::Text)
}

/// Where to begin in a result, and how many characters of it to return.
///
/// # Errors
/// In words for a model: the beginning once more would not be what it asked for.
fn range(arguments: &Map<String, Value>) -> Result<(Option<usize>, Option<usize>), String> {
    if let Some(unknown) = arguments.keys().find(|name| !matches!(name.as_str(), "task" | "offset" | "limit")) {
        return Err(format!("`{unknown}` is not known here; `{RESULT}` takes `task`, `offset` and `limit`."));
    }
    let number = |name: &str| match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(said) => match pages::whole_number(said) {
            Some(number) => Ok(Some(usize::try_from(number).unwrap_or(usize::MAX))),
            None => Err(format!("`{name}` {}.", pages::NOT_A_NUMBER)),
        },
    };
    Ok((number("offset")?, number("limit")?))
}

async fn list(context: &RequestContext, usage: &mut UsageReport<'_>) -> Result<RawResult, RequestError> {
    let state = &context.state;
    let tasks = state.registry.agent_tasks(context.agent, None, state.policy.gateway.tasks_per_page).await;
    let servers = state.engine.servers();
    let now = state.clock.now();
    let (mut lines, mut shown) = (Vec::new(), Vec::new());
    for task in tasks.map_err(|error| engine_errors::unreadable(&error))? {
        let sight = agent_view(&task, now);
        let is_here = context.server.is_none_or(|server| server == task.server);
        let Some(status) = modern_task::status(&sight).filter(|_| is_here) else { continue };
        let server = servers.iter().find(|(id, _)| *id == task.server).map_or("?", |(_, name)| name);
        let tool = task.tool.as_deref().unwrap_or("?");
        let age = task.age(now).as_secs();
        let message = match &sight {
            AgentView::Working { message: Some(message) } => format!(" ({message})"),
            _ => String::new(),
        };
        let short = lookup::short_id(context, task.id).await;
        lines.push(format!("{short}  {status}{message}  {server} {tool}  {age} s ago"));
        shown.push((task.id, status, message));
    }
    let text = if lines.is_empty() { "There are no tasks of yours.".to_owned() } else { lines.join("\n") };
    let list = notes::text(context, &text, None)?;
    usage.add_list_poll(shown, Payload::new(list.get()));
    Ok(RawResult::Raw(list))
}
