//! The short result that stands for one that is too large: its size, how it begins, and where the rest is.
//!
//! It follows from the stored result and the hold alone, so that it reads the same in a held call, in `tasks/get`, in
//! `tasks/result` and in the task tools (statement 69). Words of ours and lines of the server are told apart by the
//! words around them. What it shows of the result is at most half of what its limit allows. The rest is read by
//! `slices.rs`; what counts as too large is the engine's matter.

use std::collections::BTreeSet;

use domain::task::{HoldReason, ResultHold, TaskHandle};
use domain::ids::HandleId;
use domain::task::payload::Payload;
use domain::policy::CountingPolicy;
use domain::ports::{MessagePart, TokenCounter};
use domain::tokens::{Count, Family};
use serde_json::json;

use super::guest::Guest;
use super::model_text::held::{self, ShortResult};
use super::own_tools::RESULT;
use super::{Gate, bridge, scale, slices};
use crate::wire::raw_json::{JsonMembers, member, text_member};
use crate::server::rpc_error::RequestError;

/// The key under which a short result tells what it stands for.
pub(super) const META_HELD: &str = "io.taskwarden/held";
/// The first version that knows links to resources in results.
const WITH_LINKS: &str = "2025-06-18";

/// How a result begins.
struct Beginning {
    /// Its first lines.
    text: String,
    /// Characters of them, with the end of the last line.
    chars: usize,
    /// Whether that is all of it.
    is_all: bool,
    /// What of the result no slice shows.
    unseen: BTreeSet<&'static str>,
    /// Tokens of the whole, where nobody counted them before.
    tokens: Option<u64>,
}

/// The short result that stands for `whole`.
///
/// # Errors
/// When Taskwarden is stopping.
pub(super) async fn of(gate: &Gate, guest: &Guest, handle: &TaskHandle, whole: &Payload) -> Result<Payload, RequestError> {
    let family = scale::family(gate, guest, handle);
    let counted = counted(handle);
    let CountingPolicy { short_lines: lines, short_tokens, .. } = gate.policy.counting;
    // The rest of what is allowed is for the words around it.
    let most = (lines, limit(gate, handle).map_or(short_tokens, |limit| short_tokens.min(limit / 2)));
    let result = whole.clone();
    let begins =
        scale::beside(gate, handle.id, move |scale| begins(scale, family, result.as_str(), most, counted.is_none()));
    let begins = begins.await?;
    let tokens = counted.or(begins.tokens).unwrap_or_default();
    let text = text(gate, guest, handle, &begins, (family, tokens));
    let is_error = bridge::is_tool_error(&handle.view);
    let mut content = vec![json!({"type": "text", "text": text})];
    if has_links(guest) {
        let name = handle.tool.as_deref().map_or_else(|| "a result".to_owned(), |tool| format!("result of {tool}"));
        let uri = slices::uri(handle.id);
        content.push(json!({"type": "resource_link", "uri": uri, "name": name, "mimeType": slices::PLAIN}));
    }
    let held = json!({
        "id": handle.id.to_string(),
        "tokens": tokens,
        "exactness": handle.result_exactness(family).word(),
        "family": family.word(),
        "limit": limit(gate, handle),
    });
    Ok(Payload::new(json!({"content": content, "isError": is_error, "_meta": {META_HELD: held}}).to_string()))
}

/// Reads how a result begins: so many lines, and so many tokens of them, at most.
fn begins(scale: &dyn TokenCounter, family: Family, result: &str, (lines, tokens): (usize, u64), counts: bool) -> Beginning {
    let words = scale.words(result);
    let lines = words.match_indices('\n').nth(lines.saturating_sub(1));
    let lines = words.get(..lines.map_or(words.len(), |(at, _)| at + 1)).unwrap_or_default();
    // A cut is a character at least.
    let upto = if tokens > 0 { scale.cut(family, lines, tokens).bytes } else { 0 };
    let shown = words.get(..upto).unwrap_or_default();
    Beginning {
        text: shown.strip_suffix('\n').unwrap_or(shown).to_owned(),
        chars: shown.chars().count(),
        is_all: shown.len() == words.len(),
        unseen: unseen(result),
        tokens: counts.then(|| scale.count_part(family, MessagePart::Result(result)).cautious()),
    }
}

/// What of a result its words leave out: slices are text.
pub(super) fn unseen(result: &str) -> BTreeSet<&'static str> {
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

/// Why a result is held.
pub(super) fn why(handle: &TaskHandle) -> HoldReason {
    handle.hold.as_ref().map_or(HoldReason::Review, |ResultHold { why, .. }| *why)
}

/// Tokens of the result, as they were counted when it was held.
fn counted(handle: &TaskHandle) -> Option<u64> {
    why(handle).tokens()
}

/// What one answer may bring of a result that is held for its size.
pub(super) fn limit(gate: &Gate, handle: &TaskHandle) -> Option<u64> {
    let slice_percent = gate.policy.counting.slice_percent;
    match why(handle) {
        HoldReason::TooLarge { limit, .. } => Some(limit),
        HoldReason::DoesNotFit { free, .. } => Some(free),
        // The program counts in its own way, and puts JSON around it.
        HoldReason::WouldBeCut { shown, .. } => Some(shown.saturating_mul(slice_percent) / 100),
        HoldReason::Review => None,
    }
}

/// Whether the client knows links to resources in results.
fn has_links(guest: &Guest) -> bool {
    // Versions are dates.
    guest.session().is_none_or(|session| session.version() >= WITH_LINKS)
}

fn text(
    gate: &Gate,
    guest: &Guest,
    handle: &TaskHandle,
    begins: &Beginning,
    (family, tokens): (Family, u64),
) -> String {
    let unseen: Vec<&str> = begins.unseen.iter().copied().collect();
    let short = ShortResult {
        why: why(handle),
        size: &size(handle, family, tokens),
        begins: &begins.text,
        is_all: begins.is_all,
        way: &way(guest, handle.id, begins.chars),
        slice: slices::most(gate, handle),
        unseen: &unseen.join(", "),
        // Who let it come decided for good.
        is_by_limit: handle.is_sliced_by_limit(),
    };
    short.words()
}

/// How the rest is read.
fn way(guest: &Guest, id: HandleId, offset: usize) -> String {
    let resource = if has_links(guest) {
        format!("the resource below (from `?offset={offset}` on)")
    } else {
        format!("the resource {}?offset={offset}", slices::uri(id))
    };
    if guest.wants_own_tools() {
        let arguments = json!({"task": id.to_string(), "offset": offset});
        return format!("{RESULT} {arguments} or {resource}");
    }
    resource
}

/// So many tokens of a result, in words.
fn size(handle: &TaskHandle, family: Family, tokens: u64) -> String {
    Count { tokens, exactness: handle.result_exactness(family) }.told(family)
}

/// Why the result of a task waits for a person, in words for a model; `None` when it does not.
pub(super) fn waits(gate: &Gate, guest: &Guest, handle: &TaskHandle) -> Option<String> {
    if !handle.is_held() || !handle.view.is_terminal() {
        return None;
    }
    let why = why(handle);
    let size = why.tokens().map(|tokens| size(handle, scale::family(gate, guest, handle), tokens));
    Some(held::waits(why, &size.unwrap_or_default()))
}
