//! Calls: sent once, awaited however late the reply comes, cancelled by their handle.
//!
//! Each call runs on its own task, because dropping a request's future cancels it on modern HTTP while dropping the
//! port's future must not. The tag is the progress token too. Nothing is sent twice, except when the server refused
//! mirrored headers before anything ran.

use std::sync::Arc;

use domain::ids::HandleId;
use domain::ports::{AnswerToSend, CallError, CallReply, CallRequest, UpstreamError};
use domain::task::input_request::AskDoor;
use domain::task::observation::ObservationDoor;
use domain::task::payload::Payload;
use domain::task::status::RpcError;
use domain::time::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::connection::Connection;
use crate::upstream::negotiation::Generation;
use crate::upstream::notifications::request_listeners::RequestListener;
use crate::upstream::port_errors::{call_error, not_json, stopping, upstream_error};
use crate::upstream::tool_cache::param_headers::header_values;
use crate::upstream::transport::link::{Answer, ForwardedParams, OutgoingRequest, RequestTag};
use crate::upstream::transport::request_params::declared;
use crate::wire::dialect::{self, experimental2025, extension2026, input_responses, object_text};
use crate::wire::raw_json::member;
use crate::wire::view::{ServerError, TaskSupport};

impl Connection {
    /// Sends a call and waits for its reply.
    pub(crate) async fn call(self: &Arc<Self>, request: CallRequest) -> Result<CallReply, CallError> {
        let tag = self.next_tag();
        self.calls.lock().begin(tag, request.ticket);
        let (done, reply) = oneshot::channel();
        let connection = Arc::clone(self);
        self.supervisor.spawn("mcp call", async move {
            let brought = connection.keep_call(tag, request).await;
            // The caller may be gone; then nobody needs the reply.
            drop(done.send(brought));
        });
        reply.await.unwrap_or_else(|_| Err(CallError::ReplyLost(stopping())))
    }

    /// Asks the server to cancel a call that has no reply yet.
    pub(crate) async fn cancel_call(&self, ticket: HandleId, reason: Option<String>) -> Result<(), UpstreamError> {
        let tag = {
            let mut calls = self.calls.lock();
            let tag = calls.pending_tag(ticket).ok_or(UpstreamError::ChannelGone)?;
            if calls.cancel_unsent(tag) {
                return Ok(());
            }
            tag
        };
        self.link.cancel(tag, reason).await.map_err(|failed| upstream_error(failed, &self.policy))
    }

    /// Waits for the reply of a call that an earlier core sent to this child.
    pub(crate) async fn rejoin(self: &Arc<Self>, ticket: HandleId) -> Result<CallReply, CallError> {
        let Some(call) = self.regained.lock().remove(&ticket) else {
            return Err(CallError::ReplyLost(UpstreamError::ChannelGone));
        };
        let begun = self.clock.now();
        let answer = call.answer.await.map_err(|failed| call_error(failed, &self.policy));
        let reply = answer.and_then(|answer| self.read_reply(answer, begun, call.augment)).map(Tried::reply);
        self.ended_with(call.tag, &reply);
        reply
    }

    async fn keep_call(self: &Arc<Self>, tag: RequestTag, request: CallRequest) -> Result<CallReply, CallError> {
        let mut tag = tag;
        let mut brought = self.one_try(tag, &request).await;
        if let Ok(Tried::HeadersRefused(_)) = &brought {
            // The server checks headers before it runs anything, so a second try with fresh annotations is safe.
            tracing::info!(tool = %request.tool, "the server refused mirrored headers; its tools are listed anew");
            self.drop_tools();
            self.calls.lock().end(tag, None, 0);
            self.listeners.remove(tag);
            tag = self.next_tag();
            self.calls.lock().begin(tag, request.ticket);
            brought = self.one_try(tag, &request).await;
        }
        let reply = brought.map(Tried::reply);
        self.ended_with(tag, &reply);
        reply
    }

