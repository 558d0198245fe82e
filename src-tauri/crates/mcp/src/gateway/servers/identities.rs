//! Identities on their way between an agent and a server: task ids, URIs, progress tokens, the server's name.
//!
//! Which places of a message hold one is `rewrite.rs`; here is what each becomes. Everything else stays byte for byte.

use std::borrow::Cow;
use std::sync::LazyLock;

use domain::ids::{HandleId, ServerId};
use domain::task::TaskHandle;
use domain::task::payload::Payload;
use serde_json::value::RawValue;

use crate::gateway::conversion::meta;
use crate::gateway::conversion::meta::META_LEVEL;
use crate::gateway::conversion::raw_json::with_meta;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::connection::GatewayConnection;
use crate::gateway::servers::targets;
use crate::server::Request;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::wire::rewrite::{IdExchange, IdProbe, Identity, RewrittenPart, json_text, meaning, rewrite, rewrite_raw};

/// Stands for a task that is not the agent's.
const UNKNOWN: &str = "unknown";

/// The params of a request for the server; `named` is what it calls the prompt or resource.
pub(crate) fn to_server(context: &RequestContext, request: &Request, named: Option<&str>) -> Option<Box<RawValue>> {
    let raw = request.params.raw()?.to_owned();
    let exchange = |identity: Identity, said: &str| match identity {
        Identity::Task | Identity::Related => task_to_server(context, said),
        Identity::Prompt | Identity::Uri | Identity::UriTemplate => named.map(json_text),
        Identity::Progress
        | Identity::Subscription
        | Identity::Request
        | Identity::Cursor
        | Identity::Tool
        | Identity::Server => None,
    };
    Some(rewrite_raw(RewrittenPart::Params(&request.method), raw, &exchange))
}

/// Finds what [`call_to_server`] exchanges.
static TO_SERVER: LazyLock<IdProbe> = LazyLock::new(|| IdProbe::of(&[Identity::Task, Identity::Related]));
/// Finds what [`for_agent`] exchanges at the endpoint of one server in a message about no task.
static TO_AGENT: LazyLock<IdProbe> =
    LazyLock::new(|| IdProbe::of(&[Identity::Related, Identity::Subscription, Identity::Server]));
/// As above, at the endpoint of all servers.
static TO_AGENT_OF_ALL: LazyLock<IdProbe> = LazyLock::new(|| {
    let kinds = [Identity::Related, Identity::Subscription, Identity::Server, Identity::Uri, Identity::UriTemplate];
    IdProbe::of(&kinds)
});

/// The params of a call for the server, but for the tool's name, which the engine sets. Where nothing changes, nothing
/// is copied.
pub(crate) fn call_to_server(context: &RequestContext, params: Payload) -> Payload {
    let params = if TO_SERVER.may_find(params.as_str()) { with_servers_tasks(context, params) } else { params };
    match context.session().and_then(|session| context.state.sessions.level(session)) {
        // A modern server gets the level with each request; for an older one it is taken out again.
        Some(level) => Payload::new(with_meta(params.as_str(), META_LEVEL, &json_text(&level))),
        None => params,
    }
}

fn with_servers_tasks(context: &RequestContext, params: Payload) -> Payload {
    let exchange = |identity: Identity, said: &str| match identity {
        Identity::Task | Identity::Related => task_to_server(context, said),
        Identity::Progress
        | Identity::Subscription
        | Identity::Request
        | Identity::Cursor
        | Identity::Tool
        | Identity::Prompt
        | Identity::Uri
        | Identity::UriTemplate
        | Identity::Server => None,
    };
    rewritten(RewrittenPart::Params("tools/call"), params, &exchange)
}

/// The text with its identities exchanged; the same bytes where none is.
fn rewritten(part: RewrittenPart<'_>, text: Payload, exchange: &dyn IdExchange) -> Payload {
    let changed = match rewrite(part, text.as_str(), exchange) {
        Cow::Borrowed(same) if same.len() == text.as_str().len() => None,
        changed => Some(changed.into_owned()),
    };
    changed.map_or(text, Payload::new)
}

/// The server's id of a task of this agent.
fn task_to_server(context: &RequestContext, said: &str) -> Option<String> {
    let id: HandleId = meaning(said)?.parse().ok()?;
    let handle = context.state.engine.task(id).filter(|handle| handle.agent == Some(context.agent))?;
    handle.view.task().map(|task| json_text(task.id.as_str()))
}

/// What a server's identities become for an agent. `handle` is the task that the message is about, if any.
pub(crate) fn for_agent<'a>(
    context: &'a RequestContext,
    server: ServerId,
    handle: Option<&'a TaskHandle>,
) -> impl Fn(Identity, &str) -> Option<String> + 'a {
    move |identity, said| match identity {
        // Without a task, a member of this name is something of the tool's own.
        Identity::Task if handle.is_none() => None,
        Identity::Task | Identity::Related => {
            let known = handle.filter(|handle| {
                let task = handle.view.task();
                task.is_some_and(|task| meaning(said).is_some_and(|id| id == task.id.as_str()))
            });
            // Any other id is another task of the server, for which the agent has no name.
            Some(known.map_or_else(|| json_text(UNKNOWN), |handle| json_text(&handle.id.to_string())))
        }
        Identity::Server => Some(meta::server_info().to_string()),
        Identity::Uri | Identity::UriTemplate if context.server.is_none() => {
            let uri = meaning(said)?;
            targets::uri_for_agent(&context.state, server, &uri).map(|wrapped| json_text(&wrapped))
        }
        // The subscription that a server knows is the gateway's.
        Identity::Subscription => Some("null".to_owned()),
        Identity::Uri
        | Identity::UriTemplate
        | Identity::Progress
        | Identity::Request
        | Identity::Cursor
        | Identity::Tool
        | Identity::Prompt => None,
    }
}

/// The raw result or error of a call, or a notification about it, for its agent.
///
/// # Errors
/// When the text is no JSON.
pub(crate) fn to_agent(
    context: &RequestContext,
    server: ServerId,
    handle: Option<&TaskHandle>,
    text: &Payload,
) -> Result<Box<RawValue>, RequestError> {
    let changed = rewrite(RewrittenPart::Result("tools/call"), text.as_str(), &for_agent(context, server, handle));
    RawValue::from_string(changed.into_owned())
        .map_err(|_| RequestError::new(RequestErrorKind::Internal, "the server's answer could not be read"))
}

/// As [`to_agent`], for a result that is JSON text already: where nothing changes, nothing is copied.
pub(crate) fn to_agent_text(
    context: &RequestContext,
    server: ServerId,
    handle: Option<&TaskHandle>,
    text: Payload,
) -> Payload {
    let probe = if context.server.is_some() { &TO_AGENT } else { &TO_AGENT_OF_ALL };
    if handle.is_none() && !probe.may_find(text.as_str()) {
        return text;
    }
    rewritten(RewrittenPart::Result("tools/call"), text, &for_agent(context, server, handle))
}

/// The params with the log level that a session asked for, for servers that want it with each request.
pub(crate) fn with_level(
    context: &RequestContext,
    connection: &GatewayConnection,
    params: Option<Box<RawValue>>,
) -> Option<Box<RawValue>> {
    let session = context.session().filter(|_| connection.is_modern());
    let Some(level) = session.and_then(|session| context.state.sessions.level(session)) else { return params };
    let text = params.as_deref().map_or("{}", RawValue::get);
    RawValue::from_string(with_meta(text, META_LEVEL, &json_text(&level))).ok().or(params)
}
