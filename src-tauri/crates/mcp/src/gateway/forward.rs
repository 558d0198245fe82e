//! Everything that is not a call, a task or a list: forwarded raw.
//!
//! Only identities change on the way (`rewrite.rs`), and what an era asks for besides: results of older servers get their
//! kind for modern agents. Progress, log messages and questions come back on the request's own stream. It keeps nothing
//! of a request. Where a request goes on the door to all servers is told by the name or URI in it (`names.rs`,
//! `lists.rs`).

use std::sync::Arc;

use domain::task::TaskHandle;
use domain::ids::{HandleId, ServerId};
use domain::task::payload::Payload;
use engine::Passed;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::budget::Tap;
use super::guest::Guest;
use super::model_text::refused;
use super::reach::{self, Reach, declares, reach};
use super::{Gate, era, lists, names, questions, service, wire};
use crate::upstream::{Forwarding, RequestEvent, upstream_error};
use crate::upstream::transport::link::{Answer, LinkError, Response};
use crate::wire::raw_json::{member, text_member, with_members};
use crate::wire::rewrite::{Identity, MessagePart, json_text, meaning, rewrite, rewrite_raw};
use crate::server::rpc_error::{RequestError, RequestErrorKind};
use crate::server::{Client, RawResult, Request, ResponseStream, Session};
use crate::wire::view::ELICITATION;

/// What waits for one client on the way to its answer. Judgement: progress replaces itself, so a few are enough.
const HEARD_MAX: usize = 64;
/// A client's answer that it has no such method.
const METHOD_NOT_FOUND: i64 = -32_601;
/// The code of an unknown resource until 2025; retired in 2026 (protocol.md §2.1).
const NO_RESOURCE: &str = "-32002";
/// What says so since.
const INVALID_PARAMS: &str = "-32602";
/// What a modern result says about keeping it.
const KEEPING: [&str; 2] = ["ttlMs", "cacheScope"];
/// What stands for a task that is none of the agent's.
const UNKNOWN: &str = "unknown";