    /// Records what a call became.
    fn ended_with(&self, tag: RequestTag, reply: &Result<CallReply, CallError>) {
        let lives_on_as = match reply {
            Ok(CallReply::Task { id, .. }) if self.generation_of(id) == Generation::Experimental2025 => {
                Some(id.clone())
            }
            Ok(_) | Err(_) => None,
        };
        let over = self.calls.lock().end(tag, lives_on_as.as_ref(), self.policy.discovered_max);
        if let Some(over) = over {
            self.listeners.remove(over);
        }
        if let Ok(CallReply::Task { id, seen }) = reply
            && !seen.status.is_terminal()
        {
            self.created.lock().insert(id.clone());
        }
    }

    async fn one_try(self: &Arc<Self>, tag: RequestTag, request: &CallRequest) -> Result<Tried, CallError> {
        let unsent = |failed| CallError::NotSent(not_json(failed));
        let arguments = object_text(&request.arguments).map_err(unsent)?;
        let mut verbatim = vec![("arguments", arguments)];
        add_round(request, &mut verbatim).map_err(CallError::NotSent)?;
        let manner = self.manner(request).await?;
        let params = match self.generation {
            Generation::Experimental2025 => {
                experimental2025::call_params(&request.tool, tag.0, manner.augment && !brings_ttl(request))
            }
            Generation::Extension2026 => extension2026::call_params(&request.tool, tag.0),
        };
        if let Some(listener) = &request.listener {
            self.listeners.put(tag, RequestListener::Call(listener.clone()));
        }
        if !self.calls.lock().leave(tag) {
            return Err(CallError::NotSent(UpstreamError::Unreachable {
                why: "the call was stopped before it was sent".into(),
                hint: "Nothing ran.".into(),
            }));
        }
        let begun = self.clock.now();
        self.link.note_call(tag, request.ticket, manner.augment);
        let method = dialect::CALL;
        let agent_params = agent_params(request, manner.augment);
        let param_headers = manner.param_headers;
        let outgoing =
            OutgoingRequest { method: method.into(), params, verbatim, tag, limit: None, param_headers, agent_params };
        let answer = self.link.request(outgoing).await.map_err(|failed| call_error(failed, &self.policy))?;
        self.read_reply(answer, begun, manner.augment)
    }

    /// Interprets the answer to a call.
    fn read_reply(&self, answer: Answer, begun: Timestamp, augment: bool) -> Result<Tried, CallError> {
        let glimpse = self.glimpse(ObservationDoor::Create, begun);
        match answer {
            Answer::Error(raw) => {
                let fault = ServerError::read(&raw, &self.policy);
                let refused = fault.is_header_mismatch() && self.mirrors_params;
                if fault.may_want_a_task() && self.augments {
                    // Reported as it is; the next call lists the tools again to see which of them want to be tasks.
                    self.drop_tools();
                }
                let reply = CallReply::Error { error: told(&fault), payload: fault.payload };
                Ok(if refused { Tried::HeadersRefused(reply) } else { Tried::Replied(reply) })
            }
            Answer::Result(raw) => {
                let read = match self.generation {
                    Generation::Extension2026 => extension2026::read_call(&raw, glimpse, &self.policy),
                    Generation::Experimental2025 if extension2026::is_handle(&raw) => {
                        extension2026::read_call(&raw, glimpse, &self.policy).inspect(|reply| self.note_modern(reply))
                    }
                    Generation::Experimental2025 => experimental2025::read_call(&raw, augment, glimpse, &self.policy),
                };
                let reply = read.map_err(|misread| CallError::ReplyLost(misread.of(&raw, &self.policy)))?;
                Ok(Tried::Replied(reply))
            }
        }
    }

