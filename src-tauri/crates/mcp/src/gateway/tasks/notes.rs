//! Texts of the gateway's about a task, as ordinary tool results: for clients that know no tasks.
//!
//! The sentences are `model_text/waiting.rs`; here they get the facts of their task and the shape of a result.

use domain::task::{TaskHandle, agent_view};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::meta::{META_BRINGS, META_SLICE, META_TASK};
use crate::gateway::conversion::{modern_task, result_dialect};
use crate::gateway::model_text::waiting;
use crate::gateway::model_text::waiting::{BackgroundState, BackgroundTask};
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::pages::ResultPage;
use crate::gateway::results::preview;
use crate::gateway::tasks::lookup;
use crate::server::RawResult;
use crate::server::rpc_error::RequestError;

/// A call that outlasts its client: the work goes on under a short handle. `since` is that of the answered call.
///
/// # Errors
/// When it cannot be written.
pub(crate) async fn still_running(
    context: &RequestContext,
    handle: &TaskHandle,
    since: Option<u64>,
) -> Result<Box<RawValue>, RequestError> {
    let words = background(context, handle, since, |task| task.text()).await;
    text(context, &words, Some(handle))
}

/// A result that is asked for before there is one.
///
/// # Errors
/// When it cannot be written.
pub(crate) async fn no_result_yet(
    context: &RequestContext,
    handle: &TaskHandle,
) -> Result<Box<RawValue>, RequestError> {
    let words = background(context, handle, None, |task| task.no_result_yet()).await;
    text(context, &words, Some(handle))
}

async fn background(
    context: &RequestContext,
    handle: &TaskHandle,
    since: Option<u64>,
    text: impl FnOnce(&BackgroundTask<'_>) -> String,
) -> String {
    let now = context.state.clock.now();
    let (task, server) = (lookup::short_id(context, handle.id).await, context.state.server_name(handle.server));
    let ran = handle.worked(now);
    let held = preview::why_held(context, handle);
    let message = modern_task::message(handle, &agent_view(handle, now));
    let message = message.as_deref();
    let progress = handle.progress.as_ref();
    let of_task = handle.view.task().and_then(|task| task.message.as_deref());
    let of_progress = progress.and_then(|progress| progress.message.as_deref());
    let is_servers = message == of_task || message == of_progress;
    let (said, ours) = if is_servers { (message, None) } else { (None, message) };
    let state = match (held.as_deref(), ours) {
        (Some(why), _) => BackgroundState::Held(why),
        (None, Some(why)) if handle.view.is_gated() => BackgroundState::Unsent(why),
        (None, ours) => BackgroundState::Running { ours, progress, said },
    };
    text(&BackgroundTask {
        task: &task,
        tool: handle.tool.as_deref(),
        server: &server,
        ran,
        usual: handle.usual,
        state,
        since: context.has_task_tools().then(|| waiting::next_since(ran, since)),
    })
}

/// A page of a result, and where the next one begins.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn page(
    context: &RequestContext,
    handle: &TaskHandle,
    page: ResultPage,
) -> Result<Box<RawValue>, RequestError> {
    let ResultPage { mut text, offset, next, of } = page;
    if let Some(next) = next {
        text.push_str(&format!("\n[{next} of {of} characters; continue with offset {next}]"));
    }
    let place = json!({META_SLICE: {"offset": offset, "next": next, "of": of}});
    result(context, &text, false, Some(handle), place)
}

/// An answer in words that brings nothing of a result.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn note(
    context: &RequestContext,
    words: &str,
    task: Option<&TaskHandle>,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let note = text(context, words, task)?;
    usage.add_note(&note);
    Ok(RawResult::Raw(note))
}

/// As [`note`], for a mistake of the model.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn refusal(
    context: &RequestContext,
    words: &str,
    task: Option<&TaskHandle>,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let note = result(context, words, true, task, json!({META_BRINGS: false}))?;
    usage.add_note(&note);
    Ok(RawResult::Raw(note))
}

/// A text that brings nothing of a result, as a tool result.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn text(
    context: &RequestContext,
    words: &str,
    task: Option<&TaskHandle>,
) -> Result<Box<RawValue>, RequestError> {
    result(context, words, false, task, json!({META_BRINGS: false}))
}

fn result(
    context: &RequestContext,
    words: &str,
    is_error: bool,
    task: Option<&TaskHandle>,
    mut meta: Value,
) -> Result<Box<RawValue>, RequestError> {
    if let (Some(task), Some(meta)) = (task, meta.as_object_mut()) {
        meta.insert(META_TASK.to_owned(), json!({"id": task.id.to_string()}));
    }
    let result = json!({"content": [{"type": "text", "text": words}], "isError": is_error, "_meta": meta});
    result_dialect::own(context, &result)
}
