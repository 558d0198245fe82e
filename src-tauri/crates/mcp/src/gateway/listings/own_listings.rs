//! What the gateway adds to the lists of one server: the task tools, the template of results, and `taskSupport`.
//!
//! It leaves output schemas out for clients that know no tasks. Otherwise a page passes through raw; additions follow on
//! the last one. A server without resources is not asked for them: results are resources of the gateway's, so agents may
//! ask at every endpoint. Lists of all servers are `merged.rs`.

use std::borrow::Cow;

use domain::ids::ServerId;
use serde_json::value::RawValue;

use crate::gateway::calls::forward;
use crate::gateway::clients::usage::{ReportedToolPage, UsageReport};
use crate::gateway::conversion::{raw_json, result_uri};
use crate::gateway::listings::listing_page::ListingPage;
use crate::gateway::model_text::tool_definitions;
use crate::gateway::request_context::RequestContext;
use crate::gateway::route::ListKind;
use crate::gateway::servers::connection::connect;
use crate::gateway::servers::listing_cache;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Request, ResponseStream};
use crate::wire::raw_json::{JsonMembers, member, text_member, with_members};

const SCHEMA: &str = "outputSchema";
/// Tools of one server that are remembered. As the engine's own list of them.
const TOOLS_MAX: usize = 10_000;

/// The tools of one server, and the task tools after the last of them.
///
/// # Errors
/// The server's own, raw.
pub(crate) async fn tools(
    context: &RequestContext,
    server: ServerId,
    request: Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let is_first = request.params.said("cursor").is_none();
    let page = forward::request(context, request, stream, usage).await?;
    context.state.listings.remember_tools(server, page.get(), is_first, TOOLS_MAX);
    let page = map_tools(with_task_support(context, page), |tool| without_schema(context, tool));
    let is_last = is_last(&page);
    let taken = |name: &str| context.state.listings.tool(server, name).is_some();
    let own = if is_last { definitions(context, taken) } else { Vec::new() };
    let list = member(page.get(), "tools").unwrap_or("[]");
    usage.add_tools(&ReportedToolPage { list, own: &own, is_first, is_last });
    Ok(append(page, ListKind::Tools, &own))
}

fn is_last(page: &RawValue) -> bool {
    text_member(page.get(), "nextCursor").is_none_or(|next| next.is_empty())
}

/// The resources or templates of one server. A server that has none is not asked.
///
/// # Errors
/// The server's own, raw.
pub(crate) async fn resources(
    context: &RequestContext,
    server: ServerId,
    kind: ListKind,
    request: Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let own = match kind {
        ListKind::Templates => vec![raw_json::serialize(&result_uri::template())?],
        ListKind::Tools | ListKind::Prompts | ListKind::Resources => Vec::new(),
    };
    let is_first = request.params.said("cursor").is_none();
    if connect(context, server).await?.may_list(kind) {
        match forward::request(context, request, stream, usage).await {
            Ok(page) if is_last(&page) => return Ok(append(page, kind, &own)),
            Ok(page) => return Ok(page),
            // Some servers have resources and no templates.
            Err(fault) if kind == ListKind::Templates && is_first && fault.kind == RequestErrorKind::MethodNotFound => {
            }
            Err(fault) => return Err(fault),
        }
    }
    let mut page = ListingPage::empty(usize::MAX);
    own.iter().for_each(|entry| page.push(entry.get()));
    page.finish(context, kind, &[])
}

/// The page with more entries at its end.
fn append(page: Box<RawValue>, kind: ListKind, more: &[Box<RawValue>]) -> Box<RawValue> {
    let text = page.get();
    let Some(list) = member(text, kind.member()).filter(|_| !more.is_empty()) else { return page };
    let Some(open) = list.trim_end().strip_suffix(']') else { return page };
    let more: Vec<&str> = more.iter().map(|entry| entry.get()).collect();
    let comma = if JsonMembers::of(list).is_some_and(|mut inside| inside.next().is_some()) { "," } else { "" };
    let list = format!("{open}{comma}{}]", more.join(","));
    RawValue::from_string(with_members(text, &[(kind.member(), list.into())], &[])).unwrap_or(page)
}

/// The page with its tools rewritten; the page itself where none changes.
fn map_tools(page: Box<RawValue>, rewrite: impl Fn(&str) -> Cow<'_, str>) -> Box<RawValue> {
    let tools: Vec<Cow<'_, str>> = listing_cache::entries(page.get(), ListKind::Tools).map(rewrite).collect();
    if tools.iter().all(|tool| matches!(tool, Cow::Borrowed(_))) {
        return page;
    }
    let tools = format!("[{}]", tools.join(","));
    RawValue::from_string(with_members(page.get(), &[("tools", tools.into())], &[])).unwrap_or(page)
}

/// Tells sessions of 2025-11-25 that any tool may be called as a task, unless its server says otherwise: the gateway makes
/// a task of every call (protocol.md §7.3).
pub(crate) fn with_task_support(context: &RequestContext, page: Box<RawValue>) -> Box<RawValue> {
    if !context.session().is_some_and(|session| session.has_tasks()) {
        return page;
    }
    map_tools(page, |tool| {
        let execution = member(tool, "execution").unwrap_or("{}");
        if member(execution, "taskSupport").is_some() || !tool.starts_with('{') {
            return Cow::Borrowed(tool);
        }
        let execution = with_members(execution, &[("taskSupport", "\"optional\"".into())], &[]);
        Cow::Owned(with_members(tool, &[("execution", execution.into())], &[]))
    })
}

/// A tool without `outputSchema`, for clients that know no tasks. When a call outlasts them they get a result of the
/// gateway's, which has no structured content: a client that knows the schema takes that for an error, or for a broken
/// server, and calls again (decision 0020). Structured content of real results passes through all the same.
pub(crate) fn without_schema<'e>(context: &RequestContext, tool: &'e str) -> Cow<'e, str> {
    if context.knows_tasks() || member(tool, SCHEMA).is_none() {
        return Cow::Borrowed(tool);
    }
    Cow::Owned(with_members(tool, &[], &[SCHEMA]))
}

/// The definitions of the task tools for this agent, but for those whose names are `taken` by its server.
pub(crate) fn definitions(context: &RequestContext, taken: impl Fn(&str) -> bool) -> Vec<Box<RawValue>> {
    if !context.has_task_tools() {
        return Vec::new();
    }
    let free = tool_definitions::definitions().into_iter().filter(|(name, _)| {
        let is_taken = taken(name);
        if is_taken {
            tracing::info!(tool = name, "a server has a tool of this name, so the gateway's own is left out");
        }
        !is_taken
    });
    free.filter_map(|(_, tool)| raw_json::serialize(&tool).ok()).collect()
}