/// Forwards one request and brings its answer back, with progress and log messages on the way.
///
/// # Errors
/// The server's own, raw, or why it cannot be reached.
pub(super) async fn request(
    gate: &Arc<Gate>,
    guest: &Guest,
    request: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<Box<RawValue>, RequestError> {
    let (server, named) = target(gate, guest, &request).await?;
    tap.at(server);
    let there = reach(gate, guest, server).await?;
    let params = up(gate, guest, &request, named.as_deref());
    exchange(gate, guest, &there, &request, params, seat).await
}

/// As [`request`], for what its agent's model may be shown: a prompt, or a resource.
///
/// # Errors
/// As [`request`].
pub(super) async fn shown(
    gate: &Arc<Gate>,
    guest: &Guest,
    asked: Request,
    seat: &ResponseStream,
    tap: &mut Tap<'_>,
) -> Result<RawResult, RequestError> {
    let passed = match asked.method.as_str() {
        "prompts/get" => Passed::Prompt,
        "resources/read" => Passed::Resource,
        _ => return request(gate, guest, asked, seat, tap).await.map(RawResult::Raw),
    };
    tap.shows_errors();
    let raw = request(gate, guest, asked, seat, tap).await?;
    if asks(&raw) {
        return Ok(RawResult::Raw(raw));
    }
    let text = Payload::new(Box::<str>::from(raw));
    tap.shows(passed(text.clone()));
    Ok(RawResult::Text(text))
}

/// Which server a request is for, and what it names there where that differs.
async fn target(gate: &Arc<Gate>, guest: &Guest, request: &Request) -> Result<(ServerId, Option<String>), RequestError> {
    if let Some(server) = guest.server {
        return Ok((server, None));
    }
    let said = |name: &str| request.params.text(name);
    let prompt = match request.method.as_str() {
        "prompts/get" => said("name").ok_or_else(|| RequestError::params("`name` must be a text"))?,
        "resources/read" => {
            let uri = said("uri").ok_or_else(|| RequestError::params("`uri` must be a text"))?;
            return lists::resource(gate, guest, &uri).await.map(|(server, uri)| (server, Some(uri)));
        }
        "completion/complete" => {
            let what = request.params.value("ref").unwrap_or_default();
            match (what.get("name").and_then(Value::as_str), what.get("uri").and_then(Value::as_str)) {
                (Some(name), _) => name.to_owned(),
                (None, Some(uri)) => {
                    return lists::resource(gate, guest, uri).await.map(|(server, uri)| (server, Some(uri)));
                }
                (None, None) => return Err(RequestError::params("`ref` must name a prompt or a resource")),
            }
        }
        _ => return Err(RequestError::no_method()),
    };
    names::prompt(gate, guest, &prompt).await.map(|(server, name)| (server, Some(name)))
}

/// The agent's params in the identities of the server.
fn up(gate: &Gate, guest: &Guest, request: &Request, named: Option<&str>) -> Option<Box<RawValue>> {
    let raw = request.params.raw()?.to_owned();
    let exchange = |identity: Identity, there: &str| match identity {
        Identity::Task | Identity::Related => task_up(gate, guest, there),
        Identity::Prompt | Identity::Uri | Identity::UriTemplate => named.map(json_text),
        Identity::Progress
        | Identity::Subscription
        | Identity::Request
        | Identity::Cursor
        | Identity::Tool
        | Identity::Server => None,
    };
    Some(rewrite_raw(MessagePart::Params(&request.method), raw, &exchange))
}

/// The params of a call in the identities of the server, but for the tool's name, which the engine sets.
pub(super) fn call_up(gate: &Gate, guest: &Guest, params: &RawValue) -> Payload {
    let exchange = |identity: Identity, there: &str| match identity {
        Identity::Task | Identity::Related => task_up(gate, guest, there),
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
    let told = rewrite(MessagePart::Params("tools/call"), params.get(), &exchange);
    match guest.session().and_then(|session| gate.standing.level(session)) {
        // A modern server hears the level with each request; for an older one it is taken out again.
        Some(level) => Payload::new(leveled(&told, &level)),
        None => Payload::new(&*told),
    }
}

/// The server's id of a task of this agent.
fn task_up(gate: &Gate, guest: &Guest, there: &str) -> Option<String> {
    let id: HandleId = meaning(there)?.parse().ok()?;
    let handle = gate.engine.task(id).filter(|handle| handle.agent == Some(guest.agent))?;
    handle.view.task().map(|task| json_text(task.id.as_str()))
}

/// What identities of a server become for an agent. `handle` is the task that the message is about, if any.
pub(super) fn outward<'a>(
    gate: &'a Gate,
    guest: &'a Guest,
    server: ServerId,
    handle: Option<&'a TaskHandle>,
) -> impl Fn(Identity, &str) -> Option<String> + 'a {
    move |identity, there| match identity {
        // Without a task, a member of this name is something of the tool's own.
        Identity::Task if handle.is_none() => None,
        Identity::Task | Identity::Related => {
            let it = handle.filter(|handle| {
                let task = handle.view.task();
                task.is_some_and(|task| meaning(there).is_some_and(|id| id == task.id.as_str()))
            });
            // An id that is not this task's is another one of the server: the agent has no name for it.
            Some(it.map_or_else(|| json_text(UNKNOWN), |handle| json_text(&handle.id.to_string())))
        }
        Identity::Server => Some(wire::server_info().to_string()),
        Identity::Uri | Identity::UriTemplate if guest.server.is_none() => {
            let uri = meaning(there)?;
            gate.lists.uri_out(gate, server, &uri).map(|wrapped| json_text(&wrapped))
        }
        // The stream that a server knows is ours.
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

/// The raw result or error of a call for its agent, or a message about it: only identities change. `handle` is its
/// handle, where it has one.
///
/// # Errors
/// When the text is no JSON.
pub(super) async fn down(
    gate: &Gate,
    guest: &Guest,
    server: ServerId,
    handle: Option<&TaskHandle>,
    text: &Payload,
) -> Result<Box<RawValue>, RequestError> {
    let exchange = outward(gate, guest, server, handle);
    let told = rewrite(MessagePart::Result("tools/call"), text.as_str(), &exchange);
    RawValue::from_string(told.into_owned())
        .map_err(|_| RequestError::new(RequestErrorKind::Internal, "the server's answer could not be read"))
}

/// As [`down`] for a result that is JSON text already: where nothing changes, nothing is copied.
pub(super) fn down_text(
    gate: &Gate,
    guest: &Guest,
    server: ServerId,
    handle: Option<&TaskHandle>,
    text: Payload,
) -> Payload {
    let exchange = outward(gate, guest, server, handle);
    match rewrite(MessagePart::Result("tools/call"), text.as_str(), &exchange) {
        std::borrow::Cow::Borrowed(_) => text.clone(),
        std::borrow::Cow::Owned(changed) => Payload::new(changed),
    }
}

/// One request there and its answer back. A client of the older eras is asked what a modern server asks by a result.
async fn exchange(
    gate: &Arc<Gate>,
    guest: &Guest,
    there: &Reach,
    request: &Request,
    params: Option<Box<RawValue>>,
    seat: &ResponseStream,
) -> Result<Box<RawValue>, RequestError> {
    let mut params = with_level(gate, guest, there, params);
    for _ in 0..gate.policy.rounds_max {
        let answer = send(gate, guest, there, &request.method, params.clone(), request, seat).await;
        let raw = match answer.map_err(|failed| unreached(gate, failed))? {
            Answer::Result(raw) => raw,
            Answer::Error(raw) => return Err(RequestError::raw(&error_down(guest, raw))),
        };
        let half = MessagePart::Result(&request.method);
        let told = rewrite_raw(half, raw, &outward(gate, guest, there.server, None));
        if guest.is_modern() || !asks(&told) {
            return Ok(fit(guest, &request.method, told));
        }
        params = next_round(gate, guest, params, &told, seat).await?;
    }
    Err(RequestError::new(RequestErrorKind::OfTool(-32_000), refused::asks_without_end()))
}

/// Whether the result asks before it brings anything (protocol.md §2.5).
fn asks(result: &RawValue) -> bool {
    text_member(result.get(), "resultType").is_some_and(|kind| kind == "input_required")
}

/// The params again, with what the client answered.
async fn next_round(
    gate: &Arc<Gate>,
    guest: &Guest,
    params: Option<Box<RawValue>>,
    result: &RawValue,
    seat: &ResponseStream,
) -> Result<Option<Box<RawValue>>, RequestError> {
    if member(result.get(), "inputRequests").is_none() {
        // The server only wants its state back, after a while.
        tokio::time::sleep(gate.policy.round_wait).await;
    }
    let said = questions::relay(gate, guest, result.get(), seat).await?;
    let said: Vec<_> = said.into_iter().map(|(name, text)| (name, text.into())).collect();
    let before = params.as_deref().map_or("{}", RawValue::get);
    let next = RawValue::from_string(with_members(before, &said, &["requestState"]));
    next.map(Some).map_err(|_| RequestError::new(RequestErrorKind::Internal, "the answers could not be written"))
}

/// Sends the request and tells the client what comes on the way.
async fn send(
    gate: &Gate,
    guest: &Guest,
    there: &Reach,
    method: &str,
    params: Option<Box<RawValue>>,
    request: &Request,
    seat: &ResponseStream,
) -> Result<Answer, LinkError> {
    let (to, mut heard) = mpsc::channel(HEARD_MAX);
    let token = request.params.progress_token();
    let forwarding = Forwarding {
        method: method.to_owned(),
        params,
        declares: declares(guest),
        heard: Some(to),
        wants_progress: token.is_some(),
        limit: Some(gate.policy.gateway.call_limit_ceiling),
    };
    let asking = there.forward.request(forwarding);
    tokio::pin!(asking);
    let mut questions = FuturesUnordered::new();
    let answer = loop {
        tokio::select! {
            biased;
            answer = &mut asking => break answer,
            Some(said) = heard.recv() => match said {
                RequestEvent::Asked { token, method, params } => questions.push(ask(there, token, method, params, guest, seat)),
                said => tell(gate, guest, there.server, said, token.as_ref(), seat).await,
            },
            Some(()) = questions.next(), if !questions.is_empty() => {}
        }
    };
    // What was said before the answer is told before it.
    while let Ok(said) = heard.try_recv() {
        tell(gate, guest, there.server, said, token.as_ref(), seat).await;
    }
    answer
}

/// Tells the client what its server says on the way. A client that is gone drops the request.
async fn tell(gate: &Gate, guest: &Guest, server: ServerId, said: RequestEvent, token: Option<&Value>, seat: &ResponseStream) {
    let (method, params) = match said {
        RequestEvent::Progress(params) => ("notifications/progress".to_owned(), params),
        RequestEvent::Log(params) => ("notifications/message".to_owned(), params),
        RequestEvent::Other { method, params } => (method, params),
        RequestEvent::Asked { .. } => return,
    };
    if method == "notifications/progress" && token.is_none() {
        return;
    }
    let outward = outward(gate, guest, server, None);
    let exchange = |identity: Identity, there: &str| match (identity, token) {
        (Identity::Progress, Some(token)) => Some(token.to_string()),
        _ => outward(identity, there),
    };
    let told = rewrite_raw(MessagePart::Params(&method), params, &exchange);
    drop(seat.notify(&method, &told).await);
}

/// Asks the client what its server asks live. Modern clients are asked nothing while a request runs.
async fn ask(there: &Reach, token: String, method: String, params: Box<RawValue>, guest: &Guest, seat: &ResponseStream) {
    let answer = if guest.is_modern() { None } else { seat.ask_raw(&method, &params).await.ok() };
    let response = match answer {
        Some(Answer::Result(result)) => Response::Result(result),
        Some(Answer::Error(error)) => {
            let said = |name: &str| member(error.get(), name);
            let code = said("code").and_then(|code| code.parse().ok()).unwrap_or(METHOD_NOT_FOUND);
            let message = said("message").and_then(meaning).map_or_else(String::new, std::borrow::Cow::into_owned);
            Response::Error(code, message)
        }
        None if method == ELICITATION => {
            let dismissed = RawValue::from_string(r#"{"action":"cancel"}"#.to_owned());
            Response::Result(dismissed.unwrap_or_else(|_| RawValue::NULL.to_owned()))
        }
        None => Response::Error(METHOD_NOT_FOUND, "method not found".into()),
    };
    // The server may have given up its question, or the connection is gone: then nobody waits for this.
    drop(there.forward.respond(&token, response).await);
}

/// The error in the words of the client's era.
fn error_down(guest: &Guest, raw: Box<RawValue>) -> Box<RawValue> {
    if !guest.is_modern() || member(raw.get(), "code") != Some(NO_RESOURCE) {
        return raw;
    }
    let text = with_members(raw.get(), &[("code", INVALID_PARAMS.into())], &[]);
    RawValue::from_string(text).unwrap_or(raw)
}

/// The result as the client's era has it: its kind, and hints about keeping it (protocol.md §2.1, §2.10).
pub(super) fn fit(guest: &Guest, method: &str, result: Box<RawValue>) -> Box<RawValue> {
    let is_kept = matches!(
        method,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" | "resources/read"
    );
    let result = era::raw_result(guest, result, if is_kept { &KEEPING } else { &[] });
    let text = result.get();
    if !is_kept || !guest.is_modern() || member(text, "resultType") != Some("\"complete\"") {
        return result;
    }
    let missing: Vec<_> = KEEPING
        .into_iter()
        .zip(["0".into(), "\"private\"".into()])
        .filter(|(name, _)| member(text, name).is_none())
        .collect();
    if missing.is_empty() {
        return result;
    }
    RawValue::from_string(with_members(text, &missing, &[])).unwrap_or(result)
}

/// The params with the level of log messages that a session asked for, where a server wants to hear it each time.
fn with_level(gate: &Gate, guest: &Guest, there: &Reach, params: Option<Box<RawValue>>) -> Option<Box<RawValue>> {
    let level = guest.session().filter(|_| there.is_modern()).and_then(|session| gate.standing.level(session));
    let Some(level) = level else { return params };
    let text = params.as_deref().map_or("{}", RawValue::get);
    RawValue::from_string(leveled(text, &level)).ok().or(params)
}

fn leveled(params: &str, level: &str) -> String {
    const LEVEL: &str = "io.modelcontextprotocol/logLevel";
    let meta = with_members(member(params, "_meta").unwrap_or("{}"), &[(LEVEL, json_text(level).into())], &[]);
    with_members(params, &[("_meta", meta.into())], &[])
}

/// Why there is no answer, in words for an agent.
pub(super) fn unreached(gate: &Gate, failed: LinkError) -> RequestError {
    service::fault(&engine::EngineError::Upstream(upstream_error(failed, &gate.policy)))
}

/// Takes in a notification of a session. What is said to everybody goes to the one server behind the door; changed
/// roots go to all that may have asked for them.
pub(super) async fn notification(gate: &Arc<Gate>, session: &Arc<Session>, method: &str, params: Option<&RawValue>) {
    if matches!(method, "notifications/initialized" | "notifications/cancelled") {
        return;
    }
    let Some(guest) = session_guest(session) else { return };
    let servers = match guest.server {
        Some(server) => vec![server],
        None if method == "notifications/roots/list_changed" => gate.standing.reached(session),
        None => return,
    };
    for server in servers {
        let limit = gate.policy.gateway.merge_wait;
        let Some(there) = reach::reach_soon(gate, &guest, server, limit).await else { continue };
        // Nothing but the older eras has notifications of clients (protocol.md §2.1).
        if !there.is_modern()
            && let Err(failed) = there.forward.notify(method, params).await
        {
            tracing::debug!(error = %failed, "a notification of an agent did not reach its server");
        }
    }
}

/// Who a session belongs to.
pub(super) fn session_guest(session: &Arc<Session>) -> Option<Guest> {
    let principal = session.principal()?;
    let client = Client::Legacy(Arc::clone(session));
    Some(Guest { agent: principal.agent, server: principal.server, task_tools: false, client })
}
