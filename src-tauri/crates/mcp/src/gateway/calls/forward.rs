//! Every request that is not a call, a task or a list: forwarded raw.
//!
//! Only identities change (`servers/identities.rs`), and what an era requires besides. Progress, log messages and
//! questions come back on the request's own stream. Nothing of a request is kept.

use std::borrow::Cow;
use std::sync::Arc;

use domain::ids::ServerId;
use domain::task::payload::Payload;
use engine::Passed;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::gateway::clients::usage::UsageReport;
use crate::gateway::conversion::result_dialect;
use crate::gateway::engine_errors::{INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_ERROR, code, unreached};
use crate::gateway::model_text::refused;
use crate::gateway::off_worker;
use crate::gateway::request_context::RequestContext;
use crate::gateway::servers::connection::{GatewayConnection, connect, connect_in_time, declared_capabilities};
use crate::gateway::servers::{identities, targets};
use crate::gateway::state::GatewayState;
use crate::gateway::tasks::modern_elicitation;
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{RawResult, Request, ResponseStream, Session};
use crate::upstream::transport::link::{Answer, LinkError, Response};
use crate::upstream::{Forwarding, RequestEvent};
use crate::wire::raw_json::{member, text_member, with_members};
use crate::wire::rewrite::{Identity, RewrittenPart, rewrite_raw};
use crate::wire::view::ELICITATION;

/// Notifications that wait for one client. Judgement: progress replaces itself, so a few are enough.
const QUEUE_MAX: usize = 64;
/// The code of an unknown resource until 2025; [`INVALID_PARAMS`] since 2026 (protocol.md §2.1).
const RESOURCE_NOT_FOUND: i64 = -32_002;

/// Forwards one request and returns its answer; notifications before it go to the client.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(crate) async fn request(
    context: &RequestContext,
    request: Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let (server, named) = target(context, &request).await?;
    usage.set_server(server);
    let connection = connect(context, server).await?;
    let params = identities::to_server(context, &request, named.as_deref());
    exchange(context, &connection, &request, params, stream).await
}

/// As [`request`], for any method: what the agent's model may read, a prompt or a resource, is reported.
///
/// # Errors
/// As [`request`].
pub(crate) async fn readable(
    context: &RequestContext,
    asked: Request,
    stream: &ResponseStream,
    usage: &mut UsageReport<'_>,
) -> Result<RawResult, RequestError> {
    let passed = match asked.method.as_str() {
        "prompts/get" => Passed::Prompt,
        "resources/read" => Passed::Resource,
        _ => return request(context, asked, stream, usage).await.map(RawResult::Raw),
    };
    usage.count_errors();
    let raw = request(context, asked, stream, usage).await?;
    if needs_input(&raw) {
        return Ok(RawResult::Raw(raw));
    }
    let text = Payload::new(Box::<str>::from(raw));
    usage.add(passed(text.clone()));
    Ok(RawResult::Text(text))
}

/// The server that a request is for, and what the server calls the prompt or resource, where that differs.
async fn target(context: &RequestContext, request: &Request) -> Result<(ServerId, Option<String>), RequestError> {
    if let Some(server) = context.server {
        return Ok((server, None));
    }
    let said = |name: &str| request.params.text(name);
    let (server, named) = match request.method.as_str() {
        "prompts/get" => {
            let name = said("name").ok_or_else(|| RequestError::params("`name` must be a text"))?;
            targets::prompt(context, &name).await?
        }
        "resources/read" => {
            let uri = said("uri").ok_or_else(|| RequestError::params("`uri` must be a text"))?;
            targets::resource(context, &uri).await?
        }
        "completion/complete" => {
            let what = request.params.value("ref").unwrap_or_default();
            match (what.get("name").and_then(Value::as_str), what.get("uri").and_then(Value::as_str)) {
                (Some(name), _) => targets::prompt(context, name).await?,
                (None, Some(uri)) => targets::resource(context, uri).await?,
                (None, None) => return Err(RequestError::params("`ref` must name a prompt or a resource")),
            }
        }
        _ => return Err(RequestError::no_method()),
    };
    Ok((server, Some(named)))
}

/// Sends the request until its answer is a result: what a modern server asks by a result, a client of an older era is
/// asked on its stream.
async fn exchange(
    context: &RequestContext,
    connection: &GatewayConnection,
    request: &Request,
    params: Option<Box<RawValue>>,
    stream: &ResponseStream,
) -> Result<Box<RawValue>, RequestError> {
    let mut params = identities::with_level(context, connection, params);
    for _ in 0..context.state.policy.rounds_max {
        let answer = send(context, connection, request, params.clone(), stream).await;
        let raw = match answer.map_err(|failed| unreached(&context.state.policy, failed))? {
            Answer::Result(raw) => raw,
            Answer::Error(raw) => return Err(RequestError::raw(&error_for_client(context, raw))),
        };
        let (of, method, server) = (context.clone(), request.method.clone(), connection.server);
        let read = off_worker::on_text(raw.get().len(), move || {
            let result = rewrite_raw(RewrittenPart::Result(&method), raw, &identities::for_agent(&of, server, None));
            let is_last = of.is_modern() || !needs_input(&result);
            if is_last { Ok(result_dialect::fit(&of, &method, result)) } else { Err(result) }
        });
        match read.await.ok_or_else(off_worker::failed)? {
            Ok(result) => return Ok(result),
            Err(asked) => params = next_round(context, params, &asked, stream).await?,
        }
    }
    Err(RequestError::new(RequestErrorKind::OfTool(SERVER_ERROR), refused::asks_without_end()))
}

/// Whether the server needs input before it can answer (protocol.md §2.5).
fn needs_input(result: &RawValue) -> bool {
    text_member(result.get(), "resultType").is_some_and(|kind| kind == "input_required")
}

