//! The preview that stands for a result that is too large: its size, its first lines, and how to read the rest.
//!
//! It follows from the stored result and the hold alone, so that it reads the same in a held call, in `tasks/get`, in
//! `tasks/result` and in the task tools (statement 69). It shows at most half of what the limit allows. Pages of the rest
//! are `pages.rs`; what counts as too large is decided by the engine.

use std::collections::BTreeSet;

use domain::ids::HandleId;
use domain::policy::CountingPolicy;
use domain::ports::{MessagePart, TokenCounter};
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use domain::tokens::{Count, Family};
use serde_json::json;

use crate::gateway::conversion::meta::META_HELD;
use crate::gateway::conversion::{legacy_task, result_uri};
use crate::gateway::model_text::held;
use crate::gateway::model_text::held::ShortResult;
use crate::gateway::model_text::tool_definitions::RESULT;
use crate::gateway::request_context::RequestContext;
use crate::gateway::results::{cutting, hold_limit};
use crate::server::rpc_error::RequestError;
use crate::wire::raw_json::{JsonMembers, member, text_member};

/// The first version that knows links to resources in results.
const WITH_LINKS: &str = "2025-06-18";

/// How a result begins.
struct ResultBeginning {
    text: String,
    /// Characters of the text, with the end of the last line.
    chars: usize,
    /// Whether the text is all there is.
    is_all: bool,
    omitted: BTreeSet<&'static str>,
    /// Tokens of the whole result.
    tokens: u64,
}

/// The preview that stands for `whole`.
///
/// # Errors
/// When Taskwarden is stopping.
pub(crate) async fn of(
    context: &RequestContext,
    handle: &TaskHandle,
    whole: &Payload,
) -> Result<Payload, RequestError> {
    let state = &context.state;
    let family = cutting::family(context, handle);
    let counted = hold_limit::reason(handle).tokens();
    let limit = hold_limit::answer_tokens(state, handle);
    let CountingPolicy { short_lines: lines, short_tokens, .. } = state.policy.counting;
    // The other half of what is allowed is for the words around it.
    let most = limit.map_or(short_tokens, |limit| short_tokens.min(limit / 2));
    let result = whole.clone();
    let begin = move |scale: &dyn TokenCounter| beginning(scale, family, result.as_str(), lines, most, counted);
    let begins = cutting::run(state, handle.id, begin).await?;
    let omitted: Vec<&str> = begins.omitted.iter().copied().collect();
    let text = ShortResult {
        why: hold_limit::reason(handle),
        size: &size(handle, family, begins.tokens),
        begins: &begins.text,
        is_all: begins.is_all,
        way: &way_to_rest(context, handle.id, begins.chars),
        slice: hold_limit::page_tokens(state, handle),
        unseen: &omitted.join(", "),
        // A person who released it decided for good.
        is_by_limit: handle.is_sliced_by_limit(),
    };
    let mut content = vec![json!({"type": "text", "text": text.words()})];
    if knows_links(context) {
        let name = handle.tool.as_deref().map_or_else(|| "a result".to_owned(), |tool| format!("result of {tool}"));
        let uri = result_uri::uri(handle.id);
        content.push(json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": result_uri::PLAIN}));
    }
    let held = json!({
        "id": handle.id.to_string(),
        "tokens": begins.tokens,
        "exactness": handle.result_exactness(family).word(),
        "family": family.word(),
        "limit": limit,
    });
    let is_error = legacy_task::is_tool_error(&handle.view);
    Ok(Payload::new(json!({"content": content, "isError": is_error, "_meta": {META_HELD: held}}).to_string()))
}

/// Reads how a result begins, at most so many lines and tokens. The whole is counted unless it was before.
fn beginning(
    scale: &dyn TokenCounter,
    family: Family,
    result: &str,
    lines: usize,
    most: u64,
    counted: Option<u64>,
) -> ResultBeginning {
    let words = scale.words(result);
    let end = words.match_indices('\n').nth(lines.saturating_sub(1)).map_or(words.len(), |(at, _)| at + 1);
    let lines = words.get(..end).unwrap_or_default();
    // A cut is one character at least.
    let upto = if most > 0 { scale.cut(family, lines, most).bytes } else { 0 };
    let shown = words.get(..upto).unwrap_or_default();
    ResultBeginning {
        text: shown.strip_suffix('\n').unwrap_or(shown).to_owned(),
        chars: shown.chars().count(),
        is_all: shown.len() == words.len(),
        omitted: omitted(result),
        tokens: counted.unwrap_or_else(|| scale.count_part(family, MessagePart::Result(result)).cautious()),
    }
}

/// What pages of a result leave out, because they are text.
pub(crate) fn omitted(result: &str) -> BTreeSet<&'static str> {
    let content = member(result, "content").unwrap_or("[]");
    let kind = |block: &str| -> Option<&'static str> {
        match &*text_member(block, "type")? {
            "image" => Some("pictures"),
            "audio" => Some("sounds"),
            "resource" => member(block, "resource").and_then(|inside| member(inside, "blob")).map(|_| "bytes"),
            _ => None,
        }
    };
    let blocks = JsonMembers::of(content).into_iter().flatten().filter_map(|part| content.get(part.value));
    blocks.filter_map(kind).collect()
}

/// Whether the client knows links to resources in results.
fn knows_links(context: &RequestContext) -> bool {
    // Versions are dates.
    context.session().is_none_or(|session| session.version() >= WITH_LINKS)
}

/// How the rest is read, in words for a model.
fn way_to_rest(context: &RequestContext, id: HandleId, offset: usize) -> String {
    let resource = if knows_links(context) {
        format!("the resource below (from `?offset={offset}` on)")
    } else {
        format!("the resource {}?offset={offset}", result_uri::uri(id))
    };
    if context.has_task_tools() {
        let arguments = json!({"task": id.to_string(), "offset": offset});
        return format!("{RESULT} {arguments} or {resource}");
    }
    resource
}

/// Tokens of a result, in words.
fn size(handle: &TaskHandle, family: Family, tokens: u64) -> String {
    Count { tokens, exactness: handle.result_exactness(family) }.told(family)
}

/// Why the result of a task waits for a person, in words for a model; `None` when it does not.
pub(crate) fn why_held(context: &RequestContext, handle: &TaskHandle) -> Option<String> {
    if !handle.is_held() || !handle.view.is_terminal() {
        return None;
    }
    let why = hold_limit::reason(handle);
    let size = why.tokens().map(|tokens| size(handle, cutting::family(context, handle), tokens));
    Some(held::waits(why, &size.unwrap_or_default()))
}
