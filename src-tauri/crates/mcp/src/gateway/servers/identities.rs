//! Identities on their way between an agent and a server: task ids, URIs, progress tokens, the server's name.
//!
//! Which places of a message hold one is `rewrite.rs`; here is what each becomes. Everything else stays byte for byte.

use std::borrow::Cow;

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
use crate::wire::rewrite::{Identity, RewrittenPart, json_text, meaning, rewrite, rewrite_raw};

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

/// The params of a call for the server, but for the tool's name, which the engine sets.
pub(crate) fn call_to_server(context: &RequestContext, params: &RawValue) -> Payload {
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
    let changed = rewrite(RewrittenPart::Params("tools/call"), params.get(), &exchange);
    match context.session().and_then(|session| context.state.sessions.level(session)) {
        // A modern server gets the level with each request; for an older one it is taken out again.
        Some(level) => Payload::new(with_meta(&changed, META_LEVEL, &json_text(&level))),
        None => Payload::new(&*changed),
    }
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
    match rewrite(RewrittenPart::Result("tools/call"), text.as_str(), &for_agent(context, server, handle)) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(changed) => Payload::new(changed),
    }
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