    /// How to call the tool, from its entry in the list. A list that cannot be read says nothing, unless the
    /// connection is the reason.
    async fn manner(&self, request: &CallRequest) -> Result<Manner, CallError> {
        if !self.augments && !self.mirrors_params {
            return Ok(Manner::default());
        }
        let list = match self.tool_list().await {
            Ok(list) => list,
            Err(gone @ (UpstreamError::Unreachable { .. } | UpstreamError::RateLimited { .. })) => {
                return Err(CallError::NotSent(gone));
            }
            Err(blocked @ UpstreamError::Unauthorized { .. }) => return Err(CallError::NotSent(blocked)),
            Err(_) => return Ok(Manner::default()),
        };
        let Some(listed) = list.find(&request.tool) else { return Ok(Manner::default()) };
        let augment = match listed.tool.support {
            TaskSupport::Forbidden => false,
            TaskSupport::Optional | TaskSupport::Required => self.augments,
        };
        let param_headers = if listed.headers.is_empty() {
            Vec::new()
        } else {
            let arguments: Value = serde_json::from_str(request.arguments.as_str()).unwrap_or_default();
            header_values(&listed.headers, &arguments)
        };
        Ok(Manner { augment, param_headers })
    }
}

/// How one try ended.
enum Tried {
    Replied(CallReply),
    /// `-32020`, before anything ran.
    HeadersRefused(CallReply),
}

impl Tried {
    fn reply(self) -> CallReply {
        match self {
            Self::Replied(reply) | Self::HeadersRefused(reply) => reply,
        }
    }
}

/// Members of an agent's params that are not forwarded: the engine sets the answers of a round.
const STAYS_BEHIND: &[&str] = &["task", "inputResponses", "requestState"];
/// The same where the server is asked for a task: the agent decides how long it is kept.
const STAYS_BEHIND_AUGMENTED: &[&str] = &["inputResponses", "requestState"];

/// Whether the agent's own params ask for a task.
fn brings_ttl(request: &CallRequest) -> bool {
    let params = request.agent_params.as_ref().map(Payload::as_str);
    params.and_then(|params| member(params, "task")).is_some_and(|task| task.starts_with('{'))
}

fn agent_params(request: &CallRequest, augment: bool) -> Option<ForwardedParams> {
    let declares = declared(request.abilities);
    let params = match (&request.agent_params, &declares) {
        (None, None) => return None,
        (Some(params), _) => params.clone(),
        (None, Some(_)) => Payload::new("{}"),
    };
    let without = if augment && brings_ttl(request) { STAYS_BEHIND_AUGMENTED } else { STAYS_BEHIND };
    Some(ForwardedParams { params, without, declares, cancel_on_drop: false })
}

#[derive(Default)]
struct Manner {
    augment: bool,
    param_headers: Vec<(String, String)>,
}

/// Adds answers and state of an earlier round: the state if and only if it was given, byte for byte.
fn add_round(request: &CallRequest, verbatim: &mut Vec<(&'static str, Box<RawValue>)>) -> Result<(), UpstreamError> {
    let Some(round) = &request.continuation else { return Ok(()) };
    let answers = round.answers.iter().map(|answer| round_key(answer).map(|key| (key, answer)));
    let answers = answers.collect::<Result<Vec<_>, _>>()?;
    if !answers.is_empty() {
        verbatim.push(("inputResponses", input_responses(answers.into_iter()).map_err(not_json)?));
    }
    if let Some(state) = &round.state {
        let state = RawValue::from_string(state.as_str().to_owned());
        verbatim.push(("requestState", state.map_err(|_| not_json(dialect::NotJson))?));
    }
    Ok(())
}

fn round_key(answer: &AnswerToSend) -> Result<&str, UpstreamError> {
    match &answer.door {
        AskDoor::Round { key, .. } => Ok(key),
        AskDoor::Listed { .. } | AskDoor::Live { .. } => {
            Err(UpstreamError::Unsupported("take this answer with a call"))
        }
    }
}

/// The error as people see it; a missing capability is named (statement 27).
fn told(fault: &ServerError) -> RpcError {
    match fault.missing() {
        Some(name) => RpcError {
            code: fault.error.code,
            message: format!("{} (it needs what Taskwarden does not have: {name})", fault.error.message),
        },
        None => fault.error.clone(),
    }
}
