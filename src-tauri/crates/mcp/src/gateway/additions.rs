//! What the gateway adds to the lists of the one server behind a door: the task tools, the template of results, and that
//! any tool may be called as a task. What it leaves out: output schemas, for clients that know no tasks.
//!
//! A page goes through raw otherwise; what is added stands behind the last of it. A server without resources is not asked for them:
//! results are resources of ours, so that agents may ask at every door. Lists of all servers are `merge.rs`.

use std::borrow::Cow;
use std::sync::Arc;

use domain::ids::ServerId;
use serde_json::value::RawValue;

use super::budget::{self, Tap};
use super::guest::Guest;
use super::merge::Page;
use super::reach::reach;
use super::route::ListKind;
use super::{Gate, forward, lists, own_tools, service, slices};
use crate::wire::raw_json::{JsonMembers, member, text_member, with_members};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Request, ResponseStream};

/// What a tool promises of its structured content.
const SCHEMA: &str = "outputSchema";
/// Tools of one server that are remembered. As the engine's own list of them.
const TOOLS_MAX: usize = 10_000;

/// The tools of one server, and ours behind the last of them.
///
/// # Errors
/// The server's own, raw.
pub(super) async fn tools(
    gate: &Arc<Gate>,
    guest: &Guest,
    server: ServerId,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let is_first = request.params.said("cursor").is_none();
    let page = forward::request(gate, guest, request, seat, tap).await?;
    gate.lists.note_tools(server, page.get(), is_first, TOOLS_MAX);
    let page = without_schemas(guest, with_support(guest, page));
    let is_last = is_last(&page);
    let taken = |name: &str| gate.lists.tool(server, name).is_some();
    let own = if is_last { own_tools::definitions(guest, &taken) } else { Vec::new() };
    let list = member(page.get(), "tools").unwrap_or("[]");
    tap.shows(budget::Page { list, own: &own, is_first, is_last }.passed());
    Ok(appended(page, ListKind::Tools, &own))
}

fn is_last(page: &RawValue) -> bool {
    text_member(page.get(), "nextCursor").is_none_or(|next| next.is_empty())
}

/// The resources or templates of one server. A server that has none answers nothing: results are resources of ours, so
/// that its agents may ask.
///
/// # Errors
/// The server's own, raw.
pub(super) async fn resources(
    gate: &Arc<Gate>,
    guest: &Guest,
    server: ServerId,
    kind: ListKind,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let ours = match kind {
        ListKind::Templates => vec![service::result(&slices::template())?],
        ListKind::Tools | ListKind::Prompts | ListKind::Resources => Vec::new(),
    };
    let is_first = request.params.said("cursor").is_none();
    if reach(gate, guest, server).await?.may_list(kind) {
        match forward::request(gate, guest, request, seat, tap).await {
            Ok(page) if is_last(&page) => return Ok(appended(page, kind, &ours)),
            Ok(page) => return Ok(page),
            // Some servers have resources and no templates.
            Err(fault) if kind == ListKind::Templates && is_first && fault.kind == RequestErrorKind::MethodNotFound => {}
            Err(fault) => return Err(fault),
        }
    }
    let mut page = Page::empty(usize::MAX);
    ours.iter().for_each(|entry| page.push(entry.get()));
    page.written(guest, kind, &[])
}

/// A page with more entries at its end.
fn appended(page: Box<RawValue>, kind: ListKind, more: &[Box<RawValue>]) -> Box<RawValue> {
    let text = page.get();
    let Some(list) = member(text, kind.member()).filter(|_| !more.is_empty()) else { return page };
    let Some(open) = list.trim_end().strip_suffix(']') else { return page };
    let more: Vec<&str> = more.iter().map(|entry| entry.get()).collect();
    let comma = if JsonMembers::of(list).is_some_and(|mut inside| inside.next().is_some()) { "," } else { "" };
    let list = format!("{open}{comma}{}]", more.join(","));
    RawValue::from_string(with_members(text, &[(kind.member(), list.into())], &[])).unwrap_or(page)
}

/// Sessions of 2025-11-25 are told that any tool may be called as a task, where its server says nothing: the gateway
/// makes one of every call (protocol.md §7.3).
pub(super) fn with_support(guest: &Guest, page: Box<RawValue>) -> Box<RawValue> {
    if !guest.session().is_some_and(|session| session.has_tasks()) {
        return page;
    }
    let told: Vec<Cow<'_, str>> = lists::entries(page.get(), ListKind::Tools).map(supported).collect();
    if told.iter().all(|entry| matches!(entry, Cow::Borrowed(_))) {
        return page;
    }
    let tools = format!("[{}]", told.join(","));
    RawValue::from_string(with_members(page.get(), &[("tools", tools.into())], &[])).unwrap_or(page)
}

/// The page without `outputSchema` for clients that know no tasks. For a call that goes on they get a result of ours, which
/// has no structured content: a client that knows the schema takes that for an error, or for a broken server, and calls
/// again (decision 0020). Structured content of real results goes through all the same.
fn without_schemas(guest: &Guest, page: Box<RawValue>) -> Box<RawValue> {
    if guest.knows_tasks() {
        return page;
    }
    let told: Vec<Cow<'_, str>> =
        lists::entries(page.get(), ListKind::Tools).map(|entry| without_schema(guest, entry)).collect();
    if told.iter().all(|entry| matches!(entry, Cow::Borrowed(_))) {
        return page;
    }
    let tools = format!("[{}]", told.join(","));
    RawValue::from_string(with_members(page.get(), &[("tools", tools.into())], &[])).unwrap_or(page)
}

/// One tool of such a page.
pub(super) fn without_schema<'e>(guest: &Guest, entry: &'e str) -> Cow<'e, str> {
    if guest.knows_tasks() || member(entry, SCHEMA).is_none() {
        return Cow::Borrowed(entry);
    }
    Cow::Owned(with_members(entry, &[], &[SCHEMA]))
}

fn supported(entry: &str) -> Cow<'_, str> {
    let execution = member(entry, "execution").unwrap_or("{}");
    if member(execution, "taskSupport").is_some() || !entry.starts_with('{') {
        return Cow::Borrowed(entry);
    }
    let execution = with_members(execution, &[("taskSupport", "\"optional\"".into())], &[]);
    Cow::Owned(with_members(entry, &[("execution", execution.into())], &[]))
}
