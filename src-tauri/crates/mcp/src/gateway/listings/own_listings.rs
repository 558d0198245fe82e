//! What the gateway adds to the lists of one server: the task tools, the template of results, and `taskSupport`.
//!
//! It leaves out output schemas for clients that know no tasks, and tools that are not offered (decision 0046). Otherwise a
//! page passes through raw; additions follow on the last one. A server without resources is not asked for them: results are resources of the gateway's, so agents may
//! ask at every endpoint. Lists of all servers are `merged.rs`.

use std::borrow::Cow;

use domain::ids::ServerId;
use serde_json::value::RawValue;

use crate::gateway::calls::forward;
use crate::gateway::clients::usage::{ReportedToolPage, UsageReport};
use crate::gateway::conversion::{raw_json, result_uri};
use crate::gateway::listings::listing_page::ListingPage;
use crate::gateway::model_text::tool_definitions;
use crate::gateway::off_worker;
use crate::gateway::request_context::RequestContext;
use crate::gateway::route::ListKind;
use crate::gateway::servers::connection::connect;
use crate::gateway::servers::listing_cache;
use crate::gateway::servers::offered_names::OfferedNames;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Request, ResponseStream};
use crate::wire::raw_json::{JsonMembers, member, text_member, with_members};
use crate::wire::rewrite::json_text;

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
    let cursor = request.params.text("cursor");
    let is_first = request.params.said("cursor").is_none();
    let page = forward::request(context, request, stream, usage).await?;
    let of = context.clone();
    let answered = off_worker::on_text(page.get().len(), move || {
        of.state.listings.remember_tools(server, page.get(), is_first, TOOLS_MAX);
        let page = offered_tools(&of, server, cursor.as_deref(), page);
        let page = map_tools(with_task_support(&of, page), |tool| Some(without_schema(&of, tool)));
        let is_last = is_last(&page);
        let own = if is_last { definitions(&of) } else { Vec::new() };
        let list = member(page.get(), "tools").unwrap_or("[]");
        let reported = UsageReport::tool_page(&ReportedToolPage { list, own: &own, is_first, is_last });
        (append(page, ListKind::Tools, &own), reported)
    });
    let (page, reported) = answered.await.ok_or_else(off_worker::failed)?;
    usage.add(reported);
    Ok(page)
}

/// The page with the tools that are offered, under the names that they are offered by.
fn offered_tools(
    context: &RequestContext,
    server: ServerId,
    cursor: Option<&str>,
    page: Box<RawValue>,
) -> Box<RawValue> {
    let Some(offered) = OfferedNames::of_server(context, server) else { return page };
    let pages = &context.state.offered_pages;
    let mut so_far = pages.before(server, context.agent, cursor);
    let page = map_tools(page, |tool| {
        let name = text_member(tool, "name")?;
        let offered = offered.name(&name).filter(|offered| so_far.add(offered))?;
        if offered == name {
            return Some(Cow::Borrowed(tool));
        }
        Some(Cow::Owned(with_members(tool, &[("name", json_text(&offered).into())], &[])))
    });
    if let Some(next) = text_member(page.get(), "nextCursor").filter(|next| !next.is_empty()) {
        pages.goes_on(server, context.agent, &next, so_far);
    }
    page
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

/// The page with its tools rewritten, without those of which nothing is left; the page itself where none changes.
fn map_tools(page: Box<RawValue>, rewrite: impl FnMut(&str) -> Option<Cow<'_, str>>) -> Box<RawValue> {
    let tools: Vec<Option<Cow<'_, str>>> = listing_cache::entries(page.get(), ListKind::Tools).map(rewrite).collect();
    if tools.iter().all(|tool| matches!(tool, Some(Cow::Borrowed(_)))) {
        return page;
    }
    let tools: Vec<Cow<'_, str>> = tools.into_iter().flatten().collect();
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
            return Some(Cow::Borrowed(tool));
        }
        let execution = with_members(execution, &[("taskSupport", "\"optional\"".into())], &[]);
        Some(Cow::Owned(with_members(tool, &[("execution", execution.into())], &[])))
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

/// The definitions of the task tools for this agent.
pub(crate) fn definitions(context: &RequestContext) -> Vec<Box<RawValue>> {
    if !context.has_task_tools() {
        return Vec::new();
    }
    tool_definitions::definitions().into_iter().filter_map(|(_, tool)| raw_json::serialize(&tool).ok()).collect()
}