/// The params again, with the client's answers.
async fn next_round(
    context: &RequestContext,
    params: Option<Box<RawValue>>,
    result: &RawValue,
    stream: &ResponseStream,
) -> Result<Option<Box<RawValue>>, RequestError> {
    if member(result.get(), "inputRequests").is_none() {
        // The server only wants its state back, after a while.
        tokio::time::sleep(context.state.policy.round_wait).await;
    }
    let answers = modern_elicitation::relay(context, result.get(), stream).await?;
    let answers: Vec<_> = answers.into_iter().map(|(name, text)| (name, text.into())).collect();
    let before = params.as_deref().map_or("{}", RawValue::get);
    let next = RawValue::from_string(with_members(before, &answers, &["requestState"]));
    next.map(Some).map_err(|_| RequestError::new(RequestErrorKind::Internal, "the answers could not be written"))
}

/// Sends the request once; notifications and questions on the way go to the client.
async fn send(
    context: &RequestContext,
    connection: &GatewayConnection,
    request: &Request,
    params: Option<Box<RawValue>>,
    stream: &ResponseStream,
) -> Result<Answer, LinkError> {
    let (to, mut queue) = mpsc::channel(QUEUE_MAX);
    let token = request.params.progress_token();
    let forwarding = Forwarding {
        method: request.method.clone(),
        params,
        declares: declared_capabilities(context),
        heard: Some(to),
        wants_progress: token.is_some(),
        limit: Some(context.state.policy.gateway.call_limit_ceiling),
    };
    let asking = connection.forward.request(forwarding);
    tokio::pin!(asking);
    let mut questions = FuturesUnordered::new();
    let notify = async |said| notify(context, connection.server, said, token.as_ref(), stream).await;
    let answer = loop {
        tokio::select! {
            biased;
            answer = &mut asking => break answer,
            Some(said) = queue.recv() => match said {
                RequestEvent::Asked { token, method, params } => {
                    questions.push(ask(context, connection, token, method, params, stream));
                }
                said => notify(said).await,
            },
            Some(()) = questions.next(), if !questions.is_empty() => {}
        }
    };
    // The server sent these before its answer, so the client gets them before it.
    while let Ok(said) = queue.try_recv() {
        notify(said).await;
    }
    answer
}

/// Passes a notification on. A client that is gone drops the request.
async fn notify(
    context: &RequestContext,
    server: ServerId,
    said: RequestEvent,
    token: Option<&Value>,
    stream: &ResponseStream,
) {
    let (method, params) = match said {
        RequestEvent::Progress(params) => ("notifications/progress".to_owned(), params),
        RequestEvent::Log(params) => ("notifications/message".to_owned(), params),
        RequestEvent::Other { method, params } => (method, params),
        RequestEvent::Asked { .. } => return,
    };
    if method == "notifications/progress" && token.is_none() {
        return;
    }
    let for_agent = identities::for_agent(context, server, None);
    let exchange = |identity: Identity, said: &str| match (identity, token) {
        (Identity::Progress, Some(token)) => Some(token.to_string()),
        _ => for_agent(identity, said),
    };
    drop(stream.notify(&method, &rewrite_raw(RewrittenPart::Params(&method), params, &exchange)).await);
}

/// Asks the client what its server asks live. Modern clients are asked nothing while a request runs.
async fn ask(
    context: &RequestContext,
    connection: &GatewayConnection,
    token: String,
    method: String,
    params: Box<RawValue>,
    stream: &ResponseStream,
) {
    let answer = if context.is_modern() { None } else { stream.ask_raw(&method, &params).await.ok() };
    let response = match answer {
        Some(Answer::Result(result)) => Response::Result(result),
        Some(Answer::Error(error)) => {
            let message = text_member(error.get(), "message").map_or_else(String::new, Cow::into_owned);
            Response::Error(code(&error).unwrap_or(METHOD_NOT_FOUND), message)
        }
        None if method == ELICITATION => {
            let dismissed = RawValue::from_string(r#"{"action":"cancel"}"#.to_owned());
            Response::Result(dismissed.unwrap_or_else(|_| RawValue::NULL.to_owned()))
        }
        None => Response::Error(METHOD_NOT_FOUND, "method not found".into()),
    };
    // The server may have withdrawn its question, or the connection is gone: then nobody waits for this.
    drop(connection.forward.respond(&token, response).await);
}

/// The error with the code that the client's era has for it.
fn error_for_client(context: &RequestContext, raw: Box<RawValue>) -> Box<RawValue> {
    if !context.is_modern() || code(&raw) != Some(RESOURCE_NOT_FOUND) {
        return raw;
    }
    let text = with_members(raw.get(), &[("code", INVALID_PARAMS.to_string().into())], &[]);
    RawValue::from_string(text).unwrap_or(raw)
}

/// Passes a notification of a session on: to the one server of its endpoint, or, when its roots changed, to all that may
/// have asked for them.
pub(crate) async fn notification(
    state: &Arc<GatewayState>,
    session: &Arc<Session>,
    method: &str,
    params: Option<&RawValue>,
) {
    if matches!(method, "notifications/initialized" | "notifications/cancelled") {
        return;
    }
    let Some(context) = RequestContext::of_session(state, session) else { return };
    let servers = match context.server {
        Some(server) => vec![server],
        None if method == "notifications/roots/list_changed" => state.sessions.servers(session),
        None => return,
    };
    for server in servers {
        let Some(connection) = connect_in_time(&context, server).await else { continue };
        // Only the older eras have notifications of clients (protocol.md §2.1).
        if !connection.is_modern()
            && let Err(failed) = connection.forward.notify(method, params).await
        {
            tracing::debug!(error = %failed, "a notification of an agent did not reach its server");
        }
    }
}
